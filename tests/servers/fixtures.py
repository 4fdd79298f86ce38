"""Servers shared by all tests of a session; a conftest imports the ones it needs.

A server that cannot be had fails the tests that ask for it: they must never pass by being skipped.
Each is started once a process, when the first test asks for it. Several processes
(`--dist loadgroup`) share none: tests.servers.scheduling keeps the tests of one server in one
process, by its name in their parameters. So a test may kill a server, and restarts it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from esdedup.stores.cluster import templates

from .distribution import Product
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


@pytest.fixture(scope="session", params=["elasticsearch_cluster", "opensearch_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three nodes of each product, the one ended before the other begins: they take 2 GB."""
    product: Product = request.param.removesuffix("_cluster")
    with start(product, nodes=3) as made:
        yield made


READER = "reader"
READER_PASSWORD = "reader-test"
WRITER = "haber"
WRITER_PASSWORD = "çok gizli şifre: p@ss/%"  # letters that Latin-1 lacks, and what a URL quotes
# With the roles of mappings/roles for the store `news`, and no other.
LEAST = "least"
LEAST_PASSWORD = "least-test"
INSTALLER = "installer"
INSTALLER_PASSWORD = "installer-test"


@pytest.fixture(scope="session", params=["elasticsearch_secure"])
def secure_elasticsearch_server() -> Iterator[Server]:
    """One Elasticsearch 9 node with security and TLS, and users from who may only read to who may
    do everything."""
    roles = {
        "read-all": {"indices": [{"names": ["*"], "privileges": ["read"]}]},
        "esdedup": templates.elasticsearch_role("news"),
        "esdedup_templates": templates.elasticsearch_templates_role("news"),
    }
    users = {
        READER: User(READER_PASSWORD, ["read-all"]),
        WRITER: User(WRITER_PASSWORD, ["superuser"]),
        LEAST: User(LEAST_PASSWORD, ["esdedup"]),
        INSTALLER: User(INSTALLER_PASSWORD, ["esdedup_templates"]),
    }
    with start("elasticsearch", security=True, tls=True, users=users, roles=roles) as server:
        yield server
