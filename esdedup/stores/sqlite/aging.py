"""Old documents of an embedded store, for `retention`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from esdedup.model.queries import By

_PAGE = 500
# Roles of the first document of a story.
_ROOTS = "('original', 'unprocessed')"


@dataclass(frozen=True, slots=True)
class SQLiteAging:
    db: sqlite3.Connection
    errors: Callable[[], AbstractContextManager[None]]

    def aged(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        """Row by row number, so that what goes away on the way is not missed for it."""
        roles = {None: "", "group": "AND role != 'duplicate'", "story": f"AND role IN {_ROOTS}"}
        with_keys = "AND (keys != '{}' OR kept IS NOT NULL)" if keyed else ""
        last = -1
        while True:
            with self.errors():
                rows = self.db.execute(
                    f"""SELECT seq, id FROM documents WHERE seq > ? AND moment < ?
                        {roles[leading]} {with_keys} ORDER BY seq LIMIT ?""",
                    (last, before, _PAGE),
                ).fetchall()
            if not rows:
                return
            last = rows[-1]["seq"]
            yield [row["id"] for row in rows]

    def gathered(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        earliest = -(1 << 62) if since is None else since
        with self.errors():
            for start in range(0, len(values), _PAGE):
                part = values[start : start + _PAGE]
                marks = ", ".join("?" * len(part))
                rows = self.db.execute(
                    f"""SELECT id, "{by}" FROM documents
                        WHERE "{by}" IN ({marks}) AND moment >= ?""",
                    (*part, earliest),
                )
                found.update((id_, value) for id_, value in rows)
        return found
