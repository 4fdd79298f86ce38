"""The service as a process: back-pressure, stopping, binding, logs."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from typer.testing import Result

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.service.app import make_app
from esdedup.service.config import ServiceConfig
from tests.service.conftest import Running, Start
from tests.service.process import Process
from tests.support.articles import FERRY
from tests.support.commands import Cli
from tests.support.waiting import PATIENCE, is_still, wait_until


@contextmanager
def busy(service: Running) -> Iterator[None]:
    """The writer has something to do for as long as the test wants."""
    begun, done = threading.Event(), threading.Event()

    def wait(_: Deduplicator) -> None:
        begun.set()
        done.wait(PATIENCE)

    state = service.app.state.service
    future = asyncio.run_coroutine_threadsafe(state.writer.run(wait), state.loop)
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        done.set()
        future.result(PATIENCE)


def test_a_full_queue_says_when_to_come_again(start: Start) -> None:
    service = start(queue=2)
    answers: list[httpx.Response] = []
    with busy(service):
        threads = [
            threading.Thread(
                target=lambda i=i: answers.append(
                    service.post("/v1/articles", {"id": str(i), "text": FERRY})
                )
            )
            for i in range(2)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: service.app.state.service.admission.jobs == 2)
        refused = service.post("/v1/articles", {"id": "x", "text": FERRY})
        assert (refused.status_code, refused.json()["type"]) == (
            429,
            "urn:esdedup:problem:queue-full",
        )
        assert int(refused.headers["Retry-After"]) >= 1
        # Questions are answered all the same.
        assert service.client.get("/v1/stats").status_code == 200
        assert 'esdedup_refused_total{reason="queue-full"} 1' in service.client.get("/metrics").text
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(a.status_code for a in answers) == [201, 201]
    assert service.post("/v1/articles", {"id": "x", "text": FERRY}).status_code == 201


def test_a_stream_waits_instead(start: Start) -> None:
    """The sender is slowed down by its connection: nothing is refused, little is held.

    It sends until it is slowed down, and the rest once the writer is free again.
    """
    service = start(queue=1)
    line = (json.dumps({"text": FERRY, "note": "x" * 10_000}) + "\n").encode()
    sent = [0]
    answers: list[httpx.Response] = []

    def body() -> Iterator[bytes]:
        for _ in range(3_000):
            sent[0] += 1
            yield line

    def send() -> None:
        headers = {"Content-Type": "application/x-ndjson"}
        answers.append(service.client.post("/v1/articles/bulk", content=body(), headers=headers))

    thread = threading.Thread(target=send)
    with busy(service):
        thread.start()
        held = service.app.state.service.admission
        wait_until(lambda: held.jobs and is_still(lambda: sent[0]), lambda: sent[0])
        assert sent[0] < 3_000  # 30 MB did not go anywhere
    thread.join(PATIENCE)
    assert json.loads(answers[0].text.splitlines()[-1])["summary"]["articles"] == 3_000


def test_a_long_stream_begins_while_others_write(start: Start) -> None:
    """Its length says nothing of what is held: only a batch of it is, once there is room."""
    service = start(queue=1, queue_bytes=100_000)
    line = json.dumps({"id": "long", "text": FERRY, "note": "x" * 200_000})
    answers: list[httpx.Response] = []
    with busy(service):
        writing = threading.Thread(
            target=lambda: answers.append(service.post("/v1/articles", {"id": "a", "text": FERRY}))
        )
        writing.start()
        wait_until(lambda: service.app.state.service.admission.jobs)
        streaming = threading.Thread(target=lambda: answers.append(service.bulk(line)))
        streaming.start()
        wait_until(lambda: service.app.state.service.streams or not streaming.is_alive())
        assert streaming.is_alive()
    for thread in (writing, streaming):
        thread.join(PATIENCE)
    streamed, written = sorted(answers, key=lambda answer: answer.status_code)
    assert (streamed.status_code, written.status_code) == (200, 201)
    assert json.loads(streamed.text.splitlines()[-1])["summary"]["complete"]


def test_too_many_streams(start: Start) -> None:
    service = start(streams=1)
    with service.connected() as connection:
        connection.sendall(
            b"POST /v1/articles/bulk HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{"
        )
        wait_until(lambda: service.app.state.service.streams)
        assert service.bulk("{}").status_code == 429
    wait_until(lambda: not service.app.state.service.streams)
    assert service.bulk("{}").status_code == 200


def test_too_many_requests_at_once(start: Start) -> None:
    service = start(requests=1)
    url = f"http://127.0.0.1:{service.port}/v1/events/stream"
    with httpx.stream("GET", url) as open_stream:
        assert open_stream.status_code == 200
        refused = service.client.get("/v1/stats")
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:esdedup:problem:busy")
        assert service.client.get("/healthz").status_code == 200


def test_too_many_connections(start: Start) -> None:
    """Those that say nothing count, too."""
    service = start(connections=2)
    with service.connected(), service.connected(), service.connected():
        wait_until(lambda: len(service.app.state.service.connections) == 3)
        refused = service.client.get("/v1/stats")
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:esdedup:problem:busy")
        assert int(refused.headers["Retry-After"]) >= 1
        assert service.client.get("/healthz").status_code == 200
    wait_until(lambda: len(service.app.state.service.connections) <= 2)
    assert service.client.get("/v1/stats").status_code == 200


def test_what_is_in_hand_is_finished_though_the_client_went_away(start: Start) -> None:
    service = start()
    body = json.dumps({"id": "a", "text": FERRY}).encode()
    with busy(service), service.connected() as connection:
        connection.sendall(
            b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        wait_until(lambda: service.app.state.service.admission.jobs)
    wait_until(lambda: not service.app.state.service.admission.jobs)
    assert service.client.get("/v1/stats").json()["documents"] == 1


def test_a_memory_store_is_refused() -> None:
    from esdedup.errors import SettingsError

    with pytest.raises(SettingsError, match="name a file"):
        make_app(ServiceConfig(store="sqlite://:memory:"))


# --- as a process ---------------------------------------------------------------------------------


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, "--set", "batch=50")
    try:
        made.wait_until_ready()
        yield made
    finally:
        made.close()


def test_sigterm_finishes_the_batch_in_hand(process: Process, tmp_path: Path) -> None:
    """A stream without an end: whole batches are kept, the answer says where to go on."""
    article = {"text": FERRY}

    def body() -> Iterator[bytes]:
        for i in range(10**9):
            yield (json.dumps({"id": f"{i:06}", **article}) + "\n").encode()
            # Some batches only: httpx reads nothing while it sends, and what it is answered has to
            # fit between the two.
            if i == 200:
                wait_until(process.documents)
                process.process.send_signal(signal.SIGTERM)

    lines: list[str] = []
    with (
        httpx.Client(timeout=PATIENCE) as client,
        client.stream(
            "POST",
            f"http://127.0.0.1:{process.port}/v1/articles/bulk",
            content=body(),
            headers={"Content-Type": "application/x-ndjson"},
        ) as answer,
    ):
        lines += answer.iter_lines()
    end = json.loads(lines[-1])["summary"]
    assert not end["complete"]
    assert end["problem"]["code"] == "stopping"
    assert process.process.wait(PATIENCE) == 0
    written = end["articles"]
    assert end["next_line"] == written + 1
    assert written >= 50
    assert written % 50 == 0
    with Deduplicator.open(str(tmp_path / "news.db")) as deduplicator:
        assert deduplicator.store.maintenance.stats()["documents"] == written
        assert deduplicator.store.maintenance.find_problems() == []
    for line in process.log().splitlines():
        assert {"time", "level", "event"} <= set(json.loads(line))


def test_ctrl_c_ends_it_and_its_workers(process: Process) -> None:
    page = f"<html><body><article><p>{FERRY}</p></article></body></html>"
    url = f"http://127.0.0.1:{process.port}/v1/articles"
    assert httpx.post(url, json={"id": "p", "html": page}, timeout=PATIENCE).status_code == 201
    pid = process.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    process.process.send_signal(signal.SIGINT)
    assert process.process.wait(PATIENCE) == 0
    wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_keys_it_does_not_listen_elsewhere(
    cli: Cli, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(
        "esdedup.service.server.listen", lambda *arguments: started.append(arguments)
    )
    done = cli("serve", "--host", host)
    assert done.exit_code == 2
    assert "keys" in done.stderr
    empty = cli("serve", "--host", host, "--keys", str(cli.folder / "none.json"))
    assert empty.exit_code == 2
    assert re.search(r"has no keys", empty.stderr)
    assert not started


def test_what_cannot_be_served_is_said(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = cli("serve", "--port", str(other.getsockname()[1]))
    assert (taken.exit_code, "cannot listen" in taken.stderr) == (2, True)
    missing = cli("serve", "--store", str(cli.folder / "none.db"), "--read-only")
    assert (missing.exit_code, "no store" in missing.stderr) == (4, True)


def test_keys_by_command(cli: Cli) -> None:
    def run(*arguments: str) -> Result:
        return cli("keys", *arguments, "--keys", str(cli.folder / "keys.json"))

    key = run("add", "crawler", "--scope", "write").stdout.strip()
    assert re.fullmatch(r"esdedup_crawler_[\w-]{43}", key)
    assert run("add", "crawler").exit_code == 2
    listed = json.loads(run("list", "--json").stdout)
    assert (listed["name"], listed["scope"]) == ("crawler", "write")
    assert run("revoke", "crawler").exit_code == 0
    assert run("revoke", "crawler").exit_code == 2
