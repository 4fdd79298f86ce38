"""What only a search cluster has: any body of its query language, half-filled indices, aliases,
pipelines; on real servers."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from esdedup import Searcher
from esdedup.cli import app
from esdedup.cli.exit_codes import ExitCode
from esdedup.errors import NotCollapsible, QueryError, StoreUnprepared
from esdedup.stores import Store, open_store
from esdedup.stores.cluster.requests import folding
from esdedup.stores.cluster.store import ClusterStore
from tests.search.corpus import put, random_corpus, stored_article
from tests.search.test_searcher import RECORDS
from tests.servers import Server
from tests.support.backends import Backend, new_index

pytestmark = pytest.mark.servers
FLOOD = {"query": {"match": {"title": "flood"}}}


@pytest.fixture
def searcher(cluster_backend: Backend) -> Searcher:
    return Searcher(put(cluster_backend.open(), *RECORDS))


def send(store: Store, method: str, path: str, body: Any = None, **params: Any) -> Any:
    assert isinstance(store, ClusterStore)
    return store.connection.send(method, path, params=params, body=body)


def index_of(store: Store) -> str:
    assert isinstance(store, ClusterStore)
    return store.target.index


# --- any body -------------------------------------------------------------------------------------


def test_a_body_goes_in_untouched(searcher: Searcher) -> None:
    body = {
        **FLOOD,
        "highlight": {"fields": {"title": {}}},
        "sort": [{"published": "desc"}, "_score"],
        "post_filter": {"terms": {"source": ["Wire", "Herald"]}},
        "aggs": {"sources": {"terms": {"field": "source"}}},
        "_source": ["title"],
        "explain": True,
    }
    page = searcher.search(body, total="exact")
    assert [hit.id for hit in page.hits] == ["y", "u"]
    assert (page.total.stories, page.total.articles) == (2, 3)
    first = page.hits[0]
    assert first.raw["highlight"]["title"] == ["<em>Flood</em> in Tollmere"]
    assert first.raw["_source"] == {"title": "Flood in Tollmere"}
    assert "_explanation" in first.raw
    assert (first.group, first.role) == ("a", "duplicate")
    assert str(page.hits[1].update) == "updated: 12 -> 17: people died", "fetched beside the source"
    assert page.aggregations is not None
    assert len(page.aggregations["sources"]["buckets"]) == 3
    assert page.notes == ("aggregations count articles here; mode canonical counts stories",)
    assert "highlight" in first.to_json()


def test_size_and_from_of_the_body_count_unless_said_otherwise(searcher: Searcher) -> None:
    body = {**FLOOD, "size": 1, "from": 1, "sort": [{"published": "asc"}]}
    assert [hit.id for hit in searcher.search(body).hits] == ["u"]
    assert [hit.id for hit in searcher.search(body, size=2, offset=0).hits] == ["a", "u"]


def test_inner_hits_where_asked_for(searcher: Searcher) -> None:
    body = {**FLOOD, "sort": [{"published": "asc"}]}
    page = searcher.search(body, inner_hits={"size": 5, "_source": False})
    inner = page.hits[0].raw["inner_hits"]["copies"]["hits"]["hits"]
    assert {hit["_id"] for hit in inner} == {"a", "y"}
    assert "inner_hits" in page.hits[0].to_json()


def test_copies_are_counted_by_the_search_itself_or_by_a_second_one(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Any] = []
    count_copies = folding.copies_count

    def watched(*arguments: Any) -> Any:
        counted.append(arguments)
        return count_copies(*arguments)

    def copies() -> dict[str | None, int | None]:
        page = searcher.search(FLOOD)
        assert page.aggregations is None
        return {hit.group: hit.copies for hit in page.hits}

    monkeypatch.setattr(folding, "copies_count", watched)
    assert (copies(), len(counted)) == ({"a": 1, "u": 0, "z": 0}, 0)
    monkeypatch.setattr(folding, "COUNTED_MATCHES", 2)
    assert (copies(), len(counted)) == ({"a": 1, "u": 0, "z": 0}, 1)


def test_aggregations_of_canonical_count_stories(searcher: Searcher) -> None:
    body = {**FLOOD, "aggs": {"sources": {"terms": {"field": "source"}}}}
    page = searcher.search(body, mode="canonical")
    assert page.aggregations is not None
    buckets = {b["key"]: b["doc_count"] for b in page.aggregations["sources"]["buckets"]}
    assert buckets == {"Wire": 1, "Herald": 1, "Courier": 1}


def test_canonical_goes_with_cursors_of_the_callers_own(searcher: Searcher) -> None:
    body = {**FLOOD, "sort": [{"published": "asc"}], "size": 2}
    first = searcher.search(body, mode="canonical")
    after = first.hits[-1].raw["sort"]
    second = searcher.search({**body, "search_after": after}, mode="canonical")
    assert [hit.id for hit in (*first.hits, *second.hits)] == ["a", "u", "z"]
    auto = searcher.search({**body, "search_after": after})
    assert (auto.mode, [hit.id for hit in auto.hits]) == ("canonical", ["z"])
    assert auto.notes[0].startswith("originals and updates only: search_after")
    with pytest.raises(NotCollapsible, match="take mode `canonical`"):
        searcher.search({**body, "search_after": after}, mode="collapse")


def test_rescored_searches(searcher: Searcher) -> None:
    rescore = {"window_size": 10, "query": {"rescore_query": {"match": {"title": "elsewhere"}}}}
    page = searcher.search({**FLOOD, "rescore": rescore})
    assert page.hits[0].id == "z"
    is_elastic = isinstance(searcher.store, ClusterStore) and (
        searcher.store.connection.product == "elasticsearch"
    )
    assert page.mode == ("collapse" if is_elastic else "canonical")
    assert len({hit.group for hit in page.hits}) == len(page.hits) == 3


@pytest.mark.parametrize("cluster_backend", ["elasticsearch"], indirect=True)
def test_vector_searches_see_originals_only(cluster_backend: Backend) -> None:
    """Four copies lie nearest; k = 3 must be three stories. OpenSearch's test server has none."""
    store = cluster_backend.open()
    vector = {"type": "dense_vector", "dims": 2, "similarity": "l2_norm"}
    path = f"/{index_of(store)}"
    send(store, "PUT", f"{path}/_mapping", {"properties": {"vector": vector}})
    put(store, *RECORDS)
    places = {"a": [0, 0], "b": [0, 0.1], "c": [0, 0.2], "y": [0, 0.3], "u": [1, 0], "z": [2, 0]}
    for id_, place in places.items():
        send(store, "POST", f"{path}/_update/{id_}", {"doc": {"vector": place}}, refresh="true")
    searcher = Searcher(store)
    knn = {"field": "vector", "query_vector": [0, 0.15], "k": 3, "num_candidates": 10}
    page = searcher.search({"knn": knn})
    assert [hit.id for hit in page.hits] == ["a", "u", "z"]
    assert (page.mode, page.notes[0].split(":")[0]) == ("canonical", "originals and updates only")
    assert {hit.id for hit in searcher.search({"knn": knn}, mode="all").hits} == {"a", "b", "c"}
    inside = searcher.search({"query": {"knn": {**knn, "filter": {"term": {"source": "Herald"}}}}})
    assert [hit.id for hit in inside.hits] == ["u"]
    retriever = {"standard": {"query": {"match": {"title": "flood"}}}}
    ranked = searcher.search({"retriever": retriever})
    assert {hit.id for hit in ranked.hits} == {"a", "u", "z"}
    with pytest.raises(NotCollapsible, match="k nearest"):
        searcher.search({"knn": knn}, mode="collapse")
    with pytest.raises(QueryError, match="no order that a cursor could follow"):
        searcher.search({"knn": knn}, mode="canonical", deep=True)


@pytest.mark.parametrize(
    "body",
    [
        {"query": {"mtach": {"title": "x"}}},
        {"query": {"match": {"title": {"query": "x", "wrong": 1}}}},
        {"sort": [{"title": "asc"}]},
        {"unheard": 1},
    ],
)
def test_what_a_server_refuses_is_an_error_of_the_search(
    searcher: Searcher, body: dict[str, Any]
) -> None:
    with pytest.raises(QueryError, match=r"the search was refused: .+"):
        searcher.search(body)


def test_cursors_belong_to_their_search(searcher: Searcher) -> None:
    page = searcher.search(FLOOD, deep=True, size=1)
    assert page.cursor is not None
    with pytest.raises(QueryError, match="belongs to another search"):
        searcher.search({"query": {"match_all": {}}}, cursor=page.cursor)
    with pytest.raises(QueryError, match="size of 1 or more"):
        searcher.search(FLOOD, deep=True, size=0)
    again = searcher.search(FLOOD, cursor=page.cursor, size=10)
    assert again.cursor is None
    assert len(again.hits) == 2
    with pytest.raises(QueryError, match="cursor is too old"):
        searcher.search(FLOOD, cursor=page.cursor, size=10)


def test_facets_need_a_field_with_values(searcher: Searcher) -> None:
    with pytest.raises(QueryError, match="no field title that can be"):
        searcher.facets("flood", ["title"])


# --- indices that are not ready -------------------------------------------------------------------


def test_an_index_without_our_fields_names_backfill(server: Server) -> None:
    index = new_index()
    server.http("PUT", f"/{index}/_doc/1?refresh=true", {"title": "flood"})
    try:
        with Searcher.open(f"{server.product}+{server.url}/{index}") as searcher:
            with pytest.raises(StoreUnprepared, match=f"esdedup backfill {index}"):
                searcher.search("flood")
            with pytest.raises(StoreUnprepared, match="backfill"):
                searcher.front_page("title.keyword")
            assert len(searcher.search("flood", mode="all").hits) == 1
    finally:
        server.http("DELETE", f"/{index}")


def test_articles_without_a_group_do_not_fold_into_one_another(cluster_backend: Backend) -> None:
    store = put(cluster_backend.open(), *random_corpus(seed=8, size=60))
    lines: list[Any] = []
    for number in range(25):
        lines += [
            {"create": {"_index": index_of(store), "_id": f"bare{number}"}},
            {"title": "flood", "text": "flood river", "source": "Wire",
             "published": f"2026-03-{1 + number % 20:02}"},
        ]  # fmt: skip
    send(store, "POST", "/_bulk", lines, refresh="true")
    searcher = Searcher(store)
    body = {"query": {"match": {"text": "flood"}}, "sort": [{"published": "desc"}, "_score"],
            "aggs": {"all": {"value_count": {"field": "source"}}}}  # fmt: skip
    everything = searcher.search(body, mode="all", size=200)
    right: dict[str, str] = {}
    for hit in everything.hits:
        right.setdefault(hit.group or f"its own: {hit.id}", hit.id)
    shown: list[str] = []
    for offset in range(0, 100, 7):
        page = searcher.search(body, size=7, offset=offset, total="exact")
        assert (page.total.stories, page.ungrouped) == (len(right), 25)
        assert "esdedup backfill" in page.notes[0]
        assert page.aggregations == {"all": {"value": len(everything.hits)}}
        shown += [hit.id for hit in page.hits]
    assert shown == list(right.values())
    for uncounted in (searcher, Searcher(cluster_backend.open())):
        page = uncounted.search(body, size=100, total="none", copies=False)
        assert [hit.id for hit in page.hits] == shown
    plain = {k: v for k, v in body.items() if k != "aggs"}
    deep = [hit.id for page in searcher.pages(plain, size=9) for hit in page.hits]
    assert deep == shown
    canonical = searcher.search(plain, mode="canonical", size=100)
    assert sum(hit.group is None for hit in canonical.hits) == 25


def test_many_indices_behind_one_name(server: Server) -> None:
    names = [f"{new_index()}-{n}" for n in range(2)]
    records = random_corpus(seed=9, size=80)
    try:
        for place, name in enumerate(names):
            store = open_store(f"{server.product}+{server.url}/{name}")
            put(store, *records[place::2])
            store.close()
        with Searcher.open(f"{server.product}+{server.url}/{','.join(names)}") as searcher:
            ranked = [h.id for p in searcher.pages("flood", mode="all", size=200) for h in p.hits]
            groups = {r.document.id: r.decision.group for r in records}
            right: dict[str, str] = {}
            for id_ in ranked:
                right.setdefault(groups[id_], id_)
            deep = [h.id for page in searcher.pages("flood", size=7) for h in page.hits]
            assert deep == list(right.values())
            paged = [h.id for o in range(0, 90, 9) for h in
                     searcher.search("flood", size=9, offset=o).hits]  # fmt: skip
            assert paged == deep
    finally:
        for name in names:
            server.http("DELETE", f"/{name}")


# --- portals that stay as they are ----------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


def test_a_filtered_alias_shows_one_article_per_story(cluster_backend: Backend) -> None:
    store = put(cluster_backend.open(), *RECORDS)
    alias = f"{index_of(store)}-unique"
    done = run("templates", "alias", alias, "--store", cluster_backend.url)
    assert done.exit_code == 0, done.output
    assert run("templates", "alias", alias, "--store", cluster_backend.url).exit_code == 0, (
        "and again"
    )
    found = send(store, "GET", f"/{alias}/_search", FLOOD)["hits"]
    assert ({h["_id"] for h in found["hits"]}, found["total"]["value"]) == ({"a", "u", "z"}, 3)
    assert (
        run("templates", "alias", alias, "--store", cluster_backend.url, "--by", "story").exit_code
        == 0
    )
    found = send(store, "GET", f"/{alias}/_search", FLOOD)["hits"]
    assert {h["_id"] for h in found["hits"]} == {"a", "z"}
    assert send(store, "GET", f"/{index_of(store)}/_search", FLOOD)["hits"]["total"]["value"] == 4
    assert (
        run("templates", "alias", alias, "--store", cluster_backend.url, "--remove").exit_code == 0
    )
    gone = run("templates", "alias", alias, "--store", cluster_backend.url, "--remove")
    assert (gone.exit_code, "no alias" in gone.output) == (ExitCode.STORE, True)


def test_an_alias_of_an_unprepared_index_is_refused(server: Server) -> None:
    index = new_index()
    server.http("PUT", f"/{index}/_doc/1?refresh=true", {"title": "flood"})
    try:
        url = f"{server.product}+{server.url}/{index}"
        done = run("templates", "alias", "one", "--store", url)
        assert (done.exit_code, "esdedup backfill" in done.output) == (ExitCode.STORE, True)
    finally:
        server.http("DELETE", f"/{index}")


@pytest.mark.parametrize("server", ["elasticsearch"], indirect=True)
def test_pipelines_are_for_opensearch(server: Server) -> None:
    url = f"elasticsearch+{server.url}/news"
    done = run("templates", "pipeline", "filter", "--store", url)
    assert (done.exit_code, "templates alias" in done.output) == (ExitCode.STORE, True)


@pytest.mark.parametrize("cluster_backend", ["opensearch"], indirect=True)
def test_the_filter_pipeline_folds_for_unchanged_clients(cluster_backend: Backend) -> None:
    store = put(cluster_backend.open(), *RECORDS)
    index = index_of(store)
    name = f"{index}-filter"
    done = run("templates", "pipeline", "filter", "--name", name, "--default",
               "--store", cluster_backend.url)  # fmt: skip
    assert done.exit_code == 0, done.output
    body = {**FLOOD, "aggs": {"sources": {"terms": {"field": "source"}}}}
    answer = send(store, "POST", f"/{index}/_search", body)
    assert {h["_id"] for h in answer["hits"]["hits"]} == {"a", "u", "z"}
    assert answer["hits"]["total"]["value"] == 3, "right totals"
    assert sum(b["doc_count"] for b in answer["aggregations"]["sources"]["buckets"]) == 3
    pages = [send(store, "POST", f"/{index}/_search", {**FLOOD, "size": 1, "from": n})
             for n in range(4)]  # fmt: skip
    assert [len(p["hits"]["hits"]) for p in pages] == [1, 1, 1, 0]
    off = send(store, "POST", f"/{index}/_search", FLOOD, search_pipeline="_none")
    assert off["hits"]["total"]["value"] == 4, "off per request"
    done = run("templates", "pipeline", "filter", "--name", name, "--default", "--remove",
               "--store", cluster_backend.url)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert send(store, "POST", f"/{index}/_search", FLOOD)["hits"]["total"]["value"] == 4


@pytest.mark.parametrize("cluster_backend", ["opensearch"], indirect=True)
def test_the_collapse_pipeline_folds_a_page_and_says_its_limits(cluster_backend: Backend) -> None:
    copies = [stored_article(f"a{n}", n, "Flood again", "x", of="a") for n in range(5, 9)]
    store = put(cluster_backend.open(), *RECORDS, *copies)
    index = index_of(store)
    name = f"{index}-collapse"
    done = run("templates", "pipeline", "collapse", "--name", name, "--store", cluster_backend.url)
    assert done.exit_code == 0, done.output
    assert '"docvalue_fields": ["dedup.group"]' in done.output
    ordered = {**FLOOD, "sort": [{"published": "asc"}], "size": 3}
    asked = {**ordered, "docvalue_fields": ["dedup.group"]}
    answer = send(store, "POST", f"/{index}/_search", asked, search_pipeline=name)
    assert [h["_id"] for h in answer["hits"]["hits"]] == ["a", "u", "z"]
    assert answer["hits"]["total"]["value"] == 8, "the limit: articles are counted"
    unasked = send(store, "POST", f"/{index}/_search", ordered, search_pipeline=name)
    assert len(unasked["hits"]["hits"]) == 1, "the limit: without the field all is one"
    refused = run("templates", "pipeline", "collapse", "--default", "--store", cluster_backend.url)
    assert (refused.exit_code, "would answer one hit" in refused.output) == (ExitCode.USAGE, True)
    done = run("templates", "pipeline", "--name", name, "--remove", "--store", cluster_backend.url)
    assert done.exit_code == 0, done.output
