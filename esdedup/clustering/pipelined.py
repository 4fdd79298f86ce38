"""A stream of new documents into a store that shows its writes only after a refresh.

While the server works on one batch the next is decided: from what searches show, and from what was
written since the last refresh, kept in memory. A refresh, and the question whether other writers
were at work, come once in several batches (a stretch). Where nobody else wrote, what was decided
holds, as in a transaction; the batch that is ready by then begins the next stretch, and is sent
before the refresh. Documents that were there before and come after a new one are settled first.
Where somebody else wrote, or the store refused anything, the whole stretch is settled, and the next
ones are short.

Nothing rests on the memory alone: a run that was killed anywhere is run again, and what it wrote
is then settled as known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from esdedup.clustering.outcomes import Outcome, Written, id_of, refused
from esdedup.clustering.place import PendingIndex, place
from esdedup.clustering.reconcile import probes_of
from esdedup.ingest.sign import Signed
from esdedup.model import Decision, Failure
from esdedup.settings import Settings
from esdedup.stores import Record, Store, WriteReport

Items = Sequence[Signed | Failure]

# Batches between two refreshes while nobody else writes: many small segments make searches dear,
# and what is kept in memory stays small.
_LONGEST_STRETCH = 8
# The outcomes of a batch wait for the next one, which a trickle of single documents must not.
SMALLEST_BATCH = 8


@dataclass(frozen=True, slots=True)
class Steps:
    """What a stream needs of the pipeline around it."""

    records: Callable[[Iterable[Signed], dict[str, Record]], list[Record]]
    is_dropped: Callable[[Record, dict[str, Record]], bool]
    keep_failures: Callable[[Sequence[Failure], dict[str, Record]], None]
    settle: Callable[[set[str], Iterable[str]], dict[str, Decision]]
    write: Callable[[Items], list[Outcome]]  # a batch that cannot go with the stream


@dataclass(frozen=True, slots=True)
class _Batch:
    items: Items
    decided: list[Record]
    stored: list[Record]
    touched: set[str]  # who was there before and may belong to one of these


@dataclass(slots=True)
class _Stretch:
    """What was written since the last refresh, and who has to be looked at because of it."""

    mark: Any
    unseen: PendingIndex = field(default_factory=PendingIndex)
    touched: set[str] = field(default_factory=set)
    refused: list[Signed | Failure] = field(default_factory=list)
    is_doubtful: bool = False
    batches: int = 0


class Stream:
    """Batches one after the other; use it for one run and one store that is not serial."""

    def __init__(self, store: Store, settings: Settings, steps: Steps) -> None:
        self._store = store
        self._settings = settings
        self._steps = steps
        self._stretch: _Stretch | None = None
        self._longest = 1
        self._under_way: tuple[_Batch, Future[WriteReport]] | None = None
        # Whether ids of the batch before were known: then those of the next may be, too.
        self._asks_first = True
        self._meets_known = False

    def batches(self, prepared: Iterable[Items]) -> Iterator[list[Outcome]]:
        """Outcomes of one batch or a few, in the order of the input."""
        with ThreadPoolExecutor(1, "esdedup-bulk") as pool:
            for items in prepared:
                yield from filter(None, self._take(items, pool))
            yield self._end_stretch()

    def _take(self, items: Items, pool: ThreadPoolExecutor) -> Iterator[list[Outcome]]:
        if self._stretch is not None and self._is_long(self._stretch) and self._stretch.touched:
            yield self._end_stretch()
        batch = self._decided(items)
        landed = self._landed()
        renewed = self._renewed(batch)
        if self._stretch is not None and self._stretch.is_doubtful:
            # Decided on what the store did not take, or without what somebody else wrote.
            landed = self._end_stretch(landed)
            batch = self._decided(items)
        if batch is None:
            yield self._end_stretch(landed)
            yield self._by_itself(items)
            return
        self._stretch = renewed or self._stretch
        sent = self._send(batch, pool)
        yield landed
        if renewed is not None:
            self._store.refresh()  # while the batch is written
        yield sent

    def _is_long(self, stretch: _Stretch) -> bool:
        return stretch.batches >= self._longest

    def _renewed(self, batch: _Batch | None) -> _Stretch | None:
        """The stretch that begins with this batch, where the one before is long enough and what was
        decided in it holds."""
        stretch = self._stretch
        if batch is None or stretch is None or stretch.is_doubtful or not self._is_long(stretch):
            return None
        if not self._store.undisturbed(stretch.mark):
            stretch.is_doubtful = True
            return None
        self._longest = min(2 * self._longest, _LONGEST_STRETCH)
        renewed = _Stretch(self._store.marked())
        for record in batch.stored:
            renewed.unseen.put(record)
        return renewed

    def _by_itself(self, items: Items) -> list[Outcome]:
        outcomes = self._steps.write(items)
        self._meets_known = any(o.status in ("unchanged", "changed") for o in outcomes)
        return outcomes

    def _decided(self, items: Items) -> _Batch | None:
        """None where ids are repeated, known to the store, or in what people said: such a batch
        goes by itself."""
        if self._meets_known:
            return None
        if self._stretch is None:
            self._stretch = _Stretch(self._store.begin())
        stretch, ids = self._stretch, {id_of(item) for item in items}
        if len(ids) < len(items) or not stretch.unseen.records.keys().isdisjoint(ids):
            return None
        if not self._store.corrections.named.isdisjoint(ids):
            return None
        if self._asks_first or not self._store.refuses_known_ids:
            if self._store.get_many(ids):
                return None
            self._asks_first = False
        records = self._steps.records((s for s in items if isinstance(s, Signed)), {})
        records.sort(key=lambda r: r.order)
        queries = probes_of(records, self._settings)
        placement = place(
            records,
            queries,
            self._store.candidates_many(queries),
            self._settings,
            pending=stretch.unseen,
            constraints=self._store.corrections,
        )
        stored = []
        for record in placement.records:
            if self._steps.is_dropped(record, {}):
                stretch.unseen.discard(record.document.id)
            else:
                stored.append(record)
        touched = placement.affected
        if placement.representatives:
            touched |= self._store.later(placement.representatives)
        return _Batch(items, placement.records, stored, touched)

    def _send(self, batch: _Batch, pool: ThreadPoolExecutor) -> list[Outcome]:
        assert self._stretch is not None
        self._under_way = batch, pool.submit(self._store.put_many, batch.stored)
        self._stretch.touched |= batch.touched
        self._stretch.batches += 1
        # At first, and where others write, nothing waits for the next batch.
        return self._end_stretch() if self._longest == 1 else []

    def _landed(self) -> list[Outcome]:
        """Wait for the batch under way; its outcomes."""
        if self._under_way is None or self._stretch is None:
            return []
        (batch, job), self._under_way = self._under_way, None
        report = job.result()
        stored = [r for r in batch.stored if report.accepted(r.document.id)]
        failures = [item for item in batch.items if isinstance(item, Failure)]
        failures += [refused(r, report) for r in batch.stored if r.document.id in report.failures]
        self._store.release(r.document.id for r in stored)
        self._steps.keep_failures(failures, {})
        if report.conflicts or report.failures:
            self._stretch.is_doubtful = True
            self._stretch.refused += (i for i in batch.items if id_of(i) in report.conflicts)
        done = Written(
            decided={r.document.id: r.decision for r in batch.decided},
            stored={r.document.id for r in stored},
            failures={f.id: f for f in failures},
            there={},
        )
        items = batch.items
        if report.conflicts:
            items = [item for item in items if id_of(item) not in report.conflicts]
        return list(map(done.outcome, items))

    def _end_stretch(self, landed: Sequence[Outcome] = ()) -> list[Outcome]:
        """See whether what was decided holds, settle what it touched, begin anew."""
        outcomes, stretch = [*landed, *self._landed()], self._stretch
        self._stretch = None
        if stretch is None or not stretch.batches:
            return outcomes
        holds = not stretch.is_doubtful and self._store.undisturbed(stretch.mark)
        self._longest = min(2 * self._longest, _LONGEST_STRETCH) if holds else 1
        relinked = self._steps.settle(stretch.touched, () if holds else stretch.unseen.records)
        if relinked:
            outcomes = [
                replace(o, decision=relinked.pop(o.decision.id, o.decision)) for o in outcomes
            ]
        outcomes += (Outcome(decision, "relinked") for decision in relinked.values())
        # Another writer, or an earlier run, was quicker with these ids.
        return outcomes + (self._by_itself(stretch.refused) if stretch.refused else [])
