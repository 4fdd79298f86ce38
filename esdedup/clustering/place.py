"""The one loop that decides. Every writer, `check`, `rethreshold` and `fold` call it.

    ordered = sorted(records, key=lambda r: r.order)
    queries = probes_of(ordered, settings)
    placement = place(ordered, queries, store.candidates_many(queries), settings)

`place` does no I/O. It takes records in canonical order with the candidates that a store found,
and adds the candidates among pending records: decided, but not visible to searches yet.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field

from esdedup.matching.constraints import NOTHING_SAID, Corrections, Heard, heard
from esdedup.matching.decide import decide
from esdedup.model import Candidate, Decision, Link, Order
from esdedup.settings import Settings
from esdedup.stores import Probe, Record
from esdedup.stores.key_index import KeyIndex

# Decided records that no search shows yet. Copies inside one batch find each other here.
PendingIndex = KeyIndex

# Decides about a record that has no keys; None where it is decided like any other.
DecideKeyless = Callable[[Record, Heard], Decision | None]


@dataclass(frozen=True, slots=True)
class Placement:
    """Decided records in canonical order, and what their decisions affect.

    `representatives` are the queries of those that attract later documents; what the store finds
    as their successors is affected as well.
    """

    records: list[Record]
    representatives: list[Probe]
    affected: set[str] = field(default_factory=set)  # pending records


def place(
    records: Sequence[Record],
    queries: Sequence[Probe],
    found: Sequence[Sequence[Candidate]],
    settings: Settings,
    *,
    pending: PendingIndex | None = None,
    constraints: Corrections = NOTHING_SAID,
    positions: MutableMapping[str, tuple[Order, Link]] | None = None,
    decide_keyless: DecideKeyless = lambda record, said: None,
) -> Placement:
    """Decide about records in canonical order, each with all before it in view.

    Decided records are added to `pending` and `positions`. The latter has the documents that
    constraints name together with one of the records.
    """
    pending = PendingIndex() if pending is None else pending
    positions = {} if positions is None else positions
    ids = {record.document.id for record in records}
    placement = Placement([], [])
    for record, query, visible in zip(records, queries, found, strict=True):
        candidates, successors = pending.around(query)
        # Of records that are pending or to be placed a search shows an older version, if any.
        candidates += [c for c in visible if c.id not in ids and c.id not in pending.records]
        id_ = record.document.id
        said = heard(id_, record.order, constraints, positions)
        decision = decide_keyless(record, said) or decide(
            id_, record.signature, candidates, settings, said
        )
        decided = record.with_decision(decision)
        placement.records.append(decided)
        pending.put(decided)
        link = decision.link
        if link.attracts and settings.attract != "all":
            placement.representatives.append(query)
            placement.affected.update(successors)
        if constraints:
            positions[id_] = record.order, link
    return placement


def decide_alone(
    record: Record,
    query: Probe,
    candidates: Sequence[Candidate],
    settings: Settings,
    *,
    constraints: Corrections = NOTHING_SAID,
    positions: MutableMapping[str, tuple[Order, Link]] | None = None,
) -> Decision:
    """The decision about one record, of which nothing is written."""
    (placed,) = place(
        [record], [query], [candidates], settings, constraints=constraints, positions=positions
    ).records
    return placed.decision
