"""Events of a store: as a query over history, as articles come, and on the command line."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from typer.testing import CliRunner

from esdedup.alerts.checkpoint import Checkpoint
from esdedup.alerts.event_watch import EventWatch
from esdedup.alerts.sinks import NdjsonSink
from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.stories.events import Event
from esdedup.stories.events.history import find_events
from esdedup.stories.events.report import report
from tests.support.articles import ferry_articles, topical_text

DAY = datetime(2024, 3, 1, 8, tzinfo=UTC)
PUBLISHED = replace(Settings(), event_time="published")


def week() -> list[Document]:
    """Two bursts, a story that forty sites copy, and the usual trickle, in order of time."""
    ferry = ferry_articles(24, start=DAY, minutes=9)
    strike = [
        Document(
            id=f"strike{n}",
            title=f"Train drivers strike ({n})",
            text=topical_text("strike", n),
            url=f"https://www.site{n % 6}.example/{n}",
            lang="en",
            published=DAY + timedelta(days=2, minutes=7 * n),
        )
        for n in range(20)
    ]
    wire = Document(id="wire", title="Garden show", text=topical_text("garden", 0), lang="en")
    copies = [
        replace(
            wire, id=f"wire{n}", source=f"Site {n}", published=DAY + timedelta(hours=1, minutes=n)
        )
        for n in range(40)
    ]
    trickle = [
        Document(
            id=f"garden{n}",
            text=topical_text("garden", n),
            lang="en",
            source="Gardener",
            published=DAY + timedelta(hours=9 * n + 5),
        )
        for n in range(1, 16)
    ]
    update = replace(ferry[3], id="copy", source="Echo", published=DAY + timedelta(minutes=40))
    together = [*ferry, *strike, *copies, *trickle, update]
    return sorted(together, key=lambda d: d.published or DAY)


def shown(found: list[Event]) -> list[tuple[str, int, int, int]]:
    return [(e.id, e.articles, e.stories, len(e.sources)) for e in found]


def test_history_has_the_two_bursts_and_no_more(store_url: str) -> None:
    with Deduplicator.open(store_url, PUBLISHED) as news:
        list(news.add_many(week()))
        found = find_events(news.store)
        assert [(e.articles, e.stories, len(e.sources)) for e in found] == [
            (25, 24, 25),
            (20, 20, 6),
        ]
        ferry = report(found[0], news.store, stories=True)
        assert {"Stella", "Brackwater"} & {name for name, _ in ferry.entities}
        assert "ferry" in {word for word, _ in ferry.terms}
        assert ferry.representative is not None
        assert ferry.representative.id.startswith("ferry")
        assert ferry.stories[0].articles == 2  # the copied one is the largest
        assert sum(s.articles for s in ferry.stories) == 25
        later = find_events(news.store, since=DAY + timedelta(days=1, hours=12))
        assert shown(later) == shown(found[1:])


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_a_replay_at_any_speed_gives_the_same_events(
    store_url: str, batch: int, tmp_path: Path
) -> None:
    if not store_url.startswith("sqlite") and batch == 1:
        pytest.skip("a refresh for each article: the same code as with 7")
    out = io.BytesIO()
    stream = week()
    with Deduplicator.open(store_url, PUBLISHED) as news:
        news.store.concurrency.make_visible()
        kept = Checkpoint(str(tmp_path / "kept.db"), "here")
        watch = EventWatch(news.store, kept, NdjsonSink(None, out))
        for start in range(0, len(stream), batch):
            list(news.add_many(stream[start : start + batch]))
            watch.look(news.store)
        history = find_events(news.store)
        kept.close()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    last = {line["event"]["id"]: line["event"] for line in lines}
    assert {(i, e["articles"], e["stories"]) for i, e in last.items()} == {
        (e.id, e.articles, e.stories) for e in history
    }
    assert {line["change"] for line in lines} <= {"opened", "grown", "ended"}
    names = [line["notification"] for line in lines]
    assert len(names) == len(set(names))


def test_a_watch_goes_on_where_it_ended(tmp_path: Path) -> None:
    store, stream = f"sqlite:///{tmp_path / 'news.db'}", week()
    half = next(n for n, d in enumerate(stream) if d.id == "ferry20")
    told = tmp_path / "told.ndjson"

    def look() -> None:
        kept = Checkpoint(str(tmp_path / "kept.db"), "here")
        opened = open_store(store, mode="read")
        EventWatch(opened, kept, NdjsonSink(told)).look(opened)
        opened.close()
        kept.close()

    with Deduplicator.open(store, PUBLISHED) as news:
        news.add(
            Document(id="first", text=topical_text("garden", 99), published=DAY - timedelta(days=1))
        )
        look()
        list(news.add_many(stream[:half]))
        look()
        look()
        list(news.add_many(stream[half:]))
        look()
        history = {e.id: e.articles for e in find_events(news.store)}
    lines = [json.loads(line) for line in told.read_text().splitlines()]
    assert len({line["notification"] for line in lines}) == len(lines)
    assert [line["change"] for line in lines].count("opened") == 2
    assert {line["event"]["id"]: line["event"]["articles"] for line in lines} == history


@pytest.mark.parametrize("keep", ["arrival", "longest"])
def test_an_archive_counts_by_publication_whatever_orders_the_store(
    store_url: str, keep: Literal["arrival", "longest"]
) -> None:
    """All articles arrive within seconds, in no order of time."""
    mixed = sorted(week(), key=lambda d: d.id[::-1])
    with Deduplicator.open(store_url, replace(PUBLISHED, keep=keep)) as news:
        list(news.add_many(mixed))
        found = find_events(news.store)
        assert [(e.articles, len(e.sources)) for e in found] == [(25, 25), (20, 6)]
        assert [e.id for e in find_events(news.store, since=DAY + timedelta(days=1))] == [
            found[1].id
        ]


def test_articles_without_dates_count_when_they_came() -> None:
    with Deduplicator.open("sqlite://:memory:", PUBLISHED) as news:
        list(news.add_many([replace(d, published=None) for d in ferry_articles(20, start=DAY)]))
        (event,) = find_events(news.store)
        assert event.articles == 20


def test_the_paper_s_plain_count_is_a_preset() -> None:
    chosen = Settings.load(preset="hu-you", environment={}, flags={"simhash_field": "v"})
    base = {f"w{i}": 1 for i in range(60)}
    with Deduplicator.open("sqlite://:memory:", chosen) as news:
        for n in range(60):
            own = base | {f"x{n}.{i}": 1 for i in range(3)}
            news.add(
                Document(id=f"a{n}", text=topical_text("ferry", n), source="one", extra={"v": own})
            )
        found = find_events(news.store)
    assert len(found) == 1
    assert found[0].sources == {"one": found[0].articles}


# --- command line ------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


@pytest.fixture
def desk(tmp_path: Path) -> str:
    store = f"sqlite:///{tmp_path / 'news.db'}"
    with Deduplicator.open(store, PUBLISHED) as news:
        list(news.add_many(week()))
    return store


def test_events_and_the_special_report(desk: str) -> None:
    code, output = run("events", "--store", desk, "--json")
    assert code == 0
    first, second = (json.loads(line) for line in output.splitlines())
    assert (first["articles"], second["articles"]) == (25, 20)
    assert first["title"].startswith("Ferry Stella")
    assert sum(n for _, n in first["size"]) == 25
    code, output = run("events", "--store", desk)
    assert code == 0
    assert first["id"] in output
    assert "25 articles · 24 stories · 25 sources" in output
    assert "why: more than 15 reports of it, originals and updates, came within 4 hours" in output
    assert first["why"]["counted"] == "groups"
    for wanted in (first["id"], "ferry7"):
        code, output = run("events", "show", wanted, "--store", desk)
        assert code == 0
        assert "1 copy" in output
    code, output = run("events", "show", "ev-none", "--store", desk)
    assert code == 1
    assert "there is no event ev-none" in output


def test_no_event_is_said_and_has_a_code(desk: str) -> None:
    code, output = run("events", "--store", desk, "--set", "event_items=500")
    assert code == 1
    assert "more than 500 groups" in output
    code, output = run("events", "--store", desk, "--set", "min_overlap=.1")
    assert code == 2
    assert "min_overlap cannot be set here" in output


def test_watching_once(desk: str, tmp_path: Path) -> None:
    given = ("events", "--watch", "--once", "--store", desk, "--checkpoint", str(tmp_path / "c.db"))
    code, output = run(*given, "--since", "2024-03-01")
    assert code == 0
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert {line["change"] for line in lines} == {"opened", "ended"} or len(lines) >= 2
    code, output = run(*given)
    assert not [line for line in output.splitlines() if line.startswith("{")]


def test_similar_and_story_by_command(desk: str, tmp_path: Path) -> None:
    code, output = run("similar", "ferry3", "--store", desk, "--json", "-n", "5")
    assert code == 0
    found = json.loads(output)["similar"]
    assert len(found) == 5
    assert all(one["id"].startswith("ferry") for one in found)
    code, output = run("similar", "ferry3", "--store", desk, "--explain", "--days", "1")
    assert code == 0
    assert "Stella" in output
    file = tmp_path / "new.txt"
    file.write_text(topical_text("strike", 77))
    code, output = run("similar", str(file), "--store", desk, "--json")
    assert code == 0
    assert json.loads(output)["similar"][0]["id"].startswith("strike")
    code, output = run("similar", "ferry3", "ferry4", "strike2", "--store", desk)
    assert code == 0
    assert "similar to: ferry3, ferry4" in output
    code, output = run("similar", "ferry3", "nobody", "--store", desk)
    assert (code, "there is no article nobody" in output) == (1, True)
    code, output = run("similar", "nobody", "--store", desk)
    assert code == 1
    assert "there is no article nobody" in output
    code, output = run("similar", "ferry3", "--by", "simhash", "--store", desk)
    assert code == 1, "the blocks are there by default; no other article is within 7 bits"
    code, output = run("story", "copy", "--store", desk)
    assert code == 0
    assert "1 copy: Echo" in output
    code, output = run("story", "nobody", "--store", desk)
    assert code == 1


def test_articles_similar_by_simhash_count_on_a_store_of_the_default_methods() -> None:
    """As in paper 001; features of the caller's own put the articles 4 to 7 bits apart."""
    counted = Settings(simhash_field="v", event_count="items", event_items=1, event_sources=0)
    with Deduplicator.open("sqlite://:memory:", counted) as news:
        for n in range(40):
            features = {f"w{i}": 1 for i in range(60)} | {f"x{n}.{i}": 1 for i in range(n)}
            text = topical_text("garden", n)
            news.add(Document(id=f"a{n}", text=text, lang="en", extra={"v": features}))
        found = find_events(news.store)
    assert found[0].articles > 2


def test_explain_as_a_page(desk: str, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    code, _ = run("explain", "copy", "--store", desk, "--html", str(page))
    assert code == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    code, output = run("explain", "copy", "--store", desk, "--html", str(tmp_path / "no" / "x"))
    assert code == 2
    assert "cannot be written" in output
