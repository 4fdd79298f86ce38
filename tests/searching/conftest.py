"""The stores that implement full-text search; the store in memory answers through SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stores.conftest import (  # noqa: F401  (fixtures, found by name)
    Backend,
    elasticsearch_backend,
    opensearch_backend,
    sqlite_backend,
)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("elasticsearch", marks=pytest.mark.servers),
        pytest.param("opensearch", marks=pytest.mark.servers),
    ]
)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made: Backend = request.getfixturevalue(f"{request.param}_backend")
    yield made
    made.close()
