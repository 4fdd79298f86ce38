"""Responses are what the description says: always there, of that type, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from esdedup.service.config import ServiceConfig
from esdedup.settings import Settings
from tests.docs import http
from tests.service.conftest import Running, running
from tests.service.described import MODELS, check_described, checked
from tests.support.articles import BRIDGE, FERRY, ferry_articles


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Something of everything: copies, updates, an event, corrections, a failure."""
    settings = Settings(methods=("sketch", "lengths", "entities", "simhash"), similar_by="simhash")
    store = str(tmp_path_factory.mktemp("answers") / "news.db")
    with running(ServiceConfig(store=store, settings=settings, workers=1, readers=2)) as service:
        began = datetime.now(UTC) - timedelta(hours=2)
        articles = [
            *(story.to_json() for story in ferry_articles(20, start=began, minutes=9)),
            {"id": "a", "text": FERRY, "title": "Ferry fire", "source": "Wire", "update": "soon"},
            {"id": "b", "text": FERRY + " More soon.", "title": "Ferry fire", "lang": "en"},
            {"id": "c", "text": FERRY.replace("12", "17"), "url": "https://wire.example/c"},
            {"id": "d", "text": BRIDGE, "title": "Bridge", "published": began.isoformat()},
        ]
        service.bulk("\n".join(map(json.dumps, articles)))
        again = {"id": "r", "title": "Ferry", "lang": "en"}
        for dead in ("12", "17", "23"):
            revised = {**again, "text": FERRY.replace("12", dead)}
            service.post("/v1/articles", revised).raise_for_status()
        page = "<html><body></body></html>"
        service.post("/v1/articles", {"id": "p", "html": page}).raise_for_status()
        said = {"ids": ["b", "d"], "by": "editor", "note": "seen"}
        service.post("/v1/corrections/merge", said).raise_for_status()
        yield service


def test_every_answer_has_an_example_that_is_true() -> None:
    described = http.description()["components"]["schemas"]
    for model in MODELS.values():
        (example,) = described[model.__name__]["examples"]
        check_described(model.model_validate(example, strict=True))


_QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/healthz", {}),
    ("GET", "/readyz", {}),
    ("GET", "/v1/service", {}),
    ("GET", "/v1/stats", {}),
    ("GET", "/v1/settings", {}),
    ("GET", "/v1/quarantine", {}),
    ("GET", "/v1/corrections", {}),
    ("GET", "/v1/groups", {}),
    ("GET", "/v1/events", {}),
    ("GET", "/v1/front", {"params": {"field": "source", "size": 2}}),
    *(("GET", "/v1/articles", {"params": {"id": id_}}) for id_ in "abcdpr"),
    *(("GET", "/v1/story", {"params": {"id": id_}}) for id_ in "acpr"),
    *(("GET", "/v1/revisions", {"params": {"id": id_}}) for id_ in "ar"),
    ("GET", "/v1/revisions", {"params": {"id": "r", "old": 1, "new": 3}}),
    *(("GET", "/v1/group", {"params": {"id": "c", "by": by}}) for by in ("group", "story")),
    ("GET", "/v1/copies", {"params": {"id": "a"}}),
    ("POST", "/v1/copies", {"json": {"text": FERRY}}),
    ("GET", "/v1/similar", {"params": {"id": "ferry0"}}),
    ("POST", "/v1/similar", {"json": {"text": FERRY}}),
    ("GET", "/v1/explain", {"params": {"id": "c"}}),
    ("GET", "/v1/explain", {"params": {"id": "r", "other": "a"}}),
    ("GET", "/v1/explain", {"params": {"id": "a", "other": "d"}}),
    ("GET", "/v1/search", {"params": {"words": "ferry", "facet": "source", "expand": "true"}}),
    ("GET", "/v1/search", {"params": {"words": "more", "show": "earliest", "by": "story"}}),
    ("GET", "/v1/search", {"params": {"deep": "true", "texts": "false", "size": 2}}),
    ("POST", "/v1/search", {"json": {"total": "none", "sort": ["-published"]}}),
    ("POST", "/v1/check", {"json": {"text": FERRY.replace("12", "19")}}),
    ("POST", "/v1/check", {"json": {"html": "<html></html>"}}),
    ("POST", "/v1/fold", {"json": {"items": [{"text": BRIDGE}, {"text": BRIDGE}, None, "x"]}}),
    ("POST", "/v1/fold", {"json": {"items": [{"id": "a"}, {"id": "b"}], "known": True}}),
    ("POST", "/v1/fold", {"json": {"items": [{"text": t * 3} for t in (FERRY, FERRY[:99])]}}),
]


@pytest.mark.parametrize(("method", "path", "question"), _QUESTIONS)
def test_questions(rich: Running, method: str, path: str, question: dict[str, Any]) -> None:
    checked(rich, method, path, **question)


def test_an_event_with_its_stories(rich: Running) -> None:
    (event,) = checked(rich, "GET", "/v1/events").json()["events"]
    whole = checked(rich, "GET", "/v1/event", params={"id": event["id"]}).json()
    assert whole["sub_stories"]
    assert whole["members"]


def test_changes(rich: Running) -> None:
    """One after the other: each leaves something for the next."""
    new = {"text": BRIDGE, "published": "2001-01-01T00:00:00Z"}
    first = checked(rich, "POST", "/v1/articles", json={"id": "old", **new})
    assert first.status_code == 201
    assert first.json()["relinked"]
    assert checked(rich, "POST", "/v1/articles", json={"id": "old", **new}).status_code == 200
    undated = {"id": "undated", "text": new["text"], "published": "01/02/2026"}
    answer = checked(rich, "POST", "/v1/articles", json=undated).json()
    assert answer["unread_date"] == "01/02/2026"
    checked(rich, "POST", "/v1/articles", json={"id": "q", "html": "<html></html>"})
    checked(rich, "POST", "/v1/corrections/split", json={"ids": ["a", "c"]})
    checked(rich, "POST", "/v1/corrections/pin", json={"id": "b", "by": "editor"})
    checked(rich, "POST", "/v1/corrections/forget", json={"ids": ["b"]})
    said = checked(rich, "POST", "/v1/corrections/merge", json={"ids": ["b", "d"]}).json()
    assert said["changed"]
    assert checked(rich, "POST", "/v1/quarantine/retry").json()["failed"]
    gone = checked(rich, "DELETE", "/v1/articles", params={"id": ["old", "nobody"]}).json()
    assert gone["promoted"]


def test_every_operation_was_asked() -> None:
    changing = {("GET", "/v1/event"), ("POST", "/v1/articles"), ("DELETE", "/v1/articles")}
    changing |= {("POST", "/v1/quarantine/retry")}
    changing |= {("POST", f"/v1/corrections/{v}") for v in ("merge", "split", "pin", "forget")}
    assert {(method, path) for method, path, _ in _QUESTIONS} | changing == MODELS.keys()
