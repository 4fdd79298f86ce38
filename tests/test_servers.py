"""The test servers themselves: what every other server test takes for granted.

The fixtures come from `tests.servers.fixtures`.
"""

from __future__ import annotations

import http.client
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elasticsearch import Elasticsearch
from opensearchpy import OpenSearch

from tests.servers import (
    PASSWORD,
    Cluster,
    Proxy,
    Server,
    ServerError,
    start,
)
from tests.servers.fixtures import READER, READER_PASSWORD
from tests.servers.scheduling import server_of
from tests.servers.starting import free_ports
from tests.support.waiting import wait_until

pytestmark = pytest.mark.servers

PRODUCTS = ["elasticsearch", "opensearch"]


@pytest.fixture(params=PRODUCTS)
def server(request: pytest.FixtureRequest) -> Server:
    found = request.getfixturevalue(f"{request.param}_server")
    assert isinstance(found, Server)
    return found


@pytest.fixture
def index(server: Server) -> Iterator[str]:
    name = "servers-test"
    yield name
    server.http("DELETE", f"/{name}")


def roundtrip(server: Server | Cluster, index: str) -> None:
    """Write two documents and find one of them."""
    for number, title in enumerate(["storm over the bay", "calm on the hills"]):
        answer = server.http("PUT", f"/{index}/_doc/{number}?refresh=true", {"title": title})
        assert answer.status == 201, answer.text
    found = server.http("POST", f"/{index}/_search", {"query": {"match": {"title": "storm"}}})
    assert [hit["_id"] for hit in found.json()["hits"]["hits"]] == ["0"]


def has_ended(pid: int) -> bool:
    """A process that waits to be reaped counts as ended."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True
    )
    return state.stdout.strip()[:1] in ("", "Z")


def fetch(url: str, timeout: float = 60.0) -> int:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/_cluster/health", timeout=timeout) as answer:
        answer.read()
        return int(answer.status)


def is_refused(url: str) -> bool:
    """Whether nobody listens there."""
    try:
        fetch(url)
    except urllib.error.URLError as error:
        return isinstance(error.reason, ConnectionRefusedError)
    except OSError:
        pass  # cut while it answered
    return False


def test_says_which_product_it_is(server: Server) -> None:
    answer = server.http("GET", "/_cluster/health")
    assert answer.status == 200
    is_elasticsearch = answer.headers["X-Elastic-Product"] == "Elasticsearch"
    assert is_elasticsearch == (server.product == "elasticsearch")


def test_finds_what_was_written(server: Server, index: str) -> None:
    roundtrip(server, index)


def test_official_clients_connect(server: Server, index: str) -> None:
    roundtrip(server, index)
    client: Elasticsearch | OpenSearch
    client = (Elasticsearch if server.product == "elasticsearch" else OpenSearch)(server.url)
    assert client.count(index=index)["count"] == 2
    client.close()


def test_runs_without_privileges_in_its_own_folder(server: Server) -> None:
    assert server.java_pid in server.pids
    assert server.folder.stat().st_uid != 0
    assert server.data.stat().st_uid != 0
    assert server.log.stat().st_size > 0


@pytest.mark.parametrize(
    ("product", "end"), [("elasticsearch", Server.kill), ("opensearch", Server.stop)]
)
def test_restart_keeps_the_data(
    product: str, end: Callable[[Server], None], request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(f"{product}_server")
    roundtrip(server, "kept")
    pids, url = server.pids, server.url
    end(server)
    assert not server.alive
    wait_until(lambda: all(map(has_ended, pids)))
    server.restart()
    assert server.url == url
    assert server.http("GET", "/kept/_count").json()["count"] == 2
    assert server.http("DELETE", "/kept").status == 200


def test_a_closed_server_leaves_nothing() -> None:
    with start("elasticsearch") as server:
        roundtrip(server, "news")
        folders, pids = (server.folder, server.data), server.pids
        assert len(pids) == 2
    assert not any(folder.exists() for folder in folders)
    wait_until(lambda: all(map(has_ended, pids)))


@pytest.mark.parametrize("cluster", ["elasticsearch_cluster"], indirect=True)
def test_a_killed_node_is_replaced_and_comes_back(cluster: Cluster) -> None:
    settings = {
        "index.number_of_replicas": 1,
        "index.unassigned.node_left.delayed_timeout": "0s",
    }
    assert len(set(cluster.urls)) == 3
    assert cluster.http("PUT", "/news", {"settings": settings}).status == 200
    roundtrip(cluster, "news")
    cluster.wait_for("green", nodes=3)
    victim = cluster.elected()
    try:
        victim.kill()
        assert victim.url != cluster.url
        cluster.wait_for("yellow", nodes=2)
        cluster.wait_for("green", nodes=2)
        assert cluster.http("GET", "/news/_count").json()["count"] == 2
    finally:
        victim.restart("green", nodes=3)
    assert cluster.http("DELETE", "/news").status == 200


def test_security_asks_for_the_password(secure_elasticsearch_server: Server) -> None:
    server, path = secure_elasticsearch_server, "/servers-test"
    roundtrip(server, "servers-test")
    assert server.http("GET", f"{path}/_count", auth=("elastic", "wrong")).status == 401
    assert server.http("GET", f"{path}/_count", auth=("nobody", PASSWORD)).status == 401
    reader = (READER, READER_PASSWORD)
    assert server.http("GET", f"{path}/_count", auth=reader).json()["count"] == 2
    assert server.http("PUT", f"{path}/_doc/9", {}, auth=reader).status == 403
    assert server.http("DELETE", path).status == 200


def test_tls_is_trusted_by_its_own_authority_only(secure_elasticsearch_server: Server) -> None:
    server = secure_elasticsearch_server
    assert server.url.startswith("https://")
    client = Elasticsearch(
        server.url, ca_certs=str(server.ca), basic_auth=(str(server.username), PASSWORD)
    )
    assert client.cluster.health()["number_of_nodes"] == 1
    client.close()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.URLError) as error:
        opener.open(server.url, timeout=60)
    assert isinstance(error.value.reason, ssl.SSLCertVerificationError)


def test_a_server_that_does_not_start_shows_its_log() -> None:
    with pytest.raises(ServerError, match="Too small"):
        start("opensearch", heap="1k")


@pytest.mark.parametrize(
    "options", [{"tls": True}, {"users": {"a": ("secret", ["b"])}}], ids=["tls", "users"]
)
def test_half_of_security_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="security=True"):
        start("elasticsearch", **options)  # type: ignore[call-overload]  # wrong options


def test_servers_end_with_a_killed_starter() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.servers", "elasticsearch", "--heap", "512m"],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        try:
            assert starter.stdout is not None
            url = starter.stdout.readline().strip()
            assert fetch(url) == 200
        finally:
            starter.kill()
    wait_until(lambda: is_refused(url))


@pytest.mark.parametrize(
    ("nodeid", "server"),
    [
        ("a.py::test_x[opensearch-1]", "opensearch"),
        ("a.py::test_x[elasticsearch_server]", "elasticsearch"),
        ("b.py::test_x[elasticsearch_cluster]", "elasticsearch_cluster"),
        ("a.py::test_opensearch", None),
        ("a.py::test_opensearch[1]", None),
    ],
    ids=range(5),
)
def test_tests_of_one_server_are_told_by_their_parameters(nodeid: str, server: str | None) -> None:
    assert server_of(nodeid) == server


def test_free_ports_differ() -> None:
    assert len(set(free_ports(20))) == 20


def test_proxy_forwards_delays_and_breaks(server: Server) -> None:
    with Proxy(server.url) as proxy:
        assert fetch(proxy.url) == 200
        assert proxy.connections == 1
        assert proxy.bytes["answer"] > 100

        proxy.delay = 0.5
        began = time.monotonic()
        assert fetch(proxy.url) == 200
        assert time.monotonic() - began >= 0.5
        proxy.restore()

        for direction in ("answer", "request"):
            proxy.close_after(40, direction)
            with pytest.raises((OSError, http.client.HTTPException)):
                fetch(proxy.url)
            proxy.restore()

        proxy.hold()
        with pytest.raises(TimeoutError):
            fetch(proxy.url, timeout=0.5)
        proxy.restore()

        proxy.refuse()
        wait_until(lambda: is_refused(proxy.url))
        proxy.restore()
        assert fetch(proxy.url) == 200


def ask(connection: http.client.HTTPConnection) -> bytes:
    connection.request("GET", "/_cluster/health")
    return connection.getresponse().read()


def test_proxy_cuts_open_connections(server: Server) -> None:
    with Proxy(server.url) as proxy:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
        assert b"status" in ask(connection)
        proxy.cut()
        with pytest.raises(ConnectionError):
            ask(connection)
        connection.close()
        assert fetch(proxy.url) == 200
