"""Feeds of decisions: lines, and a webhook on a real server that may be slow, broken or away."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from esdedup.alerts.sinks import (
    NdjsonSink,
    Notification,
    make_notifications,
    open_sink,
    replay_notifications,
)
from esdedup.alerts.webhook import Address, DeliveryFailed, Webhook, WebhookLimits
from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import InputError
from tests.support.articles import StoryVariant
from tests.support.waiting import PATIENCE

Answer = Callable[[int], int]  # which request -> status


def test_a_revision_is_notified_once_and_again_on_request() -> None:
    """Also that of a copy; and not as a new story."""
    moment = datetime.now(UTC) - timedelta(minutes=1)
    original, copy = (StoryVariant(1, day=day).document(f"d{day}") for day in (0, 1))
    with Deduplicator.open() as news:
        list(news.add_many([original, copy]))
        changed = [
            StoryVariant(1, dead=17, day=0).document("d0"),
            StoryVariant(1, added=2, day=1).document("d1"),
        ]
        outcomes = list(news.add_many(changed))
        sent = make_notifications(outcomes, news.store)
        assert sorted((n.kind, n.about["id"]) for n in sent) == [
            ("revision", "d0"),
            ("revision", "d1"),
        ]
        about = {n.about["id"]: n.about for n in sent}
        assert about["d0"]["revision"]["degree"] == "numbers"
        assert [c[:2] for c in about["d0"]["revision"]["numbers"]] == [["12", "17"]]
        assert about["d1"]["revision"]["degree"] == "extended"
        assert make_notifications(list(news.add_many(changed)), news.store) == []
        (again,) = replay_notifications(news.store, moment)
        assert {n.id for n in again} == {n.id for n in sent}


class Listener(ThreadingHTTPServer):
    """Keeps what it is sent; answers as it is told."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        listener = self.server
        assert isinstance(listener, Listener)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        listener.requests.append((self.path, dict(self.headers), json.loads(body)))
        status = listener.answer(len(listener.requests))
        self.send_response(status)
        if status in (301, 307):
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        raise AssertionError("nothing is ever fetched")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listening() -> Iterator[Callable[[Answer], Listener]]:
    made: list[Listener] = []

    def listen(answer: Answer) -> Listener:
        made.append(Listener(answer))
        return made[-1]

    yield listen
    for one in made:
        one.shutdown()
        one.server_close()


Listening = Callable[[Answer], Listener]
LINES = [{"notification": f"n{i}", "kind": "story"} for i in range(5)]


def posted(listener: Listener) -> list[str]:
    return [body["notification"] for _, _, body in listener.requests]


def test_each_is_posted_once_with_its_id(listening: Listening, tmp_path: Path) -> None:
    listener = listening(lambda _: 204)
    hook = Webhook(
        Address.parse(listener.url.replace("//", "//desk:secret@") + "/hook?token=x"),
        tmp_path / "left",
    )
    hook.write(LINES)
    done = hook.close()
    assert (done.delivered, done.undelivered) == (5, 0)
    assert posted(listener) == [f"n{i}" for i in range(5)]
    path, headers, _ = listener.requests[0]
    assert path == "/hook?token=x"
    assert headers["Idempotency-Key"] == "n0"
    assert headers["Authorization"] == "Basic ZGVzazpzZWNyZXQ="
    assert list(tmp_path.iterdir()) == []


def test_passing_faults_are_tried_again(
    listening: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esdedup.alerts.webhook._FIRST_PAUSE", 0.01)
    listener = listening(lambda n: 503 if n in (1, 2, 4) else 200)
    hook = Webhook(Address.parse(listener.url), tmp_path / "left")
    hook.write(LINES[:3])
    assert hook.close().delivered == 3
    assert posted(listener) == ["n0", "n0", "n0", "n1", "n1", "n2"]


@pytest.mark.parametrize("status", [400, 404, 307])
def test_what_is_refused_is_kept_and_the_rest_goes_on(
    listening: Listening, tmp_path: Path, status: int
) -> None:
    listener = listening(lambda n: status if n == 2 else 200)
    hook = Webhook(Address.parse(listener.url), tmp_path / "left")
    hook.write(LINES)
    done = hook.close()
    assert (done.delivered, done.undelivered, done.refused) == (4, 1, 1)
    assert f"answered {status}" in done.reason
    assert json.loads((tmp_path / "left").read_text())["notification"] == "n1"


def test_an_address_that_is_away_blocks_nothing_and_gets_all_the_next_time(
    listening: Listening, tmp_path: Path
) -> None:
    nobody = Address.parse("http://127.0.0.1:1/hook?token=secret")
    hook = Webhook(
        nobody, tmp_path / "left", limits=WebhookLimits(waiting=2, give_up=0.3, longest_wait=0.1)
    )
    hook.write(LINES)
    done = hook.close()
    assert (done.delivered, done.undelivered) == (0, 5)
    assert "secret" not in done.reason
    listener = listening(lambda _: 200)
    hook = Webhook(Address.parse(listener.url), tmp_path / "left")
    hook.write([{"notification": "new"}])
    assert hook.close().delivered == 6
    assert sorted(posted(listener)) == ["n0", "n1", "n2", "n3", "n4", "new"]
    assert posted(listener)[-1] == "new"
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_a_run_does_not_wait_for_an_address_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the pause between two tries: that of an hour would end no test."""
    monkeypatch.setattr("esdedup.alerts.webhook._FIRST_PAUSE", 3600.0)
    nobody = Address.parse("http://127.0.0.1:1/hook")
    tried = threading.Event()

    def post(address: Address, line: dict[str, Any]) -> None:
        tried.set()
        raise DeliveryFailed("away", passing=True)

    for is_before in (True, False):  # closed before the first try, or in the pause after it
        file = tmp_path / f"left{is_before}"
        hook = Webhook(
            nobody, file, post=post, limits=WebhookLimits(give_up=7200, longest_end_failing=0.0)
        )
        hook.write(LINES)
        assert is_before or tried.wait(PATIENCE)
        done = hook.close()
        assert (done.delivered, done.undelivered, done.reason) == (0, 5, "away")


def test_lines_with_half_a_surrogate_pair(tmp_path: Path) -> None:
    file = tmp_path / "told.ndjson"
    NdjsonSink(file).write([{"notification": "n", "title": "\udcff ş"}])
    assert json.loads(file.read_bytes())["title"] == "\udcff ş"


def test_what_a_killed_run_was_sending_is_sent_again(listening: Listening, tmp_path: Path) -> None:
    """Between the two files nothing is lost; half a line is none."""
    left, sending = tmp_path / "left", tmp_path / "left.sending"
    sending.write_text(json.dumps(LINES[0]) + "\n")
    left.write_text(json.dumps(LINES[1]) + '\n{"notif')
    listener = listening(lambda _: 200)
    Webhook(Address.parse(listener.url), left).close()
    assert posted(listener) == ["n0", "n1"]
    assert list(tmp_path.iterdir()) == []


def test_a_slow_address_does_not_hold_up_the_end(listening: Listening, tmp_path: Path) -> None:
    hold = threading.Event()

    def answer(number: int) -> int:
        if number > 1:
            hold.wait(1)  # for each: all of them would take 50 s
        return 200

    hook = Webhook(
        Address.parse(listening(answer).url),
        tmp_path / "left",
        limits=WebhookLimits(waiting=3, longest_wait=0.05, longest_end=0.1),
    )
    hook.write([{"notification": f"n{i}"} for i in range(50)])
    done = hook.close()
    hold.set()
    assert done.delivered + done.undelivered == 50
    assert len((tmp_path / "left").read_text().splitlines()) == done.undelivered > 0


@pytest.mark.parametrize("name", ["ftp://example.org/x", "http://", "http://x:y:z/"])
def test_what_is_no_address(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--notify"):
        open_sink(name, tmp_path / "left")


def test_half_a_line_of_a_killed_run_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "told.ndjson"
    file.write_text('{"notification": "a"}\n{"notif')
    lines = NdjsonSink(file)
    lines.write(LINES[:1])
    told = [json.loads(line)["notification"] for line in file.read_text().splitlines()]
    assert told == ["a", "n0"]
    with pytest.raises(InputError, match="cannot be written"):
        NdjsonSink(tmp_path / "no" / "folder")


def test_ids_are_made_from_what_is_told() -> None:
    one = Notification("story", ("a", "x"), {"id": "a"})
    assert one.id == Notification("story", ("a", "x"), {}).id
    assert one.id != Notification("update", ("a", "x"), {}).id
    assert one.to_json()["notification"] == one.id


# --- of decisions ------------------------------------------------------------------------------


def stories() -> list[dict[str, Any]]:
    made = [("a", 12, 0), ("copy", 12, 1), ("update", 17, 2)]
    return [
        StoryVariant(0, dead=dead, day=day).document(id_, title=f"Headline {id_}").to_json()
        for id_, dead, day in made
    ]


def test_new_stories_and_updates_are_told_and_copies_are_not(deduplicator: Deduplicator) -> None:
    from esdedup.model import Document

    documents = [Document.from_json(raw) for raw in stories()]
    outcomes = list(deduplicator.add_many(documents))
    told = [n.to_json() for n in make_notifications(outcomes, deduplicator.store)]
    assert [(n["kind"], n["id"]) for n in told] == [("story", "a"), ("update", "update")]
    assert told[1]["updates"] == "a"
    assert told[1]["numbers"][0][:2] == ["12", "17"]
    again = list(deduplicator.add_many(documents))
    assert make_notifications(again, deduplicator.store) == []
    since = datetime.now(UTC) - timedelta(hours=1)
    replayed = [n.id for found in replay_notifications(deduplicator.store, since) for n in found]
    assert replayed == [n["notification"] for n in told]


@pytest.fixture
def feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "feed.ndjson"
    file.write_text("".join(json.dumps(one) + "\n" for one in stories()), "utf-8")
    return file


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["index", "feed.ndjson", *arguments])
    assert result.exit_code == code, result.output
    return result


def kinds(text: str) -> list[str]:
    return [json.loads(line)["kind"] for line in text.splitlines()]


def test_index_tells_into_a_file_and_to_standard_output(feed: Path) -> None:
    run("--notify", "told.ndjson", "--store", "one.db")
    run("--notify", "told.ndjson", "--store", "one.db")
    assert kinds(Path("told.ndjson").read_text()) == ["story", "update"]
    run("--notify", "told.ndjson", "--notify-since", "1h", "--store", "one.db")
    assert kinds(Path("told.ndjson").read_text()) == ["story", "update"] * 2
    assert kinds(run("--notify", "-", "--quiet", "--store", "two.db").stdout) == ["story", "update"]
    run("--notify", "-", "--json", code=2)
    run("--notify-since", "1h", code=2)


def test_index_tells_an_address(feed: Path, listening: Listening) -> None:
    listener = listening(lambda _: 200)
    run("--notify", f"{listener.url}/hook", "--store", "one.db")
    assert [body["kind"] for _, _, body in listener.requests] == ["story", "update"]


def test_index_goes_on_where_the_address_is_away(
    feed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Webhook.__init__, "__kwdefaults__", _with(give_up=0.1))
    result = run("--notify", "http://127.0.0.1:1/hook", "--store", "one.db")
    assert "2 notifications not delivered" in result.stderr
    assert "esdedup-undelivered.ndjson" in result.stderr
    assert kinds(Path("esdedup-undelivered.ndjson").read_text()) == ["story", "update"]


def _with(**values: object) -> dict[str, object]:
    return {**(Webhook.__init__.__kwdefaults__ or {}), **values}
