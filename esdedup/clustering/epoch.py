"""An epoch: the time between two refreshes of a store.

Every writer runs the same four steps; `transactional`, `pipelined`, the sessions of the gateway
and `backfill` differ in what lies between them:

    epoch = Epoch.begin(store)
    records = epoch.place(undecided)      # decide, with everything pending in view
    ...                                   # write the records; epoch.written |= their ids
    changed = epoch.reconcile()           # decide again what the write affected

If nobody else wrote during the epoch, its decisions hold, and only affected documents are decided
again. Otherwise the written documents are decided again as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

from esdedup.clustering.place import PendingIndex, place
from esdedup.clustering.reconcile import positions_of, queries_of, reconcile
from esdedup.model import Decision
from esdedup.stores import Record, Store


@dataclass(slots=True)
class Epoch:
    """What was decided and written since a snapshot of the store."""

    store: Store
    snapshot: Any
    pending: PendingIndex = field(default_factory=PendingIndex)
    # Documents outside the epoch whose group may depend on what was written in it.
    affected: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    # Whether the decisions are known not to hold: a write was refused, or an id repeated.
    must_recheck: bool = False

    @classmethod
    def begin(cls, store: Store) -> Self:
        return cls(store, store.concurrency.snapshot())

    def place(
        self,
        records: Sequence[Record],
        *,
        hidden: Set[str] = frozenset(),
        is_stored: Callable[[Record], bool] = lambda record: True,
    ) -> list[Record]:
        """Decide about records, in canonical order; those to be stored are pending from then on.

        `hidden` are further documents that are about to be replaced or deleted. Call it before the
        write, or the records themselves are among the successors.
        """
        settings, constraints = self.store.settings, self.store.constraints.recent()
        ordered = sorted(records, key=lambda r: r.order)
        queries = queries_of(ordered, settings)
        ids = {r.document.id for r in ordered}
        named = constraints.related_to(ids)
        placement = place(
            ordered,
            queries,
            self.store.candidates.find(queries),
            settings,
            pending=self.pending,
            hidden=hidden,
            is_stored=is_stored,
            constraints=constraints,
            positions=dict(positions_of(self.store, named - ids)),
        )
        if settings.attract != "all":
            self.affected |= placement.affected | named
        if placement.representative_queries:
            self.affected |= self.store.candidates.successors(placement.representative_queries)
        return placement.records

    def note_replaced(self, old: Sequence[Record]) -> None:
        """Remember who depends on versions that are about to be replaced or deleted."""
        self.affected |= dependents_of(self.store, old)

    def holds(self) -> bool:
        """Whether the decisions hold: all were written, and nobody else wrote meanwhile."""
        return not self.must_recheck and self.store.concurrency.unchanged_since(self.snapshot)

    def reconcile(
        self, unchanged: Iterable[str] = (), *, holds: bool | None = None
    ) -> dict[str, Decision]:
        """Decide again what the epoch affected; returns the decisions that changed.

        `unchanged` documents were stored before with the same content. On a cluster they are
        decided again, too: the run that wrote them may have been killed before it reconciled.
        """
        holds = self.holds() if holds is None else holds
        forced = {*unchanged, *(() if holds else self.written)}
        if self.store.settings.attract == "all" and forced:
            return {}  # the papers' online way decides once
        if self.store.concurrency.consistency.isolated:  # decided and written in one transaction
            return reconcile(self.store, self.affected)
        return reconcile(self.store, self.affected | forced, forced)


def dependents_of(store: Store, old: Sequence[Record]) -> set[str]:
    """Documents whose group may depend on these versions, which are about to go."""
    if not old or store.settings.attract == "all":
        return set()
    queries = queries_of((r for r in old if r.decision.link.is_representative), store.settings)
    ids = [r.document.id for r in old]
    return (
        store.candidates.dependents(ids)
        | store.candidates.successors(queries)
        | store.constraints.recent().related_to(ids)
    )
