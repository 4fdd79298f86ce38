"""Searches through the gateway, on real servers: folded on demand, in the shape of the API."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.articles import random_article
from tests.gateway.running import Running, running
from tests.servers import Server

pytestmark = pytest.mark.servers

FOLDED = {"x-esdedup-fold": "group"}


@pytest.fixture
def filled(server: Server, index: str) -> Iterator[Running]:
    """Three stories: one with two copies, one with one, one alone. Searches fold by default."""
    assert server.http("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}}).status == 200
    url = f"{server.product}+{server.url}"
    with running(url, indices=(index,), folds={index: "group"}) as gateway:
        lines: list[Any] = []
        for id_, number, of in (
            ("a", 1, None), ("a1", 11, 1), ("a2", 12, 1), ("b", 2, None), ("b1", 21, 2),
            ("c", 3, None),
        ):  # fmt: skip
            lines += [{"index": {"_id": id_}}, {**random_article(number, of=of), "word": "ferry"}]
        assert not gateway.bulk(f"/{index}/_bulk?refresh=true", *lines).json()["errors"]
        gateway.settled()
        server.http("POST", f"/{index}/_refresh")
        yield gateway


def ids(answer: Any) -> set[str]:
    return {hit["_id"] for hit in answer["hits"]["hits"]}


def test_default_and_off(filled: Running, index: str) -> None:
    path = f"/{index}/_search"
    folded = filled.http("POST", path, {"query": {"match": {"word": "ferry"}}})
    assert folded.headers["x-esdedup-fold"] == "group"
    body = folded.json()
    assert len(ids(body)) == 3
    assert body["hits"]["total"] == {"value": 3, "relation": "eq"}
    assert "aggregations" not in body
    assert {"took", "timed_out", "_shards", "hits"} == set(body)
    for off in (
        filled.http("POST", f"{path}?esdedup_fold=off", {}),
        filled.http("POST", path, {}, {"X-Esdedup-Fold": "off"}),
    ):
        assert len(ids(off.json())) == 6
        assert off.json()["hits"]["total"]["value"] == 6
    wrong = filled.http("POST", f"{path}?esdedup_fold=nonsense", {})
    assert wrong.status == 400
    assert wrong.json()["error"]["type"] == "illegal_argument_exception"


def test_ways_to_ask(filled: Running, index: str) -> None:
    by_words = filled.http("GET", f"/{index}/_search?q=word:ferry&size=2&filter_path=hits.total")
    assert by_words.json() == {"hits": {"total": {"value": 3, "relation": "eq"}}}
    no_total = filled.http("GET", f"/{index}/_search?filter_path=hits.hits._id")
    assert set(no_total.json()["hits"]) == {"hits"}
    as_number = filled.http("GET", f"/{index}/_search?rest_total_hits_as_int=true").json()
    assert as_number["hits"]["total"] == 3
    own = {"size": 0, "aggs": {"n": {"value_count": {"field": "published"}}}}
    counted = filled.http("POST", f"/{index}/_search?typed_keys", own).json()
    assert counted["aggregations"] == {"value_count#n": {"value": 6}}
    assert counted["hits"]["total"]["value"] == 3
    pretty = filled.http("GET", f"/{index}/_search?pretty&size=0")
    assert b'\n  "took" : ' in pretty.body
    packed = filled.http("GET", f"/{index}/_search", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body))["hits"]["total"]["value"] == 3
    after = filled.http("POST", f"/{index}/_search",
                        {"post_filter": {"ids": {"values": ["a1", "a2"]}}}).json()  # fmt: skip
    assert after["hits"]["total"]["value"] == 1


def test_cursors_are_filtered(filled: Running, index: str) -> None:
    scroll = filled.http("POST", f"/{index}/_search?scroll=1m&size=2", {})
    assert scroll.headers["x-esdedup-fold"] == "canonical"
    first = scroll.json()
    assert first["hits"]["total"]["value"] == 3
    rest = filled.http("POST", "/_search/scroll", {"scroll_id": first["_scroll_id"]}).json()
    assert ids(first) | ids(rest) == {"a", "b", "c"}


def test_several_searches(filled: Running, server: Server, index: str) -> None:
    answer = filled.bulk("/_msearch", {"index": index}, {"query": {"match_all": {}}},
                         {"index": index},
                         {"query": {"ids": {"values": ["b", "b1"]}}}).json()  # fmt: skip
    totals = [r["hits"]["total"]["value"] for r in answer["responses"]]
    assert totals == [3, 1]
    assert all("aggregations" not in r for r in answer["responses"])
    unfolded = filled.bulk("/_msearch?esdedup_fold=off", {"index": index}, {}).json()
    assert unfolded["responses"][0]["hits"]["total"]["value"] == 6


def test_counts(filled: Running, index: str) -> None:
    answer = filled.http("GET", f"/{index}/_count").json()
    assert answer["count"] == 3
    assert set(answer) == {"count", "_shards"}
    assert filled.http("GET", f"/{index}/_count?q=_id:a1").json()["count"] == 1
    assert filled.http("GET", f"/{index}/_count?esdedup_fold=off").json()["count"] == 6


def test_articles_without_a_group_stay_visible(filled: Running, server: Server, index: str) -> None:
    """Two that came by another route: a collapse would fold them into one."""
    for id_ in ("x", "y"):
        server.http("PUT", f"/{index}/_doc/{id_}?refresh=true", {"word": "ferry"})
    answer = filled.http("POST", f"/{index}/_search", {"query": {"match": {"word": "ferry"}}})
    assert answer.headers["x-esdedup-fold"] == "canonical"
    assert ids(answer.json()) == {"a", "b", "c", "x", "y"}
    several = filled.bulk("/_msearch", {"index": index}, {"query": {"match": {"word": "ferry"}}})
    assert several.headers["x-esdedup-fold"] == "canonical"
    assert ids(several.json()["responses"][0]) == {"a", "b", "c", "x", "y"}


def test_an_index_without_our_fields(server: Server, index: str) -> None:
    server.http("PUT", f"/{index}/_doc/x?refresh=true", {"word": "ferry"})
    with running(f"{server.product}+{server.url}", folds={index: "group"}) as gateway:
        by_default = gateway.http("POST", f"/{index}/_search", {})
        assert (by_default.status, by_default.headers["x-esdedup-fold"]) == (200, "off")
        assert gateway.http("POST", f"/{index}/_search", {}, FOLDED).status == 400
        own = gateway.http("POST", f"/{index}/_search", {"collapse": {"field": "word.keyword"}})
        assert (own.status, own.headers["x-esdedup-fold"]) == (200, "off")


def test_errors_are_the_clusters(filled: Running, server: Server, index: str) -> None:
    body: dict[str, Any] = {"query": {"no_such_query": {}}}
    theirs = server.http("POST", f"/{index}/_search", body).json()
    ours = filled.http("POST", f"/{index}/_search", body)
    assert ours.status == 400
    assert ours.json()["error"]["type"] == theirs["error"]["type"]
    assert filled.http("POST", f"/{index}/_search", b"{", FOLDED).status == 400
    assert filled.http("POST", f"/{index}/_search", b"{").status == 400
