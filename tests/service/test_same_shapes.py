"""`--json`, HTTP and `to_json` have the same fields and values for the same question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.stores import get_record
from esdedup.stories.revisions import history_of
from tests.service.conftest import Running
from tests.support.articles import FERRY
from tests.support.commands import Cli

_FIRST_AND_LAST = {"id": "r", "old": "1", "new": "3"}
_NEW = {"id": "new", "text": FERRY.replace("12", "19")}


@pytest.fixture
def cli(tmp_path: Path, service: Running) -> Cli:
    made = Cli(tmp_path)
    made.environment["ESDEDUP_STORE"] = service.app.state.service.config.store
    return made


def from_http(service: Running, path: str, **params: str) -> Any:
    answer = service.client.get(path, params=params)
    answer.raise_for_status()
    return answer.json()


@pytest.mark.parametrize(
    ("command", "path", "params"),
    [
        (("story", "c"), "/v1/story", {"id": "c"}),
        (("similar", "c", "--explain"), "/v1/similar", {"id": "c"}),
        (("explain", "c"), "/v1/explain", {"id": "c"}),
        (("revisions", "c"), "/v1/revisions", {"id": "c"}),
        (("revisions", "r"), "/v1/revisions", {"id": "r"}),
        (("revisions", "r", "--old", "1", "--new", "3"), "/v1/revisions", _FIRST_AND_LAST),
        (("stats",), "/v1/stats", {}),
    ],
)
def test_a_command_and_its_route_agree(
    service: Running, cli: Cli, command: tuple[str, ...], path: str, params: dict[str, str]
) -> None:
    if path == "/v1/revisions":
        _revise(service)
    sent = from_http(service, path, **params)
    sent.pop("total", None)  # of pages, which only HTTP has
    assert [sent] == cli.json(*command)


@pytest.mark.parametrize(
    ("command", "path", "params", "name"),
    [
        (("front", "source"), "/v1/front", {"field": "source"}, "sections"),
        (("quarantine",), "/v1/quarantine", {}, "failures"),
    ],
)
def test_a_command_prints_a_line_for_each_item_of_a_list(
    service: Running, cli: Cli, command: tuple[str, ...], path: str, params: Any, name: str
) -> None:
    service.bulk('{"id": "broken"}\n').raise_for_status()
    sent = from_http(service, path, **params)[name]
    assert sent
    assert sent == cli.json(*command)


def test_constraints_are_the_same_everywhere(service: Running, cli: Cli) -> None:
    set_here = service.post("/v1/corrections/merge", {"ids": ["a", "c"]}).json()["said"]
    exported = [json.loads(line) for line in cli("groups", "export").stdout.splitlines()]
    assert exported == from_http(service, "/v1/corrections")["said"]
    assert [one for one in exported if one["ids"] == ["a", "c"]] == set_here
    assert cli.json("groups", "forget", "a", "c")[0]["said"] == set_here


def test_revisions_of_a_program_agree(service: Running, cli: Cli) -> None:
    _revise(service)
    with Deduplicator.open(cli.environment["ESDEDUP_STORE"], mode="read") as deduplicator:
        store = deduplicator.store
        history = history_of(get_record(store, "r"), store, old=1, new=3)
    assert from_http(service, "/v1/revisions", **_FIRST_AND_LAST) == history.to_json()


def _revise(service: Running) -> None:
    for dead in ("12", "17", "23"):
        service.post("/v1/articles", {"id": "r", "text": FERRY.replace("12", dead)})


def test_a_command_prints_more_of_an_article_and_of_a_search(service: Running, cli: Cli) -> None:
    (printed,) = cli.json("show", "c")
    assert from_http(service, "/v1/articles", id="c").items() <= printed.items()
    (printed,) = cli.json("search", "ferry", "--facet", "source")
    assert (
        from_http(service, "/v1/search", words="ferry", facet="source").items() <= printed.items()
    )


def test_a_text_is_checked_alike_everywhere(service: Running, cli: Cli) -> None:
    file = cli.file("new.ndjson", json.dumps(_NEW))
    sent = service.post("/v1/check", _NEW).json()
    assert [sent] == cli.json("check", file)
    with Deduplicator.open(cli.environment["ESDEDUP_STORE"], mode="read") as deduplicator:
        assert sent == deduplicator.check(Document.from_json(_NEW)).to_json()
    found = service.post("/v1/copies", _NEW).json()
    found.pop("total")
    assert [found] == cli.json("copies", file)
