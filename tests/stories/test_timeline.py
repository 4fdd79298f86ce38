"""The time line of a story."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.features.numbers import NumberChange
from esdedup.model import Document
from esdedup.model.results import Mention
from esdedup.settings import Settings
from esdedup.stories.timeline import StoryVersion, chain_counts, is_correction, story_of
from tests.support.articles import FERRY

DAY = datetime(2024, 3, 1, tzinfo=UTC)


def filled(store: str = "sqlite://:memory:", settings: Settings | None = None) -> Deduplicator:
    news = Deduplicator.open(store, settings)
    for hour, dead in enumerate((12, 17, 23)):
        text = FERRY.replace("12 people", f"{dead} people")
        at = DAY + timedelta(hours=hour)
        first = Document(id=f"v{dead}", title="Ferry fire", text=text, source="Wire", published=at)
        news.add(first)
        for n, source in enumerate(("Herald", "Echo", "Echo")):
            later = at + timedelta(minutes=5 + n)
            news.add(replace(first, id=f"v{dead}.{n}", source=source, published=later))
    return news


def test_twelve_seventeen_twenty_three_dead() -> None:
    with filled() as news:
        record = news.store.documents.get(["v17.1"])["v17.1"]
        story = story_of(record, news.store)
    assert story.id == "v12"
    assert [v.kind for v in story.versions] == ["original", "update", "update"]
    assert [v.follows for v in story.versions] == [None, "v12", "v17"]
    assert story.counts[0].values == ("12", "17", "23")
    assert str(story.counts[0]).startswith("12 -> 17 -> 23: ")
    assert [dict(v.sources) for v in story.versions] == [{"Echo": 2, "Herald": 1}] * 3
    assert story.articles == 12
    assert story.partial is None
    assert story.to_json()["versions"][1]["numbers"][0][:2] == ["12", "17"]


def test_partial_copies_where_lengths_is_on() -> None:
    sentences = [
        " ".join(f"w{n}x{i}" for i in range(4 + n * 7 % 11)).capitalize() + "." for n in range(30)
    ]
    chosen = replace(Settings(), methods=("sketch", "lengths"))
    with Deduplicator.open("sqlite://:memory:", chosen) as news:
        news.add(Document(id="whole", text=" ".join(sentences), published=DAY))
        other = [f"Other sentence {n} with words of its own kind {n * n}." for n in range(60)]
        text = " ".join([*other, *sentences[:14]])
        news.add(Document(id="part", text=text, published=DAY + timedelta(days=1)))
        story = story_of(news.store.documents.get(["whole"])["whole"], news.store)
    assert story.partial is not None
    assert [p.article.id for p in story.partial] == ["part"]
    assert 0.3 < story.partial[0].of_story < 0.7


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("CORRECTED: Ferry fire", "x", True),
        ("Correction: ferry fire", "x", True),
        ("Ferry fire", "Ten died. Correction: an earlier version said twelve.", True),
        ("Düzeltme: Feribot yangını", "x", True),
        ("Berichtigung: Brand auf Fähre", "x", True),
        ("Prison reform and correction of youths", "They need correction, he said.", False),
        ("Ferry fire", FERRY, False),
    ],
)
def test_an_article_that_corrects_says_so(title: str, text: str, expected: bool) -> None:
    assert is_correction(Document(id="a", title=title, text=text)) is expected


def _version(*numbers: tuple[str, str, str]) -> StoryVersion:
    changes = tuple(NumberChange(*n) for n in numbers)
    return StoryVersion("update", Mention("a", "", None, None, None), 0, None, changes, (), {})


def test_counts_of_different_things_are_different_chains() -> None:
    versions = [
        _version(("12", "17", "people died"), ("40", "44", "injured")),
        _version(("17", "23", "died people"), ("44", "51", "injured hospital")),
    ]
    assert [str(c) for c in chain_counts(versions)] == [
        "12 -> 17 -> 23: died people",
        "40 -> 44 -> 51: injured hospital",
    ]


def test_a_change_that_two_versions_tell_is_one() -> None:
    told = ("12", "17", "people died")
    assert [c.values for c in chain_counts([_version(told), _version(told)])] == [("12", "17")]


def test_ten_thousand_copies_are_counted_by_source() -> None:
    with Deduplicator.open("sqlite://:memory:") as news:
        copies = (
            Document(
                id=f"c{n}", text=FERRY, source=f"Site {n % 7}", published=DAY + timedelta(seconds=n)
            )
            for n in range(10_000)
        )
        for _ in news.add_batches(copies):
            pass
        story = story_of(news.store.documents.get(["c9999"])["c9999"], news.store)
    assert story.articles == 10_000
    assert len(story.versions) == 1
    assert len(story.versions[0].copies) == 100
    assert sum(story.versions[0].sources.values()) == 9_999
