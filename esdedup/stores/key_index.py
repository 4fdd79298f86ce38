"""Records by their keys, in memory: answers candidate queries as a store does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from esdedup.model import Candidate, Order, time_of
from esdedup.stores import Probe, Record

# Candidates handed to verification; far more than `verified_candidates`.
_MAX_CANDIDATES = 100


class KeyIndex:
    """An inverted index from keys to records.

    Most keys belong to one record, so the first id of a key is stored without a list.
    """

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._first: dict[str, str] = {}
        self._others: dict[str, list[str]] = {}

    def put(self, record: Record) -> None:
        id_ = record.document.id
        self.discard(id_)
        self.records[id_] = record
        for key in _keys(record):
            if self._first.setdefault(key, id_) != id_:
                self._others.setdefault(key, []).append(id_)

    def discard(self, id_: str) -> None:
        record = self.records.pop(id_, None)
        for key in set(_keys(record)) if record else ():
            others = self._others.get(key, [])
            if self._first[key] != id_:
                others.remove(id_)
            elif others:
                self._first[key] = others.pop(0)
            else:
                del self._first[key]

    def find(self, query: Probe) -> list[Candidate]:
        """Representatives before the document that share enough keys, most shared first."""
        found, _ = self.around(query)
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:_MAX_CANDIDATES]

    def successors(self, query: Probe) -> set[str]:
        """Records after the document that share enough keys, representatives or not."""
        return self.around(query)[1]

    def around(self, query: Probe) -> tuple[list[Candidate], set[str]]:
        """Candidates in no particular order, and successors."""
        candidates, successors = [], set()
        for id_, shared in self._sharing(query).items():
            record = self.records[id_]
            order, link = record.order, record.decision.link
            if order > query.order:
                if _is_within(query.reach, order, query.order):
                    successors.add(id_)
            elif (
                id_ != query.id
                and order < query.order
                and (link.attracts or not query.attracting_only)
                and _is_within(query.window, order, query.order)
            ):
                candidates.append(Candidate(id_, shared, record.signature, order, link))
        return candidates, successors

    def _sharing(self, query: Probe) -> dict[str, dict[str, int]]:
        """Id -> method -> shared keys, where the method has enough of them."""
        sharing: dict[str, dict[str, int]] = {}
        for method, keys in query.keys.items():
            if self._first.keys().isdisjoint(keys):  # two documents in three
                continue
            once = dict.fromkeys(keys)
            first = filter(None, map(self._first.get, once))
            others = filter(None, map(self._others.get, once))
            for id_, count in Counter(chain(first, *others)).items():
                if count >= query.needed[method]:
                    sharing.setdefault(id_, {})[method] = count
        return sharing


def _keys(record: Record) -> Iterator[str]:
    return (key for keys in record.signature.keys.values() for key in keys)


def _is_within(window: int, one: Order, other: Order) -> bool:
    """Whether two documents are no further apart in time; a window of 0 is no bound."""
    return not window or abs(time_of(one[0]) - time_of(other[0])) <= window
