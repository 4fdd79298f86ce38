"""Several writers, killed writers, several deleters: the groups of one (tests/soak.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import soak
from tests.servers import Server

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("server", "seed"), [("elasticsearch", 1), ("opensearch", 2)], indirect=["server"]
)
def test_several_writers_end_with_the_groups_of_one(server: Server, seed: int) -> None:
    """Each its share, or everything; `make soak` has both on both products, and more seeds."""
    soak.in_new_index(server, soak.several_writers, seed)


@pytest.mark.parametrize("trial", [soak.killed_and_run_again, soak.several_deleters])
def test_killed_runs_and_deletes_at_once(server: Server, trial: Callable[[str, int], None]) -> None:
    soak.in_new_index(server, trial, seed=3)


def test_the_stream_has_copies_updates_and_chains() -> None:
    """Else the trials show nothing."""
    links = soak.of_one_writer(soak.stream(1)).values()
    roles = [link.role for link in links]
    assert roles.count("duplicate") > 8
    assert roles.count("update") > 2
    assert len({link.group for link in links}) > 40
