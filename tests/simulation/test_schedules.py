"""Any schedule ends with the groups of one writer, and a mistake in the protocol shows."""

from __future__ import annotations

import pytest

from tests.simulation.drawing import draw
from tests.simulation.minimising import minimise
from tests.simulation.mutations import MUTATIONS, Mutation
from tests.simulation.scenarios import run

# About a minute; `make simulate` runs any number.
PARTS, SCHEDULES = 8, 125


@pytest.mark.parametrize("part", range(PARTS))
def test_every_schedule_ends_with_the_groups_of_one_writer(part: int) -> None:
    for seed in range(part * SCHEDULES, (part + 1) * SCHEDULES):
        outcome = run(draw(seed))
        assert outcome.is_right, f"python -m tests.simulation --seed {seed}: {outcome}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_in_the_protocol_shows(mutation: Mutation) -> None:
    assert run(draw(mutation.seed)).is_right
    with mutation.applied():
        assert not run(draw(mutation.seed)).is_right


def test_a_seed_replays_a_run() -> None:
    assert [run(draw(9)) for _ in range(2)] == [run(draw(9))] * 2


def test_a_failing_schedule_is_made_smaller() -> None:
    """A failure that needs two documents and one writer, and is left with little more."""
    mutation = next(
        m for m in MUTATIONS if m.name == "successors of a new representative are forgotten"
    )
    with mutation.applied():
        whole = draw(mutation.seed)
        small = minimise(whole)
        assert not run(small).is_right
    count = sum(len(step.items) for step in small.steps.values())
    assert len(small.first) + count <= 4
    assert len(small.steps) <= 2
