"""What is added to a search body, as plain dicts; and which bodies are refused, and why."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from esdedup.cli.search_options import read_source_ranking
from esdedup.errors import NotCollapsible, QueryError
from esdedup.model.queries import Query, SearchOptions
from esdedup.stores.cluster.merging import merge_hits
from esdedup.stores.cluster.requests import folding as requests

CANONICAL = {"bool": {"must_not": [{"term": {"dedup.canonical": False}}]}}
BODY: dict[str, Any] = {
    "query": {"match": {"text": "ferry"}},
    "highlight": {"fields": {"text": {}}},
    "sort": [{"published": "desc"}],
    "aggs": {"sources": {"terms": {"field": "source"}}},
}


def test_a_body_is_only_added_to() -> None:
    before = deepcopy(BODY)
    made = requests.with_collapse(
        requests.with_page(requests.with_tie_breakers(requests.with_links(BODY)), size=5, offset=10,
                       counted_apart=True),
        "group",
    )  # fmt: skip
    assert before == BODY, "the caller's own object is left alone"
    for name in ("query", "highlight", "aggs"):
        assert made[name] == BODY[name]
    assert made["sort"][0] == {"published": "desc"}
    ties = [next(iter(entry)) for entry in made["sort"][1:]]
    assert ties == ["dedup.moment", "dedup.first_seen"]
    assert made["collapse"] == {"field": "dedup.group"}
    assert (made["size"], made["from"], made["track_total_hits"]) == (5, 10, False)
    asked = requests.with_page(
        {**BODY, "track_total_hits": True}, size=1, offset=0, counted_apart=True
    )
    assert asked["track_total_hits"] is True


def test_links_are_asked_for_where_the_source_is_not() -> None:
    assert requests.with_links(BODY) is BODY
    made = requests.with_links({**BODY, "_source": False, "docvalue_fields": ["rank"]})
    assert made["docvalue_fields"] == ["rank", "dedup.group", "dedup.story", "dedup.role"]
    assert made["_source"] is False


def test_counts_are_entries_of_their_own() -> None:
    body = {**BODY, "post_filter": {"term": {"lang": "en"}}, "min_score": 2}
    count = requests.story_count(body, "group")
    assert count["query"] == {
        "bool": {"must": [BODY["query"]], "filter": [{"term": {"lang": "en"}}]}
    }
    assert (count["size"], count["min_score"]) == (0, 2)
    assert count["aggs"]["stories"]["cardinality"]["field"] == "dedup.gid"
    assert requests.story_count(body, "story")["aggs"]["stories"]["cardinality"]["field"] == (
        "dedup.story"
    )


def test_a_search_counts_copies_itself_while_few_articles_match() -> None:
    body = requests.with_collapse({"query": {"match_all": {}}}, "story")
    (name,) = requests.with_copies(body, "story")["aggs"]

    def answer(matches: int) -> dict[str, Any]:
        buckets = [{"key": "a", "doc_count": 3}]
        return {"aggregations": {name: {"doc_count": matches, "groups": {"buckets": buckets}}}}

    few, many = answer(requests.COUNTED_MATCHES - 1), answer(requests.COUNTED_MATCHES)
    assert requests.take_copies(few) == {"a": 2}
    assert requests.take_copies(many) is None, "some matches were not looked at"
    assert requests.take_copies({"aggregations": {"theirs": {}}}) is None
    assert few == many == {}, "the caller sees nothing of it"
    for name in ("aggs", "aggregations", "post_filter", "min_score"):
        other = {**body, name: {}}
        assert requests.with_copies(other, "story") == other


def test_copies_of_a_page_are_counted_by_a_map_and_not_scored() -> None:
    words, among = {"match": {"text": "flood"}}, {"terms": {"dedup.group": ["a", "b"]}}
    counted = requests.copies_count({"query": words, "sort": ["date"]}, ["a", "b"], "group")
    assert counted == {
        "query": {"bool": {"filter": [words, among]}},
        "size": 0,
        "track_total_hits": False,
        "aggs": {"groups": {"terms": {"field": "dedup.group", "size": 2, "execution_hint": "map"}}},
    }
    # Where a score decides what matches, it is needed.
    scored = requests.copies_count({"query": words, "min_score": 2}, ["a", "b"], "group")
    assert scored["query"] == {"bool": {"must": [words], "filter": [among]}}
    assert scored["min_score"] == 2


@pytest.mark.parametrize(
    ("body", "product", "reason"),
    [
        ({"search_after": [1]}, "elasticsearch", "search_after"),
        ({"rescore": {}}, "opensearch", "rescore"),
        ({"knn": {"field": "v"}}, "elasticsearch", "k nearest"),
        ({"query": {"bool": {"must": [{"knn": {"v": {"vector": [1], "k": 3}}}]}}},
         "opensearch", "k nearest"),
        ({"query": {"neural": {"v": {"query_text": "x", "k": 3}}}}, "opensearch", "k nearest"),
        ({"retriever": {"rrf": {}}}, "elasticsearch", "retrievers"),
        ({"query": {"hybrid": {"queries": []}}}, "opensearch", "hybrid"),
    ],
)  # fmt: skip
def test_what_cannot_be_collapsed(body: dict[str, Any], product: str, reason: str) -> None:
    with pytest.raises(NotCollapsible, match=rf"{reason}.*take mode `canonical`"):
        requests.refuse_uncollapsible(body, product)


def test_what_can() -> None:
    assert requests.why_not_collapsible({"rescore": {}}, "elasticsearch") is None
    assert requests.why_not_collapsible(BODY, "opensearch") is None


def test_a_filter_reaches_into_vector_searches() -> None:
    knn = {"field": "v", "query_vector": [1, 2], "k": 5, "filter": {"term": {"lang": "en"}}}
    both = {"bool": {"filter": [{"term": {"lang": "en"}}, CANONICAL]}}
    clause = requests.canonical_filter("group")
    assert clause == CANONICAL
    top = requests.with_filter({"knn": knn}, clause)
    assert top == {"knn": {**knn, "filter": both}}
    listed = requests.with_filter({"knn": [knn], "query": {"match_all": {}}}, clause)
    assert listed["knn"] == [{**knn, "filter": both}]
    assert listed["query"]["bool"]["filter"] == [CANONICAL]
    inside = requests.with_filter({"query": {"knn": {"v": {"vector": [1], "k": 3}}}}, clause)
    assert inside["query"]["bool"]["must"] == [
        {"knn": {"v": {"vector": [1], "k": 3, "filter": CANONICAL}}}
    ]
    flat = requests.with_filter({"query": {"knn": knn}}, clause)
    assert flat["query"]["bool"]["must"] == [{"knn": {**knn, "filter": both}}]
    retriever = requests.with_filter({"retriever": {"rrf": {"retrievers": []}}}, clause)
    assert retriever == {"retriever": {"rrf": {"retrievers": [], "filter": CANONICAL}}}
    hybrid = requests.with_filter(
        {"query": {"hybrid": {"queries": [{"match": {"t": "x"}}], "pagination_depth": 9}}}, clause
    )
    assert hybrid["query"]["hybrid"] == {
        "pagination_depth": 9,
        "queries": [{"bool": {"must": [{"match": {"t": "x"}}], "filter": [CANONICAL]}}],
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("ferry", "JSON object with `query`"),
        ([], "JSON object"),
        ({"query": "ferry"}, "`query` must be an object, not str"),
        ({"query": None}, "`query` must be an object, not null"),
        ({"size": "ten"}, "`size` must be a whole number"),
        ({"from": -1}, "`from` must be a whole number"),
        ({"size": True}, "`size` must be a whole number"),
        ({"sort": 7}, "`sort` must be a list"),
        ({"collapse": {"field": "x"}}, "a `collapse` of its own"),
        ({"scroll": "1m"}, "`scroll` is a parameter"),
        ({1: 2}, "texts as names"),
    ],
)
def test_malformed_bodies(body: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        requests.check_body(body)


def test_pages_end_where_the_engines_end() -> None:
    with pytest.raises(QueryError, match=r"deeper than 10,000.*cursor"):
        requests.with_page(BODY, size=10, offset=9_991, counted_apart=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "best"}, "mode is 'best'; use auto, collapse, canonical, all"),
        ({"size": -1}, "size is -1"),
        ({"offset": "3"}, "offset: a whole number"),
        ({"show": "source"}, "needs `sources`"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        SearchOptions(**options)


def test_queries_are_checked() -> None:
    with pytest.raises(QueryError, match="give a list of texts"):
        Query(filters={"source": "Herald"})
    with pytest.raises(QueryError, match="an empty name"):
        assert Query(sort=("-",)).orders
    assert Query(sort=("-published", "score")).orders == [("published", True), ("score", True)]


def test_two_ranked_lists_become_one() -> None:
    sort = ["_score", {"date": {"order": "asc"}}, {"name": "desc"}]
    first: list[dict[str, Any]] = [{"sort": [3.0, 1, "b"]}, {"sort": [1.0, None, "a"]}]
    second: list[dict[str, Any]] = [
        {"sort": [3.0, 1, "c"]},
        {"sort": [3.0, 2, "z"]},
        {"sort": [1.0, 5, None]},
    ]
    assert [hit["sort"] for hit in merge_hits(first, second, sort)] == [
        [3.0, 1, "c"], [3.0, 1, "b"], [3.0, 2, "z"], [1.0, 5, None], [1.0, None, "a"],
    ]  # fmt: skip


def test_a_ranking_of_sources(tmp_path: Path) -> None:
    file = tmp_path / "sources.txt"
    file.write_text("Wire  # the agency\n\n# none\nHerald\nWire\n", "utf-8")
    assert read_source_ranking(file) == ("Wire", "Herald")
    assert read_source_ranking(None) == ()
