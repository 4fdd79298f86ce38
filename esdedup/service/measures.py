"""The page for Prometheus: what was counted, and what the store has now."""

from __future__ import annotations

import asyncio
from time import monotonic

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import EsdedupError
from esdedup.service.cache import Remembered
from esdedup.service.metrics import Labels, gauge
from esdedup.service.problems import Problem
from esdedup.service.state import Service

# Counting a store, and its keys more so, reads all of it: a scrape gets numbers of this age.
_STATS_SECONDS = 15.0
_HOT_SECONDS = 600.0
# As `esdedup doctor` has it: what fewer articles share is quickly read, however small the store.
_FEW = 1_000
_PATIENCE_SECONDS = 5.0
_TOLD = 10


async def measured(service: Service) -> str:
    known = service.remembered
    now = monotonic()
    is_up = 1.0
    try:
        if known.stats is None or now - known.stats_at > _STATS_SECONDS:
            asked = service.read(lambda d: d.store.stats(), "stats")
            known.stats = await asyncio.wait_for(asked, _PATIENCE_SECONDS)
            known.stats_at = now
        await _look_for_hot_keys(service, known.stats["documents"], now)
    except (EsdedupError, Problem, TimeoutError):
        is_up = 0.0  # the numbers of the service itself are wanted all the more
    lines = [*service.metrics.lines(), *_of_service(service, is_up), *_of_store(known)]
    return "\n".join(lines) + "\n"


async def _look_for_hot_keys(service: Service, documents: int, now: float) -> None:
    """A large store takes longer than a scrape waits: a later one has the answer."""
    known = service.remembered
    if known.looking is None and (known.hot is None or now - known.hot_at > _HOT_SECONDS):
        asked = service.read(lambda d: _hot(d, documents), "hot keys")
        known.looking = asyncio.ensure_future(asked)
    looking = known.looking
    if looking is None:
        return
    done, _ = await asyncio.wait({looking}, timeout=_PATIENCE_SECONDS)
    if done:
        if known.looking is looking:  # the first of the scrapes that waited for it
            known.looking = None
        known.hot, known.hot_at = looking.result(), now


def _hot(deduplicator: Deduplicator, documents: int) -> dict[str, int]:
    return deduplicator.store.hot_keys(max(_FEW, documents // 100))


def _of_service(service: Service, is_up: float) -> list[str]:
    admission = service.admission
    return [
        *gauge("esdedup_store_up", "Whether the store answers.", {(): is_up}),
        *gauge("esdedup_queue_jobs", "Writes admitted and not done.", {(): admission.jobs}),
        *gauge("esdedup_queue_bytes", "Bytes in them.", {(): admission.bytes}),
        *gauge("esdedup_queue_limit", "Writes admitted at most.", {(): admission.most_jobs}),
        *gauge("esdedup_streams", "Streams open.", {(): service.streams}),
    ]


def _of_store(known: Remembered) -> list[str]:
    if known.stats is None:
        return []
    roles: dict[Labels, float] = {(role,): float(n) for role, n in known.stats["roles"].items()}
    counted = [
        *gauge("esdedup_store_articles", "Articles in the store.", roles, ("role",)),
        *gauge("esdedup_store_stories", "Stories.", {(): known.stats["stories"]}),
        *gauge("esdedup_store_quarantine", "Waiting.", {(): known.stats["quarantine"]}),
    ]
    if known.hot is None:
        return counted
    top: dict[Labels, float] = {(key,): float(n) for key, n in list(known.hot.items())[:_TOLD]}
    return [
        *counted,
        *gauge("esdedup_hot_keys", "Keys that too many articles share.", {(): len(known.hot)}),
        *gauge("esdedup_hot_key_articles", "Articles that share them.", top, ("key",)),
    ]
