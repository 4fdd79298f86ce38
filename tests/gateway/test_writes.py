"""Writes through the gateway, on real servers: enriched, linked, answered as the cluster does."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.gateway import bulk_split as parts
from esdedup.gateway.http import UpstreamError
from esdedup.gateway.session import TenantSession
from esdedup.gateway.upstream import Upstream
from esdedup.maintenance.backfill import sweep
from esdedup.stores.cluster.concurrency import ClusterConcurrency
from tests.gateway.articles import expected_groups, random_article, stored_groups, stored_sources
from tests.gateway.running import Running, running
from tests.ingest.reading import deep
from tests.servers import Server
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.servers

JSON = dict[str, Any]


@pytest.fixture
def made(server: Server, index: str) -> str:
    """The index is there already, without our fields."""
    body = {"settings": {"number_of_replicas": 0}}
    assert server.http("PUT", f"/{index}", body).status == 200
    return index


@pytest.mark.parametrize("depth", [200, 500, 900])
def test_a_deep_document_passes_as_it_came_beside_signed_ones(
    gateway: Running, server: Server, made: str, depth: int
) -> None:
    off = {"properties": {"x": {"type": "object", "enabled": False}}}
    assert server.http("PUT", f"/{made}/_mapping", off).status == 200
    deep_one = deep(depth, dict, **random_article(1))
    lines = [json.dumps(random_article(0)), deep_one, json.dumps(random_article(2, of=0))]
    body = "".join(f'{{"index": {{"_id": "a{n}"}}}}\n{line}\n' for n, line in enumerate(lines))
    answer = gateway.http("POST", f"/{made}/_bulk", body, {"content-type": "application/x-ndjson"})
    assert not answer.json()["errors"]
    assert gateway.http("PUT", f"/{made}/_doc/b", deep_one).status == 201
    assert gateway.gateway.counts["detection_failed"] == 0
    at_once = stored_sources(server, made)
    assert {id_: "dedup" in source for id_, source in at_once.items()} == {
        "a0": True, "a1": False, "a2": True, "b": False,
    }  # fmt: skip
    gateway.settled()
    assert stored_groups(server, made)["a2"] == "a0"
    with Deduplicator.open(f"{server.product}+{server.url}/{made}") as news:
        assert sweep(news, datetime.now(UTC)).done == 2
    assert all(stored_groups(server, made).values())


def test_bulk_is_enriched_and_linked(gateway: Running, server: Server, made: str) -> None:
    articles = {f"a{n}": random_article(n, of=n % 4 if n > 3 else None) for n in range(24)}
    lines: list[JSON] = []
    for id_, source in articles.items():
        lines += [{"index": {"_index": made, "_id": id_}}, source]
    answer = gateway.bulk("/_bulk", *lines).json()
    assert not answer["errors"]
    assert [item["index"]["_id"] for item in answer["items"]] == list(articles)
    assert {item["index"]["status"] for item in answer["items"]} == {201}
    at_once = stored_sources(server, made)
    assert all("sketch" in s["dedup"] for s in at_once.values()), "enriched on the way in"
    gateway.settled()
    assert stored_groups(server, made) == expected_groups(articles)
    kept = {id_: {k: v for k, v in s.items() if k != "dedup"} for id_, s in at_once.items()}
    assert kept == articles


def long_bulk(articles: Mapping[str, JSON]) -> list[JSON]:
    """In an order in which copies and their originals are far apart."""
    ids = list(articles)
    random.Random(5).shuffle(ids)
    return [line for id_ in ids for line in ({"create": {"_id": id_}}, articles[id_])]


def test_a_long_bulk_goes_in_parts(gateway: Running, server: Server, made: str) -> None:
    articles = {f"a{n}": random_article(n, of=n % 50 if n > 49 else None) for n in range(230)}
    lines = long_bulk(articles)
    lines[-3] = {**lines[-3], "published": {"no": "date"}}  # the last but one
    head = {"accept-encoding": "gzip"}
    answer = gateway.bulk(f"/{made}/_bulk", *lines, headers=head)
    assert "content-encoding" not in answer.headers
    said = answer.json()
    assert said["errors"]
    assert list(said)[:2] == ["errors", "took"]
    items = [item["create"] for item in said["items"]]
    assert [i["_id"] for i in items] == [line["create"]["_id"] for line in lines[::2]]
    refused = lines[-4]["create"]["_id"]
    assert [i["_id"] for i in items if i["status"] != 201] == [refused]
    again = gateway.bulk(f"/{made}/_bulk", *lines).json()
    statuses = {item["create"]["_id"]: item["create"]["status"] for item in again["items"]}
    assert statuses == {id_: 400 if id_ == refused else 409 for id_ in articles}
    gateway.settled()
    articles.pop(refused)
    assert stored_groups(server, made) == expected_groups(articles)


def test_a_part_that_is_lost_costs_no_other(
    gateway: Running, server: Server, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    articles = {f"a{n}": random_article(n, of=n % 50 if n > 49 else None) for n in range(300)}
    lines = long_bulk(articles)
    monkeypatch.setattr(parts, "_LARGEST", 100)
    upstream, sent = gateway.gateway.upstream, []
    exchange = upstream.exchange

    async def failing(*given: Any, **named: Any) -> Any:
        sent.append(given)
        if len(sent) == 2:
            raise UpstreamError("the cluster closed the connection")
        return await exchange(*given, **named)

    monkeypatch.setattr(upstream, "exchange", failing)
    items = gateway.bulk(f"/{made}/_bulk", *lines).json()["items"]
    assert len(sent) == 3
    assert [i["create"]["status"] for i in items] == [201] * 100 + [502] * 100 + [201] * 100
    lost = [line["create"]["_id"] for line in lines[::2]][100:200]
    assert [i["create"]["_id"] for i in items[100:200]] == lost
    gateway.settled()
    written = {id_: source for id_, source in articles.items() if id_ not in lost}
    assert stored_groups(server, made) == expected_groups(written)


def test_writes_do_not_wait_for_the_refresh_behind_them(
    gateway: Running, server: Server, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of what searches do not show yet are found all the same."""
    server.http("PUT", f"/{made}/_settings", {"index": {"refresh_interval": "-1"}})
    articles = {f"a{n}": random_article(n, of=n % 4 if n > 3 else None) for n in range(16)}
    refreshing, is_open = threading.Event(), threading.Event()
    make_visible = ClusterConcurrency.make_visible

    def held(concurrency: ClusterConcurrency, *, own_only: bool = False) -> None:
        refreshing.set()
        assert is_open.wait(PATIENCE)
        make_visible(concurrency, own_only=own_only)

    def write(*ids: str) -> None:
        lines = [line for id_ in ids for line in ({"create": {"_id": id_}}, articles[id_])]
        assert not gateway.bulk(f"/{made}/_bulk", *lines).json()["errors"]

    ids = list(articles)
    write(*ids[:2])
    gateway.settled()
    monkeypatch.setattr(ClusterConcurrency, "make_visible", held)
    write(*ids[2:6])
    assert refreshing.wait(PATIENCE)
    write(*ids[6:12])
    is_open.set()
    write(*ids[12:])
    gateway.settled()
    assert stored_groups(server, made) == expected_groups(articles)


def test_what_refuses_the_first_part_refuses_all(
    gateway: Running, server: Server, made: str
) -> None:
    lines = long_bulk({f"a{n}": random_article(n) for n in range(200)})
    block = {"index.blocks.write": True}
    assert server.http("PUT", f"/{made}/_settings", block).status == 200
    items = gateway.bulk(f"/{made}/_bulk", *lines).json()["items"]
    assert {i["create"]["status"] for i in items} == {403}
    assert len(items) == 200
    answer = gateway.bulk(f"/{made}/_bulk?timeout=soon", *lines)
    assert answer.status == 400
    assert "items" not in answer.json()
    assert stored_sources(server, made) == {}


def test_batches_in_any_order_and_at_once(gateway: Running, server: Server, made: str) -> None:
    """Documents that come before others in time arrive after them, from several clients."""
    from concurrent.futures import ThreadPoolExecutor

    articles = {f"a{n}": random_article(n, of=n % 5 if n > 4 else None) for n in range(40)}
    ids = list(articles)
    random.Random(3).shuffle(ids)

    def send(part: list[str]) -> None:
        lines: list[JSON] = []
        for id_ in part:
            lines += [{"create": {"_id": id_}}, articles[id_]]
        assert not gateway.bulk(f"/{made}/_bulk", *lines).json()["errors"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, [ids[i : i + 4] for i in range(0, 40, 4)]))
    gateway.settled()
    assert stored_groups(server, made) == expected_groups(articles)


def test_an_index_that_the_write_makes(gateway: Running, server: Server, index: str) -> None:
    """The first write passes as it is; what it made is signed a moment later."""
    answer = gateway.bulk(f"/{index}/_bulk", {"index": {"_id": "a"}}, random_article(1),
                          {"index": {"_id": "b"}}, random_article(2, of=1)).json()  # fmt: skip
    assert not answer["errors"]
    gateway.settled()
    assert stored_groups(server, index) == {"a": "a", "b": "a"}
    mapping = server.http("GET", f"/{index}/_mapping").json()[index]["mappings"]["properties"]
    assert mapping["dedup"]["properties"]["group"]["type"] == "keyword"
    status = gateway.http("GET", "/_esdedup/status").json()
    assert (status.get("detection_failed", 0), status["unenriched"]) == (0, 2)


def test_dates_that_cannot_be_read_are_counted(gateway: Running, server: Server, made: str) -> None:
    """Where the mapping takes any text as a date."""
    mapping = {"properties": {"published": {"type": "keyword"}}}
    assert server.http("PUT", f"/{made}/_mapping", mapping).status == 200
    for number, date in enumerate(("2024-05-01", "the day before", "soon")):
        document = {**random_article(number), "published": date}
        assert gateway.http("PUT", f"/{made}/_doc/{number}", document).status == 201
    assert gateway.http("GET", "/_esdedup/status").json()["unread_dates"] == 2


def test_operations_of_other_indices_are_not_counted_as_ours(
    gateway: Running, server: Server, made: str
) -> None:
    """A bulk that writes elsewhere as well is no reason to recheck, nor hides another writer."""
    other = f"other-{made}"
    lines = [
        {"index": {"_id": "a"}},
        random_article(1),
        {"index": {"_index": other, "_id": "b"}},
        {},
    ]
    try:
        assert not gateway.bulk(f"/{made}/_bulk", *lines).json()["errors"]
        (session,) = gateway.gateway.sessions._sessions.values()
        assert (session._epoch.operations, session._epoch.must_recheck) == (1, False)
    finally:
        server.http("DELETE", f"/{other}")


def test_single_documents(gateway: Running, server: Server, made: str) -> None:
    put = gateway.http("PUT", f"/{made}/_doc/a", random_article(1))
    assert (put.status, put.json()["result"], put.json()["_id"]) == (201, "created", "a")
    created = gateway.http("PUT", f"/{made}/_create/b?refresh=true", random_article(2, of=1))
    assert created.status == 201
    assert gateway.http("PUT", f"/{made}/_create/b", random_article(2)).status == 409
    posted = gateway.http("POST", f"/{made}/_doc?refresh=true", random_article(3, of=1))
    assert (posted.status, posted.json()["result"]) == (201, "created")
    own = posted.json()["_id"]
    gateway.settled()
    assert stored_groups(server, made) == {"a": "a", "b": "a", own: "a"}


def test_ids_made_by_the_gateway_in_a_bulk(gateway: Running, server: Server, made: str) -> None:
    answer = gateway.bulk(f"/{made}/_bulk?refresh=true", {"index": {}}, random_article(1),
                          {"create": {}}, random_article(2, of=1)).json()  # fmt: skip
    first, second = (next(iter(item.values()))["_id"] for item in answer["items"])
    assert [next(iter(i.values()))["status"] for i in answer["items"]] == [201, 201]
    gateway.settled()
    assert stored_groups(server, made) == {first: first, second: first}


def test_updates(gateway: Running, server: Server, made: str) -> None:
    gateway.bulk(f"/{made}/_bulk?refresh=true", {"index": {"_id": "a"}}, random_article(1),
                 {"index": {"_id": "b"}}, random_article(2),
                 {"index": {"_id": "c"}}, random_article(3, of=1))  # fmt: skip
    gateway.settled()
    assert stored_groups(server, made) == {"a": "a", "b": "b", "c": "a"}
    same = gateway.http("POST", f"/{made}/_update/b", {"doc": {"title": "title 2"}})
    assert same.json()["result"] == "noop"
    changed = gateway.http("POST", f"/{made}/_update/b?refresh=true",
                           {"doc": {"text": random_article(1)["text"]}})  # fmt: skip
    assert changed.json()["result"] == "updated"
    gateway.settled()
    assert stored_groups(server, made) == {"a": "a", "b": "a", "c": "a"}
    bulk = gateway.bulk(
        f"/{made}/_bulk?refresh=true",
        {"update": {"_id": "d"}}, {"doc": random_article(4, of=1), "doc_as_upsert": True},
        {"update": {"_id": "e"}}, {"doc": {"title": "x"}, "upsert": random_article(5, of=1)},
        {"update": {"_id": "missing"}}, {"doc": {"title": "x"}},
        {"delete": {"_id": "a"}},
    ).json()  # fmt: skip
    statuses = [next(iter(item.values()))["status"] for item in bulk["items"]]
    assert bulk["errors"]
    assert statuses == [201, 201, 404, 200]
    gateway.settled()
    assert set(stored_groups(server, made).values()) == {"b"}, "the next one leads after the delete"


def test_a_pattern_that_one_index_fits(server: Server, made: str) -> None:
    """Changed articles are read again to be settled, which no pattern can be asked for."""
    with running(f"{server.product}+{server.url}", indices=(f"{made}*",)) as gateway:
        articles = {"a": random_article(1), "b": random_article(2), "c": random_article(3, of=1)}
        for id_, source in articles.items():
            assert gateway.http("PUT", f"/{made}/_doc/{id_}", source).status == 201
        gateway.settled()
        assert stored_groups(server, made) == {"a": "a", "b": "b", "c": "a"}
        changed = {"doc": {"text": random_article(2)["text"]}}
        assert gateway.http("POST", f"/{made}/_update/a", changed).json()["result"] == "updated"
        gateway.settled()
        assert gateway.gateway.sessions.counts["settling_failed"] == 0
    articles["a"] = {**articles["a"], "text": random_article(2)["text"]}
    assert stored_groups(server, made) == expected_groups(articles)


def test_slashes_at_the_end(gateway: Running, server: Server, made: str) -> None:
    """As many write them; the engines do not look at them."""
    own = gateway.http("POST", f"/{made}/_doc/?refresh=true", random_article(1)).json()["_id"]
    assert (
        gateway.http("PUT", f"/{made}/_doc/b/?refresh=true", random_article(2, of=1)).status == 201
    )
    bulk = gateway.bulk(
        f"/{made}/_bulk/?refresh=true", {"index": {"_id": "c"}}, random_article(3, of=1)
    )
    assert not bulk.json()["errors"]
    gateway.settled()
    assert stored_groups(server, made) == {own: own, "b": own, "c": own}
    folded = {"x-esdedup-fold": "group"}
    found = gateway.http("POST", f"/{made}/_search/", {}, folded).json()
    assert found["hits"]["total"]["value"] == 1
    assert gateway.http("GET", f"/{made}/_count/", headers=folded).json()["count"] == 1


def test_quirks_of_the_format(gateway: Running, server: Server, made: str) -> None:
    """Every oddity meets what the cluster itself says of it."""
    line, source = json.dumps({"index": {"_id": "a"}}), json.dumps(random_article(1))
    kinds = {"content-type": "application/x-ndjson"}
    bodies = {
        "no last newline": f"{line}\n{source}",
        "blank lines": f"\n\n{line}\n{source}\n\n",
        "carriage returns": f"{line}\r\n{source}\r\n",
        "broken document": f'{line}\n{{"title": \n',
        "no document": f"{line}\n",
        "no action": '{"nothing": {}}\n{}\n',
        "not JSON": "hello\n",
        "deep": f"{line}\n{'[' * 50_000}\n",
        "one good, one bad": f'{line}\n{source}\n{line}\n{{"published": "no date", "text": 5}}\n',
    }
    for what, body in bodies.items():
        direct = server.http("POST", f"/{made}/_bulk", body)
        ours = gateway.http("POST", f"/{made}/_bulk", body, kinds)
        assert ours.status == direct.status, what
        if direct.status == 200:
            theirs = [next(iter(i.values()))["status"] for i in direct.json()["items"]]
            mine = [next(iter(i.values()))["status"] for i in ours.json()["items"]]
            assert [s // 100 for s in mine] == [s // 100 for s in theirs], what
    gateway.settled()


def test_compressed_bulk(gateway: Running, server: Server, made: str) -> None:
    text = f"{json.dumps({'index': {'_id': 'a'}})}\n{json.dumps(random_article(1))}\n"
    answer = gateway.http(
        "POST", f"/{made}/_bulk?refresh=true", gzip.compress(text.encode()),
        {"content-type": "application/x-ndjson", "content-encoding": "gzip",
         "accept-encoding": "gzip"},
    )  # fmt: skip
    assert answer.status == 200
    body = answer.body
    if answer.headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    assert not json.loads(body)["errors"]
    assert stored_groups(server, made) == {"a": "a"}


def test_parameters_of_a_bulk(gateway: Running, made: str) -> None:
    answer = gateway.bulk(f"/{made}/_bulk?filter_path=items.*.status&pretty",
                          {"index": {"_id": "a"}}, random_article(1))  # fmt: skip
    assert answer.json() == {"items": [{"index": {"status": 201}}]}
    assert answer.body.count(b"\n") > 3


def test_other_indices_are_not_touched(gateway: Running, server: Server, made: str) -> None:
    other = f"{made}x"
    try:
        operations = [{"index": {"_index": index, "_id": "a"}} for index in (other, made)]
        text = random_article(1)
        gateway.bulk("/_bulk?refresh=true", operations[0], text, operations[1], text)
        assert "dedup" not in stored_sources(server, other)["a"]
        assert "dedup" in stored_sources(server, made)["a"]
    finally:
        server.http("DELETE", f"/{other}")


def test_documents_of_another_shape(server: Server, made: str) -> None:
    """Somebody's own field names; numbers, order of names and odd values stay as written."""
    source = '{"headline":"h","article":{"body":"%s"},"n":1.10,"big":1234567890123456789}'
    source = source % random_article(1)["text"]
    body = f'{{"index":{{"_id":"a"}}}}\n{source}\n{{"index":{{"_id":"e"}}}}\n{{"headline":""}}\n'
    options = {"indices": (made,), "fields": {"text": "article.body"}}
    with running(f"{server.product}+{server.url}", **options) as gateway:
        assert not gateway.http("POST", f"/{made}/_bulk?refresh=true", body).json()["errors"]
        gateway.settled()
    raw = server.http("GET", f"/{made}/_doc/a").text
    assert '"n":1.10,"big":1234567890123456789,"dedup":{' in raw
    empty = stored_sources(server, made)["e"]["dedup"]
    assert (empty["role"], empty["group"]) == ("unprocessed", "e")


def test_read_back_and_written_again(gateway: Running, server: Server, made: str) -> None:
    """What a client read with our fields in it and writes back is signed anew."""
    gateway.http("PUT", f"/{made}/_doc/a?refresh=true", random_article(1))
    source = server.http("GET", f"/{made}/_doc/a").json()["_source"]
    source["text"] = random_article(2)["text"]
    before = source["dedup"]["digest"]
    answer = gateway.http("PUT", f"/{made}/_doc/a?refresh=true", source)
    assert answer.json()["result"] == "updated"
    assert stored_sources(server, made)["a"]["dedup"]["digest"] != before


@pytest.mark.parametrize("sweeper", ["the gateway", "another program"])
def test_what_passed_unenriched_is_swept(
    server: Server, made: str, monkeypatch: pytest.MonkeyPatch, sweeper: str
) -> None:
    """A defect in detection: the articles are written all the same, and get their groups later."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    exchange = Upstream.exchange

    async def slow(*given: Any, **named: Any) -> Any:
        await asyncio.sleep(0.5)  # settling could look for them before they are there
        return await exchange(*given, **named)

    monkeypatch.setattr(Upstream, "exchange", slow)
    articles = {f"a{n}": random_article(n, of=n % 3 if n > 2 else None) for n in range(12)}
    lines = [line for id_, s in articles.items() for line in ({"create": {"_id": id_}}, s)]
    url, began = f"{server.product}+{server.url}", datetime.now(UTC)
    if sweeper != "the gateway":  # which is ended before it comes to it
        monkeypatch.setattr(TenantSession, "end_epoch", TenantSession.abandon)
    with running(url, indices=(made,)) as gateway:
        with monkeypatch.context() as failing:
            failing.setattr(TenantSession, "decide", broken)
            answer = gateway.bulk(f"/{made}/_bulk?refresh=true", *lines).json()
        assert not answer["errors"]
        assert [item["create"]["_id"] for item in answer["items"]] == list(articles)
        assert gateway.gateway.counts["unenriched"] == len(articles)
        gateway.settled()
    if sweeper != "the gateway":
        assert stored_sources(server, made) == articles
        with Deduplicator.open(f"{url}/{made}") as later:
            assert sweep(later, began).done == len(articles)
    assert stored_groups(server, made) == expected_groups(articles)


def test_detection_that_fails(server: Server, index: str) -> None:
    """A field of ours that is of another type: nothing can be stored there."""
    mapping = {"mappings": {"properties": {"dedup": {"properties": {"group": {"type": "text"}}}}}}
    assert server.http("PUT", f"/{index}", mapping).status == 200
    url = f"{server.product}+{server.url}"
    with running(url, indices=(index,)) as gateway:
        assert gateway.http("PUT", f"/{index}/_doc/a?refresh=true", random_article(1)).status == 201
        assert gateway.gateway.counts["unenriched"] == 1
    with running(url, indices=(index,), fail_closed=True) as gateway:
        refused = gateway.http("PUT", f"/{index}/_doc/b?refresh=true", random_article(2))
        assert refused.status == 503
        assert refused.json()["error"]["type"] == "esdedup_unavailable_exception"
    assert set(stored_sources(server, index)) == {"a"}
