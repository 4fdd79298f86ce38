"""Similar news, stories, events and a person's word, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from esdedup.alerts.event_watch import EventWatch
from esdedup.alerts.watch import LookResult
from esdedup.service.keys import add_key
from esdedup.settings import Settings
from esdedup.stores import Store
from tests.service.conftest import Running, Start
from tests.support.articles import BRIDGE, FERRY, ferry_articles
from tests.support.waiting import PATIENCE, wait_until


def tellings(begin: datetime) -> list[dict[str, Any]]:
    """Twenty articles about one thing, each in words of its own, within three hours."""
    return [document.to_json() for document in ferry_articles(20, start=begin, minutes=9)]


def bulk(service: Running, articles: list[dict[str, Any]]) -> None:
    answer = service.bulk("\n".join(map(json.dumps, articles)))
    assert json.loads(answer.text.splitlines()[-1])["summary"]["complete"]


def test_a_story_from_its_first_article_on(service: Running) -> None:
    found = service.client.get("/v1/story", params={"id": "b"}).json()
    assert (found["story"], found["articles"]) == ("a", 3)
    assert len(found["versions"]) == 2
    assert service.client.get("/v1/story", params={"id": "none"}).status_code == 404


def test_a_long_story_comes_in_pages(start: Start) -> None:
    service = start(settings=Settings(methods=("sketch", "lengths")))
    shared = _sentences("w", 30)
    versions = [" ".join([f"{12 + n} people died in the ferry fire.", *shared]) for n in range(5)]
    parts = [" ".join([*_sentences(f"own{n}x", 60), *shared[:14]]) for n in range(3)]
    bulk(service, [{"id": f"v{n}", "text": text} for n, text in enumerate(versions)])
    bulk(service, [{"id": f"p{n}", "text": text} for n, text in enumerate(parts)])
    whole = service.client.get("/v1/story", params={"id": "v3"}).json()
    assert whole["total"] == {"versions": 5, "partial": 3}
    assert [version["id"] for version in whole["versions"]] == [f"v{n}" for n in range(5)]
    pages = [
        service.client.get("/v1/story", params={"id": "v3", "size": 2, "offset": offset}).json()
        for offset in (0, 2, 4, 6)
    ]
    for name in ("versions", "partial"):
        assert [one for page in pages for one in page[name]] == whole[name]
        assert [len(page[name]) for page in pages][:2] == [2, min(2, whole["total"][name] - 2)]
    lists = ("versions", "partial")
    rest = {name: value for name, value in whole.items() if name not in lists}
    assert all({k: v for k, v in page.items() if k not in lists} == rest for page in pages)


def _sentences(name: str, count: int) -> list[str]:
    """Of several lengths, in words of their own."""
    lengths = [4 + n * 7 % 11 for n in range(count)]
    return [" ".join(f"{name}{n}x{i}" for i in range(k)) + "." for n, k in enumerate(lengths)]


def test_similar_news(start: Start) -> None:
    service = start()
    bulk(service, [*tellings(datetime(2024, 3, 3, 8, tzinfo=UTC)), {"id": "x", "text": BRIDGE}])
    stored = service.client.get("/v1/similar", params={"id": "ferry0", "size": 3}).json()
    assert 1 <= len(stored["similar"]) <= 3
    assert all(one["id"].startswith("ferry") for one in stored["similar"])
    several = service.client.get("/v1/similar", params={"id": ["ferry0", "ferry1"]}).json()
    assert several["ids"] == ["ferry0", "ferry1"]
    assert several["similar"][0]["similar_to"] == ["ferry0", "ferry1"]
    assert not {"ferry0", "ferry1"} & {one["id"] for one in several["similar"]}
    text = service.post("/v1/similar", {"text": tellings(datetime.now(UTC))[1]["text"]}).json()
    assert text["similar"]


def test_events(start: Start) -> None:
    service = start()
    bulk(service, tellings(datetime.now(UTC) - timedelta(hours=2)))
    found = service.client.get("/v1/events").json()
    assert found["total"] == 1
    (event,) = found["events"]
    assert event["articles"] == 20
    whole = service.client.get("/v1/event", params={"id": event["id"]}).json()
    assert whole["sub_stories"]
    assert service.client.get("/v1/event", params={"id": "none"}).status_code == 404
    assert service.client.get("/v1/events", params={"since": "soon"}).status_code == 400


def test_events_as_they_happen(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()

    class Watch(EventWatch):
        def look(self, store: Store, stopped: Callable[[], bool] = bool) -> LookResult:
            found = super().look(store, stopped)
            looked.set()
            return found

    monkeypatch.setattr("esdedup.service.event_stream.EventWatch", Watch)
    service = start(events_seconds=0.1)
    service.post("/v1/articles", {"id": "x", "text": BRIDGE})
    seen: list[str] = []
    listening = threading.Event()

    def listen() -> None:
        with (
            httpx.Client(timeout=PATIENCE) as client,
            client.stream("GET", f"http://127.0.0.1:{service.port}/v1/events/stream") as answer,
        ):
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                listening.set()
                seen.append(line)

    thread = threading.Thread(target=listen)
    thread.start()
    assert listening.wait(PATIENCE)
    assert looked.wait(PATIENCE), "the first look tells nothing"
    assert service.client.get("/v1/events").json()["total"] == 0
    bulk(service, tellings(datetime.now(UTC) - timedelta(hours=2)))
    wait_until(lambda: any(line.startswith("data: ") for line in seen), lambda: seen)
    # What was answered a moment ago is out of date for those who were told.
    assert service.client.get("/v1/events").json()["total"] == 1
    service.app.state.service.stop()  # which ends the stream
    thread.join(PATIENCE)
    assert not thread.is_alive()
    (first, *_) = [line.removeprefix("data: ") for line in seen if line.startswith("data: ")]
    assert json.loads(first)["event"]["articles"] >= 15


def test_corrections_come_in_pages(start: Start) -> None:
    service = start()
    for id_, text in (("a", FERRY), ("b", FERRY), ("c", FERRY), ("d", BRIDGE)):
        service.post("/v1/articles", {"id": id_, "text": text})
    service.post("/v1/corrections/split", {"ids": ["d", "a", "b", "c"]})
    whole = service.client.get("/v1/corrections").json()
    assert (whole["total"], len(whole["said"])) == (3, 3)
    for offset, ids in ((0, ["a", "b"]), (2, ["c"]), (9, [])):
        page = service.client.get("/v1/corrections", params={"size": 2, "offset": offset}).json()
        assert page["total"] == 3
        assert [one["ids"] for one in page["said"]] == [[id_, "d"] for id_ in ids]


def test_groups_by_hand_and_back(start: Start, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    service = start(keys_file=keys, key=add_key(keys, "editor", "write"))
    for id_, text in (("a", FERRY), ("b", FERRY), ("d", BRIDGE)):
        service.post("/v1/articles", {"id": id_, "text": text})

    def group(id_: str) -> str:
        shown = service.client.get("/v1/articles", params={"id": id_}).json()
        return str(shown["decision"]["group"])

    assert service.post("/v1/corrections/split", {"ids": ["a", "b"]}).status_code == 200
    assert group("b") == "b"
    said = service.client.get("/v1/corrections").json()["said"]
    assert [(one["kind"], one["by"]) for one in said] == [("different", "editor")]
    clash = service.post("/v1/corrections/merge", {"ids": ["a", "b"]})
    assert (clash.status_code, clash.json()["type"]) == (409, "urn:esdedup:problem:contradiction")
    service.post("/v1/corrections/forget", {"ids": ["a", "b"]})
    assert group("b") == "a"
    service.post("/v1/corrections/merge", {"ids": ["a", "d"], "by": "somebody else"})
    assert group("d") == "a"
    service.post("/v1/corrections/forget", {"ids": ["a", "d"]})
    assert group("d") == "d"
    assert service.post("/v1/corrections/pin", {"id": "b"}).status_code == 200
    assert group("a") == "b"
    assert service.post("/v1/corrections/pin", {"id": "none"}).status_code == 404
