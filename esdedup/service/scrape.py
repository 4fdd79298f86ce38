"""The page for Prometheus: what was counted, and what the store has now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from esdedup.errors import EsdedupError
from esdedup.service.problems import Problem
from esdedup.service.state import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# As `esdedup doctor` has it: what fewer articles share is quickly read, however small the store.
_FEW = 1_000
_PATIENCE_SECONDS = 5.0
_MOST_KEYS = 10


async def scrape(service: Service) -> bytes:
    """All metrics in the text format. A store that does not answer leaves its numbers out.

    Counting the keys of a large store takes longer than a scrape waits: a later one has them.
    """
    now, is_up = CollectorRegistry(), True

    def add(name: str, text: str, value: float) -> None:
        Gauge(name, text, registry=now).set(value)

    def add_each(name: str, text: str, label: str, values: Mapping[str, int]) -> None:
        gauge = Gauge(name, text, (label,), registry=now)
        for key, value in values.items():
            gauge.labels(key).set(value)

    try:
        stats = await asyncio.wait_for(service.read_stats(), _PATIENCE_SECONDS)
        add_each("esdedup_store_articles", "Articles in the store.", "role", stats["roles"])
        add("esdedup_store_stories", "Stories.", stats["stories"])
        add("esdedup_store_quarantine", "Waiting.", stats["quarantine"])
        with suppress(TimeoutError):
            counting = service.read_hot_keys(max(_FEW, stats["documents"] // 100))
            keys = await asyncio.wait_for(counting, _PATIENCE_SECONDS)
            add("esdedup_hot_keys", "Keys that too many articles share.", len(keys))
            top = dict(list(keys.items())[:_MOST_KEYS])
            add_each("esdedup_hot_key_articles", "Articles that share them.", "key", top)
    except (EsdedupError, Problem, TimeoutError):
        is_up = False  # the numbers of the service itself are wanted all the more
    add("esdedup_store_up", "Whether the store answers.", is_up)
    admission = service.admission
    add("esdedup_queue_jobs", "Writes admitted and not done.", admission.jobs)
    add("esdedup_queue_bytes", "Bytes in them.", admission.bytes)
    add("esdedup_queue_limit", "Writes admitted at most.", admission.most_jobs)
    add("esdedup_streams", "Streams open.", service.streams)
    return generate_latest(service.metrics.registry) + generate_latest(now)
