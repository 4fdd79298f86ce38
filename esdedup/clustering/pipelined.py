"""Writes a stream of new documents into a store with delayed visibility.

While the server works on one batch the next is decided: from what searches show, and from pending
records. A refresh, and the question whether other writers were at work, come once in several
batches (an epoch). If nobody else wrote, the decisions hold, as in a transaction; the batch that is
ready by then begins the next epoch, and is sent before the refresh. Stored documents that come
after a new one are reconciled first. If somebody else wrote, or the store refused a document, the
whole epoch is reconciled, and the next ones are short.

Nothing depends on the memory alone: a run that was killed is run again, and reconciles what it
wrote as unchanged documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from esdedup.clustering.epoch import Epoch
from esdedup.clustering.outcomes import Outcome, id_of
from esdedup.clustering.transactional import BatchWriter, Items
from esdedup.ingest.sign import Signed
from esdedup.model import Failure
from esdedup.stores import Record, WriteReport

# Batches between two refreshes while nobody else writes: many small segments make searches
# expensive, and the pending records stay few.
_LONGEST_EPOCH = 8
# The outcomes of a batch wait for the next one, which a trickle of single documents must not.
SMALLEST_BATCH = 8


@dataclass(frozen=True, slots=True)
class _Batch:
    items: Items
    decided: list[Record]
    stored: list[Record]


@dataclass(slots=True)
class _StreamEpoch(Epoch):
    """An epoch of several batches."""

    batches: int = 0
    conflicting: list[Signed | Failure] = field(default_factory=list)


class Stream:
    """Writes batches one after the other; use it for one run."""

    def __init__(self, writer: BatchWriter) -> None:
        self._writer = writer
        self._store = writer.store
        self._epoch: _StreamEpoch | None = None
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
            yield self._end_epoch()

    def _take(self, items: Items, pool: ThreadPoolExecutor) -> Iterator[list[Outcome]]:
        if self._epoch is not None and self._is_long(self._epoch) and self._epoch.affected:
            yield self._end_epoch()
        batch = self._decide(items)
        landed = self._land()
        renewed = self._renew(batch)
        if self._epoch is not None and self._epoch.must_recheck:
            # Decided on what the store did not take, or without what somebody else wrote.
            landed = self._end_epoch(landed)
            batch = self._decide(items)
        if batch is None:
            yield self._end_epoch(landed)
            yield self._write_alone(items)
            return
        self._epoch = renewed or self._epoch
        sent = self._send(batch, pool)
        yield landed
        if renewed is not None:
            self._store.concurrency.make_visible()  # while the batch is written
        yield sent

    def _is_long(self, epoch: _StreamEpoch) -> bool:
        return epoch.batches >= self._longest

    def _renew(self, batch: _Batch | None) -> _StreamEpoch | None:
        """The epoch that begins with this batch, if the current one is long enough and holds."""
        epoch = self._epoch
        if batch is None or epoch is None or epoch.must_recheck or not self._is_long(epoch):
            return None
        if not epoch.holds():
            epoch.must_recheck = True
            return None
        self._longest = min(2 * self._longest, _LONGEST_EPOCH)
        renewed = _StreamEpoch(
            self._store, self._store.concurrency.snapshot(visible=False), affected=epoch.affected
        )
        for record in batch.stored:
            renewed.pending.put(record)
        return renewed

    def _write_alone(self, items: Items) -> list[Outcome]:
        outcomes = self._writer.write(items)
        self._meets_known = any(o.status in ("unchanged", "changed") for o in outcomes)
        return outcomes

    def _decide(self, items: Items) -> _Batch | None:
        """None if ids are repeated, known to the store, or named by constraints."""
        if self._meets_known:
            return None
        if self._epoch is None:
            self._epoch = _StreamEpoch.begin(self._store)
        epoch, ids = self._epoch, {id_of(item) for item in items}
        if len(ids) < len(items) or epoch.pending.has_any(ids):
            return None
        if not self._store.constraints.recent().named.isdisjoint(ids):
            return None
        if self._asks_first or not self._store.documents.refuses_existing_ids:
            if self._store.documents.get(ids):
                return None
            self._asks_first = False
        decided = epoch.place(
            self._writer.builder.build((s for s in items if isinstance(s, Signed)), {}),
            is_stored=self._is_stored,
        )
        return _Batch(items, decided, [r for r in decided if self._is_stored(r)])

    def _is_stored(self, record: Record) -> bool:
        return not self._writer.is_dropped(record, ())

    def _send(self, batch: _Batch, pool: ThreadPoolExecutor) -> list[Outcome]:
        assert self._epoch is not None
        self._under_way = batch, pool.submit(self._store.documents.put, batch.stored)
        self._epoch.written.update(r.document.id for r in batch.stored)
        self._epoch.batches += 1
        # At first, and where others write, nothing waits for the next batch.
        return self._end_epoch() if self._longest == 1 else []

    def _land(self) -> list[Outcome]:
        """Wait for the batch under way; its outcomes."""
        if self._under_way is None or self._epoch is None:
            return []
        (batch, job), self._under_way = self._under_way, None
        report = job.result()
        done = self._writer.finish(batch.items, batch.decided, batch.stored, report)
        if report.conflicts or report.failures:
            self._epoch.must_recheck = True
            self._epoch.conflicting += (i for i in batch.items if id_of(i) in report.conflicts)
        return [done.outcome(i) for i in batch.items if id_of(i) not in report.conflicts]

    def _end_epoch(self, landed: Sequence[Outcome] = ()) -> list[Outcome]:
        outcomes, epoch = [*landed, *self._land()], self._epoch
        self._epoch = None
        if epoch is None or not epoch.batches:
            return outcomes
        holds = epoch.holds()
        self._longest = min(2 * self._longest, _LONGEST_EPOCH) if holds else 1
        relinked = epoch.reconcile(holds=holds)
        if relinked:
            outcomes = [
                replace(o, decision=relinked.pop(o.decision.id, o.decision)) for o in outcomes
            ]
        outcomes += (Outcome(decision, "relinked") for decision in relinked.values())
        # Another writer, or an earlier run, was quicker with these ids.
        return outcomes + (self._write_alone(epoch.conflicting) if epoch.conflicting else [])
