"""The service as its routes see it: read, index, change, and whether it is about to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome, id_of
from esdedup.ingest.sign import Signed
from esdedup.model import Document, Failure
from esdedup.model.batching import batched
from esdedup.service.admission import Admission
from esdedup.service.cache import StoreCache
from esdedup.service.config import ServiceConfig
from esdedup.service.event_stream import EventStream
from esdedup.service.keys import KeyRing
from esdedup.service.metrics import Metrics
from esdedup.service.problems import Problem
from esdedup.service.readers import Readers
from esdedup.service.responses import Retried
from esdedup.service.signing_pool import SigningPool
from esdedup.service.writer import Writer
from esdedup.settings import Settings
from esdedup.stores import recorded_settings

T = TypeVar("T")
P = ParamSpec("P")
Documents = Sequence[Document | Failure]
Prepared = list[Signed | Failure]
# Articles of the quarantine tried at once.
_RETRIED = 50


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
        self.metrics = Metrics()
        self.keys = KeyRing(config.keys_file) if config.keys_file is not None else None
        self.stopping = asyncio.Event()
        self.streams = 0
        self.cache = StoreCache()
        self.addresses: frozenset[str] = frozenset()  # for labels of metrics
        self.connections: Collection[object] = ()  # of the server, as they are now
        self._loop: asyncio.AbstractEventLoop | None = None
        self._readers: Readers | None = None
        self._writer: Writer | None = None
        self._signing_pool: SigningPool | None = None
        self._event_stream: EventStream | None = None
        self.admission = Admission(config.queue, config.queue_bytes)
        self.questions = Admission(config.queue, config.queue_bytes)
        self.under_way: set[asyncio.Task[Any]] = set()

    # --- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        config = self.config
        settings = config.settings or recorded_settings(config.store) or Settings()
        if not config.read_only:
            self._writer = Writer(config.store, settings, self.metrics)
            settings = self._writer.settings
        self._signing_pool = SigningPool(settings, config.workers, self.metrics)
        self._readers = Readers(
            config.store, settings, config.readers, config.reader_seconds, self.metrics
        )

    def stop(self) -> None:
        """Told by a signal: streams end after the batch in hand, nothing new begins."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.stopping.set)

    async def close(self) -> None:
        """Finishes what was admitted, then closes the store."""
        self.stopping.set()
        while self.under_way:
            await asyncio.wait(self.under_way)
        for part in (self._event_stream, self._signing_pool, self._writer, self._readers):
            if part is not None:
                await asyncio.to_thread(part.close)

    # --- work ------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        assert self._signing_pool is not None
        return self._signing_pool.settings

    async def read(self, question: Callable[[Deduplicator], T], stage: str) -> T:
        assert self._readers is not None
        return await self._readers.run(question, stage)

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
        writer = self.require_writer()
        async with self.admission.admit(size, wait=wait):
            items = await self._prepare(read)
            return items, await writer.write(items)

    def event_stream(self) -> EventStream:
        """Whoever listens for events; made with the first."""
        if self._event_stream is None:
            config = self.config
            # Who is told of a change asks at once what there is now.
            forget = self.cache.events.clear
            self._event_stream = EventStream(
                config.store, self.settings, config.events_seconds, forget
            )
        return self._event_stream

    async def count_stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A long answer, of which there are only so many at once."""
        self.streams += 1
        try:
            async for piece in pieces:
                yield piece
        finally:
            self.streams -= 1

    @_run_to_end
    async def change(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        """Anything else that writes."""
        writer = self.require_writer()
        async with self.admission.admit(0):
            return await writer.run(change, stage)

    def require_writer(self) -> Writer:
        if self._writer is None:
            raise Problem(403, "read-only", "this service only reads (--read-only)")
        if self.stopping.is_set():
            raise Problem(503, "stopping", "the service is shutting down", retry_after=10)
        return self._writer

    @_run_to_end
    async def retry(self) -> Retried:
        """Work off the quarantine: pages are tried in the worker processes, as at first."""
        writer = self.require_writer()
        async with self.admission.admit(0):
            failures = await writer.run(lambda d: d.store.quarantine.entries(), "quarantine")
            open_ones = [f for f in failures if f.document is not None and not f.final]
            outcomes: list[Outcome] = []
            for part in batched(open_ones, _RETRIED):
                documents = [f.document for f in part if f.document]
                items = await self._prepare(partial(list, documents))
                # An article kept under a makeshift id may have its own by now.
                old = {f.id for f in part} - {id_of(item) for item in items}
                outcomes += await writer.write(items, instead_of=old)
                if self.stopping.is_set():
                    break
        own = [o for o in outcomes if o.status != "relinked"]
        failed = [o for o in own if o.status == "failed"]
        return Retried(len(own), len(own) - len(failed), failed)

    async def _prepare(self, read: Callable[[], Documents]) -> Prepared:
        """Extract and sign, in a thread of the pool."""
        pool = self._signing_pool
        assert pool is not None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool.threads, lambda: pool.prepare(read()))
