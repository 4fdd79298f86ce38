"""The state of the service that routes use: reading, indexing, changing, stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from datetime import datetime
from functools import partial, wraps
from time import perf_counter
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome, id_of
from esdedup.errors import EsdedupError, StoreError
from esdedup.ingest.sign import Signed, check_settings, prepare
from esdedup.ingest.workers import Workers
from esdedup.model import JSON, Document, Failure
from esdedup.model.batching import batched
from esdedup.service.admission import Admission
from esdedup.service.cache import TimedCache
from esdedup.service.config import ServiceConfig
from esdedup.service.event_stream import EventStream
from esdedup.service.instrumented_store import instrument
from esdedup.service.keys import KeyRing
from esdedup.service.metrics import Metrics
from esdedup.service.pool import ResourcePool
from esdedup.service.problems import Problem
from esdedup.service.responses import Retried
from esdedup.settings import Settings
from esdedup.stores import recorded_settings
from esdedup.stories.events import Event
from esdedup.stories.events.history import find_events

T = TypeVar("T")
P = ParamSpec("P")
Documents = Sequence[Document | Failure]
Prepared = list[Signed | Failure]
# Articles of the quarantine tried at once.
_RETRIED = 50
# These read much or all of a store: answers of this age are given again.
_STATS_SECONDS = 15.0
_HOT_KEYS_SECONDS = 600.0
_EVENTS_SECONDS = 20.0


def _run_to_end(
    method: Callable[Concatenate[Service, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Service, P], Coroutine[Any, Any, T]]:
    """Work that goes on if the client goes away, and that `close` waits for."""

    @wraps(method)
    async def run(self: Service, /, *args: P.args, **options: P.kwargs) -> T:
        task = asyncio.ensure_future(method(self, *args, **options))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return await asyncio.shield(task)

    return run


class Service:
    """Made before the server starts, opened and closed with it."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self.settings = config.settings or Settings()  # those of the store, once it is open
        self.metrics = Metrics()
        self.keys = KeyRing(config.keys_file) if config.keys_file is not None else None
        self.stopping = asyncio.Event()
        self.streams = 0
        self.addresses: frozenset[str] = frozenset()  # for labels of metrics
        self.connections: Collection[object] = ()  # of the server, as they are now
        self.admission = Admission(config.queue, config.queue_bytes)
        self.questions = Admission(config.queue, config.queue_bytes)
        self.under_way: set[asyncio.Task[Any]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stats: TimedCache[JSON] = TimedCache(_STATS_SECONDS)
        self._hot_keys: TimedCache[dict[str, int]] = TimedCache(_HOT_KEYS_SECONDS)
        self._events: TimedCache[list[Event]] = TimedCache(_EVENTS_SECONDS)
        self._event_stream: EventStream | None = None
        # Threads start with their first job.
        self.writer = ResourcePool(partial(self._connect, "write"), 1, "esdedup-write")
        self._readers = ResourcePool(
            partial(self._connect, "read"), config.readers, "esdedup-read", (StoreError,)
        )
        self._free_readers = asyncio.Semaphore(config.readers)
        # A text is signed in the thread that asks; a page goes to a process. One page that takes
        # all its time holds up one set of workers and nobody else.
        self._signers = ResourcePool(
            lambda: Workers(1, prepare, self.settings),
            config.workers,
            "esdedup-prepare",
            (EsdedupError,),
        )

    # --- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        self.loop = asyncio.get_running_loop()
        if self.config.settings is None:
            recorded = await asyncio.to_thread(recorded_settings, self.config.store)
            self.settings = recorded or Settings()
        if not self.config.read_only:
            self.settings = await self.writer.run(lambda deduplicator: deduplicator.settings)
        check_settings(self.settings)

    def _connect(self, mode: Literal["read", "write"]) -> Deduplicator:
        opened = Deduplicator.open(self.config.store, self.settings, mode=mode)
        return Deduplicator(instrument(opened.store, self.metrics))

    def stop(self) -> None:
        """Called by a signal: streams end after the batch in hand, nothing new begins."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.stopping.set)

    async def close(self) -> None:
        """Finishes what was admitted, then closes the store."""
        self.stopping.set()
        while self.under_way:
            await asyncio.wait(self.under_way)
        for part in (self._event_stream, self._signers, self.writer, self._readers):
            if part is not None:
                await asyncio.to_thread(part.close)

    # --- reading ---------------------------------------------------------------------------------

    async def read(self, question: Callable[[Deduplicator], T], stage: str) -> T:
        """Answer a question in a thread of its own; refused if all are busy for too long."""
        try:
            await asyncio.wait_for(self._free_readers.acquire(), self.config.reader_seconds)
        except TimeoutError:
            raise Problem(
                503, "readers-busy", "all readers are busy; try again in a moment", retry_after=5
            ) from None

        def job(deduplicator: Deduplicator) -> T:
            with self.metrics.stages.labels(stage).time():
                return question(deduplicator)

        reading = asyncio.ensure_future(self._readers.run(job))
        # The thread works on though the client may go away: only then is its place free again.
        reading.add_done_callback(lambda _: self._free_readers.release())
        return await asyncio.shield(reading)

    async def read_stats(self) -> JSON:
        return await self._stats.get(
            None, lambda: self.read(lambda d: d.store.maintenance.stats(), "stats")
        )

    async def read_hot_keys(self, least: int) -> dict[str, int]:
        """Keys that at least so many articles share, with their number."""
        return await self._hot_keys.get(
            None,
            lambda: self.read(lambda d: d.store.maintenance.over_frequent_keys(least), "hot keys"),
        )

    async def read_events(self, since: datetime | None) -> list[Event]:
        """The latest first."""

        def job(deduplicator: Deduplicator) -> list[Event]:
            found = find_events(deduplicator.store, since=since)
            return sorted(found, key=lambda event: (-event.last_seen, event.id))

        return await self._events.get(since, lambda: self.read(job, "events"))

    def event_stream(self) -> EventStream:
        """The stream of events; created for the first listener."""
        if self._event_stream is None:
            config = self.config
            # A listener that gets a change asks for the list of events at once.
            self._event_stream = EventStream(
                config.store, self.settings, config.events_seconds, self._events.clear
            )
        return self._event_stream

    async def count_stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Count a long response while it is sent; `config.streams` bounds their number."""
        self.streams += 1
        try:
            async for piece in pieces:
                yield piece
        finally:
            self.streams -= 1

    # --- writing ---------------------------------------------------------------------------------

    def check_writable(self) -> None:
        if self.config.read_only:
            raise Problem(403, "read-only", "this service only reads (--read-only)")
        if self.stopping.is_set():
            raise Problem(503, "stopping", "the service is shutting down", retry_after=10)

    async def prepare_one(self, document: Document) -> Signed | Failure:
        """Extracted and signed, for a question that writes nothing; bounded as writes are."""
        size = len(document.text) + len(document.html or b"")
        async with self.questions.admit(size):
            (item,) = await self._prepare(lambda: [document])
        return item

    @_run_to_end
    async def index(
        self, read: Callable[[], Documents], size: int, *, wait: bool = False
    ) -> tuple[Prepared, list[Outcome]]:
        """Index what `read` returns, which runs in a thread. A part of a stream waits for its turn,
        and the reader of the stream with it; a single article is refused if the queue is full."""
        self.check_writable()
        async with self.admission.admit(size, wait=wait):
            items = await self._prepare(read)
            return items, await self._write_items(items)

    @_run_to_end
    async def change(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        """Run any other change."""
        self.check_writable()
        async with self.admission.admit(0):
            return await self._write(change, stage)

    @_run_to_end
    async def retry(self) -> Retried:
        """Retry the quarantine; pages are extracted in the worker processes again."""
        self.check_writable()
        async with self.admission.admit(0):
            failures = await self._write(lambda d: d.store.quarantine.entries(), "quarantine")
            open_ones = [f for f in failures if f.document is not None and not f.final]
            outcomes: list[Outcome] = []
            for part in batched(open_ones, _RETRIED):
                documents = [f.document for f in part if f.document]
                items = await self._prepare(partial(list, documents))
                # An article stored under a makeshift id may have its own by now.
                old = {f.id for f in part} - {id_of(item) for item in items}
                outcomes += await self._write_items(items, instead_of=old)
                if self.stopping.is_set():
                    break
        own = [o for o in outcomes if o.status != "relinked"]
        failed = [o for o in own if o.status == "failed"]
        return Retried(len(own), len(own) - len(failed), failed)

    async def _prepare(self, read: Callable[[], Documents]) -> Prepared:
        """Extract and sign in a thread, in the order of the input."""

        def job(workers: Workers[Signed | Failure]) -> Prepared:
            documents = read()
            with self.metrics.stages.labels("prepare").time():
                chunks = workers.map(documents, self.settings.batch)
                return [item for chunk in chunks for item in chunk]

        return await self._signers.run(job)

    async def _write_items(
        self, items: Prepared, instead_of: Collection[str] = ()
    ) -> list[Outcome]:
        """A batch, all of it or nothing; `instead_of` is deleted in the same transaction."""

        def job(deduplicator: Deduplicator) -> list[Outcome]:
            with deduplicator.store.concurrency.transaction():
                if instead_of:
                    deduplicator.store.documents.delete(instead_of)
                return deduplicator.write(items)

        outcomes = await self._write(job, "write")
        for outcome in outcomes:
            self.metrics.outcomes.labels(outcome.status).inc()
            if outcome.status != "relinked":
                self.metrics.articles.labels(outcome.decision.role).inc()
        return outcomes

    async def _write(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        """Run a change in the one thread that writes; `admission` bounds what waits for it."""
        given = perf_counter()

        def job(deduplicator: Deduplicator) -> T:
            self.metrics.stages.labels("queue").observe(perf_counter() - given)
            with self.metrics.stages.labels(stage).time():
                done = change(deduplicator)
                deduplicator.store.concurrency.make_visible()
            return done

        return await self.writer.run(job)
