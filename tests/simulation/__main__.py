"""Run schedules on the simulated cluster: `make simulate`, or

    python -m tests.simulation [--seed 0] [--schedules N | --minutes M]

Prints schedules, requests, injected faults and divergences. The first schedule that goes wrong is
made as small as it can be, printed, and ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

from tests.simulation.scenarios import Scenario, draw, minimise, run

_EVERY = 500


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first schedule")
    parser.add_argument("--schedules", type=int, help="how many; without it: until the time is up")
    parser.add_argument("--minutes", type=float, default=1.0)
    options = parser.parse_args(arguments)
    end = time.monotonic() + 60 * options.minutes
    requests = faults = 0
    for done in itertools.count():
        if done == options.schedules or (options.schedules is None and time.monotonic() > end):
            break
        seed = options.seed + done
        outcome = run(draw(seed))
        requests, faults = requests + outcome.requests, faults + outcome.faults
        if not outcome.is_right:
            print(f"seed {seed}: {outcome}")
            show(minimise(draw(seed)))
            return 1
        if done % _EVERY == _EVERY - 1:
            print(f"{done + 1:,} schedules, {requests:,} requests, {faults:,} faults", flush=True)
    print(f"{done:,} schedules, {requests:,} requests, {faults:,} faults, 0 divergences")
    return 0


def show(scenario: Scenario) -> None:
    print(f"batch {scenario.batch}, lazy {scenario.is_lazy}, {scenario.faults}")
    print("there:", *(d.id for d in scenario.first))
    for name, step in scenario.steps.items():
        crash = f" (killed at {scenario.crash_at[name]})" if name in scenario.crash_at else ""
        print(f"{name}{crash}:", *(getattr(item, "id", item) for item in step.items))
    print(run(scenario))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
