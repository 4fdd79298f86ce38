"""Documents of an embedded store that share keys: candidates before a document, those after it.

`neighbours` is the same for a cluster.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

from esdedup.matching.canonical_order import is_by_time
from esdedup.model import Candidate, rank_of, time_of
from esdedup.settings import Settings
from esdedup.stores import Probe
from esdedup.stores.sqlite.rows import candidate_from, chunks, key_numbers, marks

# Row numbers in 8 bytes each: a key that many articles share must not fill the memory.
Postings: TypeAlias = "dict[int, array[int]]"
# The keys of a probe by method, as numbers.
Numbers: TypeAlias = dict[str, Sequence[int]]

# Candidates handed to verification; far more than `verified_candidates`.
_MAX_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class SQLiteNeighbours:
    """Who shares enough keys with a document."""

    db: sqlite3.Connection
    errors: Callable[[], AbstractContextManager[None]]
    settings: Settings

    def candidates(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        with self.errors():
            asked = [(probe, _numbers(probe)) for probe in probes]
            postings = {
                only: self._postings(
                    [numbers for p, numbers in asked if p.attracting_only == only],
                    attracting_only=only,
                )
                for only in {p.attracting_only for p in probes}
            }
            return [
                self._verifiable(probe, _shared(probe, numbers, postings[probe.attracting_only]))
                for probe, numbers in asked
            ]

    def _verifiable(self, probe: Probe, shared: dict[int, dict[str, int]]) -> list[Candidate]:
        if not shared:
            return []
        low, high = _bounds(probe, probe.window)
        with_keys = self.settings.verified_by != "overlap"
        found = [
            candidate_from(row, shared[row["seq"]], json.loads(row["keys"]) if with_keys else {})
            for part in chunks(list(shared))
            for row in self.db.execute(
                f"""SELECT seq, id, moment, role, "group", story, parent, format, shingles, words,
                           exact, numbers, signed_lang, keys, kept, branch, rank
                    FROM documents WHERE seq IN ({marks(part)})
                    AND (rank, moment, id) < (?, ?, ?) AND moment BETWEEN ? AND ? AND id != ?""",
                (*part, *_ordered(probe), low, high, probe.id),
            )
        ]
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:_MAX_CANDIDATES]

    def _postings(self, asked: Sequence[Numbers], *, attracting_only: bool) -> Postings:
        """Key -> row numbers, of every key asked for that is stored.

        All keys in their order, so that the tree is walked once from left to right: one probe
        after the other, each key is in another part of it, and the more of it there is the less
        of it is in the caches of the processor. As JSON they are one statement, read as it is
        walked; `IN` would first make a tree of them.
        """
        wanted = sorted({key for own in asked for keys in own.values() for key in keys})
        which = "leader = 1" if attracting_only else "leader IN (0, 1)"
        postings: Postings = {}
        for key, seq in self.db.execute(
            "SELECT k.key, k.seq FROM json_each(?) AS asked "
            f"CROSS JOIN keys AS k ON k.key = asked.value AND k.{which}",
            (json.dumps(wanted),),
        ):
            if (rows := postings.get(key)) is None:
                rows = postings[key] = array("q")
            rows.append(seq)
        return postings

    def later(self, probes: Sequence[Probe]) -> set[str]:
        with self.errors():
            (latest,) = self.db.execute("SELECT max(moment) FROM documents").fetchone()
            found: set[str] = set()
            # Articles that come in order have nobody after them.
            by_time = is_by_time(self.settings)
            asked = [
                p for p in probes if latest is not None and (not by_time or p.order[0] <= latest)
            ]
            numbers = [_numbers(probe) for probe in asked]
            postings = self._postings(numbers, attracting_only=False)
            for probe, own in zip(asked, numbers, strict=True):
                shared = list(_shared(probe, own, postings))
                low, high = _bounds(probe, probe.reach)
                for part in chunks(shared):
                    rows = self.db.execute(
                        f"""SELECT id FROM documents WHERE seq IN ({marks(part)})
                            AND (rank, moment, id) > (?, ?, ?) AND moment BETWEEN ? AND ?""",
                        (*part, *_ordered(probe), low, high),
                    )
                    found.update(id_ for (id_,) in rows)
            return found


def _numbers(probe: Probe) -> Numbers:
    return {method: key_numbers(keys) for method, keys in probe.keys.items()}


def _shared(probe: Probe, numbers: Numbers, postings: Postings) -> dict[int, dict[str, int]]:
    """Row number -> method -> shared keys, where a method has enough of them."""
    shared: dict[int, dict[str, int]] = {}
    for method, keys in numbers.items():
        if postings.keys().isdisjoint(keys):  # nearly always
            continue
        counts: Counter[int] = Counter()
        for key in dict.fromkeys(keys):
            counts.update(postings.get(key, ()))
        for seq, count in counts.items():
            if count >= probe.needed[method]:
                shared.setdefault(seq, {})[method] = count
    return shared


def _ordered(probe: Probe) -> tuple[int, int, str]:
    place, id_ = probe.order
    return rank_of(place), time_of(place), id_


def _bounds(probe: Probe, window: int) -> tuple[int, int]:
    if not window:
        return -(1 << 62), 1 << 62
    time = time_of(probe.order[0])
    return time - window, time + window
