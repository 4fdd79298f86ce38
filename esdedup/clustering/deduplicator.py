"""The main job: documents in, decisions out, everything linked in the store.

`Deduplicator` joins the pure stages (extract, sign, decide) with a store. Whole batches are
written or nothing of them; running the same input again changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, Literal, Self

import numpy as np

from esdedup.clustering.outcomes import Outcome, Written, id_of, refused, unprocessed
from esdedup.clustering.pipelined import SMALLEST_BATCH, Steps, Stream
from esdedup.clustering.place import decide_alone, place, undecided, without_page
from esdedup.clustering.reconcile import Questions, places_of, probes_of, settle
from esdedup.errors import EsdedupError
from esdedup.ingest.failures import alone
from esdedup.ingest.sign import (
    Signed,
    check_settings,
    joined,
    prepare,
    prepare_apart,
    prepare_to_ask,
)
from esdedup.matching.canonical_order import order_for, stands_by_arrival
from esdedup.matching.constraints import Places
from esdedup.model import Candidate, Decision, Document, Failure, Order, Signature
from esdedup.settings import Settings
from esdedup.stores import Probe, Record, Store, open_store

# Small at first: the first outcomes come soon, and the store has work while more is signed.
_FIRST_BATCH = 125


class Deduplicator:
    """Finds copies and updates among news articles and links them in a store.

    Used with `with`, which closes the store:

        with Deduplicator.open("sqlite:///news.db") as news:
            for outcome in news.add_many(read(["feed.ndjson"])):
                print(outcome.decision.id, outcome.decision.role)
    """

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
        """With the store behind a URL; `open_store` has what it may be. Without one: in memory."""
        if mode == "write" and settings is not None:
            check_settings(settings)  # before a store is made that nothing can be added to
        opened = cls(open_store(url, settings, mode=mode))
        try:
            if mode == "write":
                check_settings(opened.settings)
        except EsdedupError:
            opened.close()
            raise
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def check(self, document: Document) -> Decision:
        """Decide without writing. A page that cannot be processed has the role `unprocessed`.

        For more than a few use `check_many`, which asks the store for many at once.
        """
        (decision,) = self.checked(prepare_to_ask([document], self.settings))
        return decision

    def check_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Decision]:
        """Decide about a stream without writing: each as if it came alone, in their order.

        `workers` are as for `add_many`.
        """
        # What is sent between processes is written out.
        sign = prepare_apart if workers else prepare_to_ask
        for batch in self._prepared(documents, workers, sign):
            yield from self.checked(batch)

    def checked(self, items: Sequence[Signed | Failure]) -> list[Decision]:
        """Decide about what `signing.prepare` made, without writing."""
        signed = [item for item in items if isinstance(item, Signed)]
        questions = Questions.of(self.settings)
        asked = [self._question(item, questions) for item in signed]
        self.store.see_own_writes()
        found = self.store.candidates_many(asked)
        named = self.store.corrections.others(item.document.id for item in signed)
        places = places_of(self.store, named)
        decided = (
            alone(item.document, self._decided_in_place, item, one, near, places)
            for item, one, near in zip(signed, asked, found, strict=True)
        )
        done = (item if isinstance(item, Failure) else next(decided) for item in items)
        return [unprocessed(item) if isinstance(item, Failure) else item for item in done]

    def _question(self, signed: Signed, questions: Questions) -> Probe:
        """Without an id: where the document is stored and leads, the answer has it as well."""
        document, signature = signed.document, signed.signature
        order = self._order(document, signature.words, self._clock.now())
        return questions.probe("", signature, order, document.source)

    def _decided_in_place(
        self, signed: Signed, query: Probe, near: Sequence[Candidate], places: Places
    ) -> Decision:
        """As it would be indexed: a stored document that stands where it arrived stays there, or
        its own update would be found before it."""
        id_, order = signed.document.id, query.order
        if stands_by_arrival(signed.document, self.settings):
            order = next((c.order for c in near if c.id == id_), order)
        return decide_alone(
            undecided(signed, order, order[0]),
            query,
            [c for c in near if c.order < order],
            self.settings,
            constraints=self.store.corrections,
            positions=dict(places),
        )

    def add(self, document: Document) -> Decision:
        """Index one document: decide, store it, and mend what it touches.

        For more than a few use `add_many`, whose batches share lookups and writes.
        """
        *_, outcome = (o for o in self.add_many([document]) if o.status != "relinked")
        return outcome.decision

    def add_many(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[Outcome]:
        """Index a stream; outcomes come batch by batch, in the order of the input.

        Nothing is read or written before they are asked for. `workers` are processes for
        extraction and signing, 0 is none. Documents that were there before and found another
        place are among the outcomes, with the status `relinked`.
        """
        for batch in self.add_batches(documents, workers=workers):
            yield from batch

    def add_batches(
        self, documents: Iterable[Document | Failure], *, workers: int = 0
    ) -> Iterator[list[Outcome]]:
        """As `add_many`, each batch as a whole once it is written."""
        prepared = self._prepared(documents, workers)
        if self.store.serial or self.settings.batch < SMALLEST_BATCH:
            yield from map(self.write, prepared)
        else:
            yield from Stream(self.store, self.settings, self._steps()).batches(prepared)
        self.store.refresh()

    def write(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        """Decide and store one batch that `signing.prepare` made: all of it, or on an error
        nothing."""
        outcomes: list[Outcome] = []
        with self.store.transaction():
            for part in _without_repeated_ids(items):
                outcomes += self._write_part(part)
        return outcomes

    def delete(self, ids: Iterable[str]) -> set[str]:
        """Remove documents; a group that loses its original gets the next by the order.

        Returns the ids that were there.
        """
        with self.store.transaction():
            self.store.begin()
            in_turn = list(dict.fromkeys(ids))
            wanted = set(in_turn)
            there = self.store.get_many(wanted)
            orphans = self.store.followers(wanted)
            orphans |= self._touched_by_replacing(list(there.values()))
            removed = self.store.delete(in_turn)
            if not self.store.serial:
                orphans |= self.store.followers(wanted)  # somebody may have added one meanwhile
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
        """Work off the quarantine: what succeeds now is indexed and leaves it.

        Pages are read in a worker process, under the limits that they may be there for.
        """
        from esdedup.ingest.workers import Workers

        with Workers(1, prepare, self.settings) as pool:
            for failure in self.store.quarantined():
                if failure.final or failure.document is None:
                    continue
                ((item,),) = pool.map([failure.document])
                with self.store.transaction():
                    if isinstance(item, Signed) and item.document.id != failure.id:
                        self.store.delete([failure.id])  # it was kept under a makeshift id
                    outcomes = self.write([item])
                yield from outcomes

    # --- one batch ---------------------------------------------------------------------------

    def _prepared(
        self,
        documents: Iterable[Document | Failure],
        workers: int,
        sign: Callable[[list[Document], Settings], list[Any]] = prepare_apart,
    ) -> Iterator[list[Signed | Failure]]:
        from esdedup.ingest.workers import Workers, growing

        check_settings(self.settings)
        with Workers(workers, sign, self.settings, joined) as pool:
            whole = self.settings.batch
            chunks = pool.map(documents, whole, first=_FIRST_BATCH)
            ready = (item for chunk in chunks for item in chunk)
            for size in growing(_FIRST_BATCH, whole):
                if not (batch := list(islice(ready, size))):
                    return
                yield batch

    def _steps(self) -> Steps:
        return Steps(
            records=self._records,
            is_dropped=self._is_dropped,
            keep_failures=self._keep_failures,
            settle=self._settle,
            write=self.write,
        )

    def _write_part(self, items: Sequence[Signed | Failure]) -> list[Outcome]:
        """Items with distinct ids: decide, write, settle what the write touched."""
        mark = self.store.begin()
        signed = [item for item in items if isinstance(item, Signed)]
        failures = [item for item in items if isinstance(item, Failure)]
        there = self.store.get_many(id_of(item) for item in items)
        records = self._records(signed, there)
        fresh = [r for r in records if not _is_unchanged(r, there.get(r.document.id))]
        decided = self.place(fresh)
        stored = [r for r in decided if not self._is_dropped(r, there)]
        replaced = [there[r.document.id] for r in stored if r.document.id in there]
        touched = self._touched_by_replacing(replaced)
        # Before the write, or the batch itself is among the answers.
        touched |= self._after_new(stored)
        report = self.store.put_many(stored)
        stored = [r for r in stored if report.accepted(r.document.id)]
        failures += [refused(r, report) for r in decided if r.document.id in report.failures]
        self.store.release(r.document.id for r in stored)
        self._keep_failures(failures, there)
        known = {r.document.id for r in records} - {r.document.id for r in decided}
        doubtful = {r.document.id for r in stored}
        taken = not report.conflicts and not report.failures
        if not self.store.serial and taken and self.store.undisturbed(mark):
            doubtful = set()  # nobody else wrote meanwhile: what was decided holds
        relinked = self._settle(touched, doubtful, known)
        done = Written(
            decided={r.document.id: r.decision for r in decided} | relinked,
            stored={r.document.id for r in stored},
            failures={f.id: f for f in failures},
            there=there,
        )
        # Another writer was quicker with these ids: look again at what is there now.
        again = [item for item in items if id_of(item) in report.conflicts]
        ids = {id_of(item) for item in items}
        return [
            *(done.outcome(item) for item in items if id_of(item) not in report.conflicts),
            *(Outcome(d, "relinked") for id_, d in relinked.items() if id_ not in ids),
            *(self._write_part(again) if again else ()),
        ]

    def _records(self, signed: Iterable[Signed], there: Mapping[str, Record]) -> list[Record]:
        """Each with the decision of a document that meets nobody."""
        pinned = self.store.corrections.pinned
        return [self._record(one, there.get(one.document.id), pinned) for one in signed]

    def _record(self, signed: Signed, there: Record | None, pinned: Set[str]) -> Record:
        first_seen = there.first_seen if there else self._clock.now()
        document, words = signed.document, signed.signature.words
        order = order_for(document, words, first_seen, self.settings, pinned=document.id in pinned)
        return replace(undecided(signed, order, first_seen), version=there and there.version)

    def _order(self, document: Document, words: int, first_seen: int) -> Order:
        pinned = document.id in self.store.corrections.pinned
        return order_for(document, words, first_seen, self.settings, pinned=pinned)

    def place(self, records: Sequence[Record]) -> list[Record]:
        """First guess for a batch: what the store has, and the batch itself, in their order."""
        ordered = sorted(records, key=lambda r: r.order)
        queries = probes_of(ordered, self.settings)
        ids = {r.document.id for r in records}
        constraints = self.store.corrections
        return place(
            ordered,
            queries,
            self.store.candidates_many(queries),
            self.settings,
            constraints=constraints,
            positions=dict(places_of(self.store, constraints.others(ids) - ids)),
        ).records

    def _touched_by_replacing(self, old: Sequence[Record]) -> set[str]:
        """Who leaned on documents that are about to be replaced by another version."""
        if not old or self.settings.attract == "all":
            return set()
        probes = probes_of((r for r in old if r.decision.link.attracts), self.settings)
        ids = [r.document.id for r in old]
        touched = self.store.followers(ids) | self.store.later(probes)
        return touched | self.store.corrections.others(ids)

    def _after_new(self, records: Sequence[Record]) -> set[str]:
        """Who was in the store before these and may belong to one of them."""
        if self.settings.attract == "all":
            return set()
        attracting = [r for r in records if r.decision.link.attracts]
        named = self.store.corrections.others(r.document.id for r in records)
        return named | self.store.later(probes_of(attracting, self.settings))

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
            without_page(document),
            empty_signature(self.settings),
            self._order(document, 0, first_seen),
            first_seen,
            decision,
        )

    def _is_dropped(self, record: Record, there: dict[str, Record]) -> bool:
        return (
            self.settings.on_duplicate == "drop"
            and record.decision.role == "duplicate"
            and record.document.id not in there
        )


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
        if id_of(item) in part:
            yield list(part.values())
            part = {}
        part[id_of(item)] = item
    if part:
        yield list(part.values())
