"""Keys of one more method for the documents of an embedded store.

Only these keys are written, and what the method keeps beside them; texts, links and the keys of
other methods stay. `maintenance.enable_method` has the order of the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from esdedup.model import JSON, microseconds
from esdedup.settings import Settings
from esdedup.stores.ports import Addition, Record, Waiting, WriteReport
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.rows import RECORD_COLUMNS, key_numbers, record_from

_STATE = "added-method"


class SQLiteKeyBackfill:
    """See `ports.KeyBackfill`."""

    def __init__(self, database: Database, method: str, size: int) -> None:
        self._database = database
        self._db = database.db
        self._method = method
        self._size = size

    def count(self) -> int:
        query = f"SELECT count(*) FROM documents WHERE {self._lacking_clause()}"
        with self._database.errors():
            (found,) = self._db.execute(query).fetchone()
        return int(found)

    def pages(self, *, everything: bool, since: datetime | None) -> Iterator[list[Waiting]]:
        wanted = "role != 'unprocessed'" if everything else self._lacking_clause()
        last, oldest = -1, microseconds(since) if since else 0
        while True:
            with self._database.errors():
                rows = self._db.execute(
                    f"""SELECT seq, {RECORD_COLUMNS} FROM documents WHERE {wanted}
                        AND seq > ? AND changed >= ? ORDER BY seq LIMIT ?""",
                    (last, oldest, self._size),
                ).fetchall()
            if not rows:
                return
            last = rows[-1]["seq"]
            yield [self._read_waiting(row) for row in rows]

    def write(self, additions: Sequence[Addition]) -> WriteReport:
        conflicts = set()
        with self._database.transaction():
            for addition in additions:
                if not self._write_one(addition):
                    conflicts.add(addition.waiting.handle.document.id)
        return WriteReport(conflicts=frozenset(conflicts))

    def record(self, settings: Settings) -> None:
        self._database.record_settings(settings)

    def state(self) -> JSON | None:
        return self._database.read_meta(_STATE)

    def save(self, state: JSON | None) -> None:
        self._database.write_meta(_STATE, state)

    def _lacking_clause(self) -> str:
        # The name of a method is one of ours, never the user's text.
        return f"role != 'unprocessed' AND json_extract(keys, '$.{self._method}') IS NULL"

    def _read_waiting(self, row: Any) -> Waiting:
        record = record_from(row)
        signature = record.signature
        kept = signature.query_seed.get(self._method, "")
        return Waiting(record.document, signature.keys.get(self._method, ()), kept, record)

    def _write_one(self, addition: Addition) -> bool:
        """Returns False if the document was written since it was read."""
        record: Record = addition.waiting.handle
        keys = _with(record.signature.keys, self._method, addition.keys)
        kept = _with(record.signature.query_seed, self._method, addition.query_seed)
        found = self._db.execute(
            """UPDATE documents SET keys = ?, kept = ?, version = version + 1
               WHERE id = ? AND version = ? RETURNING seq""",
            (
                json.dumps(keys),
                json.dumps(kept) if kept else None,
                record.document.id,
                record.version,
            ),
        ).fetchone()
        if found is None:
            return False
        seq, leader = found["seq"], int(record.decision.link.is_representative)
        self._db.executemany(
            "DELETE FROM keys WHERE key = ? AND leader IN (0, 1) AND seq = ?",
            [(key, seq) for key in key_numbers(addition.waiting.keys)],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO keys VALUES (?, ?, ?)",
            [(key, leader, seq) for key in key_numbers(addition.keys)],
        )
        return True


def _with(values: Any, name: str, value: Any) -> dict[str, Any]:
    """The values with this one under the name; without the name if it is empty."""
    rest = {other: v for other, v in values.items() if other != name}
    return {**rest, name: value} if value else rest
