"""Makes a failing schedule as small as it can be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tests.simulation.scenarios import Scenario, run
from tests.simulation.world import NO_FAULTS


def minimise(scenario: Scenario) -> Scenario:
    """The smallest scenario found that still goes wrong: items, writers, crashes and faults are
    left out one at a time, for as long as it does."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(scenario):
            if not run(candidate).is_right:
                scenario, is_smaller = candidate, True
                break
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    if scenario.faults != NO_FAULTS:
        yield replace(scenario, faults=NO_FAULTS)
    if scenario.crash_again_at:
        yield replace(scenario, crash_again_at={})
    for name in scenario.crash_at:
        left = {n: at for n, at in scenario.crash_at.items() if n != name}
        yield replace(scenario, crash_at=left, crash_again_at={})
    if scenario.event:
        yield replace(scenario, event="")
    for name in scenario.steps:
        if name not in scenario.crash_at:
            steps = {n: step for n, step in scenario.steps.items() if n != name}
            yield replace(scenario, steps=steps)
    for place in range(len(scenario.first)):
        yield replace(scenario, first=_without(scenario.first, place))
    for name, step in scenario.steps.items():
        for place in range(len(step.items)):
            shorter = replace(step, items=_without(step.items, place))
            yield replace(scenario, steps={**scenario.steps, name: shorter})


def _without(items: tuple, place: int) -> tuple:  # type: ignore[type-arg]  # of anything
    return items[:place] + items[place + 1 :]
