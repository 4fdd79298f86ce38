"""The writer: one thread, one connection, one batch after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TypeVar

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome
from esdedup.ingest.sign import Signed
from esdedup.model import Failure
from esdedup.service.instrumented_store import instrument
from esdedup.service.metrics import Metrics
from esdedup.settings import Settings

T = TypeVar("T")


class Writer:
    """Runs everything that changes the store; `admission` bounds what waits for it."""

    def __init__(self, url: str, settings: Settings, metrics: Metrics) -> None:
        opened = Deduplicator.open(url, settings)
        self._deduplicator = Deduplicator(instrument(opened.store, metrics))
        self._metrics = metrics
        self._thread = ThreadPoolExecutor(1, "esdedup-write")

    @property
    def settings(self) -> Settings:
        return self._deduplicator.settings

    async def write(
        self, items: Sequence[Signed | Failure], instead_of: Collection[str] = ()
    ) -> list[Outcome]:
        """A batch, all of it or nothing; `instead_of` goes in the same moment."""

        def job(deduplicator: Deduplicator) -> list[Outcome]:
            with deduplicator.store.concurrency.transaction():
                if instead_of:
                    deduplicator.store.documents.delete(instead_of)
                return deduplicator.write(items)

        outcomes = await self.run(job, "write")
        for outcome in outcomes:
            self._metrics.outcomes.labels(outcome.status).inc()
            if outcome.status != "relinked":
                self._metrics.articles.labels(outcome.decision.role).inc()
        return outcomes

    async def run(self, change: Callable[[Deduplicator], T], stage: str) -> T:
        """Run a change in the writer's thread; it is finished even if the caller is cancelled."""
        given = perf_counter()

        def job() -> T:
            self._metrics.stages.labels("queue").observe(perf_counter() - given)
            with self._metrics.stages.labels(stage).time():
                done = change(self._deduplicator)
                self._deduplicator.store.concurrency.make_visible()
            return done

        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, job))

    def close(self) -> None:
        """After what is in hand."""
        self._thread.shutdown(wait=True)
        self._deduplicator.close()
