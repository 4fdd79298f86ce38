"""Finds documents of an embedded store that share keys with others: candidates and successors."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from esdedup.matching.canonical_order import is_by_time
from esdedup.model import Candidate, rank_of, time_of
from esdedup.model.batching import batched
from esdedup.stores.ports import MAX_CANDIDATES, CandidateQuery
from esdedup.stores.sqlite.database import Database
from esdedup.stores.sqlite.rows import candidate_from, marks, numbers_by_method

# Row numbers in 8 bytes each: a key that many articles share must not fill the memory.
Postings: TypeAlias = "dict[int, array[int]]"
# The keys of a query by method, as numbers.
Numbers: TypeAlias = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class SQLiteCandidates:
    """Implements the `CandidateIndex` port."""

    database: Database

    def find(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        with self.database.errors():
            all_numbers = numbers_by_method([query.keys for query in queries])
            numbered = list(zip(queries, all_numbers, strict=True))
            postings = {
                only: self._postings(
                    [numbers for q, numbers in numbered if q.representatives_only == only],
                    representatives_only=only,
                )
                for only in {q.representatives_only for q in queries}
            }
            return [
                self._read_candidates(
                    query, query.count_shared(numbers, postings[query.representatives_only])
                )
                for query, numbers in numbered
            ]

    def _read_candidates(
        self, query: CandidateQuery, shared: dict[int, dict[str, int]]
    ) -> list[Candidate]:
        if not shared:
            return []
        low, high = _bounds(query, query.window)
        with_keys = self.database.settings.verified_by != "overlap"
        found = [
            candidate_from(row, shared[row["seq"]], json.loads(row["keys"]) if with_keys else {})
            for part in batched(shared)
            for row in self.database.db.execute(
                f"""SELECT seq, id, title, text, url, source, lang, moment, role, "group", story,
                           parent, format, words, exact, keys, kept, branch, rank
                    FROM documents WHERE seq IN ({marks(part)})
                    AND (rank, moment, id) < (?, ?, ?) AND moment BETWEEN ? AND ? AND id != ?""",
                (*part, *_sort_key(query), low, high, query.id),
            )
        ]
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:MAX_CANDIDATES]

    def _postings(self, numbers: Sequence[Numbers], *, representatives_only: bool) -> Postings:
        """Key -> row numbers, for every key of the queries that is stored.

        All keys in their order, so that the tree is walked once from left to right: one query
        after the other, each key is in another part of it, and the more of it there is the less
        of it is in the caches of the processor. As JSON they are one statement, read as it is
        walked; `IN` would first make a tree of them.
        """
        wanted = sorted({key for own in numbers for keys in own.values() for key in keys})
        which = "leader = 1" if representatives_only else "leader IN (0, 1)"
        postings: Postings = {}
        for key, seq in self.database.db.execute(
            "SELECT k.key, k.seq FROM json_each(?) AS wanted "
            f"CROSS JOIN keys AS k ON k.key = wanted.value AND k.{which}",
            (json.dumps(wanted),),
        ):
            if (rows := postings.get(key)) is None:
                rows = postings[key] = array("q")
            rows.append(seq)
        return postings

    def successors(self, queries: Sequence[CandidateQuery]) -> set[str]:
        with self.database.errors():
            (latest,) = self.database.db.execute("SELECT max(moment) FROM documents").fetchone()
            found: set[str] = set()
            # Articles that come in order have nobody after them.
            by_time = is_by_time(self.database.settings)
            relevant = [
                q for q in queries if latest is not None and (not by_time or q.order[0] <= latest)
            ]
            numbers = numbers_by_method([query.keys for query in relevant])
            postings = self._postings(numbers, representatives_only=False)
            for query, own in zip(relevant, numbers, strict=True):
                shared = list(query.count_shared(own, postings))
                low, high = _bounds(query, query.reach)
                for part in batched(shared):
                    rows = self.database.db.execute(
                        f"""SELECT id FROM documents WHERE seq IN ({marks(part)})
                            AND (rank, moment, id) > (?, ?, ?) AND moment BETWEEN ? AND ?""",
                        (*part, *_sort_key(query), low, high),
                    )
                    found.update(id_ for (id_,) in rows)
            return found

    def dependents(self, ids: Iterable[str]) -> set[str]:
        with self.database.errors():
            return {
                id_
                for part in batched(ids)
                for (id_,) in self.database.db.execute(
                    f"""SELECT id FROM documents WHERE "group" IN ({marks(part)}) AND "group" != id
                        UNION SELECT id FROM documents WHERE parent IN ({marks(part)})""",
                    (*part, *part),
                )
            }


def _sort_key(query: CandidateQuery) -> tuple[int, int, str]:
    place, id_ = query.order
    return rank_of(place), time_of(place), id_


def _bounds(query: CandidateQuery, window: int) -> tuple[int, int]:
    if not window:
        return -(1 << 62), 1 << 62
    time = time_of(query.order[0])
    return time - window, time + window
