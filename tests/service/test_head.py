"""HEAD answers as GET does, without the body."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from esdedup.service.keys import add_key
from tests.service.conftest import Running, Start

# What is needed in the question, and what differs from one answer to the next.
_QUESTIONS = {
    "/v1/articles": "?id=a",
    "/v1/copies": "?id=a",
    "/v1/event": "?id=none",
    "/v1/explain": "?id=c",
    "/v1/front": "?field=source",
    "/v1/group": "?id=a",
    "/v1/revisions": "?id=a",
    "/v1/search": "?words=ferry",
    "/v1/similar": "?id=a",
    "/v1/story": "?id=a",
}
_OWN = {"date", "x-request-id"}
_CHANGING = {"/metrics": {"content-length"}}
_STREAM = "/v1/events/stream"


def _paths(service: Running) -> list[str]:
    described = service.client.get("/openapi.json").json()["paths"]
    return [path for path, methods in described.items() if "get" in methods and path != _STREAM]


def _same(head: httpx.Response, get: httpx.Response, own: set[str] = _OWN) -> None:
    def told(answer: httpx.Response) -> list[tuple[str, str]]:
        return [pair for pair in answer.headers.items() if pair[0] not in own]

    assert head.status_code == get.status_code
    assert told(head) == told(get)
    assert head.content == b""


def test_every_address_that_has_get_has_head(service: Running) -> None:
    paths = _paths(service)
    assert len(paths) >= 18
    for path in (*paths, "/", "/openapi.json", "/static/app.js", "/static/style.css"):
        asked = path + _QUESTIONS.get(path, "")
        get = service.client.get(asked)
        _same(service.client.head(asked), get, _OWN | _CHANGING.get(path, set()))
        assert get.status_code == (404 if path == "/v1/event" else 200), path


@pytest.mark.parametrize(
    "asked",
    [
        "/nowhere",
        "/static/nowhere.js",
        "/v1/articles?id=none",
        "/v1/articles",
        "/v1/search?size=many",
        "/v1/check",
        "/v1/corrections/merge",
    ],
)
def test_errors_are_the_same(service: Running, asked: str) -> None:
    get = service.client.get(asked)
    assert get.status_code >= 400
    _same(service.client.head(asked), get)


def test_what_did_not_change_is_said_to_a_head_too(service: Running) -> None:
    known = {"If-None-Match": service.client.get("/static/app.js").headers["ETag"]}
    get = service.client.get("/static/app.js", headers=known)
    assert get.status_code == 304
    _same(service.client.head("/static/app.js", headers=known), get)


def test_a_stream_of_events_answers_a_head_at_once(service: Running) -> None:
    head = service.client.head(_STREAM)
    with service.client.stream("GET", _STREAM) as get:
        assert head.status_code == get.status_code == 200
        for name in ("content-type", "x-accel-buffering", "cache-control", "transfer-encoding"):
            assert head.headers[name] == get.headers[name]
    assert head.content == b""
    assert "content-length" not in head.headers


def test_full_streams_refuse_a_head_too(start: Start) -> None:
    service = start(streams=1)
    with service.client.stream("GET", _STREAM) as first:
        pieces = first.iter_raw()  # which would end the stream where nobody held it
        next(pieces)
        refused = service.client.get(_STREAM)
        assert refused.status_code == 429
        _same(service.client.head(_STREAM), refused)


def test_nothing_follows_the_headers_on_the_connection(service: Running) -> None:
    """Else what comes next on it would begin with the body of this one."""
    ask = "{} {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"
    for path in ("/v1/stats", "/", "/nowhere", _STREAM):
        with service.connected() as connection:
            last = ask.format("GET", "/healthz", "Connection: close\r\n")
            connection.sendall((ask.format("HEAD", path, "") + last).encode())
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        headers, _, rest = answer.partition(b"\r\n\r\n")
        assert headers.startswith(b"HTTP/1.1 "), path
        assert rest.startswith(b"HTTP/1.1 200 OK\r\n"), path
        assert rest.endswith(b'{"status":"ok"}')


def test_a_head_needs_the_key_that_a_get_needs(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = tmp_path / "keys.json"
    service = start(keys_file=keys, key=add_key(keys, "reader", "read"))
    with caplog.at_level(logging.INFO, "esdedup.service"):
        assert service.client.head("/v1/stats").status_code == 200
        service.client.get("/healthz")
    for given in ({"Authorization": ""}, {"Authorization": "Bearer esdedup_reader_wrong"}):
        get = service.client.get("/v1/stats", headers=given)
        assert get.status_code == 401
        _same(service.client.head("/v1/stats", headers=given), get)
    assert service.client.head("/", headers={"Authorization": ""}).status_code == 200
    told = next(record.__dict__["fields"] for record in caplog.records if record.msg == "request")
    assert (told["method"], told["route"], told["key"]) == ("HEAD", "/v1/stats", "reader")
    assert 'method="HEAD",route="/v1/stats",status="200"' in service.client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/", "GET, HEAD"),
        ("/healthz", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/static/app.js", "GET, HEAD"),
        ("/v1/articles", "DELETE, GET, HEAD, POST"),
        ("/v1/check", "POST"),
        ("/v1/search", "GET, HEAD, POST"),
        (_STREAM, "GET, HEAD"),
    ],
)
def test_another_method_is_told_those_that_there_are(
    service: Running, path: str, methods: str
) -> None:
    answer = service.client.put(path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, methods)
    assert answer.headers["Content-Type"] == "application/problem+json"
