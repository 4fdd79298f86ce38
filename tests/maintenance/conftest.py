"""Both products, and an index on each that knows nothing of us."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.maintenance.foreign_index import (
    Newsroom,
)
from tests.servers import Server


@pytest.fixture
def newsroom(server: Server) -> Iterator[Newsroom]:
    made = Newsroom(server, f"bf-{os.getpid()}-{random.randrange(10**9)}")
    made.create()
    yield made
    made.drop()
