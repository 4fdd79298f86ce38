"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from esdedup.pipeline import Deduplicator
from tests.commands import cli, filled  # noqa: F401  (fixtures, found by name)
from tests.servers.fixtures import (  # noqa: F401  (fixtures, found by name)
    elasticsearch_8_server,
    elasticsearch_cluster,
    elasticsearch_server,
    group_by_server,
    opensearch_cluster,
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


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    group_by_server(items)


@pytest.fixture
def deduplicator() -> Iterator[Deduplicator]:
    """An empty store in memory, with the default settings."""
    with Deduplicator.open() as made:
        yield made
