"""Similar news: what is about the same thing, and no copy."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsError
from esdedup.features.topics import cosines, vector_and_words
from esdedup.matching.content import read_contents
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.sqlite.store import SQLiteStore
from esdedup.stores.topical import TopicQuery
from esdedup.stories.similar import (
    SimilarNews,
    similar_to,
    similar_to_record,
    similar_to_stored,
)
from tests.support.articles import FERRY, GARDEN, STRIKE, ferry_articles, topical_text

DAY = datetime(2024, 3, 1, tzinfo=UTC)


def similar_ids(news: Deduplicator, id_: str, **options: object) -> list[str]:
    record = news.store.documents.get([id_])[id_]
    found = similar_to_record(record, news.store, **options)  # type: ignore[arg-type]  # options by name
    return [one.document.id for one in found.found]


@pytest.fixture
def news(store_url: str) -> Deduplicator:
    news = Deduplicator.open(store_url)
    stories = ferry_articles(4, start=DAY)
    copy = replace(stories[0], id="copy", source="Echo", published=DAY + timedelta(minutes=5))
    other = [
        Document(id="strike", title="Rail strike", text=STRIKE, lang="en", published=DAY),
        Document(id="garden", title="Garden show", text=GARDEN, lang="en", published=DAY),
    ]
    list(news.add_many([*stories, copy, *other]))
    return news


def test_same_topic_and_no_copies(news: Deduplicator) -> None:
    found = similar_ids(news, "ferry0")
    assert set(found) == {"ferry1", "ferry2", "ferry3"}
    assert set(similar_ids(news, "copy")) == set(found)
    assert "copy" not in similar_ids(news, "ferry1")  # folded into ferry0
    assert similar_ids(news, "garden") == []


def test_of_several_articles_what_is_like_more_of_them_comes_first(news: Deduplicator) -> None:
    news.add(
        Document(id="walkout", title="Rail walkout", text=topical_text("strike", 3), lang="en")
    )
    ids = ("ferry0", "ferry1", "walkout")
    found = similar_to_stored(ids, news.store)
    assert found.ids == ("ferry0", "ferry1", "walkout")
    own = {one.document.id: one.similar_to for one in found.found}
    assert own["ferry2"] == own["ferry3"] == ("ferry0", "ferry1")
    assert not {"ferry0", "ferry1", "walkout", "copy"} & set(own)
    first, second, *others = found.found
    assert {first.document.id, second.document.id} == {"ferry2", "ferry3"}
    assert all(one.similar_to == ("walkout",) for one in others)
    single = similar_to_stored(ids[:1], news.store).found
    assert first.score > max(one.score for one in single)
    assert len(similar_to_stored(ids, news.store, size=1).found) == 1


def test_a_window_in_time(news: Deduplicator) -> None:
    near = similar_ids(news, "ferry0", window=timedelta(hours=1, minutes=1))
    assert near == ["ferry1"]  # they are an hour apart


def test_a_text_that_is_not_stored_has_no_copies_among_the_answers(news: Deduplicator) -> None:
    text = Document(id="new", title="Ferry fire", text=ferry_articles(1, start=DAY)[0].text)
    found = similar_to(text, news.store)
    assert isinstance(found, SimilarNews)
    assert {one.document.id for one in found.found} == {"ferry1", "ferry2", "ferry3"}


def test_explained_by_terms_and_names(news: Deduplicator) -> None:
    record = news.store.documents.get(["ferry0"])["ferry0"]
    found = similar_to_record(record, news.store, explain=True)
    first = found.found[0]
    assert "ferry" in first.terms
    assert "Stella" in first.entities
    assert first.to_json()["hours_apart"] >= 1


def test_without_words_there_is_nothing_to_ask(news: Deduplicator) -> None:
    assert isinstance(similar_to(Document(id="none", text="…"), news.store), Failure)


def test_a_script_without_spaces(store_url: str) -> None:
    with Deduplicator.open(store_url) as news:
        list(
            news.add_many(
                [
                    Document(
                        id="a",
                        text="フェリーが港で火災を起こし十二人が死亡したと沿岸警備隊が発表した",
                    ),
                    Document(
                        id="b", text="沿岸警備隊によるとフェリーの火災で死亡した人は港に運ばれた"
                    ),
                    Document(id="c", text="庭園の展覧会には多くの花が並び春の訪れを告げている"),
                ]
            )
        )
        assert "c" not in similar_ids(news, "a")


def test_by_simhash_needs_the_method() -> None:
    chosen = Settings(methods=("sketch",), similar_by="simhash")
    with Deduplicator.open("sqlite://:memory:", chosen) as news:
        news.add(Document(id="a", text=FERRY))
        with pytest.raises(SettingsError, match="backfill --only simhash"):
            similar_ids(news, "a")


def test_paper_001_more_than_3_and_fewer_than_8_bits() -> None:
    """Features of the caller's own, so that the distances are known."""
    chosen = Settings.load(
        preset="hu-you", environment={}, flags={"block_plan": "8x8", "simhash_field": "v"}
    )
    words = FERRY.split()
    with Deduplicator.open("sqlite://:memory:", chosen) as news:
        for n in range(40):
            features = {f"w{i}": 1 for i in range(60)} | {f"x{n}.{i}": 1 for i in range(n)}
            text = " ".join([*words, str(n)])
            news.add(Document(id=f"a{n}", text=text, extra={"v": features}))
        record = news.store.documents.get(["a0"])["a0"]
        found = similar_to_record(record, news.store, size=100)
        distances = [one.distance for one in found.found]
        assert distances == sorted(distances)  # type: ignore[type-var]  # none is None here
        assert distances
        assert set(distances) <= {4, 5, 6, 7}
        assert found.notes == ()


def test_by_simhash_on_a_store_of_the_default_methods() -> None:
    with Deduplicator.open("sqlite://:memory:", Settings(simhash_field="v")) as news:
        words = FERRY.split()
        for n in range(40):
            features = {f"w{i}": 1 for i in range(60)} | {f"x{n}.{i}": 1 for i in range(n)}
            dice = random.Random(n)
            text = " ".join(dice.sample(words, len(words)))
            news.add(Document(id=f"a{n}", text=text, extra={"v": features}))
        news.store.settings = replace(news.settings, similar_by="simhash")
        found = similar_to_record(news.store.documents.get(["a0"])["a0"], news.store, size=100)
    assert found.found
    assert {one.distance for one in found.found} <= {4, 5, 6, 7}
    assert any("8x8" in note for note in found.notes)


def naive_scores(record: Record, store: Store) -> dict[str, float]:
    """All that full-text search brings read whole, one after the other; by falling score."""
    settings = store.settings
    own, words = vector_and_words(record.document, settings, 8)
    asked = TopicQuery(list(words.values()), group=record.decision.group, size=20)
    scores: list[tuple[float, int, str]] = []
    for other in store.search.find_by_words(asked):
        (alike,) = cosines(own, [vector_and_words(other.document, settings)[0]])
        if alike >= settings.similar_topic * 2 / 3 and other.document.id != record.document.id:
            ours, theirs = (
                set(content.shingles.tolist())
                for content in read_contents([record.document, other.document], settings)
            )
            overlap = 2 * len(ours & theirs) / ((len(ours) + len(theirs)) or 1)
            apart = abs(record.order[0] - other.order[0])
            weeks = apart / (7 * 86_400_000_000)
            score = (alike + overlap / 2) * (0.8 + 0.2 / (1 + weeks))
            scores.append((-score, apart, other.document.id))
    return {id_: -score for score, _, id_ in sorted(scores)[:10]}


def test_the_same_as_by_reading_everything(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SQLiteStore, "topics", None)  # full-text search answers
    subjects = ("ferry", "strike", "garden")
    stream = [
        Document(
            id=f"a{n}",
            title=f"{subjects[n % 3].title()} {n // 7}",
            text=topical_text(subjects[n % 3], n) + (f" {FERRY}" if n % 5 == 0 else ""),
            lang="en" if n % 2 else None,
            published=DAY + timedelta(hours=7 * n),
        )
        for n in range(60)
    ]
    with Deduplicator.open(store_url, Settings(methods=("sketch",))) as news:
        list(news.add_many(stream))
        records = news.store.documents.get(document.id for document in stream)
        overlaps = []
        for record in records.values():
            expected = naive_scores(record, news.store)
            found = similar_to_record(record, news.store).found
            assert [one.document for one in found] == [records[i].document for i in expected]
            assert {one.document.id: one.score for one in found} == pytest.approx(expected)
            overlaps += [one.overlap for one in found]
        assert max(overlaps) > 0


def test_copies_of_one_story_do_not_hide_the_others(store_url: str) -> None:
    first, second, *others = ferry_articles(5, start=DAY)
    copies = [
        replace(second, id=f"copy{n}", published=DAY + timedelta(hours=2, minutes=n))
        for n in range(60)
    ]
    with Deduplicator.open(store_url) as news:
        list(news.add_many([first, second, *others, *copies]))
        found = similar_ids(news, first.id, size=4)
    assert sorted(found) == ["ferry1", "ferry2", "ferry3", "ferry4"]
