"""The one loop that decides. Every writer, `check`, `rethreshold` and lookups in a store call it.

    ordered = sorted(records, key=lambda r: r.order)
    queries = queries_of(ordered, settings)
    placement = place(ordered, queries, store.candidates.find(queries), settings)

`place` does no I/O. It takes records in canonical order with the candidates that a store found,
and adds the candidates among pending records: decided, but not visible to searches yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence, Set
from dataclasses import dataclass, field

from esdedup.matching.constraints import (
    NO_CONSTRAINTS,
    Constraints,
    DocumentConstraints,
    constraints_on,
)
from esdedup.matching.decide import decide
from esdedup.model import Candidate, Decision, Link, Order
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record
from esdedup.stores.key_index import KeyIndex

MutablePositions = MutableMapping[str, tuple[Order, Link]]
# Decides about a record that has no keys; returns None if it is decided like any other.
DecideKeyless = Callable[[Record, DocumentConstraints], Decision | None]


class PendingIndex:
    """Decided records that no search shows yet. Copies inside one batch find each other here.

    It may begin with the records of an earlier index, until a refresh has made them visible.
    """

    def __init__(self, earlier: PendingIndex | None = None) -> None:
        self.records = KeyIndex()
        self._earlier = earlier.records if earlier else KeyIndex()

    def put(self, record: Record) -> None:
        self.records.put(record)

    def drop_earlier(self) -> None:
        self._earlier = KeyIndex()

    def __contains__(self, id_: str) -> bool:
        return id_ in self.records.records or id_ in self._earlier.records

    def has_any(self, ids: Iterable[str]) -> bool:
        return any(id_ in self for id_ in ids)

    def find_with_successors(self, query: CandidateQuery) -> tuple[list[Candidate], set[str]]:
        """Candidates in no particular order, and successors."""
        candidates, successors = self.records.find_with_successors(query)
        if self._earlier.records:
            known = self.records.records
            older, after = self._earlier.find_with_successors(query)
            candidates += [c for c in older if c.id not in known]
            successors |= {id_ for id_ in after if id_ not in known}
        return candidates, successors


@dataclass(frozen=True, slots=True)
class Placement:
    """Decided records in canonical order, and what their decisions affect.

    `representative_queries` belong to the records that attract later documents; what a store finds
    as their successors is affected as well.
    """

    records: list[Record]
    representative_queries: list[CandidateQuery]
    affected: set[str] = field(default_factory=set)  # pending records


def place(
    records: Sequence[Record],
    queries: Sequence[CandidateQuery],
    found: Sequence[Sequence[Candidate]],
    settings: Settings,
    *,
    pending: PendingIndex | None = None,
    hidden: Set[str] = frozenset(),
    is_stored: Callable[[Record], bool] = lambda record: True,
    constraints: Constraints = NO_CONSTRAINTS,
    positions: MutablePositions | None = None,
    decide_keyless: DecideKeyless = lambda record, constraints: None,
) -> Placement:
    """Decide about records in canonical order, each with all before it in view.

    Decided records are added to `pending` and `positions`, except those that are not to be stored.
    `positions` has the documents that constraints name together with one of the records. Of
    `hidden` documents the store shows a version that is about to be replaced or deleted.
    """
    pending = PendingIndex() if pending is None else pending
    positions = {} if positions is None else positions
    hidden = hidden | {record.document.id for record in records}
    placement = Placement([], [])
    for record, query, visible in zip(records, queries, found, strict=True):
        candidates, successors = pending.find_with_successors(query)
        candidates += [c for c in visible if c.id not in hidden and c.id not in pending]
        id_ = record.document.id
        on_record = constraints_on(id_, record.order, constraints, positions)
        decision = decide_keyless(record, on_record) or decide(
            record, candidates, settings, on_record
        )
        decided = record.with_decision(decision)
        placement.records.append(decided)
        if not is_stored(decided):
            continue
        pending.put(decided)
        link = decision.link
        if link.is_representative and settings.attract != "all":
            placement.representative_queries.append(query)
            placement.affected.update(successors)
        if constraints:
            positions[id_] = record.order, link
    return placement


def decide_alone(
    record: Record,
    query: CandidateQuery,
    candidates: Sequence[Candidate],
    settings: Settings,
    *,
    constraints: Constraints = NO_CONSTRAINTS,
    positions: MutablePositions | None = None,
) -> Decision:
    """The decision about one record, of which nothing is written."""
    (placed,) = place(
        [record],
        [query],
        [candidates],
        settings,
        is_stored=lambda record: False,
        constraints=constraints,
        positions=positions,
    ).records
    return placed.decision
