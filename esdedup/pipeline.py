"""The main job: documents in, decisions out, everything linked in the store.

`Deduplicator` joins the pure stages (extract, sign, decide) with a store. Whole batches are
written or nothing of them; running the same input again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, Self

import numpy as np

from esdedup.decide import decide
from esdedup.linking import Window, probe, settle
from esdedup.model import JSON, Decision, Document, Failure, Order, Signature, order_of
from esdedup.settings import Settings
from esdedup.signing import Signed, prepare
from esdedup.stores import Record, Store, open_store

Status = Literal["new", "unchanged", "changed", "dropped", "relinked", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision, and what it meant for the store.

    `relinked` decisions are about documents that were there before and found a new place, as
    when an earlier original turns up.
    """

    decision: Decision
    status: Status
    failure: Failure | None = None

    def to_json(self) -> JSON:
        out = {**self.decision.to_json(), "status": self.status}
        return out if self.failure is None else {**out, "failure": self.failure.to_json()}


class Deduplicator:
    """Finds copies and updates among news articles and links them in a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.settings = store.settings
        self._clock = _Clock()

    @classmethod
    def open(
        cls,
        url: str = "sqlite://:memory:",
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> Self:
        return cls(open_store(url, settings, mode=mode))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def check(self, document: Document) -> Decision:
        """Decide without writing."""
        (item,) = prepare([document], self.settings)
        if isinstance(item, Failure):
            return _unprocessed(item)
        id_, signature = item.document.id, item.signature
        order = self._order(item.document, self._clock.now())
        (candidates,) = self.store.candidates_many([probe(id_, signature, order, self.settings)])
        return decide(id_, signature, candidates, self.settings)

    def add(self, document: Document) -> Decision:
        """Index one document."""
        *_, outcome = (o for o in self.add_many([document]) if o.status != "relinked")
        return outcome.decision

    def add_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Outcome]:
        """Index a stream; outcomes come batch by batch, in the order of the input."""
        for items in self._prepared(documents, workers):
            yield from self.write(items)

    def write(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        """Decide and store one prepared batch: all of it, or on an error nothing."""
        outcomes: list[Outcome] = []
        with self.store.transaction():
            for part in _without_repeated_ids(items):
                outcomes += self._write_part(part)
        return outcomes

    def delete(self, ids: Iterable[str]) -> set[str]:
        """Remove documents; a group that loses its original gets the next by the order."""
        with self.store.transaction():
            wanted = set(ids)
            orphans = self.store.followers(wanted) - wanted
            removed = self.store.delete(wanted)
            self._settle(orphans)
        return removed

    def retry(self) -> Iterator[Outcome]:
        """Work off the quarantine: what succeeds now is indexed and leaves it."""
        for failure in self.store.quarantined():
            if failure.final or failure.document is None:
                continue
            (item,) = prepare([failure.document], self.settings)
            with self.store.transaction():
                if isinstance(item, Signed) and item.document.id != failure.id:
                    self.store.delete([failure.id])  # it was kept under a makeshift id
                yield from self.write([item])

    # --- one batch ---------------------------------------------------------------------------

    def _prepared(
        self, documents: Iterable[Document | Failure], workers: int
    ) -> Iterator[list[Signed | Failure]]:
        from esdedup.workers import Workers

        with Workers(workers, prepare, self.settings) as pool:
            ready = (item for chunk in pool.map(documents, self.settings.batch) for item in chunk)
            while batch := list(islice(ready, self.settings.batch)):
                yield batch

    def _write_part(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        signed = [item for item in items if isinstance(item, Signed)]
        failures = [item for item in items if isinstance(item, Failure)]
        there = self.store.get_many(_id_of(item) for item in items)
        records = [self._record(s, there.get(s.document.id)) for s in signed]
        fresh = [r for r in records if not _is_unchanged(r, there.get(r.document.id))]
        decided = self._decide(fresh)
        stored = [r for r in decided if not self._is_dropped(r, there)]
        touched = self._touched_by_replacing(
            [there[i] for r in stored if (i := r.document.id) in there]
        )
        self.store.put_many(stored)
        self.store.release(r.document.id for r in stored)
        self._keep_failures(failures, there)
        ids = {r.document.id for r in stored}
        relinked = self._settle(touched - ids, written=list(stored))
        final = {r.document.id: relinked.get(r.document.id, r.decision) for r in decided}
        outcomes = [self._outcome(item, final, ids, there) for item in items]
        return outcomes + [
            Outcome(decision, "relinked") for id_, decision in relinked.items() if id_ not in final
        ]

    def _record(self, signed: Signed, there: Record | None) -> Record:
        first_seen = there.first_seen if there else self._clock.now()
        document = replace(signed.document, html=None)
        order = self._order(document, first_seen)
        undecided = Decision(document.id, "original", document.id, document.id)
        return Record(document, signed.signature, order, first_seen, undecided)

    def _order(self, document: Document, first_seen: int) -> Order:
        dated = self.settings.keep == "earliest"
        return order_of(document.published if dated else None, first_seen, document.id)

    def _decide(self, records: Sequence[Record]) -> list[Record]:
        """First guess for a batch: what the store has, and the batch itself, in their order."""
        ordered = sorted(records, key=lambda r: r.order)
        found = self.store.candidates_many(
            [probe(r.document.id, r.signature, r.order, self.settings) for r in ordered]
        )
        ids = {r.document.id for r in records}
        window = Window(self.settings)
        decided = []
        for record, stored in zip(ordered, found, strict=True):
            id_, signature, order = record.document.id, record.signature, record.order
            candidates = [c for c in stored if c.id not in ids]
            candidates += window.candidates(signature.keys, order)
            decision = decide(id_, signature, candidates, self.settings)
            window.add(id_, signature, order, decision)
            decided.append(replace(record, decision=decision))
        return decided

    def _touched_by_replacing(self, old: Sequence[Record]) -> set[str]:
        """Who leaned on documents that are about to be replaced by another version."""
        if not old or self.settings.attract == "all":
            return set()
        probes = [
            probe(r.document.id, r.signature, r.order, self.settings)
            for r in old
            if r.decision.link.canonical
        ]
        return self.store.followers(r.document.id for r in old) | self.store.later(probes)

    def _settle(self, dirty: set[str], written: Sequence[Record] = ()) -> dict[str, Decision]:
        """Mend what a write touched. The papers' online way (attract = all) mends nothing."""
        if self.settings.attract == "all" and written:
            return {}
        ids = {r.document.id for r in written}
        if not self.store.serial:
            return settle(self.store, dirty | ids, forced=ids)
        # Written and decided in one transaction: only documents after a new leader can be wrong.
        leaders = [r for r in written if r.decision.link.canonical]
        probes = [probe(r.document.id, r.signature, r.order, self.settings) for r in leaders]
        return settle(self.store, dirty | (self.store.later(probes) if probes else set()))

    def _keep_failures(self, failures: Sequence[Failure], there: dict[str, Record]) -> None:
        """A failed page stays visible as an original, and waits in the quarantine."""
        self.store.put_many(
            [
                self._failed_record(f.document)
                for f in failures
                if f.document is not None and f.id not in there
            ]
        )
        self.store.quarantine(failures)

    def _failed_record(self, document: Document) -> Record:
        first_seen = self._clock.now()
        decision = Decision(document.id, "unprocessed", document.id, document.id)
        return Record(
            replace(document, html=None),
            empty_signature(self.settings),
            self._order(document, first_seen),
            first_seen,
            decision,
        )

    def _is_dropped(self, record: Record, there: dict[str, Record]) -> bool:
        return (
            self.settings.on_duplicate == "drop"
            and record.decision.role == "duplicate"
            and record.document.id not in there
        )

    def _outcome(
        self,
        item: Signed | Failure,
        decided: dict[str, Decision],
        stored: set[str],
        there: dict[str, Record],
    ) -> Outcome:
        if isinstance(item, Failure):
            return Outcome(_unprocessed(item), "failed", item)
        id_ = item.document.id
        if id_ not in decided:
            return Outcome(there[id_].decision, "unchanged")
        status: Status = "changed" if id_ in there else "new" if id_ in stored else "dropped"
        return Outcome(decided[id_], status)


@dataclass(slots=True)
class _Clock:
    """Microseconds that never repeat nor go back: arrival is an order, too."""

    last: int = field(default=0)

    def now(self) -> int:
        self.last = max(self.last + 1, time.time_ns() // 1000)
        return self.last


def empty_signature(settings: Settings) -> Signature:
    """Of a document that could not be processed: no keys, so it attracts nothing."""
    return Signature(settings.fingerprint_of_format(), {}, np.zeros(0, np.uint32), 0, "")


def _unprocessed(failure: Failure) -> Decision:
    return Decision(failure.id, "unprocessed", failure.id, failure.id, reason=failure.reason)


def _id_of(item: Signed | Failure) -> str:
    return item.id if isinstance(item, Failure) else item.document.id


def _is_unchanged(record: Record, there: Record | None) -> bool:
    return (
        there is not None
        and there.decision.role != "unprocessed"
        and there.document == record.document
        and there.signature.format == record.signature.format
    )


def _without_repeated_ids(
    items: Sequence[Signed | Failure],
) -> Iterator[list[Signed | Failure]]:
    """Parts in which an id occurs once: a second version of an article replaces the first."""
    part: dict[str, Signed | Failure] = {}
    for item in items:
        if _id_of(item) in part:
            yield list(part.values())
            part = {}
        part[_id_of(item)] = item
    if part:
        yield list(part.values())
