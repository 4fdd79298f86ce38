"""The quarantine of an embedded store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from esdedup.model import Failure
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.rows import clock, pack_document, unpack_document


@dataclass(frozen=True, slots=True)
class SQLiteQuarantine:
    """Implements the `Quarantine` port."""

    database: Database

    def add(self, failures: Sequence[Failure]) -> None:
        with self.database.transaction():
            self.database.db.executemany(
                "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (f.id, f.where, f.reason, f.final, pack_document(f.document), clock())
                    for f in failures
                ],
            )

    def entries(self) -> list[Failure]:
        with self.database.errors():
            rows = self.database.db.execute("SELECT * FROM quarantine ORDER BY changed, id")
            return [
                Failure(
                    r["id"],
                    r["place"],
                    r["reason"],
                    bool(r["final"]),
                    unpack_document(r["document"]),
                )
                for r in rows
            ]

    def remove(self, ids: Iterable[str]) -> None:
        with self.database.transaction():
            self.database.db.executemany(
                "DELETE FROM quarantine WHERE id = ?", [(id_,) for id_ in ids]
            )
