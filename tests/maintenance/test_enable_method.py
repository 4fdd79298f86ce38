"""A method switched on later: `backfill --only METHOD`.

The judge is a store that had the method from the beginning.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsError, SettingsMismatch, StoreError
from esdedup.maintenance.backfill import BackfillPlan
from esdedup.maintenance.enable_method import MethodEnabling, with_method
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import Record, open_store, recorded_settings
from esdedup.stores.memory import MemoryStore
from esdedup.stores.memory_data import MemoryData
from tests.maintenance.foreign_index import FIELDS, START, Newsroom, articles, run

BEFORE = Settings(batch=10, methods=("sketch",))
ADDED = replace(BEFORE, methods=("sketch", "lengths"))


def sentences(seed: int, words: int, *, most: int = 22) -> str:
    """Made-up sentences of varying length."""
    dice = random.Random(seed)
    out = []
    while words > 0:
        size = dice.randint(4, most)
        made = ["".join(dice.choices("abdeiklmnorstu", k=dice.randint(2, 9))) for _ in range(size)]
        out.append(" ".join(made).capitalize() + ".")
        words -= size
    return " ".join(out)


def archive(count: int = 30) -> list[Document]:
    """Articles, and long pages that hold some of them, which no sketch tells."""
    made: list[Document] = []
    for number in range(count):
        text = sentences(number, 220)
        if number % 5 == 1:
            around = sentences(100 + number, 2_500), sentences(300 + number, 2_500)
            text = " ".join([around[0], made[-1].text, around[1]])
        if number % 5 == 3:
            text = f"{made[-1].text} {sentences(200 + number, 12)}"
        published = START + timedelta(hours=(7 * number) % count)
        made.append(Document(f"d{number:03}", f"title {number}", text, published=published))
    return made


def records_of(url: str, documents: Sequence[Document]) -> dict[str, Record]:
    store = open_store(url, mode="read")
    found = store.documents.get(d.id for d in documents)
    store.close()
    return found


def indexed(url: str, documents: Sequence[Document], settings: Settings) -> dict[str, Record]:
    with Deduplicator.open(url, settings) as deduplicator:
        list(deduplicator.add_many(documents))
    return records_of(url, documents)


def judged(documents: Sequence[Document], settings: Settings = ADDED) -> dict[str, Record]:
    with Deduplicator(open_store("sqlite://:memory:", settings)) as judge:
        list(judge.add_many(documents))
        return judge.store.documents.get(d.id for d in documents)


def places(records: dict[str, Record]) -> dict[str, Any]:
    return {id_: record.decision.link for id_, record in records.items()}


def keys(records: dict[str, Record]) -> dict[str, Any]:
    return {id_: (r.signature.keys, r.signature.query_seed) for id_, r in records.items()}


@contextmanager
def switching(
    url: str, settings: Settings = ADDED, method: str = "lengths", *, restart: bool = False
) -> Iterator[MethodEnabling]:
    with Deduplicator(open_store(url)) as deduplicator:
        yield MethodEnabling(deduplicator, method, settings, BackfillPlan(restart=restart))


def switch_on(url: str, settings: Settings = ADDED, method: str = "lengths", **given: bool) -> Any:
    result: Any = {}
    with switching(url, settings, method, **given) as job:
        for progress in job.run():
            result = progress.to_json()
    return result


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/news.db"


# --- an SQLite file ----------------------------------------------------------------------------


def test_groups_and_keys_are_those_of_a_store_that_had_it_from_the_beginning(url: str) -> None:
    documents = archive()
    before = indexed(url, documents, BEFORE)
    expected = judged(documents)
    assert places(before) != places(expected)  # there is something to relink
    result = switch_on(url)
    after = records_of(url, documents)
    assert keys(after) == keys(expected)
    assert places(after) == places(expected)
    assert result["documents"] == sum("lengths" in r.signature.keys for r in after.values())
    assert result["relinked"] >= 1
    assert recorded_settings(url) == ADDED
    assert [(r.document, r.first_seen) for r in after.values()] == [
        (r.document, r.first_seen) for r in before.values()
    ]
    with Deduplicator.open(url, ADDED) as deduplicator:
        assert deduplicator.store.maintenance.find_problems() == []
        assert deduplicator.delete(["d000"]) == {"d000"}  # its new keys go with it
        assert deduplicator.store.maintenance.find_problems() == []


@pytest.mark.parametrize(
    "settings",
    [
        replace(ADDED, window_step=2, min_windows=2),
        replace(ADDED, dynamic_jumping=True),
        replace(BEFORE, methods=("sketch", "simhash")),
        replace(BEFORE, methods=("sketch", "imatch")),
        replace(BEFORE, methods=("sketch", "phrases")),
        replace(BEFORE, methods=("sketch", "entities")),
    ],
    ids=["static jumping", "dynamic jumping", "simhash", "imatch", "phrases", "entities"],
)
def test_any_method_with_its_own_settings(url: str, settings: Settings) -> None:
    documents = archive(12)
    indexed(url, documents, BEFORE)
    switch_on(url, settings, settings.methods[-1])
    after, expected = records_of(url, documents), judged(documents, settings)
    assert keys(after) == keys(expected)
    assert places(after) == places(expected)


def test_again_is_nothing_to_do(url: str) -> None:
    documents = archive(12)
    indexed(url, documents, BEFORE)
    switch_on(url)
    before = records_of(url, documents)
    result = switch_on(url)
    assert (result["documents"], result["relinked"]) == (0, 0)
    after = records_of(url, documents)
    assert keys(after) == keys(before)
    assert places(after) == places(before)


def test_until_the_end_the_store_keeps_its_methods(url: str) -> None:
    documents = archive()
    before = indexed(url, documents[:-3], BEFORE)
    with switching(url) as job:
        steps = job.run()
        next(steps)
        assert next(steps).done
    half = records_of(url, documents[:-3])
    assert 0 < sum("lengths" in r.signature.keys for r in half.values()) < len(half)
    assert recorded_settings(url) == BEFORE
    with pytest.raises(SettingsMismatch, match="esdedup backfill --only lengths"):
        open_store(url, ADDED)
    with Deduplicator.open(url) as deduplicator:  # half-done keys change no group
        assert deduplicator.sweep(datetime.fromtimestamp(0, UTC)) == {}
        list(deduplicator.add_many(documents[-3:]))
    assert places(records_of(url, documents[:-3])) == places(before)
    result = switch_on(url)
    assert result["resumed"] is True
    assert keys(records_of(url, documents)) == keys(judged(documents))
    assert places(records_of(url, documents)) == places(judged(documents))


def test_articles_written_meanwhile_get_keys_too(url: str) -> None:
    documents = archive()
    changed = replace(documents[0], text=sentences(999, 240))
    indexed(url, documents[:20], BEFORE)
    with switching(url) as job:
        steps = job.run()
        next(steps)
        indexed(url, [changed, *documents[20:]], BEFORE)
        list(steps)
    everything = [changed, *documents[1:]]
    assert keys(records_of(url, everything)) == keys(judged(everything))
    assert places(records_of(url, everything)) == places(judged(everything))


def test_stopped_while_relinking(url: str) -> None:
    documents = archive()
    indexed(url, documents, BEFORE)
    with switching(url) as job:
        for progress in job.run():
            if recorded_settings(url) == ADDED and progress.relinked:
                break
    assert recorded_settings(url) == ADDED
    result = switch_on(url)
    assert result["resumed"] is True
    assert result["documents"] == 0
    assert places(records_of(url, documents)) == places(judged(documents))


def test_other_settings_half_way_are_refused(url: str) -> None:
    documents = archive(25)
    indexed(url, documents, BEFORE)
    with switching(url) as job:
        next(job.run())
    other = replace(ADDED, window_sentences=6)
    with pytest.raises(SettingsError, match="window_sentences is 4 there and 6 here"):
        switch_on(url, other)
    with pytest.raises(StoreError, match="'lengths' is being switched on here"):
        switch_on(url, replace(BEFORE, methods=("sketch", "imatch")), "imatch")
    switch_on(url, other, restart=True)
    assert keys(records_of(url, documents)) == keys(judged(documents, other))
    with pytest.raises(SettingsMismatch, match="window_sentences is 6 there and 4 here"):
        switch_on(url, ADDED)


def test_settings_of_the_rest_cannot_change_on_the_way(url: str) -> None:
    indexed(url, archive(3), BEFORE)
    with pytest.raises(SettingsMismatch, match="shingle_words is 4 there and 5 here"):
        switch_on(url, replace(ADDED, shingle_words=5))
    with pytest.raises(SettingsError, match="unknown method 'magic'"):
        with_method(BEFORE, "magic", BEFORE)


def test_articles_without_a_text_stay_as_they_are(url: str) -> None:
    documents = archive(5)
    page = Document("broken", html=b"<html></html>")
    with Deduplicator.open(url, BEFORE) as deduplicator:
        list(deduplicator.add_many([*documents, page]))
    assert switch_on(url)["failures"] == {}
    (record,) = records_of(url, [page]).values()
    assert record.decision.role == "unprocessed"
    assert record.signature.keys == {}


def test_the_papers_online_way_keeps_its_links(url: str) -> None:
    online = replace(BEFORE, attract="all")
    documents = archive(12)
    before = indexed(url, documents, online)
    switch_on(url, replace(ADDED, attract="all"))
    assert places(records_of(url, documents)) == places(before)
    with Deduplicator.open(url) as deduplicator:
        copied = Document("late", text=documents[0].text)
        assert "lengths" in deduplicator.add(copied).evidence[0].found_by


def test_a_store_of_format_1_is_to_be_upgraded_first(url: str) -> None:
    old = replace(BEFORE, format=1)
    indexed(url, archive(2), old)
    with pytest.raises(StoreError, match="esdedup backfill --upgrade"):
        switch_on(url, replace(ADDED, format=1))


def test_a_store_in_memory() -> None:
    documents = archive(12)
    with Deduplicator(MemoryStore(MemoryData(), BEFORE)) as deduplicator:
        list(deduplicator.add_many(documents))
        list(MethodEnabling(deduplicator, "lengths", ADDED).run())
        after = deduplicator.store.documents.get(d.id for d in documents)
    assert keys(after) == keys(judged(documents))
    assert places(after) == places(judged(documents))


def test_command(url: str) -> None:
    documents = archive(12)
    indexed(url, documents, BEFORE)
    preview = run("backfill", url, "--only", "lengths", "--dry-run")
    assert "12 articles without keys of lengths\nnothing was written" in preview.stdout
    done = run("backfill", url, "--only", "lengths", "--set", "window_step=2")
    assert done.exit_code == 0, done.output
    assert "lengths is on: " in done.stdout
    settings = recorded_settings(url)
    assert settings is not None
    assert (settings.methods, settings.window_step) == (("sketch", "lengths"), 2)
    again = run("backfill", "--only", "lengths", "--store", url, "--json")
    assert json.loads(again.stdout)["documents"] == 0
    assert run("backfill", url, "--only", "magic").exit_code == 2
    assert run("backfill", url, "--only", "lengths", "--slice", "1/2").exit_code == 2
    assert run("backfill", url, "--only", "lengths", "--since", "7d").exit_code == 2


# --- on real servers ---------------------------------------------------------------------------


@pytest.mark.servers
class TestOnServers:
    def test_groups_and_keys_are_those_of_a_store_that_had_it(self, newsroom: Newsroom) -> None:
        documents = archive()
        newsroom.fill(documents)
        newsroom.backfill(settings=BEFORE)
        before = newsroom.sources()
        result = switch_on(newsroom.url)
        expected = judged(documents)
        after = records_of(newsroom.url, documents)
        assert keys(after) == keys(expected)
        assert places(after) == places(expected)
        assert result["relinked"] >= 1
        recorded = recorded_settings(newsroom.url)
        assert recorded is not None
        assert recorded.methods == ("sketch", "lengths")
        ours = ("windows", "role", "group", "gid", "story", "parent", "canonical", "score",
                "method", "reason", "changes", "at")  # fmt: skip

        def others(source: Any) -> Any:
            return {k: v for k, v in source["dedup"].items() if k not in ours and v is not None}

        for id_, source in newsroom.sources().items():
            was = before[id_]
            assert {k: v for k, v in source.items() if k != "dedup"} == {
                k: v for k, v in was.items() if k != "dedup"
            }
            assert others(source) == others(was)
        mapping = newsroom.server.http("GET", f"/{newsroom.index}/_mapping").json()
        assert mapping[newsroom.index]["mappings"]["_meta"]["owner"] == "newsroom"

    def test_stopped_runs_go_on(self, newsroom: Newsroom) -> None:
        documents = archive()
        newsroom.fill(documents[:25])
        newsroom.backfill(settings=BEFORE)
        groups = newsroom.groups()
        settings = replace(ADDED, window_step=2, min_windows=2)
        with switching(newsroom.url, settings) as job:
            assert next(job.run()).done
        recorded = recorded_settings(newsroom.url)
        assert recorded is not None
        assert recorded.methods == ("sketch",)
        assert newsroom.groups() == groups
        newsroom.fill(documents[25:])
        newsroom.backfill()  # with the old methods, meanwhile
        result = switch_on(newsroom.url, settings)
        assert result["resumed"] is True
        expected = judged(documents, settings)
        after = records_of(newsroom.url, documents)
        assert keys(after) == keys(expected)
        assert places(after) == places(expected)
        again = switch_on(newsroom.url, settings)
        assert (again["documents"], again["relinked"]) == (0, 0)

    def test_several_indices_behind_an_alias(self, newsroom: Newsroom) -> None:
        documents = archive(12)
        other, alias = f"{newsroom.index}-old", f"{newsroom.index}-all"
        newsroom.create(index=other)
        newsroom.fill(documents[:6], other)
        newsroom.fill(documents[6:])
        actions = [{"add": {"index": n, "alias": alias}} for n in (newsroom.index, other)]
        assert newsroom.server.http("POST", "/_aliases", {"actions": actions}).status == 200
        whole = Newsroom(newsroom.server, alias)
        whole.backfill(settings=BEFORE)
        done = run("backfill", whole.url, "--only", "lengths", "--json")
        assert done.exit_code == 0, done.output
        assert places(records_of(whole.url, documents)) == places(judged(documents))
        for name in (newsroom.index, other):
            mapping = newsroom.server.http("GET", f"/{name}/_mapping").json()[name]["mappings"]
            assert mapping["_meta"]["esdedup"]["settings"]["methods"] == ["sketch", "lengths"]
        whole.drop()

    def test_articles_that_come_by_another_route_afterwards(self, newsroom: Newsroom) -> None:
        """Names told to the first backfill hold for what comes after the switch."""
        documents = [*archive(10), *articles(5)]
        newsroom.fill(documents[:8])
        newsroom.backfill()
        assert FIELDS  # told then
        switch_on(newsroom.url)
        newsroom.fill(documents[8:])
        assert run("sweep", "--store", newsroom.url).exit_code == 0
        assert places(records_of(newsroom.url, documents)) == places(judged(documents))
