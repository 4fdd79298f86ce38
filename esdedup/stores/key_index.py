"""Records by their keys, in memory: answers candidate queries as a store does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from esdedup.model import Candidate, Order, time_of
from esdedup.stores import CandidateQuery, Record
from esdedup.stores.ports import MAX_CANDIDATES


class KeyIndex:
    """Inverted indexes from keys to records: one of representatives, one of all others.

    A story of thousands of copies has few representatives, so that a copy is compared with few.
    """

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self._representatives = _Postings()
        self._others = _Postings()

    def put(self, record: Record) -> None:
        self.discard(record.document.id)
        self.records[record.document.id] = record
        self._postings(record).put(record)

    def discard(self, id_: str) -> None:
        if record := self.records.pop(id_, None):
            self._postings(record).discard(record)

    def _postings(self, record: Record) -> _Postings:
        return self._representatives if record.decision.link.is_representative else self._others

    def find(self, query: CandidateQuery) -> list[Candidate]:
        """Representatives before the document that share enough keys, most shared first."""
        found, _ = self.find_with_successors(query)
        found.sort(key=lambda c: (-sum(c.shared.values()), c.order))
        return found[:MAX_CANDIDATES]

    def successors(self, query: CandidateQuery) -> set[str]:
        """Records after the document that share enough keys, representatives or not."""
        return self.find_with_successors(query)[1]

    def dependents(self, ids: set[str]) -> set[str]:
        """Records whose group or parent is one of these, themselves left out."""
        links = {id_: record.decision.link for id_, record in self.records.items()}
        return {id_ for id_, link in links.items() if {link.group, link.parent} & ids} - ids

    def find_with_successors(self, query: CandidateQuery) -> tuple[list[Candidate], set[str]]:
        """Candidates in no particular order, and successors."""
        candidates, successors = [], set()
        sharing = self._representatives.sharing(query)
        if not query.representatives_only or self._others.has_after(query.order):
            sharing |= self._others.sharing(query)
        for id_, shared in sharing.items():
            record = self.records[id_]
            order, link = record.order, record.decision.link
            if order > query.order:
                if _is_within(query.reach, order, query.order):
                    successors.add(id_)
            elif (
                id_ != query.id
                and order < query.order
                and (link.is_representative or not query.representatives_only)
                and _is_within(query.window, order, query.order)
            ):
                candidates.append(Candidate(record.document, shared, record.signature, order, link))
        return candidates, successors


class _Postings:
    """Key -> ids. Most keys belong to one record, so the first id is stored without a list."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._more: dict[str, list[str]] = {}
        self._latest: Order | None = None  # of all that were ever put

    def put(self, record: Record) -> None:
        id_ = record.document.id
        if self._latest is None or record.order > self._latest:
            self._latest = record.order
        for key in _keys(record):
            if self._first.setdefault(key, id_) != id_:
                self._more.setdefault(key, []).append(id_)

    def discard(self, record: Record) -> None:
        id_ = record.document.id
        for key in _keys(record):
            more = self._more.get(key)
            if self._first[key] != id_:
                assert more is not None
                more.remove(id_)
            elif more:
                self._first[key] = more.pop(0)
            else:
                del self._first[key]
            if more is not None and not more:
                del self._more[key]

    def has_after(self, order: Order) -> bool:
        return self._latest is not None and self._latest > order

    def sharing(self, query: CandidateQuery) -> dict[str, dict[str, int]]:
        """Id -> method -> shared keys, where the method has enough of them."""
        sharing: dict[str, dict[str, int]] = {}
        for method, keys in query.keys.items():
            if self._first.keys().isdisjoint(keys):  # two documents in three
                continue
            once = dict.fromkeys(keys)
            first = filter(None, map(self._first.get, once))
            more = filter(None, map(self._more.get, once))
            for id_, count in Counter(chain(first, *more)).items():
                if count >= query.min_shared_keys[method]:
                    sharing.setdefault(id_, {})[method] = count
        return sharing


def _keys(record: Record) -> Iterable[str]:
    return dict.fromkeys(key for keys in record.signature.keys.values() for key in keys)


def _is_within(window: int, one: Order, other: Order) -> bool:
    """Whether two documents are no further apart in time; a window of 0 is no bound."""
    return not window or abs(time_of(one[0]) - time_of(other[0])) <= window
