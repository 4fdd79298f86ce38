"""The page for Prometheus: what was counted, and what the store has now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from esdedup.errors import EsdedupError
from esdedup.model import JSON
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
    gauges, is_up = _Gauges(), True
    try:
        stats = await asyncio.wait_for(service.read_stats(), _PATIENCE_SECONDS)
        _add_store(gauges, stats)
        with suppress(TimeoutError):
            counting = service.read_hot_keys(max(_FEW, stats["documents"] // 100))
            _add_hot_keys(gauges, await asyncio.wait_for(counting, _PATIENCE_SECONDS))
    except (EsdedupError, Problem, TimeoutError):
        is_up = False  # the numbers of the service itself are wanted all the more
    gauges.add("esdedup_store_up", "Whether the store answers.", is_up)
    _add_service(gauges, service)
    return generate_latest(service.metrics.registry) + generate_latest(gauges.registry)


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


def _add_store(gauges: _Gauges, stats: JSON) -> None:
    gauges.add_each("esdedup_store_articles", "Articles in the store.", "role", stats["roles"])
    gauges.add("esdedup_store_stories", "Stories.", stats["stories"])
    gauges.add("esdedup_store_quarantine", "Waiting.", stats["quarantine"])


def _add_hot_keys(gauges: _Gauges, keys: Mapping[str, int]) -> None:
    gauges.add("esdedup_hot_keys", "Keys that too many articles share.", len(keys))
    top = dict(list(keys.items())[:_MOST_KEYS])
    gauges.add_each("esdedup_hot_key_articles", "Articles that share them.", "key", top)
