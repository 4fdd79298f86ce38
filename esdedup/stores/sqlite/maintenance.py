"""Figures, over-frequent keys and broken invariants of an embedded store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esdedup.model import JSON
from esdedup.model.queries import By
from esdedup.stores.ports import MAX_FREQUENT_KEYS
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.documents import SQLiteDocuments
from esdedup.stores.sqlite.rows import key_numbers, marks
from esdedup.stores.sqlite.topic_index import forget

_PAGE = 500
# Roles of the first document of a story.
_ROOTS = "('original', 'unprocessed')"
_ORPHANED_TOPICS = "SELECT seq FROM topics WHERE seq NOT IN (SELECT seq FROM documents)"

# What must not be, and a query for it: what the sentence names, and last the id of a document whose
# links or keys have to be written again.
_BROKEN = (
    (
        "group without an original",
        """SELECT d."group", d.id FROM documents d LEFT JOIN documents o ON o.id = d."group"
           WHERE o.id IS NULL OR o."group" != o.id OR o.role = 'duplicate'""",
    ),
    (
        "leader outside its own group",
        """SELECT id FROM documents WHERE role != 'duplicate' AND "group" != id""",
    ),
    (
        "duplicate that leads",
        """SELECT id FROM documents WHERE role = 'duplicate' AND "group" = id""",
    ),
    (
        "story other than its group's",
        """SELECT d.id FROM documents d JOIN documents o ON o.id = d."group"
           WHERE d.story != o.story OR (d.role = 'original' AND d.story != d.id)""",
    ),
    (
        "document without its keys",
        "SELECT id FROM documents WHERE keys != '{}' AND seq NOT IN (SELECT seq FROM keys)",
    ),
    (
        "keys that attract for a copy, or do not for a leader",
        """SELECT DISTINCT d.id FROM keys k JOIN documents d USING (seq)
           WHERE k.leader != (d.role != 'duplicate' OR d.branch)""",
    ),
)
# Rows that belong to no document.
_ORPHANED = (
    (
        "keys of a missing document",
        "SELECT DISTINCT seq FROM keys WHERE seq NOT IN (SELECT seq FROM documents)",
    ),
    ("topic of a missing document", _ORPHANED_TOPICS),
)


def _text_of(number: int, keys: Mapping[str, Sequence[str]]) -> str:
    """The key of a document that has this number."""
    return next(
        key
        for own in keys.values()
        for key, its in zip(own, key_numbers(own), strict=True)
        if its == number
    )


@dataclass(frozen=True, slots=True)
class SQLiteMaintenance:
    """Implements the `Maintenance` port."""

    database: Database
    documents: SQLiteDocuments

    @property
    def foreign_index(self) -> None:
        """Every article in the file is signed."""
        return None

    def record_settings(self) -> None:
        self.database.record_settings(self.database.settings)

    def read_state(self, name: str) -> JSON | None:
        return self.database.read_meta(name)

    def write_state(self, name: str, values: JSON | None) -> None:
        self.database.write_meta(name, values)

    def own_bytes(self, ids: Sequence[str]) -> int:
        with self.database.errors():
            (total,) = self.database.db.execute(
                f"""SELECT total(length(keys) + length(shingles) + length(numbers)
                        + length(evidence) + length(exact) + coalesce(length(kept), 0))
                    FROM documents WHERE id IN ({marks(ids)})""",
                tuple(ids),
            ).fetchone()
        return int(total)

    def stats(self) -> dict[str, Any]:
        with self.database.errors():
            one = self.database.db.execute(
                """SELECT count(*) AS documents, count(DISTINCT "group") AS groups,
                          count(DISTINCT story) AS stories FROM documents"""
            ).fetchone()
            roles = Counter(
                dict(self.database.db.execute("SELECT role, count(*) FROM documents GROUP BY role"))
            )
            (waiting,) = self.database.db.execute("SELECT count(*) FROM quarantine").fetchone()
            (pages,) = self.database.db.execute("PRAGMA page_count").fetchone()
            (page,) = self.database.db.execute("PRAGMA page_size").fetchone()
        return {
            **dict(one),
            "roles": {r: roles[r] for r in ("original", "duplicate", "update", "unprocessed")},
            "quarantine": waiting,
            "bytes": pages * page,
            "format": self.database.settings.fingerprint_of_format(),
        }

    def over_frequent_keys(self, above: int) -> dict[str, int]:
        with self.database.errors():
            # The texts of keys are with the documents that have them.
            rows = self.database.db.execute(
                """SELECT frequent.key, n, d.keys FROM
                   (SELECT key, count(*) AS n, min(seq) AS seq FROM keys WHERE leader = 1
                    GROUP BY key HAVING n > ? ORDER BY n DESC, key LIMIT ?) AS frequent
                   JOIN documents d USING (seq)""",
                (above, MAX_FREQUENT_KEYS),
            )
            found = {_text_of(number, json.loads(keys)): n for number, n, keys in rows}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def find_problems(self) -> list[str]:
        """The file itself, then the invariants of groups and keys."""
        with self.database.errors():
            problems = [
                f"the file is damaged: {row[0]}"
                for row in self.database.db.execute("PRAGMA quick_check")
                if row[0] != "ok"
            ]
            for sentence, query in (*_BROKEN, *_ORPHANED):
                rows = self.database.db.execute(query + " LIMIT 5")
                if named := dict.fromkeys(str(row[0]) for row in rows):
                    problems.append(f"{sentence}: {', '.join(named)}")
            formats = dict(
                self.database.db.execute(
                    "SELECT format, count(*) FROM documents WHERE role != 'unprocessed' "
                    "GROUP BY format"
                )
            )
        mine = self.database.settings.fingerprint_of_format()
        problems += [
            f"{n} documents have format {f}, the settings say {mine}: index them again"
            for f, n in formats.items()
            if f != mine
        ]
        return problems

    def repair_keys(self) -> set[str]:
        db = self.database.db
        with self.database.transaction():
            db.execute("DELETE FROM keys WHERE seq NOT IN (SELECT seq FROM documents)")
            forget(db, [seq for (seq,) in db.execute(_ORPHANED_TOPICS)])
            broken = {row[-1] for _, query in _BROKEN for row in db.execute(query)}
        # A document without its keys has them in its own row: written again, it gets them back.
        self.documents.put(list(self.documents.get(broken).values()))
        return broken

    def find_older(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        """By row number, so that deletions between two pages skip nothing."""
        roles = {None: "", "group": "AND role != 'duplicate'", "story": f"AND role IN {_ROOTS}"}
        with_keys = "AND (keys != '{}' OR kept IS NOT NULL)" if keyed else ""
        last = -1
        while True:
            with self.database.errors():
                rows = self.database.db.execute(
                    f"""SELECT seq, id FROM documents WHERE seq > ? AND moment < ?
                        {roles[leading]} {with_keys} ORDER BY seq LIMIT ?""",
                    (last, before, _PAGE),
                ).fetchall()
            if not rows:
                return
            last = rows[-1]["seq"]
            yield [row["id"] for row in rows]
