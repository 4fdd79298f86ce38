"""Run schedules on the simulated cluster: `make simulate`, or

    python -m tests.simulation [--seed 0] [--schedules N | --minutes M] [--jobs 1]

Prints schedules, requests, injected faults and divergences. The first schedule that goes wrong is
made as small as it can be; the exit code is 1 then. A run that was stopped goes on with the seed
that its last line names.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation.drawing import draw
from tests.simulation.minimising import minimise
from tests.simulation.scenarios import Outcome, Scenario, run

# Schedules of one task; a line is printed after so many tasks.
_TASK = 50
_EVERY = 20


@dataclass
class Total:
    """What some schedules cost, and which went wrong."""

    schedules: int = 0
    requests: int = 0
    faults: int = 0
    wrong: dict[int, Outcome] = field(default_factory=dict)  # by seed

    def add(self, other: Total) -> None:
        self.schedules += other.schedules
        self.requests += other.requests
        self.faults += other.faults
        self.wrong |= other.wrong

    def __str__(self) -> str:
        return (
            f"{self.schedules:,} schedules, {self.requests:,} requests, {self.faults:,} faults, "
            f"{len(self.wrong):,} divergences"
        )


def run_seeds(seeds: range) -> Total:
    total = Total()
    for seed in seeds:
        outcome = run(draw(seed))
        wrong = {} if outcome.is_right else {seed: outcome}
        total.add(Total(1, outcome.requests, outcome.faults, wrong))
    return total


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first schedule")
    parser.add_argument("--schedules", type=int, help="how many; without it: until the time is up")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    total = Total()
    tasks = _tasks(options.seed, options.schedules, options.minutes)
    for number, done in enumerate(_run_all(tasks, options.jobs), 1):
        total.add(done)
        for seed, outcome in done.wrong.items():
            print(f"seed {seed}: {outcome}", flush=True)
        if number % _EVERY == 0:
            print(f"{total}; next seed {options.seed + total.schedules}", flush=True)
    print(f"{total}; seeds {options.seed} to {options.seed + total.schedules - 1}")
    if total.wrong:
        show(minimise(draw(min(total.wrong))))
    return bool(total.wrong)


def _tasks(first: int, count: int | None, minutes: float) -> Iterator[range]:
    end = time.monotonic() + 60 * minutes
    last = None if count is None else first + count
    while first != last and (last is not None or time.monotonic() < end):
        after = first + _TASK if last is None else min(first + _TASK, last)
        yield range(first, after)
        first = after


def _run_all(tasks: Iterable[range], jobs: int) -> Iterator[Total]:
    """In the order of the seeds; no more tasks wait than the processes can begin."""
    if jobs == 1:
        yield from map(run_seeds, tasks)
        return
    under_way: deque[Future[Total]] = deque()
    with ProcessPoolExecutor(jobs) as pool:
        for task in tasks:
            under_way.append(pool.submit(run_seeds, task))
            if len(under_way) == 2 * jobs:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def show(scenario: Scenario) -> None:
    settings = scenario.settings
    print(f"batch {settings.batch}, keep {settings.keep}, lazy {scenario.is_lazy}", scenario.faults)
    print(f"event {scenario.event!r} at {scenario.event_at}")
    print("there:", *(d.id for d in scenario.first))
    for name, step in scenario.steps.items():
        crash = f" (killed at {scenario.crash_at[name]})" if name in scenario.crash_at else ""
        print(f"{name}{crash}:", *(getattr(item, "id", item) for item in step.items))
    print("killed again:", scenario.crash_again_at)
    print(run(scenario))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
