"""Readers: a few threads, each with a connection of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import StoreError
from esdedup.service.instrumented_store import instrument
from esdedup.service.metrics import Metrics
from esdedup.service.problems import Problem
from esdedup.settings import Settings

T = TypeVar("T")


class Readers:
    """Runs questions on connections of their own: at most `count` at once; one that waits longer
    than `seconds` for a free connection is refused."""

    def __init__(
        self, url: str, settings: Settings, count: int, seconds: float, metrics: Metrics
    ) -> None:
        self._url, self._settings, self._seconds = url, settings, seconds
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(count, "esdedup-read")
        self._free = asyncio.Semaphore(count)
        self._own = threading.local()
        self._opened: list[Deduplicator] = []
        self._lock = threading.Lock()

    async def run(self, question: Callable[[Deduplicator], T], stage: str) -> T:
        try:
            await asyncio.wait_for(self._free.acquire(), self._seconds)
        except TimeoutError:
            raise Problem(
                503, "readers-busy", "all readers are busy; try again in a moment", retry_after=5
            ) from None
        job = asyncio.get_running_loop().run_in_executor(
            self._threads, self._answer, question, stage
        )
        # The thread works on though the client may go away: only then is its place free again.
        job.add_done_callback(lambda _: self._free.release())
        return await asyncio.shield(job)

    def _answer(self, question: Callable[[Deduplicator], T], stage: str) -> T:
        with self._metrics.stages.labels(stage).time():
            try:
                return question(self._connection())
            except StoreError:
                self._drop()  # a fresh connection next time
                raise

    def _connection(self) -> Deduplicator:
        found: Deduplicator | None = getattr(self._own, "deduplicator", None)
        if found is None:
            opened = Deduplicator.open(self._url, self._settings, mode="read")
            found = Deduplicator(instrument(opened.store, self._metrics))
            self._own.deduplicator = found
            with self._lock:
                self._opened.append(found)
        return found

    def _drop(self) -> None:
        found: Deduplicator | None = getattr(self._own, "deduplicator", None)
        if found is not None:
            self._own.deduplicator = None
            with self._lock:
                self._opened.remove(found)
            found.close()

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        for opened in self._opened:
            opened.close()
        self._opened.clear()
