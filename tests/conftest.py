"""Fixtures and settings of all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from esdedup.clustering.deduplicator import Deduplicator
from tests.servers.fixtures import (  # noqa: F401  (fixtures, found by name)
    cluster,
    elasticsearch_server,
    opensearch_server,
    secure_elasticsearch_server,
)
from tests.support.backends import (  # noqa: F401  (fixtures, found by name)
    backend,
    cluster_backend,
    delayed_memory_backend,
    elasticsearch_backend,
    memory_backend,
    opensearch_backend,
    persistent_backend,
    server,
    sqlite_backend,
    store,
    store_url,
)
from tests.support.commands import cli, filled  # noqa: F401  (fixtures, found by name)

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
def _handle_ctrl_c() -> Iterator[None]:
    """A background job ignores Ctrl-C, and so would the processes that it starts.

    A signal that one process handles has its default action in the processes it starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def deduplicator() -> Iterator[Deduplicator]:
    """An empty store in memory, with the default settings."""
    with Deduplicator.open() as made:
        yield made
