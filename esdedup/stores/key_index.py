"""Records by their keys, in memory: answers candidate queries as a store does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from esdedup.model import Candidate, Order, time_of
from esdedup.stores import Probe, Record

# Candidates handed to verification; far more than `verified_candidates`.
_MAX_CANDIDATES = 100


class KeyIndex:
    """An inverted index from keys to records."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._ids: dict[str, set[str]] = {}

    def put(self, record: Record) -> None:
        id_ = record.document.id
        self.discard(id_)
        self.records[id_] = record
        for key in _keys(record):
            self._ids.setdefault(key, set()).add(id_)

    def discard(self, id_: str) -> None:
        if record := self.records.pop(id_, None):
            for key in _keys(record):
                self._ids[key].discard(id_)

    def find(self, query: Probe) -> list[Candidate]:
        """Representatives before the document that share enough keys, most shared first."""
        found = [
            Candidate(id_, shared, record.signature, record.order, record.decision.link)
            for id_, shared in self._sharing(query).items()
            if id_ != query.id
            and (record := self.records[id_]).order < query.order
            and (record.decision.link.attracts or not query.attracting_only)
            and _is_within(query.window, record.order, query.order)
        ]
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:_MAX_CANDIDATES]

    def successors(self, query: Probe) -> set[str]:
        """Records after the document that share enough keys, representatives or not."""
        return {
            id_
            for id_ in self._sharing(query)
            if (order := self.records[id_].order) > query.order
            and _is_within(query.reach, order, query.order)
        }

    def _sharing(self, query: Probe) -> dict[str, dict[str, int]]:
        """Id -> method -> shared keys, where the method has enough of them."""
        sharing: dict[str, dict[str, int]] = {}
        for method, keys in query.keys.items():
            counts = Counter(id_ for key in set(keys) for id_ in self._ids.get(key, ()))
            for id_, count in counts.items():
                if count >= query.needed[method]:
                    sharing.setdefault(id_, {})[method] = count
        return sharing


def _keys(record: Record) -> Iterator[str]:
    return (key for keys in record.signature.keys.values() for key in keys)


def _is_within(window: int, one: Order, other: Order) -> bool:
    """Whether two documents are no further apart in time; a window of 0 is no bound."""
    return not window or abs(time_of(one[0]) - time_of(other[0])) <= window
