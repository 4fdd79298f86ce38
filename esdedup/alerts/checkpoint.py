"""What a watch has told of: a checkpoint file, and the lines themselves."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from esdedup.errors import InputError, StoreUnavailable
from esdedup.maintenance.backfill import OVERLAP
from esdedup.model import JSON
from esdedup.stores import Record


class Checkpoint:
    """A small file: how far the store was looked at, what was seen, and what was told."""

    def __init__(self, path: str, store: str) -> None:
        self.path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=60)
            self._db.executescript(_TABLES)
            self._check(store)
        except sqlite3.Error as error:
            raise InputError(
                f"{path} cannot be used as a checkpoint ({error}); name another file"
            ) from error

    def _check(self, store: str) -> None:
        known = self._get("store")
        if known is not None and known != store:
            self._db.close()
            raise InputError(
                f"{self.path} is the checkpoint of {known}, not of {store}; name another file"
            )
        self._put("store", store)

    def close(self) -> None:
        self._db.close()

    def _get(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is told and that it was told, together."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"the checkpoint {self.path} cannot be written ({error}); make room or see who "
                "holds it, and run the same command again"
            ) from error

    @property
    def since(self) -> datetime | None:
        value = self._get("since")
        return None if value is None else datetime.fromisoformat(value)

    def reached(self, moment: datetime) -> None:
        """All that was written before was looked at; what lies far back need not be remembered."""
        with self.transaction():
            self._put("since", moment.isoformat())
            oldest = (moment - 2 * OVERLAP).isoformat()
            self._db.execute("DELETE FROM seen WHERE at < ?", (oldest,))

    def unseen(self, records: Iterable[Record]) -> list[Record]:
        """Without those that were looked at with the same text."""
        out = []
        for record in records:
            row = self._db.execute(
                "SELECT text FROM seen WHERE id = ?", (record.document.id,)
            ).fetchone()
            if row is None or row[0] != _digest(record):
                out.append(record)
        return out

    def saw(self, records: Iterable[Record], now: datetime) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?)",
            [(r.document.id, _digest(r), now.isoformat()) for r in records],
        )

    def is_told(self, id_: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM told WHERE id = ?", (id_,)).fetchone())

    def tell(self, ids: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO told VALUES (?)", [(id_,) for id_ in ids])

    def protected_ids(self) -> set[str]:
        """Articles of the store that are known to be protected."""
        return {id_ for (id_,) in self._db.execute("SELECT id FROM protected")}

    def protect(self, ids: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO protected VALUES (?)", [(i,) for i in ids])

    def scanned_for(self, rule: str) -> bool:
        """Whether the whole store was looked through for what this rule protects."""
        return self._get("rule") == rule

    def scanned(self, rule: str) -> None:
        self._put("rule", rule)


_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, text TEXT, at TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS protected (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""


def _digest(record: Record) -> str:
    return hashed(f"{record.document.title}\0{record.document.text}")[:24]


class Output:
    """Where notifications go: a file that is appended to, or a stream.

    In a file the lines themselves tell what was told: after a crash between a line and the
    checkpoint the line counts, and half a line is cut off.
    """

    def __init__(self, path: Path | None, stream: BinaryIO | None = None) -> None:
        self._path = path
        self._stream = stream

    def told_before(self) -> Iterator[str]:
        """Ids of the notifications in the file; mends its end."""
        if self._path is None or not self._path.exists():
            return
        whole = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                try:
                    yield str(json.loads(line)["notification"])
                except (ValueError, KeyError, TypeError):
                    continue  # a line of somebody else
        if whole < self._path.stat().st_size:
            os.truncate(self._path, whole)

    def write(self, lines: Sequence[JSON]) -> None:
        data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        if self._path is None:
            assert self._stream is not None
            self._stream.write(data.encode())
            self._stream.flush()
            return
        with self._path.open("ab") as file:
            file.write(data.encode())
            file.flush()
            os.fsync(file.fileno())


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
