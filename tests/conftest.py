"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from esdedup.clustering.deduplicator import Deduplicator
from tests.commands import cli, filled  # noqa: F401  (fixtures, found by name)
from tests.servers.fixtures import (  # noqa: F401  (fixtures, found by name)
    cluster,
    elasticsearch_8_server,
    elasticsearch_server,
    opensearch_server,
    secure_elasticsearch_server,
)

# Timing is the benchmarks' business: a busy machine must not fail a property.
settings.register_profile(
    "esdedup",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("esdedup")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.servers.scheduling import ServerScheduling

    return ServerScheduling(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """A job in the background ignores Ctrl-C, and so would all that it starts.

    What is handled in one process is at its default in those it starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def deduplicator() -> Iterator[Deduplicator]:
    """An empty store in memory, with the default settings."""
    with Deduplicator.open() as made:
        yield made
