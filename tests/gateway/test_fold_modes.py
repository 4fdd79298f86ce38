"""Every mode of folding, asked for in every way, on real servers: as the table of docs/gateway.md.

Eight articles: a ferry with two copies, its update with one, a bridge with one, and a garden. They
are four groups of copies in three stories; four of them are originals or updates.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from esdedup.gateway.folding import FOLDS, Fold
from tests.gateway.running import Answered, Running, commanded, running
from tests.servers import Server
from tests.support.articles import BRIDGE, FERRY, GARDEN
from tests.support.backends import drop_index

pytestmark = pytest.mark.servers

LATER = FERRY.replace("12 people", "17 people")
TEXTS = {
    "ferry": FERRY,
    "ferry-copy": FERRY.replace("Several passengers", "Some passengers"),
    "ferry-other": FERRY.replace("early on Tuesday", "on Tuesday"),
    "later": LATER,
    "later-copy": LATER.replace("Several passengers", "Some passengers"),
    "bridge": BRIDGE,
    "bridge-copy": BRIDGE.replace("eighteen weeks", "eighteen long weeks"),
    "garden": GARDEN,
}
GROUPS = ({"ferry", "ferry-copy", "ferry-other"}, {"later", "later-copy"},
          {"bridge", "bridge-copy"}, {"garden"})  # fmt: skip
STORIES = (GROUPS[0] | GROUPS[1], GROUPS[2], GROUPS[3])
CANONICAL = {"ferry", "later", "bridge", "garden"}
COPIES = {"ferry-copy", "later-copy", "bridge-copy"}

EVERYTHING: dict[str, Any] = {"query": {"match_all": {}}}
COPIES_ONLY: dict[str, Any] = {"query": {"terms": {"title": sorted(COPIES)}}}
# What each mode makes of a search for everything, and of one that matches copies only.
TOTALS: dict[Fold, tuple[int, int]] = {
    "off": (8, 3),
    "group": (4, 3),
    "story": (3, 2),
    "canonical": (4, 0),
}
MODES = [mode for mode in FOLDS if mode != "off"]
WAYS = ("header", "parameter", "default")


@dataclass(frozen=True)
class News:
    """An index that was filled through a gateway."""

    server: Server
    index: str

    @property
    def url(self) -> str:
        return f"{self.server.product}+{self.server.url}"


@pytest.fixture(scope="module", params=["elasticsearch", "opensearch"])
def news(request: pytest.FixtureRequest) -> Iterator[News]:
    server: Server = request.getfixturevalue(f"{request.param}_server")
    made = News(server, f"gw-{uuid.uuid4().hex[:10]}")
    mapping = {"properties": {"title": {"type": "keyword"}}}
    settings = {"number_of_replicas": 0}
    body = {"settings": settings, "mappings": mapping}
    assert server.http("PUT", f"/{made.index}", body).status == 200
    with running(made.url, indices=(made.index,)) as gateway:
        lines: list[Any] = []
        for number, (id_, text) in enumerate(TEXTS.items()):
            day = f"2026-03-{number + 1:02}T08:00:00Z"
            lines += [{"index": {"_id": id_}}, {"title": id_, "text": text, "published": day}]
        assert not gateway.bulk(f"/{made.index}/_bulk?refresh=true", *lines).json()["errors"]
        gateway.settled()
    server.http("POST", f"/{made.index}/_refresh")
    yield made
    drop_index(server, made.index)


@dataclass(frozen=True)
class Asking:
    """A gateway, and how a request tells it to fold."""

    gateway: Running
    index: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def search(self, body: Any) -> Answered:
        path = f"/{self.index}/_search{self.query}"
        return self.gateway.http("POST", path, body, dict(self.headers))

    def count(self, body: Any) -> Answered:
        path = f"/{self.index}/_count{self.query}"
        return self.gateway.http("POST", path, body, dict(self.headers))

    def several(self, *bodies: Any) -> Answered:
        lines = [line for body in bodies for line in ({"index": self.index}, body)]
        return self.gateway.bulk(f"/_msearch{self.query}", *lines, headers=dict(self.headers))


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> Fold:
    found: Fold = request.param
    return found


@pytest.fixture
def asking(news: News, way: str, mode: Fold) -> Iterator[Asking]:
    folds = {news.index: mode} if way == "default" else {}
    query = f"?esdedup_fold={mode}" if way == "parameter" else ""
    headers = (("X-Esdedup-Fold", mode),) if way == "header" else ()
    with running(news.url, folds=folds) as gateway:
        yield Asking(gateway, news.index, query, headers)


def ids(answer: Any) -> set[str]:
    return {hit["_id"] for hit in answer["hits"]["hits"]}


def total(answer: Any) -> int:
    assert answer["hits"]["total"]["relation"] == "eq"
    return int(answer["hits"]["total"]["value"])


def shown_once(found: set[str], folded: tuple[set[str], ...]) -> bool:
    return all(len(found & members) == 1 for members in folded)


def test_a_search(asking: Asking, mode: Fold) -> None:
    answer = asking.search(EVERYTHING)
    assert answer.headers["x-esdedup-fold"] == mode
    body = answer.json()
    assert set(body) == {"took", "timed_out", "_shards", "hits"}
    assert total(body) == len(body["hits"]["hits"]) == TOTALS[mode][0]
    assert {
        "group": shown_once(ids(body), GROUPS),
        "story": shown_once(ids(body), STORIES),
        "canonical": ids(body) == CANONICAL,
    }[mode]
    copies = asking.search(COPIES_ONLY).json()
    assert total(copies) == len(copies["hits"]["hits"]) == TOTALS[mode][1]
    assert ids(copies) <= COPIES


def test_pages_and_aggregations_of_a_search(asking: Asking, mode: Fold) -> None:
    """Of a collapse the aggregations count articles, of a filter what is shown."""
    by_day = {"n": {"value_count": {"field": "published"}}}
    pages = [
        asking.search({"size": 2, "from": start, "sort": ["published"], "aggs": by_day}).json()
        for start in (0, 2)
    ]
    assert [total(page) for page in pages] == [TOTALS[mode][0]] * 2
    assert len(ids(pages[0]) | ids(pages[1])) == TOTALS[mode][0]
    counted = TOTALS["canonical" if mode == "canonical" else "off"][0]
    assert [page["aggregations"] for page in pages] == [{"n": {"value": counted}}] * 2


def test_several_searches(asking: Asking, mode: Fold) -> None:
    answer = asking.several(EVERYTHING, COPIES_ONLY)
    assert answer.headers["x-esdedup-fold"] == mode
    responses = answer.json()["responses"]
    assert tuple(total(response) for response in responses) == TOTALS[mode]
    assert tuple(len(ids(response)) for response in responses) == TOTALS[mode]
    assert all("aggregations" not in response for response in responses)


def test_a_count(asking: Asking, mode: Fold) -> None:
    answers = [asking.count(body) for body in (EVERYTHING, COPIES_ONLY)]
    assert tuple(answer.json()["count"] for answer in answers) == TOTALS[mode]
    for answer in answers:
        assert set(answer.json()) == {"count", "_shards"}
        assert answer.headers["x-esdedup-fold"] == mode


@pytest.mark.parametrize("off", ["header", "parameter"])
def test_off_goes_before_a_default(news: News, mode: Fold, off: str) -> None:
    query = "?esdedup_fold=off" if off == "parameter" else ""
    headers = (("X-Esdedup-Fold", "off"),) if off == "header" else ()
    with running(news.url, folds={news.index: mode}) as gateway:
        asking = Asking(gateway, news.index, query, headers)
        assert total(asking.search(EVERYTHING).json()) == 8
        assert asking.count(EVERYTHING).json()["count"] == 8
        (response,) = asking.several(COPIES_ONLY).json()["responses"]
        assert total(response) == 3


def test_the_parameter_goes_before_the_header(news: News, mode: Fold) -> None:
    told = (("X-Esdedup-Fold", "off" if mode == "group" else "group"),)
    with running(news.url) as gateway:
        asking = Asking(gateway, news.index, f"?esdedup_fold={mode}", told)
        answer = asking.search(EVERYTHING)
        assert answer.headers["x-esdedup-fold"] == mode
        assert total(answer.json()) == TOTALS[mode][0]
        assert asking.count(EVERYTHING).json()["count"] == TOTALS[mode][0]
        (response,) = asking.several(COPIES_ONLY).json()["responses"]
        assert total(response) == TOTALS[mode][1]
        off = Asking(gateway, news.index, "?esdedup_fold=off", (("X-Esdedup-Fold", mode),))
        assert total(off.search(EVERYTHING).json()) == 8


def test_a_cursor_leaves_out_what_the_mode_would_fold(news: News, mode: Fold) -> None:
    wanted = CANONICAL - {"later"} if mode == "story" else CANONICAL
    with running(news.url, folds={news.index: mode}) as gateway:
        scroll = gateway.http("POST", f"/{news.index}/_search?scroll=1m&size=3", EVERYTHING)
        assert scroll.headers["x-esdedup-fold"] == "canonical"
        first = scroll.json()
        assert total(first) == len(wanted)
        told = {"scroll": "1m", "scroll_id": first["_scroll_id"]}
        rest = gateway.http("POST", "/_search/scroll", told).json()
        gateway.http("DELETE", "/_search/scroll", {"scroll_id": first["_scroll_id"]})
        assert ids(first) | ids(rest) == wanted


def test_a_count_with_a_filter_path_leaves_out_what_the_mode_would_fold(
    news: News, mode: Fold
) -> None:
    with running(news.url) as gateway:
        query = f"esdedup_fold={mode}&filter_path=count"
        answer = gateway.http("POST", f"/{news.index}/_count?{query}", EVERYTHING)
        assert answer.headers["x-esdedup-fold"] == "canonical"
        assert answer.json() == {"count": TOTALS[mode][0]}


def test_several_searches_that_are_done_in_several_ways(news: News) -> None:
    """The header names all that was done; what a collapse cannot do is `canonical`."""
    after: dict[str, Any] = {"sort": ["published"], "search_after": [0]}
    with running(news.url) as gateway:
        asking = Asking(gateway, news.index, "?esdedup_fold=story")
        answer = asking.several(EVERYTHING, after)
        assert [total(r) for r in answer.json()["responses"]] == [3, 3]
        assert answer.headers["x-esdedup-fold"] == "canonical,story"
        assert asking.several(after).headers["x-esdedup-fold"] == "canonical"


def test_the_command_folds_each_index_as_told(news: News) -> None:
    """By the first `--fold` that covers it; `off` is one of them."""
    plain, filtered = f"{news.index}-plain", f"{news.index}-filtered"
    aliases = [{"add": {"index": news.index, "alias": name}} for name in (plain, filtered)]
    assert news.server.http("POST", "/_aliases", {"actions": aliases}).status == 200
    arguments = ["--upstream", news.server.url, "--index", f"{news.index}*", "--fold", "story"]
    for name, mode in ((plain, "off"), (filtered, "canonical")):
        arguments += ["--fold", f"{name}={mode}"]
    wanted: dict[str, Fold] = {news.index: "story", plain: "off", filtered: "canonical"}
    with commanded(*arguments) as command:
        for name, mode in wanted.items():
            search = command.http("POST", f"/{name}/_search", EVERYTHING)
            assert search.headers.get("x-esdedup-fold", "off") == mode
            assert total(search.json()) == TOTALS[mode][0]
            count = command.http("POST", f"/{name}/_count", COPIES_ONLY)
            assert count.json()["count"] == TOTALS[mode][1]
        lines = [line for name in wanted for line in ({"index": name}, EVERYTHING)]
        several = command.bulk("/_msearch", *lines)
        assert several.headers["x-esdedup-fold"] == "canonical,story"
        assert [total(r) for r in several.json()["responses"]] == [3, 8, 4]
