"""Documents of an embedded store: a row of `documents` with its rows of `fulltext` and `keys`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from esdedup.model import Decision, microseconds, rank_of, time_of
from esdedup.model.batching import batched
from esdedup.model.queries import By
from esdedup.stores.ports import Record, WriteReport
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.rows import (
    RECORD_COLUMNS,
    clock,
    decision_columns,
    key_numbers,
    marks,
    numbers_by_method,
    record_from,
    row_of,
)
from esdedup.stores.sqlite.topic_index import forget
from esdedup.stores.topical import Clock
from esdedup.text.fulltext import fold_for_index

_EARLIEST = -(1 << 62)


@dataclass(frozen=True, slots=True)
class SQLiteDocuments:
    """Implements the `Documents` port."""

    database: Database
    refuses_existing_ids: bool = False

    # --- reading -------------------------------------------------------------------------------

    def get(self, ids: Iterable[str]) -> dict[str, Record]:
        return {r.document.id: r for r in self._records("id", list(ids))}

    def members(self, value: str, by: By = "group") -> list[Record]:
        return sorted(self._records(f'"{by}"', [value]), key=lambda r: r.order)

    def _records(self, column: str, values: Sequence[str]) -> list[Record]:
        with self.database.errors():
            return [
                record_from(row)
                for part in batched(values)
                for row in self.database.db.execute(
                    f"SELECT {RECORD_COLUMNS} FROM documents WHERE {column} IN ({marks(part)})",
                    part,
                )
            ]

    def ids_in(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        earliest = _EARLIEST if since is None else since
        with self.database.errors():
            for part in batched(values):
                rows = self.database.db.execute(
                    f"""SELECT id, "{by}" FROM documents
                        WHERE "{by}" IN ({marks(part)}) AND moment >= ?""",
                    (*part, earliest),
                )
                found.update((id_, value) for id_, value in rows)
        return found

    def changed_ids(self, since: datetime | None = None) -> set[str]:
        low = _EARLIEST if since is None else microseconds(since)
        with self.database.errors():
            rows = self.database.db.execute("SELECT id FROM documents WHERE changed >= ?", (low,))
            return {id_ for (id_,) in rows}

    def scan_by_time(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        with self.database.errors():
            rows = self.database.db.execute(
                f"SELECT id FROM documents WHERE {clock} >= ? ORDER BY {clock}, id", (low,)
            )
            ids = [id_ for (id_,) in rows]
        for part in batched(ids):
            records = self.get(part)
            yield [records[id_] for id_ in part if id_ in records]

    def latest(self, clock: Clock) -> int | None:
        with self.database.errors():
            row = self.database.db.execute(f"SELECT max({clock}) FROM documents").fetchone()
        return None if row[0] is None else int(row[0])

    # --- writing -------------------------------------------------------------------------------

    def put(self, records: Sequence[Record]) -> WriteReport:
        db = self.database.db
        with self.database.transaction():
            self._remove([r.document.id for r in records])
            (top,) = db.execute("SELECT coalesce(max(seq), 0) FROM documents").fetchone()
            numbered = list(enumerate(records, top + 1))
            rows = [row_of(record, seq) for seq, record in numbered]
            if rows:
                db.executemany(f"INSERT INTO documents VALUES ({marks(rows[0])})", rows)
            db.executemany(
                "INSERT INTO fulltext (rowid, title, text) VALUES (?, ?, ?)",
                [
                    (seq, fold_for_index(r.document.title), fold_for_index(r.document.text))
                    for seq, r in numbered
                ],
            )
            db.executemany("INSERT INTO keys VALUES (?, ?, ?)", _key_rows(numbered))
        return WriteReport()

    def relink(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        conflicts = set()
        with self.database.transaction():
            for record, decision in changes:
                cursor = self.database.db.execute(
                    """UPDATE documents SET role = ?, "group" = ?, story = ?, parent = ?, score = ?,
                       method = ?, reason = ?, evidence = ?, branch = ?, changed = ?,
                       version = version + 1 WHERE id = ? AND version = ?""",
                    (
                        *decision_columns(decision),
                        decision.branch,
                        clock(),
                        record.document.id,
                        record.version,
                    ),
                )
                if not cursor.rowcount:
                    conflicts.add(record.document.id)
                elif decision.link.is_representative != record.decision.link.is_representative:
                    self._set_leader(record, leader=decision.link.is_representative)
        return WriteReport(conflicts=frozenset(conflicts))

    def _set_leader(self, record: Record, *, leader: bool) -> None:
        db = self.database.db
        (seq,) = db.execute(
            "SELECT seq FROM documents WHERE id = ?", (record.document.id,)
        ).fetchone()
        for keys in record.signature.keys.values():
            db.execute(
                f"UPDATE keys SET leader = ? WHERE key IN ({marks(keys)}) AND leader = ? "
                "AND seq = ?",
                (int(leader), *key_numbers(keys), int(not leader), seq),
            )

    def rewrite(self, records: Sequence[Record]) -> WriteReport:
        with self.database.transaction():
            conflicts = {r.document.id for r in records if not self._rewrite(r)}
        return WriteReport(conflicts=frozenset(conflicts))

    def _rewrite(self, record: Record) -> bool:
        """Returns False if the document was written since it was read."""
        db, id_, signature = self.database.db, record.document.id, record.signature
        row = db.execute(
            "SELECT seq, keys FROM documents WHERE id = ? AND version = ?", (id_, record.version)
        ).fetchone()
        if row is None:
            return False
        keys = json.dumps(dict(signature.keys))
        db.execute(
            """UPDATE documents SET moment = ?, rank = ?, format = ?, keys = ?, kept = ?, words = ?,
               exact = ?, shingles = x'', numbers = '', changed = ?, version = version + 1
               WHERE seq = ?""",
            (
                time_of(record.order[0]),
                rank_of(record.order[0]),
                signature.format,
                keys,
                json.dumps(dict(signature.query_seed)) if signature.query_seed else None,
                signature.words,
                signature.digest,
                clock(),
                row["seq"],
            ),
        )
        if row["keys"] != keys:
            self._delete_keys(row["seq"], row["keys"])
            db.executemany("INSERT INTO keys VALUES (?, ?, ?)", _key_rows([(row["seq"], record)]))
        return True

    def delete(
        self, ids: Iterable[str], is_wanted: Callable[[Record], bool] = lambda record: True
    ) -> set[str]:
        with self.database.transaction():
            given = list(ids)
            kept = {id_ for id_, record in self.get(given).items() if not is_wanted(record)}
            wanted = [id_ for id_ in given if id_ not in kept]
            for table in ("quarantine", "revisions"):
                self.database.db.executemany(
                    f"DELETE FROM {table} WHERE id = ?", [(id_,) for id_ in wanted]
                )
            return self._remove(wanted)

    def _remove(self, ids: Sequence[str]) -> set[str]:
        db, removed = self.database.db, set()
        for part in batched(ids):
            rows = db.execute(
                f"SELECT seq, id, title, text, keys FROM documents WHERE id IN ({marks(part)})",
                part,
            ).fetchall()
            forget(db, [row["seq"] for row in rows])
            for row in rows:
                removed.add(row["id"])
                self._delete_keys(row["seq"], row["keys"])
                db.execute(
                    "INSERT INTO fulltext (fulltext, rowid, title, text) "
                    "VALUES ('delete', ?, ?, ?)",
                    (row["seq"], fold_for_index(row["title"]), fold_for_index(row["text"])),
                )
                db.execute("DELETE FROM documents WHERE seq = ?", (row["seq"],))
        return removed

    def _delete_keys(self, seq: int, stored: str) -> None:
        self.database.db.executemany(
            "DELETE FROM keys WHERE key = ? AND leader IN (0, 1) AND seq = ?",
            [(key, seq) for own in json.loads(stored).values() for key in key_numbers(own)],
        )


def _key_rows(numbered: Sequence[tuple[int, Record]]) -> list[tuple[int, int, int]]:
    """In the order of the tree, so that neighbours are written together."""
    keys = numbers_by_method([record.signature.keys for _, record in numbered])
    return sorted(
        (key, int(record.decision.link.is_representative), seq)
        for (seq, record), own in zip(numbered, keys, strict=True)
        for numbers in own.values()
        for key in numbers
    )
