"""Finds documents of a cluster that share keys with others: candidates and successors.

One search lists the keys of a whole batch, and the shared keys are counted here. If a key is in
too many documents, or if the keys of a method match by chance too often, the server counts in a
search for each document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from esdedup.matching.canonical_order import is_by_time
from esdedup.model import JSON, Candidate
from esdedup.model.batching import batched
from esdedup.stores.cluster.constraints import ClusterConstraints
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.msearch import PAGE, Searches
from esdedup.stores.cluster.requests import candidates as candidate_requests
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import searching as search_fields
from esdedup.stores.cluster.requests import topics as topic_requests
from esdedup.stores.ports import CandidateQuery

# Queries whose keys go into one search, and their keys; the engines take 65,536 terms.
_GATHERING = 1_000
_GATHERED_KEYS = 25_000
# If more documents than that share keys with them, some key is in too many: the server counts.
_GATHERED = 4_000
_GATHERED_EACH = 100
# From so many queries on, a second search (for keys that match by chance, or for the number of
# documents) is cheaper than a counting search for each.
_FEW_QUERIES = 4


@dataclass(slots=True)
class ClusterCandidates:
    """Implements the `CandidateIndex` port."""

    searches: Searches
    index: Index
    constraints: ClusterConstraints
    # The latest moment of all documents as of the last refresh; None if there are none.
    _latest: float | None = None
    _is_latest_known: bool = False

    def _with_ranks(self, queries: Sequence[CandidateQuery]) -> Sequence[CandidateQuery]:
        """Marks the queries as ranked, which is expensive, if any document may have a rank."""
        if is_by_time(self.index.settings) and not self.constraints.recent().pinned:
            return queries
        return [replace(query, ranked=True) for query in queries]

    def dependents(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        found: set[str] = set()
        for part in batched(wanted):
            found |= self.searches.all_ids(search_fields.dependents_query(part))
        return found - set(wanted)

    def forget(self) -> None:
        """Forget the latest moment: a refresh may have changed it."""
        self._is_latest_known = False

    def find(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        queries = self._with_ranks(queries)
        keyed = [q for q in queries if q.keys]
        found: dict[int, list[Candidate]] = {}
        for part in _parts(keyed):
            gathered = self._gather(part, later=False)
            answers = (
                self.count_on_server(part)
                if gathered is None
                else self._add_chance_matches(part, gathered)
            )
            found |= zip(map(id, part), answers, strict=True)
        return [found.get(id(q), []) for q in queries]

    def _gather(
        self, queries: Sequence[CandidateQuery], *, later: bool
    ) -> list[list[tuple[JSON, dict[str, int]]]] | None:
        """All documents that share keys, by one search; None if that is no saving, or too many."""
        is_one_search = candidate_requests.are_all_selective(queries)
        if not is_one_search and len(queries) < _FEW_QUERIES:
            return None
        if not any(candidate_requests.without_chance_keys(q).keys for q in queries):
            return None
        size = min(_GATHERED, _GATHERED_EACH * len(queries))
        search = candidate_requests.gathering_search(
            queries, self.index.settings, self.index.names, later=later, size=size
        )
        if candidate_requests.has_common_keys(queries):
            counting = {"size": 0, "query": search["query"], "track_total_hits": size}
            (answer,) = self.searches.many([counting])
            if answer["hits"]["total"]["value"] >= size:
                return None
        (answer,) = self.searches.many([search])
        hits = answer["hits"]["hits"]
        return (
            None
            if len(hits) == size
            else list(candidate_requests.count_gathered(queries, hits, later=later))
        )

    def _add_chance_matches(
        self,
        queries: Sequence[CandidateQuery],
        gathered: Sequence[Sequence[tuple[JSON, dict[str, int]]]],
    ) -> list[list[Candidate]]:
        """Add documents that share only keys that match by chance, and return the best of all."""
        chance_queries = [candidate_requests.only_chance_keys(query) for query in queries]
        by_chance = iter(
            self.count_on_server([query for query in chance_queries if query is not None])
        )
        answers: list[list[Candidate]] = []
        for query, chance_query, before in zip(
            queries, chance_queries, self._candidates_before(queries, gathered), strict=True
        ):
            if chance_query is None and not before:  # nearly always
                answers.append(before)
                continue
            candidates, known = list(before), {c.id for c in before}
            if chance_query is not None:
                candidates += (c for c in next(by_chance) if c.id not in known)
            best = candidate_requests.best_of(query, candidates, self.index.settings)
            answers.append(sorted(best, key=_most_shared))
        return answers

    def _candidates_before(
        self,
        queries: Sequence[CandidateQuery],
        answers: Sequence[Sequence[tuple[JSON, dict[str, int]]]],
    ) -> Iterator[list[Candidate]]:
        """Candidates that come before the query in the order, most shared keys first."""
        for query, answer in zip(queries, answers, strict=True):
            before = [
                document_requests.candidate_from(hit, shared, self.index.names)
                for hit, shared in answer
                if candidate_requests.order_of_hit(hit) < query.order
            ]
            yield sorted(before, key=_most_shared)

    def count_on_server(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        """Let the server count: a search for each query, several if one score is too short."""
        parts = [candidate_requests.split_query(query) for query in queries]
        found = iter(self._count_parts([part for several in parts for part in several]))
        return [_merge([next(found) for _ in several]) for several in parts]

    def _count_parts(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        found = list(self._find_one_by_one(queries))
        crowded = [i for i, candidates in enumerate(found) if candidates is None]
        again = self._find_one_by_one([queries[i] for i in crowded], in_order=True)
        for i, candidates in zip(crowded, again, strict=True):
            found[i] = candidates
        return [candidates or [] for candidates in found]

    def _find_one_by_one(
        self, queries: Sequence[CandidateQuery], *, in_order: bool = False
    ) -> Iterator[list[Candidate] | None]:
        """Candidates for each query; None if a full page may hide better or earlier ones."""
        searches = [
            candidate_requests.candidate_search(
                q, self.index.settings, self.index.names, in_order=in_order
            )
            for q in queries
        ]
        answers = self.searches.many(searches)
        for query, search, answer in zip(queries, searches, answers, strict=True):
            hits = answer["hits"]["hits"]
            if len(hits) == search["size"] and not in_order:
                yield None
                continue
            candidates = [
                document_requests.candidate_from(
                    hit,
                    candidate_requests.shared_by_method(query, hit["_score"]),
                    self.index.names,
                )
                for hit in hits
                if hit["_id"] != query.id
            ]
            yield sorted((c for c in candidates if c.order < query.order), key=_most_shared)

    def successors(self, queries: Sequence[CandidateQuery]) -> set[str]:
        """Articles that arrive in order have no successors, which the latest moment shows."""
        if not queries:
            return set()
        queries = self._with_ranks(queries)
        if not self._is_latest_known:
            answer = self.searches.one(topic_requests.latest_search("moment"))
            self._latest = answer["aggregations"]["latest"]["value"]
            self._is_latest_known = True
        latest = self._latest
        by_time = is_by_time(self.index.settings)
        relevant = [
            q
            for q in queries
            if q.keys and latest is not None and (not by_time or q.order[0] <= latest)
        ]
        found: set[str] = set()
        for part in _parts(relevant):
            answers = self._gather(
                list(map(candidate_requests.without_chance_keys, part)), later=True
            )
            if answers is None:
                found |= self._successors_one_by_one(part)
                continue
            for query, hits in zip(part, answers, strict=True):
                found |= {
                    h["_id"] for h, _ in hits if candidate_requests.order_of_hit(h) > query.order
                }
            by_chance = map(candidate_requests.only_chance_keys, part)
            found |= self._successors_one_by_one(
                [query for query in by_chance if query is not None]
            )
        return found

    def _successors_one_by_one(self, whole: Sequence[CandidateQuery]) -> set[str]:
        queries = [part for query in whole for part in candidate_requests.split_query(query)]
        searches = [{**candidate_requests.successor_search(q), "size": PAGE} for q in queries]
        found: set[str] = set()
        for query, answer in zip(queries, self.searches.many(searches), strict=True):
            hits: Iterable[JSON] = answer["hits"]["hits"]
            if len(answer["hits"]["hits"]) == PAGE:
                hits = self.searches.scan(candidate_requests.successor_search(query))
            found |= {
                h["_id"]
                for h in hits
                if (candidate_requests.place_of_hit(h), h["_id"]) > query.order
            }
        return found


def _parts(queries: Sequence[CandidateQuery]) -> Iterator[list[CandidateQuery]]:
    """Lists of queries whose keys go into one search."""
    part: list[CandidateQuery] = []
    keys = 0
    for query in queries:
        own = sum(map(len, query.keys.values()))
        if part and (len(part) == _GATHERING or keys + own > _GATHERED_KEYS):
            yield part
            part, keys = [], 0
        part.append(query)
        keys += own
    if part:
        yield part


def _merge(answers: Sequence[list[Candidate]]) -> list[Candidate]:
    """Candidates that several searches found for one document, each once."""
    if len(answers) == 1:
        return answers[0]
    found: dict[str, Candidate] = {}
    for candidate in (c for answer in answers for c in answer):
        before = found.get(candidate.id)
        shared = {**(before.shared if before else {}), **candidate.shared}
        found[candidate.id] = candidate.with_shared(shared)
    return sorted(found.values(), key=_most_shared)


def _most_shared(candidate: Candidate) -> tuple[int, tuple[int, str]]:
    return -sum(candidate.shared.values()), candidate.order
