"""Servers shared by all tests of a session; a conftest imports the ones it needs.

A server that cannot be had fails the tests that ask for it: they must never pass by being skipped.
Each is started once a process, when the first test asks for it. `group_by_server` keeps the tests
of one server in one process, in which nothing else uses it at the same time: a test may kill it,
and who kills it restarts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from esdedup.stores import templates

from .distribution import ELASTICSEARCH_8
from .security import User
from .server import Server
from .starting import Cluster, start

# The rare ones first: a test of one of them belongs there, whatever else it asks for.
SHARED = (
    "secure_elasticsearch_server",
    "elasticsearch_8_server",
    "elasticsearch_cluster",
    "opensearch_cluster",
    "opensearch_server",
    "elasticsearch_server",
)


def group_by_server(items: Iterable[pytest.Item]) -> None:
    """Give each test of servers its group for `--dist loadgroup`, unless it names one itself."""
    for item in items:
        if item.get_closest_marker("servers") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_shared_server(item)))


def _shared_server(item: pytest.Item) -> str:
    """The server that a test asks for by a fixture, or by the parameter that most tests have."""
    asked = [*getattr(item, "fixturenames", []), item.name]
    for name in SHARED:
        if any(name in one for one in asked):
            return name
    return "opensearch_server" if "opensearch" in item.name else "elasticsearch_server"


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


@pytest.fixture(scope="session")
def elasticsearch_8_server() -> Iterator[Server]:
    """One Elasticsearch 8 node without security."""
    with start("elasticsearch", version=ELASTICSEARCH_8) as server:
        yield server


READER = "reader"
READER_PASSWORD = "reader-test"
WRITER = "haber"
WRITER_PASSWORD = "çok gizli şifre: p@ss/%"  # letters that Latin-1 lacks, and what a URL quotes
# With the roles of mappings/roles for the store `news`, and no other.
LEAST = "least"
LEAST_PASSWORD = "least-test"
INSTALLER = "installer"
INSTALLER_PASSWORD = "installer-test"


@pytest.fixture(scope="session")
def secure_elasticsearch_server() -> Iterator[Server]:
    """One Elasticsearch 9 node with security and TLS, and users from who may only read to who may
    do everything."""
    roles = {
        "read-all": {"indices": [{"names": ["*"], "privileges": ["read"]}]},
        "esdedup": templates.elasticsearch_role("news"),
        "esdedup_templates": templates.elasticsearch_templates_role(),
    }
    users = {
        READER: User(READER_PASSWORD, ["read-all"]),
        WRITER: User(WRITER_PASSWORD, ["superuser"]),
        LEAST: User(LEAST_PASSWORD, ["esdedup"]),
        INSTALLER: User(INSTALLER_PASSWORD, ["esdedup_templates", "esdedup"]),
    }
    with start("elasticsearch", security=True, tls=True, users=users, roles=roles) as server:
        yield server
