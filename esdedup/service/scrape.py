"""The page for Prometheus: what was counted, and what the store has now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from esdedup.errors import EsdedupError
from esdedup.service.cache import StoreCache
from esdedup.service.problems import Problem
from esdedup.service.state import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Counting a store, and its keys more so, reads all of it: a scrape gets numbers of this age.
_STATS_SECONDS = 15.0
_HOT_SECONDS = 600.0
# As `esdedup doctor` has it: what fewer articles share is quickly read, however small the store.
_FEW = 1_000
_PATIENCE_SECONDS = 5.0
_MOST_KEYS = 10


async def scrape(service: Service) -> bytes:
    """All metrics in the text format. A store that does not answer leaves its numbers out."""
    cache, now = service.cache, monotonic()
    is_up = True
    try:
        if cache.stats is None or now - cache.stats_at > _STATS_SECONDS:
            asked = service.read(lambda d: d.store.maintenance.stats(), "stats")
            cache.stats = await asyncio.wait_for(asked, _PATIENCE_SECONDS)
            cache.stats_at = now
        await _refresh_hot_keys(service, cache.stats["documents"], now)
    except (EsdedupError, Problem, TimeoutError):
        is_up = False  # the numbers of the service itself are wanted all the more
    gauges = _Gauges()
    gauges.add("esdedup_store_up", "Whether the store answers.", is_up)
    _add_service(gauges, service)
    _add_store(gauges, cache)
    return generate_latest(service.metrics.registry) + generate_latest(gauges.registry)


async def _refresh_hot_keys(service: Service, documents: int, now: float) -> None:
    """A large store takes longer than a scrape waits: a later one has the answer."""
    cache = service.cache
    if cache.looking is None and (cache.hot is None or now - cache.hot_at > _HOT_SECONDS):
        least = max(_FEW, documents // 100)
        asked = service.read(lambda d: d.store.maintenance.over_frequent_keys(least), "hot keys")
        cache.looking = asyncio.ensure_future(asked)
    looking = cache.looking
    if looking is None:
        return
    done, _ = await asyncio.wait({looking}, timeout=_PATIENCE_SECONDS)
    if done:
        if cache.looking is looking:  # the first of the scrapes that waited for it
            cache.looking = None
        cache.hot, cache.hot_at = looking.result(), now


class _Gauges:
    """Numbers as they are now."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def add(self, name: str, text: str, value: float) -> None:
        Gauge(name, text, registry=self.registry).set(value)

    def add_each(self, name: str, text: str, label: str, values: Mapping[str, int]) -> None:
        gauge = Gauge(name, text, (label,), registry=self.registry)
        for key, value in values.items():
            gauge.labels(key).set(value)


def _add_service(gauges: _Gauges, service: Service) -> None:
    admission = service.admission
    gauges.add("esdedup_queue_jobs", "Writes admitted and not done.", admission.jobs)
    gauges.add("esdedup_queue_bytes", "Bytes in them.", admission.bytes)
    gauges.add("esdedup_queue_limit", "Writes admitted at most.", admission.most_jobs)
    gauges.add("esdedup_streams", "Streams open.", service.streams)


def _add_store(gauges: _Gauges, cache: StoreCache) -> None:
    if cache.stats is None:
        return
    roles = cache.stats["roles"]
    gauges.add_each("esdedup_store_articles", "Articles in the store.", "role", roles)
    gauges.add("esdedup_store_stories", "Stories.", cache.stats["stories"])
    gauges.add("esdedup_store_quarantine", "Waiting.", cache.stats["quarantine"])
    if cache.hot is None:
        return
    top = dict(list(cache.hot.items())[:_MOST_KEYS])
    gauges.add("esdedup_hot_keys", "Keys that too many articles share.", len(cache.hot))
    gauges.add_each("esdedup_hot_key_articles", "Articles that share them.", "key", top)
