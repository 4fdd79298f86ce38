"""How an embedded store is: counts, keys that are everywhere, broken invariants."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from esdedup.settings import Settings
from esdedup.stores import MANY_HOT_KEYS
from esdedup.stores.sqlite.rows import key_numbers

TOPICS_OF_NOBODY = "SELECT seq FROM topics WHERE seq NOT IN (SELECT seq FROM documents)"

_INVARIANTS = (
    (
        "group without an original",
        """SELECT DISTINCT d."group" FROM documents d LEFT JOIN documents o ON o.id = d."group"
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
        "keys of a missing document",
        "SELECT DISTINCT seq FROM keys WHERE seq NOT IN (SELECT seq FROM documents)",
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
    ("topic of a missing document", TOPICS_OF_NOBODY),
)

# The documents behind the sentences of _INVARIANTS.
MISPLACED = (
    """SELECT d.id FROM documents d LEFT JOIN documents o ON o.id = d."group"
       WHERE o.id IS NULL OR o."group" != o.id OR o.role = 'duplicate' OR d.story != o.story
       OR (d.role = 'original' AND d.story != d.id)
       OR (d.role = 'duplicate') != (d."group" != d.id)""",
    "SELECT id FROM documents WHERE keys != '{}' AND seq NOT IN (SELECT seq FROM keys)",
    """SELECT DISTINCT d.id FROM keys k JOIN documents d USING (seq)
       WHERE k.leader != (d.role != 'duplicate' OR d.branch)""",
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
class SQLiteHealth:
    """What `stats` and `doctor` ask."""

    db: sqlite3.Connection
    errors: Callable[[], AbstractContextManager[None]]
    settings: Settings

    def stats(self) -> dict[str, Any]:
        with self.errors():
            one = self.db.execute(
                """SELECT count(*) AS documents, count(DISTINCT "group") AS groups,
                          count(DISTINCT story) AS stories FROM documents"""
            ).fetchone()
            roles = Counter(
                dict(self.db.execute("SELECT role, count(*) FROM documents GROUP BY role"))
            )
            (waiting,) = self.db.execute("SELECT count(*) FROM quarantine").fetchone()
            (pages,) = self.db.execute("PRAGMA page_count").fetchone()
            (page,) = self.db.execute("PRAGMA page_size").fetchone()
        return {
            **dict(one),
            "roles": {r: roles[r] for r in ("original", "duplicate", "update", "unprocessed")},
            "quarantine": waiting,
            "bytes": pages * page,
            "format": self.settings.fingerprint_of_format(),
        }

    def hot_keys(self, above: int) -> dict[str, int]:
        with self.errors():
            # The texts of keys are with the documents that have them.
            rows = self.db.execute(
                """SELECT hot.key, n, d.keys FROM
                   (SELECT key, count(*) AS n, min(seq) AS seq FROM keys WHERE leader = 1
                    GROUP BY key HAVING n > ? ORDER BY n DESC, key LIMIT ?) AS hot
                   JOIN documents d USING (seq)""",
                (above, MANY_HOT_KEYS),
            )
            found = {_text_of(number, json.loads(keys)): n for number, n, keys in rows}
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def check(self) -> list[str]:
        """The file itself, then the invariants of groups and keys."""
        with self.errors():
            problems = [
                f"the file is damaged: {row[0]}"
                for row in self.db.execute("PRAGMA quick_check")
                if row[0] != "ok"
            ]
            for sentence, query in _INVARIANTS:
                broken = [row[0] for row in self.db.execute(query + " LIMIT 5")]
                if broken:
                    problems.append(f"{sentence}: {', '.join(map(str, broken))}")
            formats = dict(
                self.db.execute(
                    "SELECT format, count(*) FROM documents WHERE role != 'unprocessed' "
                    "GROUP BY format"
                )
            )
        mine = self.settings.fingerprint_of_format()
        problems += [
            f"{n} documents have format {f}, the settings say {mine}: index them again"
            for f, n in formats.items()
            if f != mine
        ]
        return problems
