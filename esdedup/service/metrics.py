"""Counters, gauges and histograms in the text format of Prometheus.

The format is a dozen lines to write; what is counted is known when the service starts.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Seconds; from a lookup in memory to the time limit of a page.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
COUNTS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)

Labels = tuple[str, ...]


@dataclass(slots=True)
class Counter:
    """Only ever grows."""

    name: str
    text: str
    labels: Labels = ()
    _values: dict[Labels, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, *values: str, amount: float = 1.0) -> None:
        with self._lock:
            self._values[values] = self._values.get(values, 0.0) + amount

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "counter")
        with self._lock:
            known = dict(self._values) or ({} if self.labels else {(): 0.0})
        for values, number in sorted(known.items()):
            yield f"{self.name}{_named(self.labels, values)} {number:g}"


@dataclass(slots=True)
class Histogram:
    """How many were at most so large, for each bound."""

    name: str
    text: str
    labels: Labels = ()
    bounds: tuple[float, ...] = SECONDS
    _counts: dict[Labels, list[int]] = field(default_factory=dict)
    _sums: dict[Labels, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def observe(self, value: float, *labels: str) -> None:
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    @contextmanager
    def timed(self, *labels: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.observe(perf_counter() - started, *labels)

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.text, "histogram")
        with self._lock:
            known = {labels: list(counts) for labels, counts in self._counts.items()}
            sums = dict(self._sums)
        for values, counts in sorted(known.items()):
            total = 0
            for bound, count in zip((*map(str, self.bounds), "+Inf"), counts, strict=True):
                total += count
                named = _named((*self.labels, "le"), (*values, bound))
                yield f"{self.name}_bucket{named} {total}"
            own = _named(self.labels, values)
            yield f"{self.name}_sum{own} {sums[values]:.6f}"
            yield f"{self.name}_count{own} {total}"


def gauge(name: str, text: str, values: Mapping[Labels, float], labels: Labels = ()) -> list[str]:
    """A number as it is now."""
    rows = [f"{name}{_named(labels, key)} {value:g}" for key, value in values.items()]
    return [*_head(name, text, "gauge"), *rows]


def _head(name: str, text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _named(labels: Labels, values: Labels) -> str:
    pairs = ",".join(f'{n}="{_escaped(v)}"' for n, v in zip(labels, values, strict=True))
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Metrics:
    """What the service counts."""

    def __init__(self) -> None:
        self.requests = Counter(
            "esdedup_http_requests_total", "Requests answered.", ("method", "route", "status")
        )
        self.request_seconds = Histogram(
            "esdedup_http_request_seconds", "Time to the last byte of an answer.", ("route",)
        )
        self.articles = Counter(
            "esdedup_articles_total", "Articles decided about, by role.", ("role",)
        )
        self.outcomes = Counter(
            "esdedup_outcomes_total", "What decisions meant for the store.", ("status",)
        )
        self.candidates = Histogram(
            "esdedup_candidates", "Stored articles that share enough keys with a new one.",
            bounds=COUNTS,
        )  # fmt: skip
        self.stages = Histogram(
            "esdedup_stage_seconds", "Time of the stages of a batch or a question.", ("stage",)
        )
        self.refused = Counter(
            "esdedup_refused_total", "Requests answered with a problem.", ("reason",)
        )

    def lines(self) -> Iterable[str]:
        for one in (
            self.requests,
            self.request_seconds,
            self.articles,
            self.outcomes,
            self.candidates,
            self.stages,
            self.refused,
        ):
            yield from one.lines()
