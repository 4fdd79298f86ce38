"""An OpenSearch with its security plugin, which the plain zip of the tests lacks.

The plugin is published beside the server, for few versions: the newest pair of both is taken.
Users and roles are made over HTTP, as an administrator would do it.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import trustme
import yaml
from cryptography.hazmat.primitives import serialization

from .distribution import (
    Artifact,
    Java,
    ServerError,
    account,
    cache_folder,
    fetch,
    find_java,
    give_to,
    locked,
    unpacked,
)
from .server import START_SECONDS, Server, _opener, started
from .starting import _common_settings, free_ports

VERSION = "3.4.0"
PLUGIN = "opensearch-security"
USERNAME = "admin"
PASSWORD = "admin"  # of the plugin's own demo users


class NoPlugin(ServerError):
    """The plugin cannot be resolved here."""


SECURITY = Artifact(
    "org.opensearch.plugin",
    PLUGIN,
    f"{VERSION}.0",
    "zip",
    "fc164c084979f7f793d295b6bca56bf8bee76dafb762adef9f14fa872e0a7596",
)
# The plugin has it from a module for rules of workloads, which the zip of the tests lacks.
COLLECTIONS = Artifact(
    "org.apache.commons",
    "commons-collections4",
    "4.5.0",
    "jar",
    "00f93263c267be201b8ae521b44a7137271b16688435340bf629db1bac0a5845",
)


@contextlib.contextmanager
def start_secured(timeout: float = START_SECONDS) -> Iterator[Server]:
    """One node with TLS, whose superuser is `admin`; nobody else is known to it."""
    java = find_java()
    home = _with_plugin(java)
    ports = free_ports(2)
    server = Server(
        "opensearch",
        VERSION,
        home=home,
        java=java,
        name="n0",
        heap="512m",
        settings=_common_settings("opensearch", ports[1:], security=False),
        ports=(ports[0], ports[1]),
        as_installed=False,
    )
    started.add(server)
    with server:
        _secure(server, home)
        server.spawn()
        server.wait_for("green", 1, timeout)
        yield server


def _with_plugin(java: Java) -> Path:
    """A copy of the server with the plugin in it, made once."""
    plain = unpacked("opensearch", VERSION, java)
    target = cache_folder() / f"{plain.name}-{PLUGIN}"
    with locked(target.with_name(target.name + ".lock")):
        if not target.exists():
            temporary = target.with_name(f".{target.name}-unfinished")
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.copytree(plain, temporary)
            folder = temporary / "plugins" / PLUGIN
            try:
                plugin = fetch(SECURITY, temporary / "fetched" / "plugin")
                collections = fetch(COLLECTIONS, temporary / "fetched" / "library")
            except ServerError as error:
                raise NoPlugin(str(error)) from error
            with zipfile.ZipFile(plugin) as archive:
                archive.extractall(folder)
            shutil.copy(collections, folder)
            shutil.rmtree(temporary / "fetched")
            _cut_extensions(folder / "plugin-descriptor.properties")
            temporary.rename(target)
    return target


def _cut_extensions(descriptor: Path) -> None:
    """Without those rules there is nothing to extend, and the server would refuse the plugin."""
    lines = descriptor.read_text().splitlines(keepends=True)
    descriptor.write_text("".join(line for line in lines if not line.startswith("extended.")))


def _secure(server: Server, home: Path) -> None:
    """Certificates, settings and the first users, in the server's own config folder."""
    folder = server.config / PLUGIN
    shutil.copytree(home / "plugins" / PLUGIN / "config", folder)
    _write(folder / "roles_mapping.yml", "rolesmapping", {"all_access": {"users": [USERNAME]}})
    settings = _certificates(server.config) | {
        "plugins.security.allow_default_init_securityindex": True,
        "plugins.security.restapi.roles_enabled": ["all_access"],
        "plugins.security.audit.type": "noop",
    }
    (server.config / "opensearch.yml").write_text(yaml.safe_dump(settings))
    server.ca = server.config / "ca.pem"
    server.username, server.password = USERNAME, PASSWORD
    server._open = _opener(server.ca)
    give_to(server.config, account())


def _write(path: Path, kind: str, entries: Mapping[str, Any]) -> None:
    meta = {"_meta": {"type": kind, "config_version": 2}}
    path.write_text(yaml.safe_dump({**meta, **entries}))


def _certificates(config: Path) -> dict[str, Any]:
    """One certificate for both layers."""
    authority = trustme.CA()
    own = authority.issue_cert(
        "localhost",
        "127.0.0.1",
        common_name="node",
        organization_name="esdedup",
        organization_unit_name="tests",
    )
    authority.cert_pem.write_to_path(str(config / "ca.pem"))
    (config / "node.pem").write_bytes(b"".join(blob.bytes() for blob in own.cert_chain_pems))
    key = serialization.load_pem_private_key(own.private_key_pem.bytes(), None)
    (config / "node.key").write_bytes(
        key.private_bytes(  # PKCS #8: the plugin reads nothing else
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    files = {
        "pemcert_filepath": "node.pem",
        "pemkey_filepath": "node.key",
        "pemtrustedcas_filepath": "ca.pem",
    }
    settings: dict[str, Any] = {
        f"plugins.security.ssl.{layer}.{name}": file
        for layer in ("transport", "http")
        for name, file in files.items()
    }
    return settings | {
        "plugins.security.ssl.http.enabled": True,
        "plugins.security.ssl.transport.enforce_hostname_verification": False,
        "plugins.security.nodes_dn": ["CN=node,*"],
    }
