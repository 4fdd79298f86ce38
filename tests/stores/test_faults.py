"""What goes wrong with real servers: nothing acknowledged is lost or doubled, each refused
document is named with its reason, and running again goes on.

Every test ends by comparing the groups with those of the embedded store.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple
from urllib.parse import quote

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.outcomes import Outcome
from esdedup.errors import EsdedupError, StoreError, StoreUnavailable
from esdedup.model import Document
from esdedup.settings import Settings
from tests.maintenance.foreign_index import Newsroom, articles, end_after, expected_groups
from tests.servers import PASSWORD, Cluster, Proxy, Server, start
from tests.servers.fixtures import READER, READER_PASSWORD, WRITER, WRITER_PASSWORD
from tests.soak import check, of_one_writer
from tests.support.articles import StoryVariant
from tests.support.backends import drop_index, new_index
from tests.support.waiting import wait_until

pytestmark = pytest.mark.servers

SETTINGS = Settings(batch=12)
PATIENCE = 200
# Where no waiting helps: a test whose client waits all the same does not end.
FOREVER = "1e6"


def stream(count: int) -> list[Document]:
    """Every third is a copy of one of the two before it."""
    return [
        StoryVariant(n - n % 3 if n % 3 == 2 else n, day=n % 5).document(f"d{n:04d}")
        for n in range(count)
    ]


@pytest.fixture(scope="module", params=["elasticsearch", "opensearch"])
def small_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One write at a time and one waiting: the third is refused."""
    settings = {"thread_pool.write.size": 1, "thread_pool.write.queue_size": 1}
    with start(request.param, settings=settings) as made:
        yield made


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine restarts a server in a minute and a half."""
    for name in ("ES_RETRY_SECONDS", "ES_OPENING_SECONDS"):
        monkeypatch.setenv(name, str(PATIENCE))
    monkeypatch.setenv("ES_REQUEST_SECONDS", "20")


def url(server: Server | Cluster | Proxy, index: str, product: str = "") -> str:
    hosts = server.urls if isinstance(server, Server | Cluster) else [server.url]
    product = product or (server.product if isinstance(server, Server | Cluster) else "")
    scheme = hosts[0].partition("://")[0]
    return f"{product}+{scheme}://{','.join(h.partition('://')[2] for h in hosts)}/{index}"


def index_all(store: str, documents: Iterable[Document]) -> list[Outcome]:
    with Deduplicator.open(store, SETTINGS) as deduplicator:
        return list(deduplicator.add_many(documents))


class Fault(NamedTuple):
    """What goes wrong: at once, and while the writing goes on."""

    strike: Callable[[], object]
    go_on: Callable[[], object]


def index_during(
    store: str, documents: Sequence[Document], *faults: Fault, after: int
) -> list[Outcome]:
    """The faults come one by one while documents are written, at regular distances from `after` on.

    The last batch is read when all of them are over, however slow they or the writing are.
    """
    distance = (len(documents) - SETTINGS.batch - after) // len(faults)
    with ThreadPoolExecutor(1) as pool:
        running: list[Future[object]] = []

        def read() -> Iterator[Document]:
            coming = iter(faults)
            for number, document in enumerate(documents):
                if number >= after and (number - after) % distance == 0:
                    for former in running:
                        former.result(PATIENCE)
                    fault = next(coming, None)
                    if fault:
                        fault.strike()
                        running.append(pool.submit(fault.go_on))
                yield document

        outcomes = index_all(store, read())
        assert len(running) == len(faults)
        for former in running:
            former.result(PATIENCE)
        return outcomes


def nothing() -> None:
    """Where the whole fault is concurrent with the writing."""


# --- servers that go away --------------------------------------------------------------------


def test_a_node_killed_in_the_middle_of_a_bulk(cluster: Cluster) -> None:
    index, documents = new_index(), stream(240)
    store = url(cluster, index)
    Deduplicator.open(store, SETTINGS).close()
    cluster.wait_for("green", nodes=3)
    shards = cluster.http("GET", f"/_cat/shards/{index}?format=json").json()
    (primary,) = (shard["node"] for shard in shards if shard["prirep"] == "p")
    victim = next(node for node in cluster.nodes if node.name == primary)
    try:
        index_during(store, documents, Fault(nothing, victim.kill), after=60)
        check(store, of_one_writer(documents))
    finally:
        drop_index(cluster, index)
        victim.restart(nodes=3)


def test_a_cluster_without_a_quorum_is_waited_for(cluster: Cluster) -> None:
    """Two of three nodes die and come back; until then nothing can be written."""
    index, documents = new_index(), stream(240)
    store = url(cluster, index)
    Deduplicator.open(store, SETTINGS).close()
    cluster.wait_for("green", nodes=3)
    victims = cluster.nodes[1:]

    def lose_the_quorum() -> None:
        for victim in victims:
            victim.kill()
        wait_until_nobody_leads(cluster)
        for victim in victims:
            victim.spawn()

    try:
        index_during(store, documents, Fault(nothing, lose_the_quorum), after=60)
        # The primary is enough: a recovery that a death cut off may hold its replica for minutes.
        cluster.wait_for("yellow", nodes=3)
        check(store, of_one_writer(documents))
    finally:
        cluster.wait_for("yellow", nodes=3)
        drop_index(cluster, index)


def wait_until_nobody_leads(cluster: Cluster) -> None:
    leader = "master" if cluster.product == "elasticsearch" else "cluster_manager"
    path = f"/_cluster/health?{leader}_timeout=100ms"
    wait_until(lambda: cluster.http("GET", path).status == 503)


def test_a_server_restarted_under_way(small_server: Server) -> None:
    index, documents = new_index(), stream(120)
    store = url(small_server, index)

    def crash() -> None:
        small_server.kill()
        small_server.restart()

    index_during(store, documents, Fault(nothing, crash), after=40)
    check(store, of_one_writer(documents))
    drop_index(small_server, index)


def test_a_sweeping_daemon_outlives_a_restart(server: Server) -> None:
    """With the product to be found by asking, and little patience: it meets every stage of it."""
    newsroom, documents = Newsroom(server, new_index()), articles(20)
    newsroom.create()
    newsroom.fill(documents[:10])
    daemon = subprocess.Popen(
        [sys.executable, "-m", "esdedup", "sweep", "--store", newsroom.url, "--watch", "0.1",
         "--field", "text=article.body", "--json"],
        env={**os.environ, "ES_RETRY_SECONDS": "1", "ES_OPENING_SECONDS": "0.1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert daemon.stdout is not None
    assert daemon.stderr is not None
    try:
        assert json.loads(daemon.stdout.readline())["documents"] == 10
        try:
            server.kill()
            assert "waiting: " in daemon.stderr.readline()
        finally:
            server.restart()
        newsroom.fill(documents[10:])
        end_after(daemon, 10)
    finally:
        daemon.kill()
        daemon.communicate()
    assert newsroom.groups() == expected_groups(documents)
    newsroom.drop()


def rejected(server: Server) -> int:
    """Writes that the server had no room for."""
    pools = server.http("GET", "/_nodes/stats/thread_pool").json()["nodes"].values()
    return sum(node["thread_pool"]["write"]["rejected"] for node in pools)


def test_a_full_write_queue_is_waited_for(small_server: Server) -> None:
    """Eight writers where two find room; each refused document is sent again."""
    index, documents = new_index(), stream(80)
    store = url(small_server, index)
    began = datetime.now(UTC) - timedelta(minutes=1)
    Deduplicator.open(store, SETTINGS).close()
    noise = "".join(f'{{"index": {{}}}}\n{{"n": {n}}}\n' for n in range(100))
    quiet = threading.Event()

    def flood() -> None:
        while not quiet.is_set():
            small_server.http("POST", f"/{index}-noise/_bulk", noise)
            time.sleep(0.01)  # the writers are to have their turn

    with ThreadPoolExecutor(12) as pool:
        for _ in range(4):
            pool.submit(flood)
        try:
            list(pool.map(lambda n: index_all(store, documents[n::8]), range(8)))
            wait_until(lambda: rejected(small_server) > 0)  # a fast server may find room for all
        finally:
            quiet.set()
    assert rejected(small_server) > 0
    with Deduplicator.open(store, SETTINGS) as deduplicator:
        deduplicator.sweep(began)
    check(store, of_one_writer(documents))
    drop_index(small_server, index)
    small_server.http("DELETE", f"/{index}-noise")


# --- connections -----------------------------------------------------------------------------


def test_slow_and_cut_connections(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers come late, in part, or never; requests break off half way."""
    monkeypatch.setenv("ES_REQUEST_SECONDS", "2")
    index, documents = new_index(), stream(144)
    with Proxy(server.url) as proxy:

        def for_a_while() -> None:
            time.sleep(0.5)  # as long as a fault lasts; the writing meets it or waits behind it
            proxy.restore()
            proxy.delay = 0.02

        proxy.delay = 0.02
        store = url(proxy, index, server.product)
        deeds: list[Callable[[], None]] = [
                 proxy.cut, proxy.hold, proxy.refuse,
                 partial(proxy.close_after, 3_000, "answer"),
                 partial(proxy.close_after, 3_000, "request")]  # fmt: skip
        faults = [Fault(deed, for_a_while) for deed in deeds]
        index_during(store, documents, *faults, after=24)
        assert proxy.connections > len(faults)
    check(url(server, index, server.product), of_one_writer(documents))
    drop_index(server, index)


def test_a_server_that_never_answers_is_given_up(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ES_REQUEST_SECONDS", "0.3")
    monkeypatch.setenv("ES_RETRY_SECONDS", "1")
    with Proxy(server.url) as proxy:
        proxy.hold()
        with pytest.raises(StoreUnavailable, match=r"did not answer for 1 s.*run the same command"):
            Deduplicator.open(url(proxy, new_index(), server.product))


# --- refusals --------------------------------------------------------------------------------


def test_one_refused_document_among_a_thousand(server: Server) -> None:
    index = new_index()
    own = {"properties": {"views": {"type": "integer"}}}
    assert server.http("PUT", f"/{index}", {"mappings": own}).status == 200
    documents = [replace(document, extra={"views": 7}) for document in stream(1000)]
    documents[437] = Document(id="bad", url="https://x.org/bad", text="t", extra={"views": "many"})
    store = url(server, index, server.product)
    with Deduplicator.open(store) as deduplicator:
        outcomes = list(deduplicator.add_many(documents))
        (failed,) = [o for o in outcomes if o.status == "failed"]
        assert failed.decision.id == "bad"
        assert failed.failure is not None
        assert failed.failure.where == "https://x.org/bad"
        assert "views" in failed.failure.reason
        assert '"many"' in failed.failure.reason
        assert deduplicator.store.maintenance.stats()["documents"] == 999
        (kept,) = deduplicator.store.quarantine.entries()
        assert kept.document is not None
        assert dict(kept.document.extra) == {"views": "many"}
        mended = Document(id="bad", text="t", extra={"views": 7})
        (outcome,) = deduplicator.add_many([mended])
        assert outcome.status == "new"
        assert deduplicator.store.quarantine.entries() == []
    drop_index(server, index)


@pytest.mark.parametrize("block", ["read_only_allow_delete", "write"])
def test_an_index_that_takes_no_writes(
    server: Server, block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk answers 429, as a full queue does, but no waiting helps."""
    monkeypatch.setenv("ES_RETRY_SECONDS", FOREVER)
    index, documents = new_index(), stream(48)
    store = url(server, index, server.product)
    index_all(store, documents[:20])

    def set_block(value: bool | None) -> None:
        answer = server.http("PUT", f"/{index}/_settings", {f"index.blocks.{block}": value})
        assert answer.status == 200

    set_block(True)
    with pytest.raises(StoreUnavailable, match=r"does not take writes.*run the same command"):
        index_all(store, documents)
    set_block(None)
    index_all(store, documents)
    check(store, of_one_writer(documents))
    drop_index(server, index)


# --- who we are ------------------------------------------------------------------------------


def message_of(store: str) -> str:
    with pytest.raises(EsdedupError) as error:
        Deduplicator.open(store)
    return str(error.value)


def secured(server: Server, index: str, user: str = "", password: str = "") -> str:
    credentials = f"{user}:{password}@" if user else ""
    return f"elasticsearch+https://{credentials}localhost:{server.port}/{index}"


def test_wrong_credentials(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = secure_elasticsearch_server
    monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
    for user, password in [("elastic", "wr0ng-secret"), ("nobody", "s3cret"), ("", "")]:
        for product in ("elasticsearch+", ""):
            store = secured(server, "own-x", user, password).removeprefix("elasticsearch+")
            message = message_of(product + store)
            assert "refused the credentials (401)" in message
            assert "ES_API_KEY" in message
            assert not password or password not in message
    monkeypatch.setenv("ES_API_KEY", "bm9ib2R5OnNlY3JldA==")
    message = message_of(secured(server, "own-x"))
    assert "refused the credentials (401)" in message
    assert "bm9ib2R5" not in message


def test_a_user_who_may_only_read(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, index = secure_elasticsearch_server, new_index()
    monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
    message = message_of(secured(server, index, READER, READER_PASSWORD))
    assert f"the privilege indices:admin/mappings/get on {index} (granted by " in message
    assert "view_index_metadata" in message
    assert "is missing (403)" in message
    assert "credentials" not in message
    assert "mappings/roles" in message
    assert READER_PASSWORD not in message


def test_the_right_credentials_and_authority(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, index, documents = secure_elasticsearch_server, new_index(), stream(12)
    monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
    store = secured(server, index, "elastic", PASSWORD)
    index_all(store, documents)
    check(store, of_one_writer(documents))
    check(store.removeprefix("elasticsearch+"), of_one_writer(documents))
    drop_index(server, index)


@pytest.mark.parametrize("product", ["elasticsearch+", ""])
def test_a_password_may_have_any_letters(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch, product: str
) -> None:
    server, index = secure_elasticsearch_server, new_index()
    monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
    in_url = secured(server, index, WRITER, quote(WRITER_PASSWORD, safe=""))
    Deduplicator.open(product + in_url.removeprefix("elasticsearch+")).close()
    monkeypatch.setenv("ES_USERNAME", WRITER)
    monkeypatch.setenv("ES_PASSWORD", WRITER_PASSWORD)
    Deduplicator.open(product + secured(server, index).removeprefix("elasticsearch+")).close()
    drop_index(server, index)


@pytest.mark.parametrize("product", ["elasticsearch+", ""])
def test_an_unknown_certificate_authority(
    secure_elasticsearch_server: Server, product: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ES_RETRY_SECONDS", "ES_OPENING_SECONDS"):
        monkeypatch.setenv(name, FOREVER)
    store = secured(secure_elasticsearch_server, "own-x", "elastic", PASSWORD)
    message = message_of(product + store.removeprefix("elasticsearch+"))
    assert "the certificate was not accepted" in message
    assert "ES_CA_CERTS" in message
    assert PASSWORD not in message


def test_a_plain_connection_to_a_tls_port(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ES_OPENING_SECONDS", "0.1")
    port = secure_elasticsearch_server.port
    with pytest.raises(StoreError):
        Deduplicator.open(f"http://localhost:{port}/own-x")


@pytest.mark.parametrize("server", ["opensearch"], indirect=True)
def test_the_wrong_product_is_told_by_name(server: Server) -> None:
    assert "opensearch+https" in message_of(url(server, "own-x", "elasticsearch"))


def test_a_server_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ES_RETRY_SECONDS", "1")
    with Proxy("http://127.0.0.1:9") as proxy:
        proxy.refuse()
        for product in ("", "elasticsearch+", "opensearch+"):
            assert "127.0.0.1" in message_of(f"{product}{proxy.url}/own-x")
