"""Documents of a cluster that share keys: candidates before a document, and those after it.

A batch, or one document, is asked for in one list of keys and counted here; where a key is in too
many documents, or a method's keys meet by chance too often, the server counts for each document by
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from esdedup.matching.canonical_order import is_by_time
from esdedup.model import JSON, Candidate
from esdedup.settings import Settings
from esdedup.stores import Probe
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.msearch import PAGE, Searches

# Probes whose keys are asked for in one list, and their keys; the engines take 65,536 terms.
_GATHERING = 1_000
_GATHERED_KEYS = 25_000
# More documents than that share keys with them: some key is in too many, let the server count.
_GATHERED = 4_000
_GATHERED_EACH = 100
# From so many on, a second question for their keys that meet by chance, or first one how many
# documents there are, is cheaper than a counting search for each.
_FEW_PROBES = 4


@dataclass(slots=True)
class Neighbours:
    """Who shares enough keys with a document."""

    searches: Searches
    settings: Settings
    # The latest moment of all documents as it was at the last refresh; none, and not asked yet.
    _latest: float | None = None
    _is_latest_known: bool = False

    def forget(self) -> None:
        """What was remembered is as old as the last refresh."""
        self._is_latest_known = False

    def candidates(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        asked = [p for p in probes if p.keys]
        found: dict[int, list[Candidate]] = {}
        for part in _parts(asked):
            gathered = self._gather(part, later=False)
            answers = self.counted(part) if gathered is None else self._joined(part, gathered)
            found |= zip(map(id, part), answers, strict=True)
        return [found.get(id(p), []) for p in probes]

    def _gather(
        self, probes: Sequence[Probe], *, later: bool
    ) -> list[list[tuple[JSON, dict[str, int]]]] | None:
        """All that share keys, in one question; None where that is no saving, or too many."""
        is_one_question = bodies.are_seldom_common(probes)
        if not is_one_question and len(probes) < _FEW_PROBES:
            return None
        if not any(bodies.seldom_met(p).keys for p in probes):
            return None
        size = min(_GATHERED, _GATHERED_EACH * len(probes))
        search = bodies.gathering_search(probes, self.settings, later=later, size=size)
        if bodies.may_be_common(probes):
            counting = {"size": 0, "query": search["query"], "track_total_hits": size}
            (answer,) = self.searches.many([counting])
            if answer["hits"]["total"]["value"] >= size:
                return None
        (answer,) = self.searches.many([search])
        hits = answer["hits"]["hits"]
        return None if len(hits) == size else list(bodies.gathered(probes, hits, later=later))

    def _joined(
        self, probes: Sequence[Probe], gathered: Sequence[Sequence[tuple[JSON, dict[str, int]]]]
    ) -> list[list[Candidate]]:
        """With those that share only keys that meet by chance, the best of them."""
        asked = [bodies.met_by_chance(probe) for probe in probes]
        by_chance = iter(self.counted([probe for probe in asked if probe is not None]))
        answers: list[list[Candidate]] = []
        for probe, asked_for, before in zip(probes, asked, _before(probes, gathered), strict=True):
            if asked_for is None and not before:  # nearly always
                answers.append(before)
                continue
            candidates, known = list(before), {c.id for c in before}
            if asked_for is not None:
                candidates += (c for c in next(by_chance) if c.id not in known)
            best = bodies.best_of(probe, candidates, self.settings)
            answers.append(sorted(best, key=_most_shared))
        return answers

    def counted(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        """The counting done by the server: a search for each probe, two where one cannot count."""
        parts = [bodies.asked_apart(probe) for probe in probes]
        found = iter(self._counted_parts([part for several in parts for part in several]))
        return [_merged([next(found) for _ in several]) for several in parts]

    def _counted_parts(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        found = list(self._one_by_one(probes))
        crowded = [i for i, candidates in enumerate(found) if candidates is None]
        again = self._one_by_one([probes[i] for i in crowded], in_order=True)
        for i, candidates in zip(crowded, again, strict=True):
            found[i] = candidates
        return [candidates or [] for candidates in found]

    def _one_by_one(
        self, probes: Sequence[Probe], *, in_order: bool = False
    ) -> Iterator[list[Candidate] | None]:
        """None where a full page may hide others, better or earlier ones."""
        searches = [bodies.candidate_search(p, self.settings, in_order=in_order) for p in probes]
        answers = self.searches.many(searches)
        for probe, search, answer in zip(probes, searches, answers, strict=True):
            hits = answer["hits"]["hits"]
            if len(hits) == search["size"] and not in_order:
                yield None
                continue
            candidates = [
                bodies.candidate_from(hit, bodies.shared_by_method(probe, hit["_score"]))
                for hit in hits
                if hit["_id"] != probe.id
            ]
            yield sorted((c for c in candidates if c.order < probe.order), key=_most_shared)

    def later(self, probes: Sequence[Probe]) -> set[str]:
        """Articles that come in order have nobody after them: one cheap question tells."""
        if not probes:
            return set()
        if not self._is_latest_known:
            (answer,) = self.searches.many([bodies.latest_moment()])
            self._latest = answer["aggregations"]["latest"]["value"]
            self._is_latest_known = True
        latest = self._latest
        by_time = is_by_time(self.settings)
        asked = [
            p
            for p in probes
            if p.keys and latest is not None and (not by_time or p.order[0] <= latest)
        ]
        found: set[str] = set()
        for part in _parts(asked):
            answers = self._gather(list(map(bodies.seldom_met, part)), later=True)
            if answers is None:
                found |= self._later_one_by_one(part)
                continue
            for probe, hits in zip(part, answers, strict=True):
                found |= {h["_id"] for h, _ in hits if bodies.order_of_hit(h) > probe.order}
            by_chance = map(bodies.met_by_chance, part)
            found |= self._later_one_by_one([probe for probe in by_chance if probe is not None])
        return found

    def _later_one_by_one(self, whole: Sequence[Probe]) -> set[str]:
        probes = [part for probe in whole for part in bodies.asked_apart(probe)]
        searches = [{**bodies.later_search(p), "size": PAGE} for p in probes]
        found: set[str] = set()
        for probe, answer in zip(probes, self.searches.many(searches), strict=True):
            hits: Iterable[JSON] = answer["hits"]["hits"]
            if len(answer["hits"]["hits"]) == PAGE:
                hits = self.searches.scan(bodies.later_search(probe))
            found |= {h["_id"] for h in hits if (bodies.place_of_hit(h), h["_id"]) > probe.order}
        return found


def _parts(probes: Sequence[Probe]) -> Iterator[list[Probe]]:
    """Probes whose keys are asked for in one list."""
    part: list[Probe] = []
    keys = 0
    for probe in probes:
        own = sum(map(len, probe.keys.values()))
        if part and (len(part) == _GATHERING or keys + own > _GATHERED_KEYS):
            yield part
            part, keys = [], 0
        part.append(probe)
        keys += own
    if part:
        yield part


def _merged(answers: Sequence[list[Candidate]]) -> list[Candidate]:
    """Candidates that several searches found for one document, each once."""
    if len(answers) == 1:
        return answers[0]
    found: dict[str, Candidate] = {}
    for candidate in (c for answer in answers for c in answer):
        before = found.get(candidate.id)
        shared = {**(before.shared if before else {}), **candidate.shared}
        found[candidate.id] = candidate.sharing(shared)
    return sorted(found.values(), key=_most_shared)


def _before(
    probes: Sequence[Probe], answers: Sequence[Sequence[tuple[JSON, dict[str, int]]]]
) -> Iterator[list[Candidate]]:
    """Those that come before the probe in the order, most shared keys first."""
    for probe, answer in zip(probes, answers, strict=True):
        if not answer:
            yield []
            continue
        before = [pair for pair in answer if bodies.order_of_hit(pair[0]) < probe.order]
        yield sorted((bodies.candidate_from(*pair) for pair in before), key=_most_shared)


def _most_shared(candidate: Candidate) -> tuple[int, tuple[int, str]]:
    return -sum(candidate.shared.values()), candidate.order
