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
WRITER = "haber"
WRITER_PASSWORD = "çok gizli şifre: p@ss/%"  # letters that Latin-1 lacks, and what a URL quotes


@pytest.fixture(scope="session")
def secure_elasticsearch_server() -> Iterator[Server]:
    """One Elasticsearch 9 node with security and TLS, a user who may only read, and one who may
    do everything."""
    roles = {"read-all": {"indices": [{"names": ["*"], "privileges": ["read"]}]}}
    users = {
        READER: User(READER_PASSWORD, ["read-all"]),
        WRITER: User(WRITER_PASSWORD, ["superuser"]),
    }
    with start("elasticsearch", security=True, tls=True, users=users, roles=roles) as server:
        yield server
