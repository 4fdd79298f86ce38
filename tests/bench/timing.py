"""Timing and the form every benchmark prints: what, how fast, how many times the peer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tests.servers import Product


def products_wanted() -> list[Product]:
    """Both, or those that ESDEDUP_BENCH_PRODUCTS names."""
    named = os.environ.get("ESDEDUP_BENCH_PRODUCTS", "elasticsearch,opensearch").split(",")
    products: tuple[Product, ...] = ("elasticsearch", "opensearch")
    return [product for product in products if product in named]


def best_seconds(work: Callable[[], object], *, repeats: int = 5) -> float:
    """The best of a few runs: on a shared machine the others measure the neighbours."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def processor_seconds(pids: Iterable[int]) -> float:
    """Of these processes and all that they started, as Linux counts it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            # What follows the name, which may have spaces: state, parent, ...
            numbers = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parents[pid], ticks[pid] = int(numbers[1]), int(numbers[11]) + int(numbers[12])
    wanted = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return sum(ticks.get(pid, 0) for pid in wanted) / os.sysconf("SC_CLK_TCK")


def headline(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def line(what: str, value: str, ratio: float | None = None, bar: str = "") -> None:
    shown = "" if ratio is None else f"{ratio:8.2f}x"
    print(f"{what:<58}{value:>18}{shown:>10}  {bar}".rstrip(), flush=True)
