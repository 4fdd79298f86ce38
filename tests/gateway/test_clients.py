"""Programs that know nothing of us, unchanged but for the URL, on both real servers."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.articles import expected_groups, random_article, stored_groups, stored_sources
from tests.gateway.running import Running, running
from tests.servers import Server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.servers


@pytest.fixture
def made(server: Server, index: str) -> str:
    assert server.http("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}}).status == 200
    return index


def official_client(server: Server, url: str, **options: Any) -> tuple[Any, Any]:
    """The client of the product, and its helpers."""
    if server.product == "elasticsearch":
        from elasticsearch import Elasticsearch, helpers

        return Elasticsearch(url, http_compress=True, **options), helpers
    from opensearchpy import OpenSearch
    from opensearchpy import helpers as opensearch_helpers

    return OpenSearch(url, http_compress=True, **options), opensearch_helpers


def test_official_client(gateway: Running, server: Server, made: str) -> None:
    client, helpers = official_client(server, gateway.url)
    articles = {f"a{n}": random_article(n, of=n % 7 if n > 6 else None) for n in range(70)}
    actions = [{"_index": made, "_id": id_, "_source": s} for id_, s in articles.items()]
    done, errors = helpers.bulk(client, actions[:40], chunk_size=15)
    assert (done, errors) == (40, [])
    assert all(ok for ok, _ in helpers.parallel_bulk(client, actions[40:], chunk_size=5))
    again = [{"_op_type": "create", "_index": made, "_id": "a0", "_source": {}}]
    done, errors = helpers.bulk(client, again, raise_on_error=False)
    assert done == 0
    assert errors[0]["create"]["status"] == 409
    gateway.settled()
    client.indices.refresh(index=made)
    found = {h["_id"]: h["_source"] for h in helpers.scan(client, index=made, size=13)}
    assert {id_: s["dedup"]["group"] for id_, s in found.items()} == expected_groups(articles)
    assert client.get(index=made, id="a1")["_source"]["title"] == "title 1"
    assert client.exists(index=made, id="a1")
    assert not client.exists(index=made, id="nobody")
    told = {"x-esdedup-fold": "group"}
    if server.product == "elasticsearch":
        folded = client.options(headers=told).search(index=made, size=50)
        many = client.msearch(searches=[{"index": made}, {"size": 1}, {}, {"size": 2}], index=made)
    else:
        folded = client.search(index=made, body={"size": 50}, headers=told)
        many = client.msearch(body=[{"index": made}, {"size": 1}, {}, {"size": 2}], index=made)
    assert folded["hits"]["total"]["value"] == len(set(expected_groups(articles).values()))
    assert len(many["responses"]) == 2
    assert client.count(index=made)["count"] == 70
    client.delete(index=made, id="a1", refresh=True)
    gateway.settled()
    client.close()
    left = {id_: s for id_, s in articles.items() if id_ != "a1"}
    assert stored_groups(server, made) == expected_groups(left)


def test_curl(gateway: Running, server: Server, made: str) -> None:
    def curl(*arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["curl", "-sS", "--fail-with-body", *arguments],
            input=stdin, capture_output=True, check=True, timeout=300,
        )  # fmt: skip
        return done.stdout

    lines = ""
    for number in range(300):  # above 1 MB, where curl asks before it sends
        lines += json.dumps({"index": {"_id": str(number)}}) + "\n"
        lines += json.dumps({**random_article(number, of=number % 40), "page": "p" * 4_000}) + "\n"
    assert len(lines) > 1 << 20
    answer = curl("-H", "Content-Type: application/x-ndjson", "--data-binary", "@-",
                  f"{gateway.url}/{made}/_bulk?refresh=true", stdin=lines.encode())  # fmt: skip
    assert not json.loads(answer)["errors"]
    body = json.dumps(random_article(1_300))
    one = curl("-XPUT", "-H", "Content-Type: application/json", "-d", body,
               f"{gateway.url}/{made}/_doc/x?pretty")  # fmt: skip
    assert b'"result" : "created"' in one
    gateway.settled()  # what is compared stands still
    packed = curl("--compressed", f"{gateway.url}/{made}/_search?size=500")
    direct = curl(f"{server.url}/{made}/_search?size=500")
    assert json.loads(packed)["hits"] == json.loads(direct)["hits"]
    head = curl("-I", f"{gateway.url}/{made}")
    assert head.startswith(b"HTTP/1.1 200 ")


def test_answers_are_those_of_the_cluster(gateway: Running, server: Server, made: str) -> None:
    """Byte for byte, with the product's own headers."""
    import urllib.request

    for path in (
        "/_cat/health?h=status",
        f"/{made}",
        f"/{made}/_mapping?pretty",
        "/_nodes?filter_path=x",
    ):
        ours = gateway.http("GET", path)
        with urllib.request.urlopen(server.url + path) as theirs:
            assert ours.body == theirs.read()
            for name in ("content-type", "x-elastic-product"):
                assert ours.headers.get(name) == theirs.headers.get(name)
    missing = gateway.http("GET", f"/{made}/_doc/nobody")
    assert (missing.status, missing.json()["found"]) == (404, False)


def test_a_shipper(server: Server, index: str) -> None:
    """A log handler of the registry ships news as messages into an index a day."""
    from opensearch_logger import OpenSearchHandler

    options = {"indices": (f"{index}*",), "fields": {"text": "message"}}
    with running(f"{server.product}+{server.url}", **options) as gateway:
        handler = OpenSearchHandler(
            index_name=index, hosts=[gateway.url], index_rotate="DAILY", buffer_size=1_000,
            flush_frequency=3_600,
        )  # fmt: skip
        news = logging.Logger("news")
        news.addHandler(handler)
        try:
            for number in range(6):
                news.info(random_article(number, of=number % 2 if number > 1 else None)["text"])
                if number == 1:
                    handler.flush()  # makes the index of the day
                    gateway.settled()
            handler.flush()
            gateway.settled()
            (made,) = server.http("GET", f"/{index}*/_settings").json()
            found = stored_groups(server, made)
            assert len(found) == 6
            assert len(set(found.values())) == 2
        finally:
            handler.close()
            for made in server.http("GET", f"/{index}*/_settings").json():
                server.http("DELETE", f"/{made}")


RSYSLOG = """
module(load="imfile" mode="polling" pollingInterval="1")
module(load="omelasticsearch")
template(name="line" type="string" string="%msg%")
global(workDirectory="{folder}")
input(type="imfile" file="{folder}/news.ndjson" tag="news" ruleset="ship")
ruleset(name="ship") {{
  action(type="omelasticsearch" server="127.0.0.1" serverport="{port}" bulkmode="on"
         searchIndex="{index}" searchType="" template="line" errorFile="{folder}/errors")
}}
"""


def test_rsyslog(gateway: Running, server: Server, made: str, tmp_path: Path) -> None:
    """The shipper of most Linux systems sends a file of news, a line an article."""
    # A second shipper, from the system's packages: no registry has it, and .ci/run installs it. The
    # one that comes by pip (opensearch-logger, above) is always run and never skipped.
    rsyslogd = shutil.which("rsyslogd") or shutil.which("rsyslogd", path="/usr/sbin")
    if rsyslogd is None or not any(Path("/usr/lib").glob("**/rsyslog/omelasticsearch.so")):
        pytest.skip("rsyslog is not installed (Debian: rsyslog, rsyslog-elasticsearch)")
    articles = [random_article(n, of=n % 2 if n > 1 else None) for n in range(6)]
    lines = "".join(json.dumps(one) + "\n" for one in articles)
    (tmp_path / "news.ndjson").write_text(lines)
    configuration = tmp_path / "rsyslog.conf"
    configuration.write_text(RSYSLOG.format(folder=tmp_path, port=gateway.port, index=made))
    command = [rsyslogd, "-n", "-C", "-f", str(configuration), "-i", str(tmp_path / "pid")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as shipper:
        try:
            counts = gateway.gateway.counts
            wait_until(lambda: shipper.poll() is not None or counts["enriched"] >= len(articles))
            assert shipper.poll() is None, shipper.communicate()[1]
        finally:
            shipper.terminate()
    gateway.settled()
    found = stored_groups(server, made)
    assert len(found) == len(articles)
    assert len(set(found.values())) == 2
    assert not (tmp_path / "errors").exists()


def test_sweep_finds_nothing_left(gateway: Running, server: Server, made: str) -> None:
    """What the gateway settled is settled: another program has nothing to mend."""
    from datetime import UTC, datetime

    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.maintenance.backfill import sweep

    lines: list[Any] = []
    for number in range(30):
        source = random_article(number, of=number % 3 if number > 2 else None)
        lines += [{"index": {"_id": f"a{number}"}}, source]
    gateway.bulk(f"/{made}/_bulk", *lines)
    gateway.settled()
    with Deduplicator.open(f"{server.product}+{server.url}/{made}") as other:
        progress = sweep(other, datetime(2020, 1, 1, tzinfo=UTC))
        assert (progress.done, progress.relinked) == (0, 0)
        assert other.store.maintenance.find_problems() == []
    assert len(stored_sources(server, made)) == 30


def test_rights_are_the_callers(secure_elasticsearch_server: Server) -> None:
    """A reader may not write, nobody may not read, and the gateway lends nobody its hand."""
    import base64

    from tests.servers import PASSWORD, USERNAME
    from tests.servers.fixtures import READER, READER_PASSWORD

    server, index = secure_elasticsearch_server, "gw-rights"

    def told(user: str, password: str) -> dict[str, str]:
        packed = base64.b64encode(f"{user}:{password}".encode()).decode()
        return {"authorization": f"Basic {packed}"}

    admin, reader = told(USERNAME, PASSWORD), told(READER, READER_PASSWORD)
    environment = {"ES_CA_CERTS": str(server.ca)}
    with running(
        f"elasticsearch+{server.url}", indices=(index,), environment=environment
    ) as gateway:
        assert gateway.http("PUT", f"/{index}", headers=admin).status == 200
        lines = [
            {"index": {"_id": "a"}},
            random_article(1),
            {"index": {"_id": "b"}},
            random_article(2, of=1),
        ]
        assert not gateway.bulk(f"/{index}/_bulk?refresh=true", *lines, headers=admin).json()[
            "errors"
        ]
        gateway.settled()
        by_reader = gateway.bulk(
            f"/{index}/_bulk", {"index": {"_id": "c"}}, random_article(3), headers=reader
        )
        assert by_reader.status == 403
        assert gateway.http("PUT", f"/{index}/_doc/d", random_article(4), reader).status == 403
        assert (
            gateway.bulk(f"/{index}/_bulk", {"index": {"_id": "e"}}, random_article(5)).status
            == 401
        )
        assert gateway.http("POST", f"/{index}/_search", {}, told(READER, "wrong")).status == 401
        folded = {**reader, "x-esdedup-fold": "group"}
        seen = gateway.http("POST", f"/{index}/_search", {}, folded).json()
        assert seen["hits"]["total"]["value"] == 1
        gateway.settled()
        assert gateway.http("GET", f"/{index}/_count", headers=admin).json()["count"] == 2
        for name in (index, f"esdedup-state-{index}"):
            gateway.http("DELETE", f"/{name}", headers=admin)
