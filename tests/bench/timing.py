"""Timing and the form every benchmark prints: what, how fast, how many times the peer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

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


class Spent(NamedTuple):
    """Seconds of processor time, of all threads, and seconds by the clock."""

    processor: float
    clock: float


def measure_in_turns(works: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, Spent]:
    """Medians of each. In every round all of them take turns, so that a busy machine slows all."""
    spent: dict[str, list[Spent]] = {name: [] for name in works}
    for work in works.values():
        work()  # tables are read on first use
    for _ in range(rounds):
        for name, work in works.items():
            begun = Spent(time.process_time(), time.perf_counter())
            work()
            processor, clock = time.process_time(), time.perf_counter()
            spent[name].append(Spent(processor - begun.processor, clock - begun.clock))
    return {
        name: Spent(median(one.processor for one in all_), median(one.clock for one in all_))
        for name, all_ in spent.items()
    }


@contextmanager
def one_core() -> Iterator[None]:
    """One core and one thread for everything inside; later benchmarks have all cores again."""
    os.environ["RAYON_NUM_THREADS"] = "1"  # read once, by libraries in Rust
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def processor_seconds(pids: Iterable[int]) -> float:
    """Of these processes and all that they started, those that have ended as well, as Linux counts
    it."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            # What follows the name, which may have spaces: state, parent, ...
            numbers = stat.read_text().rpartition(")")[2].split()
            pid = int(stat.parent.name)
            parents[pid], ticks[pid] = int(numbers[1]), sum(map(int, numbers[11:15]))
    wanted = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return sum(ticks.get(pid, 0) for pid in wanted) / os.sysconf("SC_CLK_TCK")


def headline(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def line(what: str, value: str, ratio: float | None = None, bar: str = "") -> None:
    shown = "" if ratio is None else f"{ratio:8.2f}x"
    print(f"{what:<58}{value:>18}{shown:>10}  {bar}".rstrip(), flush=True)
