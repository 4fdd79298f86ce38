"""The checkpoint of a watch: how far it got, what it has seen and what it has reported."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Self

from esdedup.errors import InputError, StoreUnavailable
from esdedup.maintenance.backfill import OVERLAP
from esdedup.stores import Record


class Checkpoint:
    """A small SQLite file that belongs to one store: how far it was read, which articles were seen,
    which notifications were reported.
    """

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _get(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit what is recorded inside it if the lines were written, else nothing."""
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

    def advance(self, moment: datetime) -> None:
        """Record that everything written before was read; forget articles seen long ago."""
        with self.transaction():
            self._put("since", moment.isoformat())
            oldest = (moment - 2 * OVERLAP).isoformat()
            self._db.execute("DELETE FROM seen WHERE at < ?", (oldest,))

    def find_unseen(self, records: Iterable[Record]) -> list[Record]:
        """The records that were not seen yet with this text."""
        out = []
        for record in records:
            row = self._db.execute(
                "SELECT text FROM seen WHERE id = ?", (record.document.id,)
            ).fetchone()
            if row is None or row[0] != _digest(record):
                out.append(record)
        return out

    def mark_seen(self, records: Iterable[Record], now: datetime) -> None:
        self._db.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?)",
            [(r.document.id, _digest(r), now.isoformat()) for r in records],
        )

    def is_reported(self, id_: str) -> bool:
        return bool(self._db.execute("SELECT 1 FROM told WHERE id = ?", (id_,)).fetchone())

    def mark_reported(self, ids: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO told VALUES (?)", [(id_,) for id_ in ids])

    def protected_ids(self) -> set[str]:
        """Articles of the store that were found to be protected."""
        return {id_ for (id_,) in self._db.execute("SELECT id FROM protected")}

    def protect(self, ids: Iterable[str]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO protected VALUES (?)", [(i,) for i in ids])

    def has_scanned(self, rule: str) -> bool:
        """Whether the whole store was searched for the articles that this rule protects."""
        return self._get("rule") == rule

    def mark_scanned(self, rule: str) -> None:
        self._put("rule", rule)


# The table names are part of the file: `told` holds the ids of reported notifications.
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY, text TEXT, at TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS told (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS protected (id TEXT PRIMARY KEY) WITHOUT ROWID;
"""


def _digest(record: Record) -> str:
    return sha256_hex(f"{record.document.title}\0{record.document.text}")[:24]


def sha256_hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
