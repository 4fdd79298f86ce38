"""Servers shared by all tests of a session; a conftest imports the ones it needs.

A server that cannot be had fails the tests that ask for it: they must never pass by being skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .security import User
from .server import Server
from .starting import Cluster, start


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[Server]:
    """One Elasticsearch 9 node without security."""
    with start("elasticsearch") as server:
        yield server


@pytest.fixture(scope="session")
def opensearch_server() -> Iterator[Server]:
    """One OpenSearch 3 node."""
    with start("opensearch") as server:
        yield server


@pytest.fixture(scope="session")
def elasticsearch_cluster() -> Iterator[Cluster]:
    """Three Elasticsearch 9 nodes. Who kills one restarts it."""
    with start("elasticsearch", nodes=3) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def opensearch_cluster() -> Iterator[Cluster]:
    """Three OpenSearch 3 nodes. Who kills one restarts it."""
    with start("opensearch", nodes=3) as cluster:
        yield cluster


READER = "reader"
READER_PASSWORD = "reader-test"


@pytest.fixture(scope="session")
def secure_elasticsearch_server() -> Iterator[Server]:
    """One Elasticsearch 9 node with security and TLS, and a user who may only read."""
    roles = {"read-all": {"indices": [{"names": ["*"], "privileges": ["read"]}]}}
    users = {READER: User(READER_PASSWORD, ["read-all"])}
    with start("elasticsearch", security=True, tls=True, users=users, roles=roles) as server:
        yield server
