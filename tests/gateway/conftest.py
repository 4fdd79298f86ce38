"""Both products, each with a gateway in front of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.gateway.running import Running, running
from tests.servers import Server
from tests.support.backends import drop_index


@pytest.fixture
def index(server: Server) -> Iterator[str]:
    """The name of an index that is not there yet, of the pattern `gw-*`."""
    name = f"gw-{uuid.uuid4().hex[:10]}"
    yield name
    drop_index(server, name)


@pytest.fixture
def gateway(server: Server, index: str) -> Iterator[Running]:
    """Enriches this index, folds nothing by itself."""
    with running(f"{server.product}+{server.url}", indices=(index,)) as made:
        yield made
