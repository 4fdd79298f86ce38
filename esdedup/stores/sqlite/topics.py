"""Documents of an embedded store by what they are about, and in the order of time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from esdedup.stores import Record
from esdedup.stores.sqlite.rows import RECORD_COLUMNS, chunks, marks, record_from
from esdedup.stores.topical import RANKED_PER_RESULT, Asked, Clock, any_word


@dataclass(frozen=True, slots=True)
class SQLiteTopics:
    db: sqlite3.Connection
    errors: Callable[[], AbstractContextManager[None]]
    get_many: Callable[[Iterable[str]], dict[str, Record]]

    def topical(self, asked: Asked) -> list[Record]:
        expression = any_word(asked.words)
        if not expression:
            return []
        with self.errors():
            few = RANKED_PER_RESULT * asked.size
            ranked = self._ranked_by_words(expression, few)
            records = self._leaders(ranked, asked)
            if len(records) < asked.size and len(ranked) == few:  # copies of a few fill it
                records = self._leaders(self._ranked_by_words(expression, -1), asked)
        return records[: asked.size]

    def _ranked_by_words(self, expression: str, size: int) -> dict[int, float]:
        """Row numbers, best first: the index alone, since rows of whole articles are dear."""
        rows = self.db.execute(
            "SELECT rowid, bm25(fulltext, 2.0, 1.0) AS badness FROM fulltext "
            "WHERE fulltext MATCH ? ORDER BY badness, rowid LIMIT ?",
            (expression, size),
        )
        return {row[0]: row[1] for row in rows}

    def _leaders(self, ranked: dict[int, float], asked: Asked) -> list[Record]:
        """Those of them that lead a group in the span of time, some more than asked for."""
        found: list[Record] = []
        for part in chunks(list(ranked)):
            rows = self.db.execute(
                f"""SELECT seq, {RECORD_COLUMNS} FROM documents WHERE seq IN ({marks(part)})
                    AND role != 'duplicate' AND moment BETWEEN ? AND ? AND "group" != ?""",
                (*part, asked.low, asked.high, asked.group),
            ).fetchall()
            rows.sort(key=lambda row: (ranked[row["seq"]], row["moment"], row["id"]))
            found += [record_from(row) for row in rows[: asked.size]]
            if len(found) >= asked.size:
                break
        return found

    def in_order(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        with self.errors():
            rows = self.db.execute(
                f"SELECT id FROM documents WHERE {clock} >= ? ORDER BY {clock}, id", (low,)
            )
            ids = [id_ for (id_,) in rows]
        for part in chunks(ids):
            records = self.get_many(part)
            yield [records[id_] for id_ in part if id_ in records]

    def latest(self, clock: Clock) -> int | None:
        with self.errors():
            (value,) = self.db.execute(f"SELECT max({clock}) FROM documents").fetchone()
        return None if value is None else int(value)
