"""Detection for one tenant and one configured pattern, and the reconciliation behind it.

A write is decided on what searches show and on what this session wrote since the last refresh, as
in a `pipelined` stream. From time to time, with no write under way, an epoch ends. If the sequence
numbers show that nobody else wrote, the decisions hold, and only the affected documents are
reconciled; otherwise all written documents are. Nothing depends on the memory of a session: what
it did not reconcile, `esdedup sweep` does, by the time that every link carries.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import Epoch
from esdedup.clustering.place import PendingIndex
from esdedup.clustering.transactional import is_revised
from esdedup.errors import StoreError
from esdedup.gateway import enriching
from esdedup.gateway.bulk import Operation, operation_done
from esdedup.gateway.tenants import TenantStore
from esdedup.gateway.write_job import Unsigned
from esdedup.ingest.readers.records import FieldMap
from esdedup.ingest.sign import Signed, attach_document, check_settings, prepare_in_worker
from esdedup.ingest.workers import Workers
from esdedup.maintenance.backfill import Backfill, Progress
from esdedup.maintenance.backfill import BackfillPlan as SweepPlan
from esdedup.model import JSON, Failure
from esdedup.model.batching import batched
from esdedup.stores import Record
from esdedup.stores.cluster.connection import ClusterRefused, path_of
from esdedup.stores.cluster.documents import version_of
from esdedup.stores.cluster.foreign_index import ours_of

log = logging.getLogger("esdedup.gateway")

# How long an index is trusted to have our fields: it may be deleted and made anew by others.
_TRUSTED_SECONDS = 1.0
# An epoch waits so long for writes under way; then it ends as one that must be rechecked.
_QUIET_SECONDS = 10.0
# While writes go on an epoch lasts so many documents, which are kept in memory, or so many
# seconds: its end costs a refresh.
LONGEST_EPOCH = 4_000
LONGEST_SECONDS = 5.0


@dataclass(slots=True)
class _SessionEpoch(Epoch):
    """An epoch whose writes are sent by clients, and counted when the cluster has answered."""

    replaced: dict[str, Record] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    # Documents to be read again and signed where they have no signature, or that of another text.
    to_verify: Unsigned = field(default_factory=dict)
    # As they were before an update whose text only the cluster knows.
    before_script: dict[str, Record] = field(default_factory=dict)
    # What was written over another text, with the sequence number that the cluster gave it.
    revised: dict[str, list[Record]] = field(default_factory=dict)
    operations: int = 0
    began: float = field(default_factory=time.monotonic)


class TenantSession:
    """See above; used from any thread."""

    def __init__(self, store: TenantStore, fields: Mapping[str, str], workers: int) -> None:
        self.store = store
        self.deduplicator = Deduplicator(store)
        self.settings = store.settings
        check_settings(self.settings)
        self._backfill = Backfill(self.deduplicator, SweepPlan(fields=fields))
        # Names told to an earlier backfill count as well.
        told = {**self._backfill.index.recorded_fields(), **fields}
        self.fields = told
        self._names = FieldMap(told)
        self._record_names(told)
        self._count = max(1, workers)
        join = partial(attach_document, self.settings)
        self._workers = Workers(self._count, prepare_in_worker, self.settings, join)
        self._signing, self._deciding = threading.Lock(), threading.Lock()
        self._state = threading.Condition()
        self._under_way = 0
        self.pins = 0  # by those who are about to write; counted by the manager
        self._is_closing = False
        self._trusted: dict[str, float] = {}
        self._has_warned = False
        self._epoch = _SessionEpoch.begin(store)
        self.used = time.monotonic()

    def _record_names(self, told: Mapping[str, str]) -> None:
        """As `backfill` does: for reading and searching under the names of this index."""
        names = self._backfill.mapped_names()
        if told or any(list(found) != [ours] for ours, found in names.items()):
            self._backfill.index.record_names(told, names)

    def close(self) -> None:
        self._workers.__exit__(None, None, None)
        self.store.close()

    # --- a write -----------------------------------------------------------------------------

    def write(self, operations: Sequence[Operation]) -> SessionWrite:
        """A batch of operations, as a context manager."""
        return SessionWrite(self, operations)

    def prepare(self, operations: Sequence[Operation]) -> Prepared:
        """Sign a batch: the part of a write that depends on no other write."""
        ready = self._with_our_fields({op.index for op in operations})
        usable = [op for op in operations if op.index in ready]
        unsigned = [op for op in operations if op.index not in ready]
        hits = self._read(usable)
        plan = enriching.plan_batch(usable, hits, self._names)
        signed = self._sign([d.document for d in plan.drafts if d.document is not None])
        return Prepared(plan, signed, unsigned, self._read_replaced(hits))

    def decide(self, prepared: Prepared, *, alone: bool = False) -> dict[int, bytes]:
        """The lines to send instead; `alone` is a request of one document."""
        plan = prepared.plan
        records = [
            enriching.record_of(self.deduplicator.writer.builder, draft, item, self._names)
            for draft, item in zip(plan.drafts, prepared.signed, strict=True)
        ]
        self._keep_versions(
            [
                old
                for record in records
                if (old := prepared.replaced.get(record.document.id))
                and is_revised(old, record.document)
            ]
        )
        with self._deciding:
            decided = self._place(records, plan)
            drafted = {draft.id for draft in plan.drafts}
            for id_ in plan.to_verify.keys() - drafted:
                if old := prepared.replaced.get(id_):
                    self._epoch.before_script.setdefault(id_, old)
        names = self._backfill.index.names
        return enriching.changed_lines(plan.drafts, decided, names, alone=alone)

    def _sign(self, documents: Sequence[Any]) -> list[Signed | Failure]:
        with self._signing:
            share = -(-len(documents) // self._count)  # all workers have part in one request
            parts = self._workers.map(documents, max(1, min(self.settings.batch, share)))
            return [item for part in parts for item in part]

    def _read(self, operations: Sequence[Operation]) -> dict[tuple[str, str], JSON]:
        """In real time, by the index each is written to; of updates the whole document."""
        docs: dict[tuple[str, str], JSON] = {}
        for op in operations:
            if enriching.wants_reading(op):
                is_kept = self.settings.revisions and op.verb == "index"
                whole = is_kept or op.verb == "update" or (op.index, op.id) in docs
                part = {} if whole else {"_source": ["dedup"]}
                docs[op.index, op.id or ""] = {"_index": op.index, "_id": op.id, **part}
        if not docs:
            return {}
        answer = self.store.connection.send("POST", "/_mget", body={"docs": list(docs.values())})
        return {
            key: hit
            for key, hit in zip(docs, answer["docs"], strict=True)
            if hit.get("found") and "_source" in hit
        }

    def _place(self, records: Sequence[Record], plan: enriching.Plan) -> list[Record]:
        """The records, those that could be processed with their decisions."""
        epoch = self._epoch
        is_repeated = len(plan.ids) < len(records) or epoch.pending.has_any(plan.ids)
        # Constraints may have changed since the epoch began.
        is_named = not self.store.constraints.recent().named.isdisjoint(plan.ids)
        if is_repeated or is_named:  # other threads set the flag, too: it is never reset here
            epoch.must_recheck = True
        signed = [(i, r) for i, r in enumerate(records) if r.decision.role != "unprocessed"]
        signed.sort(key=lambda pair: pair[1].order)
        placed = epoch.place([r for _, r in signed], hidden=plan.ids | plan.gone)
        epoch.written |= plan.ids
        epoch.deleted |= plan.gone
        now = time.time_ns() // 1000
        epoch.to_verify |= {id_: (index, now) for id_, index in plan.to_verify.items()}
        for old in plan.replaced:
            epoch.replaced.setdefault(old.document.id, old)
        decided = list(records)
        for (i, _), record in zip(signed, placed, strict=True):
            decided[i] = record
        return decided

    # --- versions ------------------------------------------------------------------------------

    def _read_replaced(self, hits: Mapping[tuple[str, str], JSON]) -> dict[str, Record]:
        """Documents as they are before a write; not those whose `dedup` is somebody else's."""
        if not self.settings.revisions:
            return {}
        return {
            id_: self.store.documents.read_record(hit)
            for (_, id_), hit in hits.items()
            if "dedup" not in hit["_source"] or enriching.old_record(hit) is not None
        }

    def _keep_versions(self, replaced: Sequence[Record]) -> None:
        """Keep versions that a write replaces."""
        with self._optional():
            self.store.revisions.add(replaced, datetime.now(UTC))

    @contextmanager
    def _optional(self) -> Iterator[None]:
        """A tenant that may not write earlier versions still writes its articles."""
        try:
            yield
        except StoreError as error:
            if not self._has_warned:
                self._has_warned = True
                log.warning("earlier versions of articles are not kept: %s", error)

    def note_revised(self, written: Sequence[Record]) -> None:
        """Records that were written over others, each with the version that the cluster named."""
        with self._state:
            for record in written:
                self._epoch.revised.setdefault(record.document.id, []).append(record)

    def _keep_overtaken(self, epoch: _SessionEpoch) -> None:
        """Keep versions of this epoch that are not the current text any more: requests of clients
        are not conditional, so that two of them may replace the same text at once. Remove those of
        deleted articles."""
        if not self.settings.revisions:
            return
        current = self.store.documents.get({*epoch.revised, *epoch.before_script, *epoch.deleted})
        written = [record for records in epoch.revised.values() for record in records]
        self._keep_versions_in_turn(
            record
            for record in (*written, *epoch.before_script.values())
            if (now := current.get(record.document.id)) and is_revised(record, now.document)
        )
        if gone := epoch.deleted - current.keys():
            with self._optional():
                self.store.revisions.remove(gone)

    def _keep_versions_in_turn(self, records: Iterable[Record]) -> None:
        """As many at once as have different ids."""
        waiting: list[Record] = []
        for record in records:
            if any(record.document.id == other.document.id for other in waiting):
                self._keep_versions(waiting)
                waiting = []
            waiting.append(record)
        self._keep_versions(waiting)

    def note_unsigned(self, documents: Unsigned) -> None:
        """Documents passed without our fields; the end of the epoch signs them."""
        with self._state:
            self._epoch.to_verify |= documents

    def begin_write(self) -> None:
        with self._state:
            self._state.wait_for(lambda: not self._is_closing, timeout=_QUIET_SECONDS)
            self._under_way += 1
            self.used = time.monotonic()

    def end_write(self, *, operations: int | None) -> None:
        """`operations` the cluster did; None where it did not say, or refused some."""
        with self._state:
            self._under_way -= 1
            self.used = time.monotonic()
            self._epoch.operations += operations or 0
            if operations is None:
                self._epoch.must_recheck = True
            self._state.notify_all()

    # --- the mapping -------------------------------------------------------------------------

    def _with_our_fields(self, names: set[str]) -> set[str]:
        """Those of the names that are there, given our fields where they lack them."""
        now = time.monotonic()
        known = {n for n in names if now - self._trusted.get(n, -1e9) < _TRUSTED_SECONDS}
        for name in names - known:
            try:
                answer = self.store.connection.send("GET", path_of(name, "_mapping"))
            except ClusterRefused as refusal:
                if refusal.status == 404:
                    continue  # made by the first write, with the mapping the cluster gives it
                raise
            for index, entry in answer.items():
                self.store.index.add_our_fields(index, entry.get("mappings", {}), self.settings)
            self._trusted[name] = now
            known.add(name)
        return known

    # --- the end of an epoch -----------------------------------------------------------------

    def is_due(self, idle_seconds: float) -> bool:
        """Whether the epoch is to end: nothing was written for a while, or it is long enough."""
        now = time.monotonic()
        is_idle = not self._under_way and now - self.used >= idle_seconds
        epoch = self._epoch
        is_long = len(epoch.written) >= LONGEST_EPOCH or now - epoch.began >= LONGEST_SECONDS
        return bool(self.waiting) and (is_idle or is_long)

    @property
    def is_busy(self) -> bool:
        return self._under_way > 0 or self.pins > 0

    @property
    def waiting(self) -> int:
        """Documents that the end of the epoch has to look at."""
        epoch = self._epoch
        return len(epoch.written) + len(epoch.deleted) + len(epoch.to_verify)

    def end_epoch(self) -> None:
        """End the epoch: see whether its decisions hold, and reconcile what it affected."""
        with self._quiet() as is_quiet:
            epoch = self._epoch
            self.store.note_written(epoch.operations)
            epoch.operations = 0
            if not is_quiet:
                epoch.must_recheck = True
            holds = epoch.holds()
            if holds:
                # Pending until the refresh is done: writes do not wait for it.
                pending = PendingIndex(earlier=epoch.pending)
                self._epoch = _SessionEpoch(
                    self.store, self.store.concurrency.snapshot(visible=False), pending
                )
            else:
                self._epoch = _SessionEpoch.begin(self.store)
                self._epoch.must_recheck = not is_quiet
        try:
            if holds:
                self._make_visible()
            changed = self._reconcile(epoch, holds=holds)
        except (StoreError, KeyError):
            self._take_back(epoch)
            raise
        if changed:  # what was decided meanwhile may rest on a link that is another now
            self._epoch.must_recheck = True

    def _make_visible(self) -> None:
        """Make what the epoch before wrote visible to searches: it is pending no more."""
        self.store.concurrency.make_visible()
        with self._deciding:
            self.store.candidates.forget()
            self._epoch.pending.drop_earlier()

    def _reconcile(self, epoch: _SessionEpoch, *, holds: bool) -> bool:
        if epoch.replaced:
            epoch.note_replaced(list(epoch.replaced.values()))
        if gone := epoch.deleted | set(epoch.replaced):
            epoch.affected |= self.store.candidates.dependents(gone)
        if epoch.revised or epoch.before_script or epoch.deleted:
            self._keep_overtaken(epoch)
        changed = bool(epoch.reconcile(holds=holds))
        return self._verify(epoch.to_verify) or changed

    def _verify(self, documents: Unsigned) -> bool:
        """Sign documents without our fields, and those of which an update made another text: the
        cluster merges partial updates."""
        has_signed = False
        for part in batched(documents.items(), self.settings.batch):
            docs = [{"_index": index, "_id": id_} for id_, (index, _) in part]
            answer = self.store.connection.send("POST", "/_mget", body={"docs": docs})
            hits = [h for h in answer["docs"] if h.get("found") and "_source" in h]
            signed = self._sign([self._backfill.document(hit) for hit in hits])
            wrong = [h for h, s in zip(hits, signed, strict=True) if _is_stale(h, s)]
            if wrong:
                arrivals = {id_: arrived for id_, (_, arrived) in part}
                with self._signing:
                    self._backfill.sign_batch(wrong, arrivals, self._workers, Progress())
                has_signed = True
        if has_signed:  # searches fold them from now on
            self.store.concurrency.make_visible()
        return has_signed

    def _take_back(self, epoch: _SessionEpoch) -> None:
        """Reconciliation failed: all of it is tried again with the next epoch."""
        with self._state:
            new = self._epoch
            new.written |= epoch.written
            new.affected |= epoch.affected
            new.deleted |= epoch.deleted
            new.to_verify |= epoch.to_verify
            new.replaced |= epoch.replaced
            new.before_script = {**new.before_script, **epoch.before_script}
            for id_, records in epoch.revised.items():
                new.revised.setdefault(id_, []).extend(records)
            new.must_recheck = True

    def abandon(self) -> int:
        """Give up reconciling what waits; returns how much that was."""
        with self._state:
            count, epoch = self.waiting, self._epoch
            epoch.written, epoch.affected, epoch.deleted = set(), set(), set()
            epoch.to_verify, epoch.replaced = {}, {}
            epoch.before_script, epoch.revised = {}, {}
        return count

    @contextmanager
    def _quiet(self) -> Iterator[bool]:
        """No write under way meanwhile, unless one takes too long; tells which it is."""
        with self._state:
            self._is_closing = True
            is_quiet = self._state.wait_for(lambda: not self._under_way, timeout=_QUIET_SECONDS)
        try:
            yield is_quiet
        finally:
            with self._state:
                self._is_closing = False
                self._state.notify_all()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch that is signed; `unsigned` operations are those of an index that the write makes."""

    plan: enriching.Plan
    signed: list[Signed | Failure]
    unsigned: list[Operation]
    replaced: dict[str, Record] = field(default_factory=dict)  # as they were, by id

    @property
    def unread_dates(self) -> int:
        """Documents whose date is written in a way that cannot be read."""
        return sum(
            isinstance(item, Signed) and item.document.unread_date is not None
            for item in self.signed
        )


class SessionWrite:
    """One batch on its way through a session, signed when it is entered:

        with session.write(operations) as write:
            lines = write.decide()
            ...                         # send them
            write.confirm(results)      # what the cluster answered

    Left without `decide`, nothing was written. Left after it without `confirm`, nobody knows what
    was written, and the epoch is rechecked.
    """

    prepared: Prepared

    def __init__(self, session: TenantSession, operations: Sequence[Operation]) -> None:
        self._session = session
        self._operations = operations
        self._done: int | None = 0

    def __enter__(self) -> Self:
        self._session.begin_write()
        try:
            self.prepared = self._session.prepare(self._operations)
        except BaseException:
            self._session.end_write(operations=0)
            raise
        return self

    def decide(self, *, alone: bool = False) -> dict[int, bytes]:
        """The lines to send instead; `alone` is a request of one document."""
        self._done = None
        return self._session.decide(self.prepared, alone=alone)

    def confirm(self, results: Mapping[int, JSON]) -> None:
        """What the cluster answered, by the line of each action; nothing where it did not tell."""
        if self._done is None:
            counts = [operation_done(results.get(op.action_line, {})) for op in self._operations]
            self._done = None if None in counts else sum(filter(None, counts))
            self._session.note_revised(list(self._written_over(results)))

    def _written_over(self, results: Mapping[int, JSON]) -> Iterator[Record]:
        """What was written over another text, with its version."""
        drafts, signed = self.prepared.plan.drafts, self.prepared.signed
        counts = Counter(draft.id for draft in drafts)
        for draft, item in zip(drafts, signed, strict=True):
            is_over = draft.id in self.prepared.replaced or counts[draft.id] > 1
            result = results.get(draft.operation.action_line, {})
            # `filter_path` may leave these out of an answer.
            has_version = {"_index", "_seq_no", "_primary_term"} <= result.keys()
            if is_over and has_version and isinstance(item, Signed) and operation_done(result):
                (record,) = self._session.deduplicator.writer.builder.build([item], {})
                yield replace(record, version=version_of(result))

    def __exit__(self, *exception: object) -> None:
        self._session.end_write(operations=self._done)


def _is_stale(hit: JSON, signed: Signed | Failure) -> bool:
    if isinstance(signed, Failure):
        return ours_of(hit).get("role") != "unprocessed"
    return ours_of(hit).get("digest") != signed.signature.digest
