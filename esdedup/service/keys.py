"""API keys: who may read, write or administer.

A key is `esdedup_NAME_SECRET`. The file holds the SHA-256 of each secret, never the secret: 256
random bits need no slow hash, and their digest says nothing about them. Several keys are valid at
once, so a key is changed by adding another, moving the clients, and revoking the old one; the
service reads the file again when it changes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from esdedup.errors import InputError, SettingsError
from esdedup.model import iso, parse_time
from esdedup.model.json_form import JsonField, Result

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_log = logging.getLogger("esdedup.service")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_KEY = re.compile(r"esdedup_([a-z0-9][a-z0-9-]{0,39})_([A-Za-z0-9_-]{43})")
# Compared with where a name is unknown, so that an answer takes as long as for a known one.
_NOBODY = hashlib.sha256(secrets.token_bytes(32)).hexdigest()


@dataclass(frozen=True, slots=True)
class Key(Result):
    """One entry of the file. A scope includes those before it: write reads, admin writes."""

    name: str
    scope: Scope
    digest: Annotated[str, JsonField(hidden=True)]
    created: str
    expires: str | None = None

    def allows(self, needed: Scope) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(needed)

    def is_expired(self, now: datetime) -> bool:
        end = parse_time(self.expires)
        return end is not None and now >= end


def read_keys(path: Path) -> dict[str, Key]:
    """Keys by name; a file that cannot be understood is an error, never no keys."""
    try:
        raw = json.loads(path.read_text("utf-8"))
        keys = [Key(**entry) for entry in raw["keys"]]
        for key in keys:
            parse_time(key.expires)
            bytes.fromhex(key.digest)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SettingsError(
            f"{path}: cannot be read as a file of keys ({type(error).__name__}); `esdedup keys "
            "add` writes one"
        ) from error
    if any(key.scope not in SCOPES for key in keys):
        raise SettingsError(f"{path}: a scope is none of {', '.join(SCOPES)}")
    return {key.name: key for key in keys}


def add_key(path: Path, name: str, scope: Scope, expires: datetime | None = None) -> str:
    """Make a key; returns it whole, which nobody can do again."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for a key; take small letters, digits and -, 40 at most"
        )
    keys = read_keys(path)
    if name in keys:
        raise InputError(f"there is a key {name} already; revoke it or take another name")
    secret = secrets.token_urlsafe(32)
    now = iso(datetime.now(UTC).replace(microsecond=0))
    ends = None if expires is None else iso(expires)
    _write(path, [*keys.values(), Key(name, scope, _digest(secret), now, ends)])
    return f"esdedup_{name}_{secret}"


def revoke_key(path: Path, name: str) -> None:
    keys = read_keys(path)
    if name not in keys:
        raise InputError(f"there is no key {name} in {path}; `esdedup keys list` shows them")
    _write(path, [key for key in keys.values() if key.name != name])


def _write(path: Path, keys: Iterable[Key]) -> None:
    """All or nothing, and for nobody else's eyes."""
    text = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".keys-")  # made with mode 600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys of a file, as it is now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}
        self._refresh()

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, given: str) -> Key | None:
        """The key, where it is valid. Digests are compared in constant time."""
        try:
            self._refresh()
        except SettingsError as error:  # until somebody mends the file no key is valid
            _log.error("%s", error)
        parts = _KEY.fullmatch(given)
        name, secret = parts.groups() if parts else ("", given)
        key = self._keys.get(name)
        known = key.digest if key is not None else _NOBODY
        matches = hmac.compare_digest(_digest(secret.encode("utf-8", "replace").decode()), known)
        if key is None or not matches or key.is_expired(datetime.now(UTC)):
            return None
        return key

    def scope_of(self, name: str) -> Scope:
        return self._keys[name].scope

    def _refresh(self) -> None:
        """A stat a request; the file is read only where it changed."""
        try:
            state = self._path.stat()
        except FileNotFoundError:  # all keys are gone with it
            self._seen, self._keys = None, {}
            return
        seen = (state.st_mtime_ns, state.st_size, state.st_ino)
        if seen != self._seen:
            self._seen, self._keys = seen, {}
            self._keys = read_keys(self._path)
