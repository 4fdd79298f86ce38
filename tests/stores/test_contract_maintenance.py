"""What every store promises: quarantine, figures and settings; the same tests on each backend."""

from __future__ import annotations

from dataclasses import replace

import pytest

from esdedup.errors import SettingsError, SettingsMismatch, StoreError
from esdedup.ingest.sign import sign_many
from esdedup.model import Decision, Document, Failure
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from tests.stores.contract import FORMAT, found, probe, put, record
from tests.support.backends import Backend


def test_quarantine_keeps_the_page_until_released(store: Store) -> None:
    page = Document(id="p", url="https://example.org/p", html=b"\xff\xfe<html", extra={"file": "p"})
    store.quarantine.add(
        [Failure("p", "p.html", "no text"), Failure("q", "in.jsonl:7", "bad", True)]
    )
    store.quarantine.add([Failure("p", "p.html", "still no text", document=page)])
    store.concurrency.make_visible()
    kept = {failure.id: failure for failure in store.quarantine.entries()}
    assert kept["p"] == Failure("p", "p.html", "still no text", document=page)
    assert kept["q"] == Failure("q", "in.jsonl:7", "bad", final=True)
    store.quarantine.remove(["p", "absent"])
    store.concurrency.make_visible()
    assert [failure.id for failure in store.quarantine.entries()] == ["q"]


def test_stats_count_documents_groups_stories_and_roles(searchable_store: Store) -> None:
    searchable_store.quarantine.add([Failure("p", "p.html", "no text")])
    searchable_store.concurrency.make_visible()
    stats = searchable_store.maintenance.stats()
    assert (stats["documents"], stats["groups"], stats["stories"]) == (5, 3, 2)
    assert stats["roles"] == {"original": 2, "duplicate": 2, "update": 1, "unprocessed": 0}
    assert stats["quarantine"] == 1
    assert stats["bytes"] > 0
    assert stats["format"] == FORMAT


def test_an_empty_store_answers(store: Store) -> None:
    assert store.maintenance.stats()["documents"] == 0
    assert store.maintenance.find_problems() == []
    assert Searcher(store).search("word").hits == ()
    assert store.search.groups() == []
    assert store.candidates.successors([probe("x", 0, [1])]) == set()
    assert store.documents.delete([]) == set()


def test_check_finds_planted_damage(backend: Backend) -> None:
    for sentence, damage in backend.damages.items():
        store = backend.open()
        put(store, record("a", 1, [1]), record("b", 2, [1], of="a"), record("c", 3, [2]))
        assert store.maintenance.find_problems() == []
        damage()
        assert any(sentence in problem for problem in store.maintenance.find_problems()), sentence
        store.close()
        backend.wipe()


def test_settings_are_recorded_and_taken_up_again(backend: Backend) -> None:
    settings = Settings(shingle_words=3, min_overlap=0.4, preset="mine")
    backend.open(settings).close()
    assert backend.open().settings == settings
    assert backend.open(mode="read").settings == settings
    other_threshold = replace(settings, min_overlap=0.6)
    assert backend.open(other_threshold).settings == other_threshold


def test_other_shaping_settings_are_refused_by_name(backend: Backend) -> None:
    backend.open(Settings(shingle_words=3)).close()
    with pytest.raises(SettingsMismatch) as refusal:
        backend.open(Settings(shingle_words=4, seed=5))
    message = str(refusal.value)
    assert "shingle_words is 3 there and 4 here" in message
    assert "seed is 31 there and 5 here" in message
    assert "min_overlap" not in message
    assert "Open it with its own settings, or index the articles into a new store" in message
    assert isinstance(refusal.value, SettingsError)


def test_everything_is_there_after_reopening(backend: Backend) -> None:
    store = backend.open()
    put(store, record("a", 1, [1], text="lasting words"), record("b", 2, [1], of="a"))
    store.quarantine.add([Failure("p", "p.html", "no text")])
    before = store.documents.get(["a", "b"])
    store.close()
    again = backend.open()
    assert again.documents.get(["a", "b"]) == before
    assert found(again, probe("x", 9, [1])) == {"a": {"sketch": 1}}
    assert Searcher(again).search("lasting").total.articles == 1
    assert [f.id for f in again.quarantine.entries()] == ["p"]


def test_reading_what_is_not_there_is_an_error(backend: Backend) -> None:
    with pytest.raises(StoreError, match=r"no store at .*`esdedup index` makes one"):
        backend.open(mode="read")


def test_hot_keys_are_those_of_many_leaders(store: Store) -> None:
    """A key that every original has is found, once it is above the bar."""
    texts = [" ".join(f"word{i}x{j}" for j in range(9)) for i in range(30)]
    documents = [Document(id=f"d{i:02d}", text=text) for i, text in enumerate(texts)]
    records = []
    for number, signed in enumerate(sign_many(documents, store.settings)):
        keys = (*signed.signature.keys["sketch"][1:], "s00:00000000ho00")
        signature = replace(signed.signature, keys={"sketch": keys})
        id_ = signed.document.id
        decision = Decision(id_, "original", id_, id_)
        records.append(Record(signed.document, signature, (number, id_), number, decision))
    store.documents.put(records)
    store.concurrency.make_visible()
    assert store.maintenance.over_frequent_keys(20) == {"s00:00000000ho00": 30}
    assert store.maintenance.over_frequent_keys(30) == {}
