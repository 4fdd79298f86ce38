"""What somebody hostile can send, and what comes of it. Against a real service on a real port."""

from __future__ import annotations

import gzip
import json
import logging
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from esdedup.errors import InputError, SettingsError
from esdedup.ingest.sign import Signed, prepare
from esdedup.model import Document, Failure
from esdedup.model.encoding import TOO_DEEP
from esdedup.service.config import is_loopback
from esdedup.service.keys import KeyRing, Scope, add_key, read_keys, revoke_key
from esdedup.service.logs import JsonFormatter
from esdedup.settings import Settings
from tests.reading import deep
from tests.service.conftest import BRIDGE, FERRY, Running, Start
from tests.test_workers import wait_for_ever
from tests.waiting import PATIENCE, wait_until

# --- keys ---------------------------------------------------------------------------------------


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def made(keys: Path, scope: Scope) -> str:
    return add_key(keys, f"{scope}er", scope)


def test_without_a_key_nothing_is_told(start: Start, keys: Path) -> None:
    made(keys, "read")
    service = start(keys_file=keys)
    for path in (
        "/v1/stats",
        "/v1/search?words=x",
        "/metrics",
        "/v1/articles?id=a",
        "/v1/settings",
    ):
        answer = service.client.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json()["type"] == "urn:esdedup:problem:no-key"
    assert service.client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "wrong",
    ["", "x", "esdedup_reader_" + "A" * 43, "esdedup_nobody_" + "A" * 43, "ü" * 10, "a" * 5_000],
)
def test_a_wrong_key_is_refused(start: Start, keys: Path, wrong: str) -> None:
    right = made(keys, "read")
    service = start(keys_file=keys)
    answer = service.client.get("/v1/stats", headers={b"X-API-Key": wrong.encode()})
    assert answer.status_code == 401
    assert service.client.get("/v1/stats", headers={"X-API-Key": right}).status_code == 200


def test_scopes(start: Start, keys: Path) -> None:
    reader, writer, admin = (made(keys, scope) for scope in ("read", "write", "admin"))
    service = start(keys_file=keys)

    def status(key: str, method: str, path: str, **more: object) -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return service.client.request(method, path, headers=headers, **more).status_code  # type: ignore[arg-type]  # options by name

    article = {"json": {"id": "a", "text": FERRY}}
    assert status(reader, "POST", "/v1/articles", **article) == 403
    assert status(reader, "DELETE", "/v1/articles?id=a") == 403
    assert status(reader, "POST", "/v1/check", **article) == 200
    assert status(writer, "POST", "/v1/articles", **article) == 201
    assert status(writer, "POST", "/v1/quarantine/retry") == 403
    assert status(admin, "POST", "/v1/quarantine/retry") == 200
    assert status(admin, "DELETE", "/v1/articles?id=a") == 200


def test_a_body_is_not_read_before_the_key(start: Start, keys: Path) -> None:
    """The answer comes though the body never does."""
    made(keys, "read")
    with start(keys_file=keys).connected() as connection:
        connection.sendall(
            b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 1000000\r\n\r\n"
        )
        assert b" 401 " in connection.recv(200)


def test_keys_are_hashed_at_rest_and_for_the_owner_only(keys: Path) -> None:
    key = add_key(keys, "portal", "read")
    secret = key.removeprefix("esdedup_portal_")
    assert secret not in keys.read_text()
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert "digest" not in read_keys(keys)["portal"].to_json()


def test_keys_are_changed_while_the_service_runs(start: Start, keys: Path) -> None:
    old = add_key(keys, "one", "read")
    service = start(keys_file=keys)

    def status(key: str) -> int:
        return service.client.get("/v1/stats", headers={"X-API-Key": key}).status_code

    new = add_key(keys, "two", "read")
    assert (status(old), status(new)) == (200, 200)
    revoke_key(keys, "one")
    assert (status(old), status(new)) == (401, 200)
    good = keys.read_text()
    keys.write_text("{")
    assert status(new) == 401  # a broken file is no keys, never no lock
    keys.write_text(good)
    assert status(new) == 200
    keys.unlink()
    assert status(new) == 401


def test_keys_end(keys: Path) -> None:
    from datetime import UTC, datetime, timedelta

    key = add_key(keys, "late", "read", datetime.now(UTC) - timedelta(seconds=1))
    assert KeyRing(keys).find(key) is None


def test_a_broken_file_of_keys_opens_nothing(keys: Path) -> None:
    keys.write_text("{}")
    with pytest.raises(SettingsError, match="cannot be read"):
        KeyRing(keys)
    with pytest.raises(InputError, match="no name"):
        add_key(keys, "../x", "read")


def test_keys_are_compared_in_constant_time(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known or not, the digests are compared by `hmac.compare_digest`, once."""
    import hmac

    key = add_key(keys, "portal", "read")
    ring, calls = KeyRing(keys), []
    real = hmac.compare_digest

    def counted(a: str, b: str) -> bool:
        calls.append((a, b))
        return real(a, b)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    for given in (key, "esdedup_nobody_" + "A" * 43, "nonsense"):
        calls.clear()
        ring.find(given)
        assert len(calls) == 1


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.1", "example.org", "")))


# --- bodies -------------------------------------------------------------------------------------


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


# --- names, headers, other sites ------------------------------------------------------------------


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


# --- what articles can do ---------------------------------------------------------------------


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """Somebody else's server, and what it was asked."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0.1)
    asked: list[bytes] = []
    done = threading.Event()

    def accept() -> None:
        while not done.is_set():
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            asked.append(connection.recv(1_000))
            connection.close()

    thread = threading.Thread(target=accept)
    thread.start()
    yield server.getsockname()[1], asked
    done.set()
    thread.join()
    server.close()


def test_nothing_is_ever_fetched(start: Start, listener: tuple[int, list[bytes]]) -> None:
    port, asked = listener
    url = f"http://127.0.0.1:{port}/secret"
    page = (
        f'<?xml version="1.0"?><!DOCTYPE html SYSTEM "{url}" [<!ENTITY x SYSTEM "{url}">]>'
        f'<html><head><link rel="stylesheet" href="{url}"><base href="{url}"/>'
        f'<meta http-equiv="refresh" content="0; url={url}"><script src="{url}"></script></head>'
        f'<body><article><p>{FERRY} &x;</p><img src="{url}"><iframe src="{url}"></iframe>'
        f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{url}"/></article></body>'
    )
    service = start()
    for verb in ("articles", "check", "copies"):
        service.post(f"/v1/{verb}", {"id": url, "url": url, "html": page})
        service.post(f"/v1/{verb}", {"url": url, "source": url, "text": FERRY})
    service.post("/v1/fold", {"items": [{"url": url, "title": "x"}], "known": True})
    service.client.get("/v1/articles", params={"id": url})
    service.post("/v1/search", {"words": url, "filters": {"url": [url]}})
    assert asked == []


def test_local_files_stay_unread(start: Start, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password is swordfish")
    page = (
        f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}">]><html><body><article><p>{FERRY} '
        "&x;</p></article></body></html>"
    )
    service = start()
    service.post("/v1/articles", {"id": "x", "html": page})
    assert "swordfish" not in service.client.get("/v1/articles", params={"id": "x"}).text


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
    monkeypatch.setattr("esdedup.service.signing_pool.prepare", prepare_without_end)
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


# --- secrets --------------------------------------------------------------------------------------


def test_secrets_are_in_no_log_and_no_error(
    start: Start, keys: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = made(keys, "read")
    secret = key[-43:]  # it may have underscores of its own
    service = start(keys_file=keys)
    answers = []
    with caplog.at_level(logging.DEBUG):
        for headers in (
            {"Authorization": f"Bearer {key}"},
            {"X-API-Key": key + "x"},
            {"Authorization": f"Basic {key}"},
        ):
            for path in (f"/v1/search?words={key}", f"/{key}", "/v1/stats"):
                answers.append(service.client.get(path, headers=headers))
        body = {"text": 5, "id": [key]}
        answers.append(service.post("/v1/check", body, headers={"X-API-Key": key}))
    formatter = JsonFormatter()
    ours = [r for r in caplog.records if not r.name.startswith(("httpx", "httpcore"))]
    logged = "\n".join(formatter.format(record) for record in ours)
    assert '"event": "request"' in logged
    assert '"key": "reader"' in logged
    assert secret not in logged
    for answer in answers:
        assert secret not in answer.text
        assert str(tmp_path) not in answer.text


def test_a_failing_store_is_told_to_the_log_alone(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service = start()
    service.post("/v1/articles", {"id": "a", "text": FERRY})
    with closing(sqlite3.connect(tmp_path / "news.db")) as other:
        other.execute("DROP TABLE documents")
        other.commit()
    with caplog.at_level(logging.INFO):
        answer = service.client.get("/v1/search", params={"words": "ferry"})
        ready = service.client.get("/readyz")
    assert (answer.status_code, ready.status_code) == (500, 503)
    assert "news.db" not in answer.text + ready.text
    assert "esdedup_store_up 0" in service.client.get("/metrics").text
    assert "news.db" in caplog.text


def test_the_password_of_a_store_is_never_shown(tmp_path: Path) -> None:
    store = "elasticsearch+http://me:swordfish@127.0.0.1:9/news"
    done = subprocess.run(
        [sys.executable, "-m", "esdedup", "serve", "--store", store],
        capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=tmp_path,
        env={**os.environ, "ES_RETRY_SECONDS": "0"},
    )  # fmt: skip
    assert done.returncode == 4
    assert "swordfish" not in done.stdout + done.stderr


def test_log_lines_cannot_be_forged() -> None:
    record = logging.LogRecord(
        "x", logging.INFO, "", 0, 'a\n{"level": "error"} https://me:pw@host/', (), None
    )
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert "me:pw" not in line
    assert json.loads(line)["level"] == "info"


# --- requests that no client would make -----------------------------------------------------------


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
