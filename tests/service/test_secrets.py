"""Keys, and what nobody is to see: secrets, local files, other hosts."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from esdedup.errors import InputError, SettingsError
from esdedup.service.config import is_loopback
from esdedup.service.keys import KeyRing, Scope, add_key, read_keys, revoke_key
from esdedup.service.logs import JsonFormatter
from tests.service.conftest import Start
from tests.support.articles import FERRY
from tests.support.waiting import PATIENCE


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
