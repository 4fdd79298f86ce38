"""Other thresholds for a store that is there: the groups of a store made with them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest import sign as signing
from esdedup.maintenance.rethreshold import find_changes, read_records, rethreshold
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store
from tests.support.backends import Backend

WORDS = [f"word{i}" for i in range(40)]


def documents(seed: int) -> list[Document]:
    """Copies of three texts, each cut somewhere and continued in its own way."""
    draw = random.Random(seed)
    out = []
    for number in range(14):
        story = draw.randrange(3)
        kept = [f"{word}of{story}" for word in WORDS[: draw.randrange(8, 40)]]
        own = [f"own{number}x{i}" for i in range(draw.randrange(0, 25))]
        out.append(Document(id=f"d{number:02d}", text=" ".join([*kept, *own])))
    return out


def links(url: str) -> dict[str, tuple[str, str, str]]:
    store = open_store(url, mode="read")
    try:
        there = store.documents.get(f"d{number:02d}" for number in range(14))
        return {i: (r.decision.role, r.decision.group, r.decision.story) for i, r in there.items()}
    finally:
        store.close()


def filled(url: str, settings: Settings, seed: int) -> None:
    with Deduplicator.open(url, settings) as deduplicator:
        list(deduplicator.add_many(documents(seed)))


@given(st.integers(0, 10_000), st.sampled_from(["originals", "all"]), st.data())
@hypothesis_settings(max_examples=25)
def test_as_if_the_store_had_been_made_so(
    tmp_path_factory: pytest.TempPathFactory, seed: int, attract: str, data: st.DataObject
) -> None:
    shares = st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9])
    folder = tmp_path_factory.mktemp("stores")
    base = {"attract": attract, "max_collisions_by_chance": 0}
    before = Settings.from_json({**base, "min_overlap": data.draw(shares)})
    after = Settings.from_json({**base, "min_overlap": data.draw(shares)})
    changed, fresh = f"sqlite:///{folder}/changed.db", f"sqlite:///{folder}/fresh.db"
    filled(changed, before, seed)
    filled(fresh, after, seed)
    was = links(changed)
    store = open_store(changed, after, mode="read")
    planned = {c.decision.id: c.decision.link for c in find_changes(store)}
    store.close()
    assert links(changed) == was  # a dry run writes nothing
    store = open_store(changed, after)
    done = rethreshold(store)
    assert store.maintenance.find_problems() == []
    assert find_changes(store) == []
    store.close()
    assert {c.decision.id: c.decision.link for c in done} == planned
    assert links(changed) == links(fresh)


def test_the_store_is_opened_with_the_new_settings_from_then_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    filled(url, Settings(), 1)
    store = open_store(url, Settings(min_overlap=0.9))
    rethreshold(store)
    store.close()
    reopened = open_store(url, mode="read")
    assert reopened.settings.min_overlap == 0.9
    reopened.close()


def test_the_command_tells_first_and_writes_when_told(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    filled(url, Settings(max_collisions_by_chance=0), 3)
    was = links(url)
    arguments = ["rethreshold", "--store", url, "--set", "min_overlap=0.95"]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert "--apply" in told.output
    assert links(url) == was
    rows = CliRunner().invoke(app, [*arguments, "--json"]).stdout.splitlines()
    applied = CliRunner().invoke(app, [*arguments, "--apply", "--json"]).stdout.splitlines()
    assert rows
    assert [json.loads(row)["now"] for row in rows] == [json.loads(a)["now"] for a in applied]
    assert links(url) != was
    assert CliRunner().invoke(app, [*arguments, "--json"]).stdout == ""


def test_settings_that_shape_keys_are_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    filled(url, Settings(), 1)
    result = CliRunner().invoke(app, ["rethreshold", "--store", url, "--set", "shingle_words=3"])
    assert result.exit_code == 2
    assert "shingle_words" in result.output


def test_texts_are_read_part_by_part(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/news.db"
    filled(url, Settings(), 1)
    with Deduplicator.open(url) as deduplicator:
        texts = [record.document.text for record in read_records(deduplicator.store)]
        assert texts == [""] * len(documents(1))
        strict = replace(deduplicator.settings, min_overlap=0.9)
    store = open_store(url, strict, mode="read")
    try:
        changes = find_changes(store)
        assert changes
        assert not any(change.record.document.text for change in changes)
    finally:
        store.close()


# --- on every backend

SENTENCES = (
    "The old mill at Grandval burned down on Friday night and nobody was hurt, the brigade said.",
    "Sparks had been seen over the roof long before the first call came in from a neighbour.",
    "The owner wants to rebuild it with the help of the village before the next harvest begins.",
)
LOOSE = replace(Settings(), min_overlap=0.2, max_collisions_by_chance=0, extended_ratio=0.0)


def articles() -> list[Document]:
    whole = " ".join(SENTENCES)
    half = f"{SENTENCES[0]} {SENTENCES[1]} Elsewhere the day was quiet, apart from a lost cow."
    third = (
        f"{SENTENCES[0]} All other news of the valley is of rain, weddings and a football match."
    )
    return [Document(id=i, text=t) for i, t in (("a", whole), ("b", half), ("c", third))]


def test_on_every_store_and_back(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are recorded, and nothing is signed again."""
    with Deduplicator(backend.open(LOOSE)) as deduplicator:
        list(deduplicator.add_many(articles()))
    monkeypatch.setattr(signing, "sign_many", None)  # whoever signs again fails
    strict = backend.open(replace(LOOSE, min_overlap=0.95))
    planned = find_changes(strict)
    assert {c.decision.id: c.decision.role for c in planned} == {"b": "original", "c": "original"}
    assert len(rethreshold(strict)) == 2
    assert find_changes(strict) == []
    assert strict.maintenance.find_problems() == []
    assert backend.open(mode="read").settings.min_overlap == 0.95
    loose = backend.open(LOOSE)
    rethreshold(loose)
    there = loose.documents.get("abc")
    assert {i: r.decision.group for i, r in there.items()} == dict.fromkeys("abc", "a")
    assert backend.open(mode="read").settings.min_overlap == 0.2
