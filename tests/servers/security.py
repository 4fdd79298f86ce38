"""Users, roles and certificates for an Elasticsearch with security switched on.

All of it lies in the server's own config folder before the first start, so nothing has to be
created over HTTP (API keys and native users cannot be, in the zip that the tests use).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import trustme

from .distribution import Account, ServerError

# The superuser and its password; six characters are the least that is taken.
USERNAME = "elastic"
PASSWORD = "esdedup-test"


class User(NamedTuple):
    """A user of the file realm."""

    password: str
    roles: Sequence[str]


def password_hash(password: str) -> str:
    """A hash that the file realm reads; made here since its own tool takes seconds a user."""
    rounds = 10_000
    salt = os.urandom(32)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, rounds, 32)
    encoded = (base64.b64encode(part).decode() for part in (salt, key))
    return "{PBKDF2}" + "$".join((str(rounds), *encoded))


def write_users(
    config: Path, users: Mapping[str, User], roles: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write the files of the file realm. A role is the body its REST call would take."""
    holders: dict[str, list[str]] = {}
    for name, user in users.items():
        for role in user.roles:
            holders.setdefault(role, []).append(name)
    lines = (f"{name}:{password_hash(user.password)}\n" for name, user in users.items())
    (config / "users").write_text("".join(lines))
    pairs = (f"{role}:{','.join(names)}\n" for role, names in holders.items())
    (config / "users_roles").write_text("".join(pairs))
    # JSON is YAML; the server cuts the file into roles by its lines.
    entries = (f"{name}: {json.dumps(role)}\n" for name, role in roles.items())
    (config / "roles.yml").write_text("".join(entries))


def write_keystore(
    home: Path, config: Path, environment: Mapping[str, str], owner: Account | None
) -> None:
    """Put the superuser's password into a new keystore of this config folder."""
    tool = home / "bin" / "elasticsearch-keystore"
    done = subprocess.run(
        # Without --force it asks on the same stdin whether to make a keystore.
        [tool, "add", "--force", "--stdin", "bootstrap.password"],
        check=False,
        input=f"{PASSWORD}\n",
        env=environment,
        user=owner.uid if owner else None,
        group=owner.gid if owner else None,
        extra_groups=[] if owner else None,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode != 0 or not (config / "elasticsearch.keystore").exists():
        raise ServerError(f"elasticsearch-keystore failed:\n{done.stdout}{done.stderr}")


def write_certificates(config: Path) -> dict[str, str]:
    """Make a CA and a certificate for localhost; return the settings that use them for HTTP."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(str(config / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(config / "http.key"))
    chain = b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    (config / "http.pem").write_bytes(chain)
    return {
        "xpack.security.http.ssl.enabled": "true",
        "xpack.security.http.ssl.key": "http.key",
        "xpack.security.http.ssl.certificate": "http.pem",
        "xpack.security.http.ssl.certificate_authorities": "ca.pem",
    }
