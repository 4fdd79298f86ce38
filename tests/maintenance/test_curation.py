"""Groups by hand, the canonical rule and retention, on every backend."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import Contradiction
from esdedup.maintenance.change_canonical_rule import change_canonical_rule
from esdedup.maintenance.curation import forget, merge, pin, split
from esdedup.maintenance.retention import RetentionRule, expire
from esdedup.settings import Settings
from tests.clustering.test_fixed_point import new_deduplicator
from tests.support.articles import DAY_ONE, WHOLE, StoryVariant, story_article
from tests.support.backends import Backend

DOCUMENTS = [
    StoryVariant(0, day=0).document("a", source="blog"),
    StoryVariant(0, day=1).document("b", source="agency"),
    StoryVariant(0, WHOLE[:7], day=2).document("c", source="blog"),
    StoryVariant(0, dead=17, day=3).document("u", source="blog"),
    StoryVariant(1, WHOLE[:7], day=0).document("x", source="blog"),
    StoryVariant(1, day=9).document("y", source="agency"),
]
PLAIN = {"a": "a", "b": "a", "c": "a", "u": "u", "x": "x", "y": "x"}


@pytest.fixture
def news(backend: Backend) -> Deduplicator:
    deduplicator = Deduplicator(backend.open())
    list(deduplicator.add_many(DOCUMENTS))
    return deduplicator


def groups(deduplicator: Deduplicator) -> dict[str, str]:
    there = deduplicator.store.documents.get(d.id for d in DOCUMENTS)
    return {id_: record.decision.group for id_, record in there.items()}


def expected(settings: Settings, *, pinned: str = "") -> dict[str, str]:
    """The groups of a fresh SQLite store."""
    with new_deduplicator(settings) as fresh:
        list(fresh.add_many(DOCUMENTS))
        if pinned:
            pin(fresh, pinned)
        return groups(fresh)


def test_words_change_groups_and_are_taken_back(backend: Backend, news: Deduplicator) -> None:
    assert groups(news) == PLAIN
    merge(news, ["c", "x"])
    assert groups(news) == {**dict.fromkeys("abcxy", "a"), "u": "u"}
    forget(news, ["c", "x"])
    split(news, ["a", "b"])
    assert groups(news)["b"] == "b"
    with pytest.raises(Contradiction):
        merge(news, ["b", "a"])
    pin(news, "c")
    assert groups(news) == {"a": "c", "b": "b", "c": "c", "u": "u", "x": "x", "y": "x"} or (
        groups(news)["a"] == "c" != groups(news)["b"]
    )
    assert news.store.maintenance.find_problems() == []
    other = Deduplicator(backend.open())
    assert other.store.constraints.recent() == news.store.constraints.recent()
    list(other.add_many([replace(DOCUMENTS[1], title="b again"), story_article("d", 0, 4)]))
    assert groups(other)["b"] != groups(other)["a"]
    assert other.store.documents.get("d")["d"].decision.group in ("b", "c")
    forget(other, ["a", "b"])
    forget(other, ["c"])
    other.delete(["d"])
    assert groups(other) == PLAIN
    assert other.store.maintenance.find_problems() == []


def test_an_original_indexed_anew_with_another_text(news: Deduplicator) -> None:
    """Its copies find another leader, and it the story that it tells now; and back again."""
    other = replace(DOCUMENTS[0], text=DOCUMENTS[4].text, title=DOCUMENTS[4].title)
    for changed in (other, DOCUMENTS[0]):
        list(news.add_many([changed]))
        with new_deduplicator(Settings()) as fresh:
            list(fresh.add_many([changed, *DOCUMENTS[1:]]))
            assert groups(news) == groups(fresh)
        assert groups(news)["b"] == ("b" if changed is other else "a")
        assert news.store.maintenance.find_problems() == []


def test_who_writes_meanwhile_hears_of_it(backend: Backend, news: Deduplicator) -> None:
    """A writer that began before a word was said settles what it wrote."""
    other = Deduplicator(backend.open())
    mark = other.store.concurrency.snapshot()
    merge(news, ["a", "x"])
    if not other.store.concurrency.consistency.exclusive:
        assert not other.store.concurrency.unchanged_since(mark)
    late = [story_article(f"l{n}", 1, 5 + n) for n in range(12)]
    list(other.add_many(late))
    there = other.store.documents.get(d.id for d in late)
    assert {r.decision.group for r in there.values()} == {"a"}


@pytest.mark.parametrize("keep", ["longest", "ranking"])
def test_rerooting(news: Deduplicator, keep: str) -> None:
    rule = {"longest": {}, "ranking": {"keep_sources": ("agency",)}}[keep]
    settings = Settings.load(environment={}, flags={"keep": keep, **rule})
    told = change_canonical_rule(news, settings, dry_run=True)
    assert groups(news) == PLAIN
    done = change_canonical_rule(news, settings)
    assert {c.decision.id for c in done.changes} == {c.decision.id for c in told.changes}
    assert groups(news) == expected(settings)
    assert groups(news)["x"] == "y"
    late = story_article("z", 1, 10)
    (outcome,) = [o for o in news.add_many([late]) if o.status == "new"]
    assert outcome.decision.group == "y"
    pin(news, "x")
    news.delete(["z"])
    assert groups(news) == expected(settings, pinned="x")
    assert groups(news)["y"] == "x"
    assert news.store.maintenance.find_problems() == []


def test_windows_hold_whatever_the_order_is(backend: Backend) -> None:
    settings = Settings.from_json(
        {"keep": "longest", "candidate_window": 2.0, "candidate_windows": ["source:agency=30"]}
    )
    news = Deduplicator(backend.open(settings))
    list(news.add_many(DOCUMENTS[::-1]))
    assert groups(news) == expected(settings)


@pytest.mark.parametrize("keep", ["earliest", "arrival"])
def test_what_is_stored_is_checked_where_it_stands(backend: Backend, keep: str) -> None:
    """Without a date it stands where it arrived: its own update does not come before it."""
    settings = Settings.from_json({"keep": keep})
    news = Deduplicator(backend.open(settings))
    undated = [replace(document, published=None) for document in DOCUMENTS]
    for document in undated:
        list(news.add_many([document]))
    stored = news.store.documents.get(PLAIN)
    assert [stored[id_].decision.role for id_ in "au"] == ["original", "update"]
    for document, decision in zip(undated, news.check_many(undated), strict=True):
        assert decision.link == stored[document.id].decision.link
    changed = replace(story_article("a", 0, 0, 19), published=None)
    assert news.check(changed).role == "original", "another version of what came first"
    assert news.check(replace(undated[0], id="new")).group == "a"


def test_retention(news: Deduplicator) -> None:
    cut = DAY_ONE + timedelta(days=5)
    frozen = list(expire(news, RetentionRule(cut, keys_only=True)))[-1]
    assert (frozen.documents, frozen.wholes, frozen.kept) == (4, 1, 1)
    assert groups(news) == PLAIN
    records = news.store.documents.get("aby")
    assert not records["a"].signature.keys
    assert not records["b"].signature.keys
    assert records["y"].signature.keys
    (copy,) = [o for o in news.add_many([story_article("d", 0, 9)]) if o.status == "new"]
    assert copy.decision.role == "original", "the old ones find no copies any more"
    news.delete(["a"])
    assert groups(news) == {"b": "b", "c": "b", "u": "u", "x": "x", "y": "x"}
    assert news.store.maintenance.find_problems() == []
    gone = list(expire(news, RetentionRule(cut, by=None)))[-1]
    assert (gone.documents, gone.promoted) == (4, 1)
    assert groups(news) == {"y": "y"}
    assert news.store.maintenance.find_problems() == []
