"""The main job: documents in, decisions out, everything linked in the store.

`Deduplicator` joins the pure stages (extract, sign, decide) with a store. Whole batches are
written or nothing of them; running the same input again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Literal, Self

import numpy as np

from esdedup.decide import decide
from esdedup.linking import Window, asked_keys, probe, settle
from esdedup.model import JSON, Decision, Document, Failure, Order, Signature, order_of
from esdedup.settings import Settings
from esdedup.signing import Signed, prepare
from esdedup.stores import Record, Store, WriteReport, open_store

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
        self.store.see_own_writes()
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
        for batch in self.add_batches(documents, workers=workers):
            yield from batch

    def add_batches(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[list[Outcome]]:
        """The same, each batch as a whole once it is written."""
        for items in self._prepared(documents, workers):
            yield self.write(items)
        self.store.refresh()

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
            self.store.begin()
            wanted = set(ids)
            there = self.store.get_many(wanted)
            orphans = self.store.followers(wanted)
            orphans |= self._touched_by_replacing(list(there.values()))
            removed = self.store.delete(wanted)
            self._settle(orphans - wanted)
        return removed

    def sweep(self, since: datetime) -> dict[str, Decision]:
        """Settle what was written since then, as after a run that was killed.

        A killed run may have moved a document and not yet what leaned on it. Indexing the same
        articles again mends their own places; this mends those of their neighbours. Name a time
        some minutes before the run began, for clocks that differ. Returns what changed.
        """
        if self.settings.attract == "all":
            return {}
        changed: dict[str, Decision] = {}
        with self.store.transaction():
            self.store.begin()
            ids = sorted(self.store.changed_since(since))
            for start in range(0, len(ids), self.settings.batch):
                part = ids[start : start + self.settings.batch]
                changed |= settle(self.store, part, forced=part)
        return changed

    def retry(self) -> Iterator[Outcome]:
        """Work off the quarantine: what succeeds now is indexed and leaves it."""
        for failure in self.store.quarantined():
            if failure.final or failure.document is None:
                continue
            (item,) = prepare([failure.document], self.settings)
            with self.store.transaction():
                if isinstance(item, Signed) and item.document.id != failure.id:
                    self.store.delete([failure.id])  # it was kept under a makeshift id
                outcomes = self.write([item])
            yield from outcomes

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
        """Items with distinct ids: decide, write, settle what the write touched."""
        mark = self.store.begin()
        signed = [item for item in items if isinstance(item, Signed)]
        failures = [item for item in items if isinstance(item, Failure)]
        there = self.store.get_many(_id_of(item) for item in items)
        records = [self._record(s, there.get(s.document.id)) for s in signed]
        fresh = [r for r in records if not _is_unchanged(r, there.get(r.document.id))]
        decided = self._decide(fresh)
        stored = [r for r in decided if not self._is_dropped(r, there)]
        replaced = [there[r.document.id] for r in stored if r.document.id in there]
        touched = self._touched_by_replacing(replaced)
        if self.store.serial:  # before the write, or the batch itself is among the answers
            touched |= self._after_new_leaders(stored)
        report = self.store.put_many(stored)
        stored = [r for r in stored if report.accepted(r.document.id)]
        failures += [_refused(r, report) for r in decided if r.document.id in report.failures]
        self.store.release(r.document.id for r in stored)
        self._keep_failures(failures, there)
        known = {r.document.id for r in records} - {r.document.id for r in decided}
        doubtful = {r.document.id for r in stored}
        if not self.store.serial and self.store.undisturbed(mark):
            # Nobody else wrote meanwhile: what was decided holds, as in a transaction.
            touched |= self._after_new_leaders(stored)
            doubtful = set()
        relinked = self._settle(touched, doubtful, known)
        done = _Written(
            decided={r.document.id: r.decision for r in decided} | relinked,
            stored={r.document.id for r in stored},
            failures={f.id: f for f in failures},
            there=there,
        )
        # Another writer was quicker with these ids: look again at what is there now.
        again = [item for item in items if _id_of(item) in report.conflicts]
        ids = {_id_of(item) for item in items}
        return [
            *(done.outcome(item) for item in items if _id_of(item) not in report.conflicts),
            *(Outcome(d, "relinked") for id_, d in relinked.items() if id_ not in ids),
            *(self._write_part(again) if again else ()),
        ]

    def _record(self, signed: Signed, there: Record | None) -> Record:
        first_seen = there.first_seen if there else self._clock.now()
        document = _without_page(signed.document)
        order = self._order(document, first_seen)
        undecided = Decision(document.id, "original", document.id, document.id)
        version = there.version if there else None
        return Record(document, signed.signature, order, first_seen, undecided, version)

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
            candidates += window.candidates(asked_keys(signature, self.settings), order)
            decision = decide(id_, signature, candidates, self.settings)
            window.add(id_, signature, order, decision)
            decided.append(record.with_decision(decision))
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

    def _after_new_leaders(self, records: Sequence[Record]) -> set[str]:
        """Who was in the store before these and may belong to one of them."""
        if self.settings.attract == "all":
            return set()
        leaders = [r for r in records if r.decision.link.canonical]
        return self.store.later(
            [probe(r.document.id, r.signature, r.order, self.settings) for r in leaders]
        )

    def _settle(
        self, dirty: set[str], written: Iterable[str] = (), known: Iterable[str] = ()
    ) -> dict[str, Decision]:
        """Mend what a write touched. The papers' online way (attract = all) mends nothing.

        On a cluster documents that were `known` before are looked at as well: the run that wrote
        them may have been killed before it settled.
        """
        forced = {*written, *known}
        if self.settings.attract == "all" and forced:
            return {}
        if not self.store.serial:
            return settle(self.store, dirty | forced, forced)
        # Written and decided in one transaction: what was just decided is right.
        return settle(self.store, dirty)

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
            _without_page(document),
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


@dataclass(frozen=True, slots=True)
class _Written:
    """What became of one part of a batch."""

    decided: dict[str, Decision]
    stored: set[str]
    failures: dict[str, Failure]
    there: dict[str, Record]

    def outcome(self, item: Signed | Failure) -> Outcome:
        id_ = _id_of(item)
        if failure := self.failures.get(id_):
            return Outcome(_unprocessed(failure), "failed", failure)
        if id_ not in self.decided:
            return Outcome(self.there[id_].decision, "unchanged")
        status: Status = "dropped"
        if id_ in self.stored:
            status = "changed" if id_ in self.there else "new"
        elif id_ in self.there:
            status = "unchanged"  # as it was, in a place that settling changed
        return Outcome(self.decided[id_], status)


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


def _refused(record: Record, report: WriteReport) -> Failure:
    id_ = record.document.id
    return Failure(id_, record.document.url or id_, report.failures[id_], document=record.document)


def _without_page(document: Document) -> Document:
    """The page itself is not stored."""
    return document if document.html is None else replace(document, html=None)


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
