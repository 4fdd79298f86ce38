"""Newly indexed articles that contain protected ones: `copies --watch`."""

from __future__ import annotations

import io
import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esdedup.alerts.checkpoint import Checkpoint
from esdedup.alerts.protected_texts import Protection, ReuseWatch
from esdedup.alerts.sinks import NdjsonSink
from esdedup.alerts.watch import LookResult
from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import InputError
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Store, open_store
from tests.support.waiting import PATIENCE

JSON = dict[str, Any]
EVER = datetime.fromtimestamp(0, UTC)


def sentences(seed: int, words: int) -> str:
    """Made-up sentences of together exactly this many words."""
    dice = random.Random(seed)
    out = []
    while words:
        size = min(words, dice.randint(5, 20))
        made = ["".join(dice.choices("abdeiklmnorstu", k=dice.randint(2, 9))) for _ in range(size)]
        out.append(" ".join(made).capitalize() + ".")
        words -= size
    return " ".join(out)


MINE = Document("mine", "My story", sentences(1, 150), source="Agency",
                extra={"author": "Ada Ahn", "protected": True})  # fmt: skip
POST = Document("post", "Look at this", f"{sentences(2, 2_000)} {MINE.text} {sentences(3, 900)}",
                extra={"posted_by": "user17", "author": "somebody"})  # fmt: skip
OTHER = Document("other", "Something else", sentences(4, 300), source="Herald")


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/news.db"


def index(url: str, *documents: Document | Failure) -> None:
    with Deduplicator.open(url) as deduplicator:
        list(deduplicator.add_many(documents))


class Watching:
    """A watch with its checkpoint, to be ended and begun anew."""

    def __init__(self, folder: Path, url: str, protection: Protection | None = None) -> None:
        self.folder = folder
        self.url = url
        self.protection = protection or Protection()
        self.lines: list[JSON] = []

    def look(
        self, protected: Sequence[Document] = (MINE,), *, start: datetime | None = None
    ) -> list[JSON]:
        """One look by a watch that starts now; what it told."""
        checkpoint = Checkpoint(str(self.folder / "watch.db"), self.url)
        stream = io.BytesIO()
        with ReuseWatch(
            self.protection, checkpoint, NdjsonSink(None, stream), start=start
        ) as watch:
            assert list(watch.protected.add(protected)) == []
            self.passed = _look(watch, self.url)
        checkpoint.close()
        return [json.loads(line) for line in stream.getvalue().splitlines()]


def _look(watch: ReuseWatch, url: str) -> LookResult:
    store = open_store(url, mode="read")
    try:
        return watch.look(store)
    finally:
        store.close()


def test_a_notification_for_poster_and_author(store_url: str, tmp_path: Path) -> None:
    watching = Watching(tmp_path, store_url)
    index(store_url, OTHER)
    assert watching.look() == []
    index(store_url, POST)
    (told,) = watching.look()
    assert told["to"] == [
        {"role": "poster", "name": "user17"},
        {"role": "author", "name": "Ada Ahn"},
    ]
    assert (told["article"]["id"], told["protected"]["id"]) == ("post", "mine")
    assert (told["words"], told["of_protected"]) == (150, 1.0)
    (passage,) = told["passages"]
    start, end = passage["article"]
    assert POST.text[start:end] == MINE.text[slice(*passage["protected"])] == MINE.text.rstrip(".")
    assert watching.look() == []  # each once, also after a restart


def test_articles_of_the_store_are_protected_by_a_field_or_by_id(
    store_url: str, tmp_path: Path
) -> None:
    index(store_url, MINE, OTHER, POST)
    by_field = Protection(where={"protected": "true"})
    (tmp_path / "ids").mkdir()
    for folder, protection in (
        (tmp_path, by_field),
        (tmp_path / "ids", Protection(ids=frozenset({"mine", "nobody"}))),
    ):
        watching = Watching(folder, store_url, protection)
        (told,) = watching.look([])
        assert (told["article"]["id"], told["protected"]["id"]) == ("post", "mine")
        late = Document("late", text=f"{sentences(5, 800)} {MINE.text}", source="Blog")
        index(store_url, late)
        (again,) = watching.look([])
        assert again["to"][0] == {"role": "poster", "name": "Blog"}
        with Deduplicator.open(store_url) as deduplicator:
            deduplicator.delete(["late"])


def test_a_protected_article_that_is_indexed_later(file_url: str, tmp_path: Path) -> None:
    watching = Watching(tmp_path, file_url, Protection(where={"protected": "true"}))
    index(file_url, OTHER)
    assert watching.look([]) == []
    index(file_url, MINE)
    assert watching.look([]) == []
    index(file_url, POST)
    assert len(watching.look([])) == 1


def test_what_is_protected_no_longer(file_url: str, tmp_path: Path) -> None:
    index(file_url, MINE)
    watching = Watching(tmp_path, file_url, Protection(where={"protected": "true"}))
    assert watching.look([]) == []
    free = Document("mine", "My story", f"{MINE.text} Free.", extra={"protected": False})
    index(file_url, free, POST)
    assert watching.look([]) == []


def test_articles_from_before_are_not_new(file_url: str, tmp_path: Path) -> None:
    """Some minutes before the start are, for clocks that differ."""
    index(file_url, POST)
    later = datetime.now(UTC) + timedelta(hours=1)
    assert Watching(tmp_path, file_url).look(start=later) == []
    (tmp_path / "b").mkdir()
    assert len(Watching(tmp_path / "b", file_url).look(start=EVER)) == 1


def test_an_edited_article_is_looked_at_again_and_told_of_once(
    file_url: str, tmp_path: Path
) -> None:
    watching = Watching(tmp_path, file_url)
    index(file_url, OTHER)
    assert watching.look() == []
    index(file_url, Document("other", text=f"{OTHER.text} {MINE.text}", source="Herald"))
    assert len(watching.look()) == 1
    index(file_url, Document("other", text=f"{OTHER.text} {MINE.text} More.", source="Herald"))
    assert watching.look() == []
    assert watching.passed.articles == 1


def test_the_same_text_in_a_file_and_in_the_store(file_url: str, tmp_path: Path) -> None:
    """A text from a file may have the very id of an article: it is posted nevertheless."""
    watching = Watching(tmp_path, file_url)
    index(file_url, Document("mine", text=MINE.text, extra={"poster": "thief"}))
    (told,) = watching.look()
    assert told["article"]["id"] == told["protected"]["id"] == "mine"


def test_nobody_is_told_of_their_own_text(file_url: str, tmp_path: Path) -> None:
    index(file_url, Document("again", text=f"{MINE.text} Once more.", extra={"author": "Ada Ahn"}))
    assert Watching(tmp_path, file_url).look() == []


def test_a_short_quotation_is_no_copy(file_url: str, tmp_path: Path) -> None:
    quoted = " ".join(MINE.text.split()[:25])
    index(file_url, Document("quote", text=f"{sentences(6, 100)} {quoted} {sentences(7, 50)}"))
    assert Watching(tmp_path, file_url).look() == []


def test_a_short_text_is_found_wherever_it_stands(file_url: str, tmp_path: Path) -> None:
    """One sentence of 20 words has no windows of sentences, and no sketch of the page has it."""
    note = Document("note", text=sentences(11, 20), extra={"author": "Ada Ahn"})
    index(file_url, Document("page", text=f"{sentences(12, 900)} {note.text} {sentences(13, 900)}"))
    (told,) = Watching(tmp_path, file_url).look([note])
    assert (told["words"], told["of_protected"]) == (20, 1.0)


def test_stopped_between_two_batches(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esdedup.alerts.watch.BATCH", 3)
    posts = [Document(f"p{n}", text=f"{sentences(n, 99)} {MINE.text}") for n in range(9)]
    index(file_url, *posts)
    checkpoint = Checkpoint(str(tmp_path / "watch.db"), file_url)
    stream = io.BytesIO()
    with ReuseWatch(Protection(), checkpoint, NdjsonSink(None, stream), start=EVER) as watch:
        list(watch.protected.add([MINE]))
        store: Store = open_store(file_url, mode="read")
        answers = iter([False, True])
        assert watch.look(store, lambda: next(answers)).reported == 3
        assert watch.look(store).reported == 6
        store.close()
    checkpoint.close()
    told = [json.loads(line)["article"]["id"] for line in stream.getvalue().splitlines()]
    assert sorted(told) == [p.id for p in posts]


def test_killed_between_the_line_and_the_checkpoint(file_url: str, tmp_path: Path) -> None:
    """The line in the file counts; half a line is cut off and written anew."""
    out = tmp_path / "out.ndjson"
    two = Document("post2", text=f"{sentences(8, 100)} {MINE.text}", source="Blog")
    index(file_url, POST, two)

    def look(name: str) -> int:
        checkpoint = Checkpoint(str(tmp_path / name), file_url)
        with ReuseWatch(Protection(), checkpoint, NdjsonSink(out), start=EVER) as watch:
            list(watch.protected.add([MINE]))
            told = _look(watch, file_url).reported
        checkpoint.close()
        return told

    assert look("first.db") == 2
    whole = out.read_bytes()
    lines = whole.splitlines(keepends=True)
    out.write_bytes(lines[0] + lines[1][:50])
    assert look("lost.db") == 1  # as if the checkpoint of the first had never been written
    assert [json.loads(line)["notification"] for line in out.read_bytes().splitlines()] == [
        json.loads(line)["notification"] for line in whole.splitlines()
    ]


def test_a_checkpoint_belongs_to_one_store(tmp_path: Path) -> None:
    Checkpoint(str(tmp_path / "watch.db"), "sqlite:///a.db").close()
    with pytest.raises(InputError, match=r"is the checkpoint of sqlite:///a.db, not of"):
        Checkpoint(str(tmp_path / "watch.db"), "sqlite:///b.db")
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at" * 50)
    with pytest.raises(InputError, match="cannot be used as a checkpoint"):
        Checkpoint(str(tmp_path / "text.db"), "sqlite:///b.db")


def test_works_on_a_store_without_windows_too(file_url: str, tmp_path: Path) -> None:
    with Deduplicator.open(file_url, Settings(methods=("sketch",))) as deduplicator:
        list(deduplicator.add_many([POST]))
    assert len(Watching(tmp_path, file_url).look()) == 1


# --- the command -------------------------------------------------------------------------------


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


def test_command_once(file_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "protected"
    folder.mkdir()
    (folder / "mine.ndjson").write_text(json.dumps(MINE.to_json()) + "\n{broken\n")
    (folder / "short.txt").write_text("Two words. And two more.")
    index(file_url, POST, OTHER)
    command = ["copies", str(folder), "--watch", "--once", "--store", file_url,
               "--checkpoint", str(tmp_path / "watch.db")]  # fmt: skip
    first = run(*command)
    assert first.exit_code == 0, first.output
    (line,) = first.stdout.splitlines()
    assert json.loads(line)["to"][0]["name"] == "user17"
    assert "mine.ndjson" in first.stderr  # the broken line is named
    assert "1 protected text of fewer than 20 words" in first.stderr
    assert "2 articles looked at, 1 notification" in first.stderr
    assert run(*command).stdout == ""
    index(file_url, Document("late", text=f"{OTHER.text} {MINE.text}", source="Blog"))
    ids = tmp_path / "ids.txt"
    ids.write_text("other\n")
    told = run(*command, "--author", "source", "--ids", str(ids), "--output", str(tmp_path / "o"))
    assert told.exit_code == 0, told.output
    both = [json.loads(line) for line in (tmp_path / "o").read_text().splitlines()]
    assert {t["protected"]["id"] for t in both} == {"mine", "other"}
    assert {t["to"][1]["name"] for t in both if t["protected"]["id"] == "mine"} == {"Agency"}


def test_wrong_usage(file_url: str, tmp_path: Path) -> None:
    index(file_url, OTHER)
    assert run("copies", "--store", file_url).exit_code == 2
    assert run("copies", "--watch", "--store", file_url).exit_code == 2
    missing = run("copies", str(tmp_path / "none"), "--watch", "--once", "--archive", file_url,
                  "--checkpoint", str(tmp_path / "w.db"))  # fmt: skip
    assert missing.exit_code == 2
    assert "there is no such file or folder" in missing.stderr
    no_ids = run("copies", "--ids", str(tmp_path / "none"), "--watch", "--store", file_url)
    assert no_ids.exit_code == 2
    no_store = run("copies", "--where", "a=b", "--watch", "--once", "--store", str(tmp_path / "x"),
                   "--checkpoint", str(tmp_path / "x.db"))  # fmt: skip
    assert no_store.exit_code == 4


def test_daemon(store_url: str, tmp_path: Path) -> None:
    """Waits for its store, tells as articles come, ends on Ctrl-C, goes on after a restart."""
    protected = tmp_path / "mine.ndjson"
    protected.write_text(json.dumps(MINE.to_json()))
    command = [sys.executable, "-m", "esdedup", "copies", str(protected), "--watch", "--every",
               "0.2", "--store", store_url, "--checkpoint", str(tmp_path / "watch.db")]  # fmt: skip
    for number, ending in ((1, signal.SIGINT), (2, signal.SIGTERM)):
        daemon = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        timer = threading.Timer(PATIENCE, daemon.kill)
        timer.start()
        try:
            assert daemon.stdout is not None
            assert daemon.stderr is not None
            if number == 1:
                said = [daemon.stderr.readline() for _ in range(2)]
                assert "looking at articles indexed since" in said[0]
                assert "waiting: there is no store" in said[1]
            text = f"{sentences(number, 100)} {MINE.text}"
            index(store_url, Document(f"post{number}", text=text, source="Blog"))
            told = json.loads(daemon.stdout.readline())
            assert told["article"]["id"] == f"post{number}"
            daemon.send_signal(ending)
            rest, _ = daemon.communicate(timeout=PATIENCE)
            assert (rest, daemon.returncode) == ("", 0)
        finally:
            timer.cancel()
            daemon.kill()
            daemon.communicate()
