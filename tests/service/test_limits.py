"""Limits: bodies, headers and texts that are too large, too slow, odd or hostile."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from esdedup.ingest.sign import Signed, prepare
from esdedup.model import Document, Failure
from esdedup.model.encoding import TOO_DEEP
from esdedup.settings import Settings
from tests.ingest.reading import deep
from tests.ingest.test_workers import wait_for_ever
from tests.service.conftest import Running, Start
from tests.support.articles import BRIDGE, FERRY
from tests.support.waiting import PATIENCE, wait_until


def test_oversize_bodies(start: Start) -> None:
    service = start(body_bytes=10_000)
    told = service.post("/v1/check", {"text": "x" * 20_000})
    assert (told.status_code, told.json()["type"]) == (413, "urn:esdedup:problem:body-too-large")
    untold = service.client.post(
        "/v1/check",
        content=iter([b'{"text": "'] + [b"x" * 1_000] * 50),
        headers={"Content-Type": "application/json"},
    )
    assert untold.status_code == 413
    assert service.client.get("/healthz").status_code == 200


def test_oversize_lines_of_a_stream_cost_only_themselves(start: Start) -> None:
    service = start(body_bytes=10_000)
    good = json.dumps({"id": "a", "text": FERRY})
    answer = service.bulk(f'{{"text": "{"x" * 100_000}"}}\n{good}\n'.encode())
    first, second, _ = map(json.loads, answer.text.splitlines())
    assert (first["status"], second["status"]) == ("failed", "new")
    assert "longer than 10,000 bytes" in first["reason"]


@pytest.mark.parametrize("kind", ["json", "x-ndjson"])
def test_slow_bodies(start: Start, kind: str) -> None:
    path = "/v1/check" if kind == "json" else "/v1/articles/bulk"
    with start(body_seconds=0.5).connected() as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/{kind}\r\n"
            "Content-Length: 1000\r\n\r\n{".encode()
        )
        answer = b""
        while b"body-too-slow" not in answer:
            piece = connection.recv(1_000)
            assert piece, answer
            answer += piece


def test_a_body_that_drips_has_an_end(start: Start) -> None:
    """Each byte in time, the whole not: the connection is closed, whenever that is noticed."""
    with start(body_seconds=1.0).connected() as connection:
        connection.sendall(
            b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000\r\n\r\n"
        )
        with pytest.raises(OSError):  # noqa: PT012 - whichever write meets the closed connection
            for _ in range(999):  # more than the time allows, less than the length
                connection.sendall(b" ")
                time.sleep(0.1)


def test_slow_headers(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.service.server._HEADER_SECONDS", 0.5)
    service = start()
    with service.connected() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        assert connection.recv(100) == b""
    monkeypatch.setattr("esdedup.service.server._HEADER_SECONDS", PATIENCE)
    with service.connected() as connection:  # and before the second request of a connection
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in connection.recv(10_000)
        monkeypatch.setattr("esdedup.service.server._HEADER_SECONDS", 0.5)
        connection.sendall(b"GET /heal")
        while connection.recv(1_000):
            pass


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, identity"])
def test_compressed_bodies_are_not_unpacked(service: Running, encoding: str) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    for path, kind in (("/v1/check", "json"), ("/v1/articles/bulk", "x-ndjson")):
        headers = {"Content-Encoding": encoding, "Content-Type": f"application/{kind}"}
        answer = service.client.post(path, content=bomb, headers=headers)
        assert (answer.status_code, answer.json()["status"]) == (415, 415)


def test_compressed_text_inside_an_article_stays_as_it_is(start: Start) -> None:
    import base64

    bomb = base64.b64encode(gzip.compress(b"<p>" + b"a " * 5_000_000)).decode()
    found = start().post("/v1/articles", {"id": "z", "html": bomb}).json()
    assert found["status"] == "failed"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b'{"text": NaN}', b"[" * 100_000,
        b'{"text": 1e999}', b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"id": {}, "text": []}', b'{"text": "\\u0000"}',
    ],
    ids=lambda body: body[:12].decode(errors="replace"),
)  # fmt: skip
def test_broken_json_is_the_clients_problem(service: Running, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = service.client.post("/v1/check", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_halves_of_surrogate_pairs_and_infinities_can_go_out_again(service: Running) -> None:
    body = b'{"items": [{"title": "\\ud800", "n": 1e999}, "\\udfff"]}'
    headers = {"Content-Type": "application/json"}
    answer = service.client.post("/v1/fold", content=body, headers=headers)
    assert len(answer.json()["kept"]) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../keys.json", "/static/%2e%2e/%2e%2e/config.py", "/static/..%2f..%2fapp.py",
        "/v1/../keys", "/%2e%2e/etc/passwd", "//etc/passwd", "/v1/articles/../../x",
        "/_all/_search",        "/v1/articles/%00", "/static/%00",
    ],
)  # fmt: skip
def test_path_tricks_lead_nowhere(service: Running, path: str) -> None:
    with service.connected() as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(10_000), b""))
    status = int(answer.split(b" ", 2)[1])
    assert status in (400, 404), answer
    assert b"ServiceConfig" not in answer


@pytest.mark.parametrize(
    "name", ["../x", "_all", "*", "a' OR 1=1 --", '"; DROP TABLE documents', "%"]
)
def test_tricks_in_ids_and_fields_are_names(service: Running, name: str) -> None:
    assert service.client.get("/v1/articles", params={"id": name}).status_code == 404
    assert service.client.get("/v1/group", params={"id": name}).status_code == 404
    for asked in (
        {"words": name},
        {"words": "ferry", "filters": {name: ["x"]}},
        {"words": "ferry", "sort": [name]},
        {"words": "ferry", "facets": [name]},
    ):
        assert service.post("/v1/search", asked).status_code in (200, 400)
    assert service.client.get("/v1/stats").json()["documents"] == 4


@pytest.mark.parametrize("given", ["a\tb", "x" * 65, "a b", "<script>", "ä", ""])
def test_a_request_id_that_is_none_is_replaced(service: Running, given: str) -> None:
    answer = service.client.get("/healthz", headers={b"X-Request-Id": given.encode()})
    assert answer.headers["X-Request-Id"] not in (given, "")
    kept = service.client.get("/healthz", headers={"X-Request-Id": "job-7.a_B"})
    assert kept.headers["X-Request-Id"] == "job-7.a_B"


def test_headers_cannot_be_injected(service: Running) -> None:
    for path in ("/v1/articles?id=a%0d%0aSet-Cookie:%20x=1", "/v1/x%0d%0aSet-Cookie:%20x=1"):
        answer = service.client.get(path)
        assert "set-cookie" not in answer.headers
    with service.connected() as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\rSet-Cookie: x=1\r\n"
            b"Connection: close\r\n\r\n"
        )
        answered = b"".join(iter(lambda: connection.recv(10_000), b""))
    assert b"set-cookie" not in answered.lower().replace(b"x-request-id", b"")


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_problem_too(service: Running, sent: bytes) -> None:
    with service.connected() as connection:
        connection.sendall(sent)
        head, _, body = b"".join(iter(lambda: connection.recv(10_000), b"")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head.lower()
    assert b"content-security-policy: default-src 'none'" in head.lower()
    told = json.loads(body)
    assert told["type"] == "urn:esdedup:problem:bad-http"
    assert f"x-request-id: {told['request_id']}".encode() in head.lower()


def test_what_ceases_to_be_http_ends_its_connection_alone(service: Running) -> None:
    """In the middle of a stream, whose answer has begun."""
    with service.connected() as connection:
        connection.sendall(
            b"POST /v1/articles/bulk HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
            b"Content-Type: application/x-ndjson\r\n\r\n2\r\n{}\r\n"
        )
        assert b" 200 " in connection.recv(1_000)
        connection.sendall(b"no chunk\r\n")
        while connection.recv(10_000):
            pass
    assert service.client.get("/healthz").status_code == 200


def test_answers_carry_security_headers_and_allow_no_other_site(service: Running) -> None:
    for path in ("/v1/stats", "/healthz", "/nowhere", "/openapi.json"):
        answer = service.client.get(path, headers={"Origin": "https://other.example"})
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert "server" not in answer.headers
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    ask = {"Origin": "https://other.example", "Access-Control-Request-Method": "POST"}
    answer = service.client.options("/v1/articles", headers=ask)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://other.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Host": "other.example"},
    ],
    ids=str,
)
def test_pages_of_other_sites_cannot_write(service: Running, headers: dict[str, str]) -> None:
    body = json.dumps({"id": "evil", "text": FERRY}).encode()
    given = {"Content-Type": "application/json", **headers}
    answer = service.client.post("/v1/articles", content=body, headers=given)
    assert answer.status_code in (403, 415)
    if "Content-Type" not in headers:
        retried = service.client.post("/v1/quarantine/retry", headers=headers)
        assert retried.status_code == 403


def prepare_without_end(documents: list[Document], settings: Settings) -> list[Signed | Failure]:
    """As `prepare`; a page never ends, and its source is the file for the id of its process."""
    for document in documents:
        if document.html is not None:
            Path(document.source or "").write_text(f"{os.getpid()}\n")
            wait_for_ever()
    return prepare(documents, settings)


def test_a_hostile_page_costs_only_itself(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extraction is stopped by its limits; others are answered meanwhile, and afterwards."""
    monkeypatch.setattr("esdedup.service.state.prepare", prepare_without_end)
    service = start(settings=Settings(page_seconds=600), workers=2)
    service.post("/v1/articles", {"id": "a", "text": FERRY})
    process = tmp_path / "process"
    hostile: list[httpx.Response] = []

    def send() -> None:
        body = {"id": "bad", "html": "<p>bad", "source": str(process)}
        hostile.append(service.post("/v1/articles", body, timeout=PATIENCE))

    thread = threading.Thread(target=send)
    thread.start()
    wait_until(lambda: process.exists() and process.read_text().endswith("\n"))
    assert service.post("/v1/check", {"text": FERRY}).json()["role"] == "duplicate"
    assert not hostile
    os.kill(int(process.read_text()), signal.SIGALRM)  # the time limit
    thread.join(PATIENCE)
    failure = hostile[0].json()["failure"]
    assert failure["reason"] == "it took longer than 600 s (page_seconds)"
    assert service.post("/v1/check", {"text": BRIDGE}).json()["role"] == "original"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 300_000,
        "1" * 300_000,
        "1,1." * 75_000,
        "twenty-" * 40_000,
        "((((" * 75_000,
        ". " * 150_000,
        "a\u0301" * 150_000,
        "\u200d" * 300_000 + "x",
        "Mr. " * 75_000,
        '"' * 300_000 + "a",
    ],
    ids=lambda text: repr(text[:7]),
)
def test_texts_made_for_slow_patterns_are_answered(service: Running, text: str) -> None:
    """Quadratic patterns would need longer for these than the client waits."""
    answer = service.post("/v1/check", {"text": text, "title": text[:10_000]})
    assert answer.status_code == 200
    service.post("/v1/copies", {"text": text})
    service.client.get("/v1/search", params={"words": text[:2_000]})


def test_a_date_made_for_slow_patterns_is_answered(service: Running) -> None:
    published = "2026-01-01" + " " * 1_000_000 + "x"
    body = {"text": FERRY, "published": published}
    assert service.post("/v1/check", body).status_code == 200


def test_a_body_of_too_many_values_is_refused_before_it_is_read(service: Running) -> None:
    """Reading it would keep the event loop for seconds."""
    body = b'{"text": "x", "extra": [' + b"[]," * 200_000 + b"[]]}"
    answer = service.client.post(
        "/v1/check", content=body, headers={"content-type": "application/json"}
    )
    kind = "urn:esdedup:problem:too-many-values"
    assert (answer.status_code, answer.json()["type"]) == (413, kind)


def test_a_list_made_for_slow_folding_is_answered(service: Running) -> None:
    """All alike, none the same: every item meets every other."""
    items = [{"title": f"Ferry {i}", "snippet": f"{FERRY} {i} and {i}"} for i in range(1_000)]
    assert service.post("/v1/fold", {"items": items, "known": True}).status_code == 200
    assert service.post("/v1/fold", {"items": items + items}).status_code == 422


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_no_operation_takes_a_parameter_that_is_not_described(
    service: Running, method: str
) -> None:
    """`/v1/search?q=x` is not a search for everything; by the description, whatever it has."""
    described = service.client.get("/openapi.json").json()["paths"]
    verb = {"HEAD": "get"}.get(method, method.lower())
    for path, operations in described.items():
        if verb not in operations:
            continue
        headers = {"Content-Type": "application/json"}
        if path == "/v1/articles/bulk":
            headers = {"Content-Type": "application/x-ndjson"}
        known = [p["name"] for p in operations[verb].get("parameters", ())]
        for name in ("q", "Size", "ids\0", "\N{LATIN SMALL LETTER S WITH CEDILLA}"):
            answer = service.client.request(
                method, path, content=b"{}", params={name: "x"}, headers=headers
            )
            assert answer.status_code == 400, (path, answer.text)
            if method != "HEAD":
                problem = answer.json()
                assert problem["type"] == "urn:esdedup:problem:unknown-parameter"
                assert repr(name) in problem["detail"]
                assert all(one in problem["detail"] for one in known)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("/v1/search?size=1&size=2", 400),
        ("/v1/search?filter=source%3DWire&filter=source%3DDaily", 200),
        ("/v1/similar?id=a&days=5e-324", 400),
        ("/v1/similar?id=a&days=nan", 422),
        ("/v1/similar?id=a&days=inf", 422),
        ("/v1/similar?id=a&days=1e308", 422),
        ("/v1/search?size=" + "9" * 5_000, 422),
        ("/v1/search?size=%D9%A3", 422),
        ("/v1/search?since=0001-01-01T00:00:00%2B14:00", 400),
        ("/v1/search?since=9999-12-31T23:59:59-14:00", 400),
        ("/v1/search?words=%ff%fe%zz%", 200),
        ("/v1/search?words=%ed%a0%80", 200),
        ("/v1/articles?id=%00", 404),
        ("/v1/articles?id=%ed%a0%80", 404),
    ],
)
def test_odd_parameters_have_an_answer(service: Running, asked: str, status: int) -> None:
    assert _answered(service, f"GET {asked}") == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Origin: http://[", 403),
        ("Origin: http://[::1", 403),
        ("Origin: ://", 403),
        ("Host: [", 403),
        ("Host: [::1", 403),
        ("Host: 127.0.0.1:x", 200),
        ("Content-Type: application/json; charset=nonsense", 200),
        ("Content-Type: application/json; charset=utf-16", 200),
        ("Range: bytes=5-2", 200),
        ("If-None-Match: \xff", 200),
        ("If-Modified-Since: Thu, 01 Jan 0001 00:00:00 +9999", 200),
        ("Accept: \xff", 200),
        ("Authorization: Bearer \xff", 200),
        ("X-Forwarded-Host: [", 200),
        ("X-Forwarded-For: \xff", 200),
        ("Forwarded: for=[", 200),
        ("Cookie: \xff", 200),
    ],
)
def test_odd_headers_have_an_answer(service: Running, header: str, status: int) -> None:
    assert _answered(service, "POST /v1/search", header, body=b'{"words": "ferry"}') == status


@pytest.mark.parametrize("depth", [200, 500, 900, 990, 5_000])
def test_deep_articles_are_refused(start: Start, depth: int) -> None:
    service = start()
    line = deep(depth, text=FERRY)
    headers = {"Content-Type": "application/json"}
    for path in ("/v1/articles", "/v1/check", "/v1/copies", "/v1/similar"):
        answer = service.client.post(path, content=line, headers=headers)
        assert answer.status_code == 400, answer.text
        assert TOO_DEEP in answer.json()["detail"]
    items = f'{{"items": [{line}]}}'
    assert service.client.post("/v1/fold", content=items, headers=headers).status_code == 400
    answers = service.bulk(f'{{"id": "a", "text": "{FERRY}"}}\n{line}\n{{"text": "{BRIDGE}"}}\n')
    lines = [json.loads(one) for one in answers.text.splitlines()]
    assert [one.get("status") for one in lines] == ["new", "failed", "new", None]
    assert service.client.get("/v1/quarantine").json()["total"] == 1


def _answered(service: Running, request: str, header: str = "", body: bytes = b"") -> int:
    """The status, as a client that sends bytes of its own sees it."""
    name = header.partition(":")[0].lower()
    own = {"host": "localhost", "content-type": "application/json", "connection": "close"}
    lines = [f"{k}: {v}" for k, v in own.items() if k != name] + ([header] if header else [])
    head = "\r\n".join([f"{request} HTTP/1.1", *lines, f"content-length: {len(body)}", "", ""])
    with service.connected() as connection:
        connection.sendall(head.encode("latin-1") + body)
        answer = b"".join(iter(lambda: connection.recv(10_000), b""))
    return int(answer.split(b" ", 2)[1])
