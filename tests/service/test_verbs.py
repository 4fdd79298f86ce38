"""The verbs of the command line, over HTTP, against a real service."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from esdedup.service.description import MODELS
from esdedup.service.streaming import Spool
from esdedup.settings import Settings
from tests.service.conftest import Running, Start
from tests.support.articles import BRIDGE, FERRY


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_article_is_indexed_and_decided(start: Start) -> None:
    service = start()
    first = service.post("/v1/articles", {"id": "a", "text": FERRY})
    assert (first.status_code, first.json()["role"]) == (201, "original")
    copy = service.post("/v1/articles", {"id": "b", "text": FERRY + " More soon."}).json()
    assert (copy["role"], copy["group"], copy["evidence"][0]["other"]) == ("duplicate", "a", "a")
    MODELS["Indexed"].model_validate(copy)
    again = service.post("/v1/articles", {"id": "b", "text": FERRY + " More soon."})
    assert (again.status_code, again.json()["status"]) == (200, "unchanged")
    assert service.client.get("/v1/stats").json()["roles"]["duplicate"] == 1


def test_a_page_is_extracted(start: Start) -> None:
    page = f"<html><head><title>Fire</title></head><body><article><p>{FERRY}</p></article></body>"
    found = start().post("/v1/articles", {"id": "p", "html": page}).json()
    assert (found["role"], found["status"]) == ("original", "new")


def test_a_page_without_an_article_waits_in_the_quarantine(start: Start) -> None:
    service = start()
    found = service.post("/v1/articles", {"id": "p", "html": "<html><body></body></html>"}).json()
    assert (found["role"], found["status"]) == ("unprocessed", "failed")
    waiting = service.client.get("/v1/quarantine").json()
    assert [f["id"] for f in waiting["failures"]] == ["p"]
    retried = service.client.post("/v1/quarantine/retry").json()
    assert (retried["tried"], retried["succeeded"]) == (1, 0)


def test_check_writes_nothing(service: Running) -> None:
    before = service.client.get("/v1/stats").json()
    found = service.post("/v1/check", {"text": FERRY.replace("12", "19")}).json()
    MODELS["Check"].model_validate(found)
    assert found["role"] == "update"
    assert found["evidence"][0]["numbers"][0][1] == "19"
    assert service.client.get("/v1/stats").json() == before


def test_streams_are_answered_line_by_line(start: Start) -> None:
    service = start()
    records = [{"id": str(i), "text": f"{BRIDGE} {FERRY}"} for i in range(30)]
    body = "\n".join(map(json.dumps, records)) + '\nno json\n\n[1]\n{"id": "last", "title": "x"}'
    *answers, end = lines_of(service.bulk(body).text)
    assert [a["line"] for a in answers] == [*range(1, 32), 33, 34]
    assert [a["status"] for a in answers] == ["new"] * 30 + ["failed"] * 3
    assert end["summary"]["complete"]
    assert end["summary"]["roles"] == {"original": 1, "duplicate": 29, "unprocessed": 3}
    assert service.client.get("/v1/quarantine").json()["total"] == 3


def test_a_stream_counts_dates_that_cannot_be_read(start: Start) -> None:
    dates = ("2026-03-05", "01/02/2026", None, "soon")
    records = [{"id": f"{i}", "text": FERRY, "published": d} for i, d in enumerate(dates)]
    *answers, end = lines_of(start().bulk("\n".join(map(json.dumps, records))).text)
    assert [a.get("unread_date") for a in answers] == [None, "01/02/2026", None, "soon"]
    told = {"count": 2, "examples": {"1": "01/02/2026", "3": "soon"}}
    assert end["summary"]["unread_dates"] == told


def test_a_client_may_send_everything_before_it_reads(start: Start) -> None:
    """Answers larger than any socket's buffers must not stop the reading."""
    service = start()
    record = {"text": FERRY, "note": "x" * 200}
    body = "".join(json.dumps({"id": f"{i:05}" * 100, **record}) + "\n" for i in range(3_500))
    *answers, end = lines_of(service.bulk(body).text)
    assert end["summary"] == {
        "complete": True,
        "articles": 3_500,
        "roles": {"original": 1, "duplicate": 3_499},
        "statuses": {"new": 3_500},
    }
    assert len(answers) == 3_500


def test_answers_that_nobody_reads_end_a_stream(start: Start) -> None:
    """All of it is sent before anything is read; what was written is told, and where to go on."""
    service = start(answers_bytes=10_000, settings=Settings(batch=20))
    body = "".join(json.dumps({"id": "x" * 500 + str(i), "text": FERRY}) + "\n" for i in range(200))
    *answers, end = lines_of(service.bulk(body).text)
    told = end["summary"]
    assert (told["complete"], told["problem"]["code"]) == (False, "answers-unread")
    assert told["articles"] == len(answers) == told["next_line"] - 1 < 200
    assert service.client.get("/v1/stats").json()["documents"] == len(answers)


def test_what_was_read_takes_no_room() -> None:
    async def lived() -> int:
        with closing(Spool()) as spool:
            pieces = spool.pieces()
            for _ in range(10):
                spool.write(b"a" * 1_000)
                assert await anext(pieces) == b"a" * 1_000
            spool.write(b"b")
            spool.end()
            assert [piece async for piece in pieces] == [b"b"]
            return spool._file.seek(0, 2)

    assert asyncio.run(lived()) == 1


@pytest.mark.parametrize("how", ["get", "post"])
def test_search_folds(service: Running, how: str) -> None:
    asked: dict[str, Any] = {"words": "ferry", "size": 5}
    if how == "get":
        answer = service.client.get("/v1/search", params=asked | {"expand": "true"})
    else:
        answer = service.post("/v1/search", asked | {"expand": True})
    found = answer.json()
    MODELS["StoryPage"].model_validate(found)
    assert found["total"]["stories"] == 2  # the update stays visible
    assert found["total"]["articles"] == 3
    hit = next(h for h in found["hits"] if h["group"] == "a")
    assert hit["copies"] == 1
    assert len(hit["folded"]) == 1


def test_search_by_story_filters_and_facets(service: Running) -> None:
    asked = {"words": "ferry", "by": "story", "facets": ["source"]}
    found = service.post("/v1/search", asked).json()
    assert found["total"]["stories"] == 1
    assert {b["value"] for b in found["facets"][0]["buckets"]} == {"Wire", "Daily"}
    linked = service.client.get("/v1/search", params={"words": "ferry", "filter": "source=Daily"})
    assert [hit["id"] for hit in linked.json()["hits"]] == ["b"]


def test_search_without_texts(service: Running) -> None:
    found = service.client.get("/v1/search", params={"words": "ferry", "texts": "false"}).json()
    assert found["hits"][0]["snippet"]
    assert "text" not in found["hits"][0]


def test_search_goes_on_by_cursor(service: Running) -> None:
    seen: list[str] = []
    asked: dict[str, Any] = {"words": None, "filters": {"source": ["Wire", "Daily"]}, "size": 1}
    page = service.post("/v1/search", {**asked, "deep": True}).json()
    while page["hits"]:
        seen += [hit["group"] for hit in page["hits"]]
        if page.get("cursor") is None:
            break
        page = service.post("/v1/search", {**asked, "cursor": page["cursor"]}).json()
    assert sorted(seen) == ["a", "c", "d"]


def test_explain_tells_why(service: Running) -> None:
    found = service.client.get("/v1/explain", params={"id": "c"}).json()
    MODELS["Explanation"].model_validate(found)
    assert (found["old"], found["new"]) == ("a", "c")
    assert found["evidence"]["numbers"][0][:2] == ["12", "17"]
    assert any(span["kind"] == "changed" for span in found["spans"])
    alone = service.client.get("/v1/explain", params={"id": "d"})
    assert alone.json()["type"].endswith("nothing-to-explain")


def test_copies_groups_and_members(service: Running) -> None:
    copies = service.post("/v1/copies", {"text": BRIDGE}).json()["copies"]
    assert [(c["id"], c["of_here"]) for c in copies] == [("d", 1.0)]
    stored = service.client.get("/v1/copies", params={"id": "a"}).json()["copies"]
    assert {c["id"] for c in stored} >= {"b"}
    groups = service.client.get("/v1/groups").json()["groups"]
    assert [(g["group"], g["size"]) for g in groups] == [("a", 2)]
    members = service.client.get("/v1/group", params={"id": "b", "by": "story"}).json()
    MODELS["MemberPage"].model_validate(members)
    assert [m["id"] for m in members["members"]] == ["a", "b", "c"]
    paged = service.client.get("/v1/group", params={"id": "b", "size": 1, "offset": 1}).json()
    assert [m["id"] for m in paged["members"]] == ["b"]


@pytest.mark.parametrize("how", ["get", "post"])
def test_copies_come_in_pages(service: Running, how: str) -> None:
    def asked(**page: int) -> Any:
        if how == "get":
            return service.client.get("/v1/copies", params={"id": "a", **page}).json()
        return service.post("/v1/copies", {"id": "a", "text": FERRY}, params=page).json()

    whole = asked()
    assert (whole["total"], len(whole["copies"])) == (2, 2)
    pages = [asked(size=1, offset=offset) for offset in range(3)]
    assert [copy for page in pages for copy in page["copies"]] == whole["copies"]
    assert {page["total"] for page in pages} == {2}


@pytest.mark.parametrize("path", ["/v1/copies", "/v1/story", "/v1/corrections"])
def test_pages_have_bounds(service: Running, path: str) -> None:
    for page in ({"size": 0}, {"size": 1_001}, {"offset": -1}, {"offset": 1_000_001}):
        named = {} if path == "/v1/corrections" else {"id": "a"}
        answer = service.client.get(path, params={**named, **page})
        assert answer.status_code == 422, page


def test_any_list_is_folded(service: Running) -> None:
    items = [
        {"title": "Ferry fire kills twelve off the coast", "url": "https://one.example/1"},
        {"title": "Ferry fire kills twelve off the coast", "url": "https://two.example/2"},
        {"id": "a", "title": "x"},
        {"id": "b", "title": "y"},
    ]
    found = service.post("/v1/fold", {"items": items, "known": True}).json()
    assert [kept["place"] for kept in found["kept"]] == [0, 2]
    assert [folded["rule"] for folded in found["folded"]] == ["headline", "known group"]


def test_delete_promotes(start: Start) -> None:
    service = start()
    for id_ in ("a", "b"):
        service.post("/v1/articles", {"id": id_, "text": FERRY})
    report = service.client.delete("/v1/articles", params={"id": ["a", "unknown"]}).json()
    assert report == {"deleted": ["a"], "missing": ["unknown"], "promoted": ["b"]}
    assert service.client.get("/v1/articles", params={"id": "a"}).status_code == 404


def test_ids_that_are_addresses(start: Start) -> None:
    service = start()
    id_ = "https://news.example/a/../b?x=1&y=ü#z"
    service.post("/v1/articles", {"id": id_, "text": FERRY})
    shown = service.client.get("/v1/articles", params={"id": id_}).json()
    assert shown["document"]["id"] == id_


def test_health_and_metrics(service: Running) -> None:
    assert service.client.get("/healthz").json() == {"status": "ok"}
    assert service.client.get("/readyz").json() == {"status": "ok"}
    text = service.client.get("/metrics").text
    for line in (
        'esdedup_articles_total{role="duplicate"} 1',
        'esdedup_store_articles{role="original"} 2',
        "esdedup_hot_keys 0",
        "esdedup_queue_jobs 0",
        'esdedup_stage_seconds_count{stage="candidates"}',
        "esdedup_candidates_count",
        'esdedup_http_requests_total{method="POST",route="/v1/articles",status="201"} 4',
    ):
        assert line in text


def test_scrapes_at_the_same_time_share_one_look(start: Start) -> None:
    """Two of Prometheus often watch one service; both wait for the same count of hot keys."""
    service = start()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(service.client.get, "/metrics") for _ in range(8)]
    for answer in asked:
        assert answer.result().status_code == 200
        assert "esdedup_hot_keys 0" in answer.result().text


def test_every_problem_is_counted_by_its_reason(start: Start) -> None:
    service = start()
    for path, status in (
        ("/v1/search?size=99999", 422),
        ("/v1/story?id=nobody", 404),
        ("/v1/search?cursor=nonsense", 400),
        ("/nowhere", 404),
    ):
        assert service.client.get(path).status_code == status, path
    assert service.post("/v1/corrections/pin", {"id": "nobody"}).status_code == 404
    text = service.client.get("/metrics").text
    for reason, times in (("invalid", 1), ("unknown-id", 2), ("bad-request", 1), ("not-found", 1)):
        assert f'esdedup_refused_total{{reason="{reason}"}} {times}.0\n' in text


def test_the_page_is_served(service: Running) -> None:
    page = service.client.get("/")
    assert page.status_code == 200, "the page is part of the package"
    assert page.headers["Content-Type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert service.client.get("/static/index.html").status_code == 200


def test_a_reader_only_reads(start: Start) -> None:
    start().post("/v1/articles", {"id": "a", "text": FERRY})
    service = start(read_only=True)
    assert service.client.get("/v1/stats").json()["documents"] == 1
    refused = service.post("/v1/articles", {"id": "b", "text": FERRY})
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:esdedup:problem:read-only")


def test_every_route_is_documented(service: Running) -> None:
    page = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")
    for path, methods in service.client.get("/openapi.json").json()["paths"].items():
        for method in methods:
            assert f"### {method.upper()} {path}\n" in page


def test_openapi_describes_every_route_with_examples(service: Running) -> None:
    made = service.client.get("/openapi.json").json()
    operations = [op for path in made["paths"].values() for op in path.values()]
    assert all(op.get("summary") for op in operations)
    assert "key" in made["components"]["securitySchemes"]
    for name in ("Article", "SearchIn", "FoldIn", "Indexed", "Check", "StoryPage"):
        assert made["components"]["schemas"][name]["examples"]
