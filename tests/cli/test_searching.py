"""The commands around searching: search with its options, front, fold."""

from __future__ import annotations

import json
import subprocess

import pytest

from esdedup.cli.exit_codes import ExitCode
from tests.support.articles import BRIDGE, FERRY
from tests.support.commands import ARTICLES, Cli, article_json, ndjson


@pytest.fixture
def filled(cli: Cli) -> Cli:
    articles = [{**a, "section": "sea" if "bridge" not in a["id"] else "roads"} for a in ARTICLES]
    result = cli("index", cli.file("news.ndjson", ndjson(*articles)), "--workers", "1")
    assert result.exit_code == 0, result.output
    return cli


def test_search_shows_which_article_stands_for_a_story(filled: Cli) -> None:
    (newest,) = filled.json("search", "ferry", "--show", "newest", "--by", "story")
    assert [hit["id"] for hit in newest["hits"]] == ["update"]
    ranking = filled.file("sources.txt", "Source another # best\nSource copy\n")
    (ranked,) = filled.json("search", "ferry", "--show", "source", "--sources", ranking)
    assert [hit["id"] for hit in ranked["hits"] if hit["role"] != "update"] == ["another"]
    text = filled("search", "ferry", "--show", "newest", "--by", "story").stdout
    assert "updated: 12 -> 17: At least 17 people died" in text


def test_search_modes_sort_filter_facets(filled: Cli) -> None:
    (canonical,) = filled.json("search", "ferry", "--canonical")
    assert {hit["id"] for hit in canonical["hits"]} == {"first", "update"}
    (ordered,) = filled.json("search", "--since", "2026-03-01", "--sort", "-published", "--all")
    assert [hit["id"] for hit in ordered["hits"]][:2] == ["bridge", "update"]
    (filtered,) = filled.json("search", "ferry", "--filter", "source=Source copy")
    assert [hit["id"] for hit in filtered["hits"]] == ["copy"]
    (faceted,) = filled.json("search", "ferry", "--facet", "section", "--exact")
    assert faceted["facets"] == [{
        "field": "section", "exact": True,
        "buckets": [{"value": "sea", "stories": 2, "articles": 4}],
    }]  # fmt: skip
    assert "stories" in filled("search", "ferry", "--facet", "section").stdout
    (window,) = filled.json("search", "ferry", "--window", "36h")
    assert window["total"]["stories"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search",), "say what to look for"),
        (("search", "x", "--body", "-"), "leave words"),
        (("search", "x", "--show", "source"), "needs `sources`"),
        (("search", "x", "--window", "soon"), "no span of time"),
        (("search", "x", "--sources", "nowhere.txt"), "nowhere.txt"),
        (("search", "x", "--filter", "source"), "not of the form"),
        (("fold", "nowhere.ndjson"), "nowhere.ndjson"),
        (("fold", "--stream", "--keep", "longest"), "keeps the first"),
    ],
)
def test_wrong_usage(filled: Cli, arguments: tuple[str, ...], message: str) -> None:
    result = filled(*arguments)
    assert result.exit_code == ExitCode.USAGE, result.output
    assert message in result.output


def test_a_body_is_for_clusters(filled: Cli) -> None:
    body = filled.file("body.json", json.dumps({"query": {"match_all": {}}}))
    result = filled("search", "--body", body)
    assert result.exit_code == ExitCode.USAGE
    assert "for Elasticsearch and OpenSearch" in result.output


def test_the_front_page(filled: Cli) -> None:
    sections = filled.json("front", "section")
    assert {s["category"]: [h["id"] for h in s["hits"]] for s in sections} == {
        "sea": ["update"], "roads": ["bridge"],
    }  # fmt: skip
    assert "updated: 12 -> 17" in filled("front", "section", "--only", "sea").stdout
    assert filled("front", "mood").exit_code == ExitCode.FOUND


def fold(cli: Cli, *arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    process = cli.process("fold", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)  # fmt: skip
    out, err = process.communicate(text)
    return subprocess.CompletedProcess([], process.returncode, out, err)


def test_fold_is_a_filter(cli: Cli) -> None:
    items = [article_json("a", FERRY, 1), article_json("b", BRIDGE, 2), article_json("c", FERRY, 3)]
    done = fold(cli, text=ndjson(*items) + "not json\n")
    assert [json.loads(line) for line in done.stdout.splitlines()] == items[:2]
    assert "line 4 is no JSON" in done.stderr
    assert "3 items, 2 kept, 1 folded" in done.stderr
    assert done.returncode == 0
    streamed = fold(cli, "--stream", "--quiet", text=ndjson(*items))
    assert streamed.stdout == done.stdout
    why = fold(cli, "--folded", "--keep", "longest", "--strict", text="{\n" + ndjson(*items))
    assert why.returncode == ExitCode.USAGE


def test_fold_of_arrays_answers_and_with_reasons(cli: Cli) -> None:
    items = [article_json("a", FERRY, 1), article_json("b", BRIDGE, 2), article_json("c", FERRY, 3)]
    answer = {"hits": {"hits": [{"_id": i["id"], "_source": i} for i in items]}}
    for text in (json.dumps(items, indent=1), json.dumps(items), json.dumps(answer)):
        path = cli.file("list.json", text)
        (folded,) = cli.json("fold", path, "--folded", "--quiet")
        assert (folded["id"], folded["into_id"], folded["rule"]) == ("c", "a", "text")
    kept = cli.json("fold", cli.file("list.json", json.dumps(items)), "--quiet")
    assert [k["id"] for k in kept] == ["a", "b"]
    assert kept[0]["folded"][0]["id"] == "c"


def test_fold_by_what_a_store_knows(filled: Cli) -> None:
    items = [{"id": "first", "title": "x"}, {"id": "copy", "title": "y"}]
    path = filled.file("list.ndjson", ndjson(*items))
    (folded,) = filled.json("fold", path, "--folded", "--known", filled.store, "--quiet")
    assert folded["rule"] == "known group"
