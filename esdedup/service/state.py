"""The service as its routes see it: read, index, change, and whether it is about to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from typing import Any, TypeVar

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome, id_of
from esdedup.ingest.sign import Signed
from esdedup.model import JSON, Document, Failure
from esdedup.service.admission import Admission
from esdedup.service.cache import Remembered
from esdedup.service.config import ServiceConfig
from esdedup.service.event_stream import Followers
from esdedup.service.keys import KeyRing
from esdedup.service.metrics import Metrics
from esdedup.service.problems import Problem
from esdedup.service.reading import Readers
from esdedup.service.signing_pool import Line, Preparing, parsed
from esdedup.service.writing import Writer
from esdedup.settings import Settings
from esdedup.stores import recorded_settings

T = TypeVar("T")
Prepared = list[Signed | Failure]
# Articles of the quarantine tried at once.
_RETRIED = 50


class Service:
    """Made before the server starts, opened and closed with it."""

    def __init__(self, config: ServiceConfig) -> None:
        self.config = config
        self.metrics = Metrics()
        self.keys = KeyRing(config.keys_file) if config.keys_file is not None else None
        self.stopping = asyncio.Event()
        self.streams = 0
        self.remembered = Remembered()
        self.addresses: frozenset[str] = frozenset()  # for labels of metrics
        self.connections: Collection[object] = ()  # of the server, as they are now
        self._loop: asyncio.AbstractEventLoop | None = None
        self._readers: Readers | None = None
        self._writer: Writer | None = None
        self._preparing: Preparing | None = None
        self._followers: Followers | None = None
        self.admission = Admission(config.queue, config.queue_bytes)
        self.questions = Admission(config.queue, config.queue_bytes)
        self._under_way: set[asyncio.Task[Any]] = set()

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
        self._preparing = Preparing(settings, config.workers, self.metrics)
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
        while self._under_way:
            await asyncio.wait(self._under_way)
        for part in (self._followers, self._preparing, self._writer, self._readers):
            if part is not None:
                await asyncio.to_thread(part.close)

    # --- work ------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        assert self._preparing is not None
        return self._preparing.settings

    async def read(self, question: Callable[[Deduplicator], T], stage: str) -> T:
        assert self._readers is not None
        return await self._readers.run(question, stage)

    async def prepare_one(self, document: Document) -> Signed | Failure:
        """Extracted and signed, for a question that writes nothing; bounded as writes are."""
        size = len(document.text) + len(document.html or b"")
        async with self.questions.entered(size):
            (item,) = await self._prepared([document])
        return item

    async def index(
        self, documents: Sequence[Document | Failure], size: int
    ) -> tuple[Prepared, list[Outcome]]:
        return await self._finished(self._index(documents, size, wait=False))

    async def index_lines(
        self, lines: Sequence[Line], request: str
    ) -> tuple[Prepared, list[Outcome]]:
        """A part of a stream: waits for its turn, and its reader with it."""
        size = sum(len(line.text or b"") for line in lines)
        return await self._finished(self._index_lines(lines, request, size))

    def followers(self) -> Followers:
        """Whoever listens for events; made with the first."""
        if self._followers is None:
            config = self.config
            # Who is told of a change asks at once what there is now.
            forget = self.remembered.events.clear
            self._followers = Followers(config.store, self.settings, config.events_seconds, forget)
        return self._followers

    async def retry(self) -> JSON:
        """Work off the quarantine: pages are tried in the worker processes, as at first."""
        return await self._finished(self._retry())

    async def counted_stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A long answer, of which there are only so many at once."""
        self.streams += 1
        try:
            async for piece in pieces:
                yield piece
        finally:
            self.streams -= 1

    async def change(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        """Anything else that writes."""
        return await self._finished(self._change(change, stage))

    def writable(self) -> Writer:
        if self._writer is None:
            raise Problem(403, "read-only", "this service only reads (--read-only)")
        if self.stopping.is_set():
            raise Problem(503, "stopping", "the service is shutting down", retry_after=10)
        return self._writer

    async def _index(
        self, documents: Sequence[Document | Failure], size: int, *, wait: bool
    ) -> tuple[Prepared, list[Outcome]]:
        writer = self.writable()
        async with self.admission.entered(size, wait=wait):
            items = await self._prepared(documents)
            return items, await writer.write(items)

    async def _index_lines(
        self, lines: Sequence[Line], request: str, size: int
    ) -> tuple[Prepared, list[Outcome]]:
        assert self._preparing is not None
        writer = self.writable()
        async with self.admission.entered(size, wait=True):
            documents = await asyncio.get_running_loop().run_in_executor(
                self._preparing.threads,
                lambda: [parsed(line, request, self.config.body_bytes) for line in lines],
            )
            items = await self._prepared(documents)
            return items, await writer.write(items)

    async def _retry(self) -> JSON:
        writer = self.writable()
        async with self.admission.entered(0):
            failures = await writer.run(lambda d: d.store.quarantined(), "quarantine")
            open_ones = [f for f in failures if f.document is not None and not f.final]
            outcomes: list[Outcome] = []
            for start in range(0, len(open_ones), _RETRIED):
                part = open_ones[start : start + _RETRIED]
                items = await self._prepared([f.document for f in part if f.document])
                # An article kept under a makeshift id may have its own by now.
                old = {f.id for f in part} - {id_of(item) for item in items}
                outcomes += await writer.write(items, instead_of=old)
                if self.stopping.is_set():
                    break
        own = [o for o in outcomes if o.status != "relinked"]
        failed = [o.to_json() for o in own if o.status == "failed"]
        return {"tried": len(own), "succeeded": len(own) - len(failed), "failed": failed}

    async def _change(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        writer = self.writable()
        async with self.admission.entered(0):
            return await writer.run(change, stage)

    async def _prepared(self, documents: Sequence[Document | Failure]) -> Prepared:
        assert self._preparing is not None
        return await asyncio.get_running_loop().run_in_executor(
            self._preparing.threads, self._preparing.prepare, documents
        )

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """Goes on when the client goes away: what was begun is finished, and counted until then."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)
