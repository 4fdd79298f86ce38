"""Searches as a portal uses them, the same on every store."""

from __future__ import annotations

import json

import pytest

from esdedup import Query, Searcher
from esdedup.errors import QueryError
from tests.search.corpus import put, stored_article
from tests.support.backends import Backend

RECORDS = (
    stored_article(
        "a", 0, "Flood in Tollmere", "the river rose", source="Wire", section="world", words=9
    ),
    stored_article(
        "b",
        1,
        "River rises",
        "a flood in Tollmere, again a flood",
        of="a",
        source="Herald",
        section="world",
        words=12,
    ),
    stored_article(
        "c", 2, "Dry land", "nothing here but a heron", of="a", source="Gazette", words=5
    ),
    stored_article(
        "u",
        3,
        "Flood: more dead",
        "17 people died in the flood",
        updates="a",
        source="Herald",
        section="world",
        words=8,
    ),
    stored_article(
        "z", 4, "Flood elsewhere", "in another valley", source="Courier", section="sport"
    ),
    stored_article(
        "y",
        400,
        "Flood in Tollmere",
        "the river rose",
        of="a",
        source="Herald",
        section="world",
        words=7,
    ),
)


@pytest.fixture
def searcher(persistent_backend: Backend) -> Searcher:
    return Searcher(put(persistent_backend.open(), *RECORDS))


def ids(searcher: Searcher, query: object, **options: object) -> list[str]:
    return [hit.id for hit in searcher.search(query, **options).hits]  # type: ignore[arg-type]  # options by name


def test_collapse_shows_the_best_member_and_counts_the_others(searcher: Searcher) -> None:
    page = searcher.search("flood")
    assert (page.mode, page.by, page.total.stories, page.total.articles) == (
        "collapse", "group", 3, 5,
    )  # fmt: skip
    copies = {hit.group: hit.copies for hit in page.hits}
    assert copies == {"a": 2, "u": 0, "z": 0}, "c does not match and is not counted"
    assert searcher.search("flood", copies=False).hits[0].copies is None
    assert set(ids(searcher, "flood", by="story")) >= {"z"}
    assert searcher.search("flood", by="story").total.stories == 2
    json.dumps(page.to_json())


def test_the_newest_first_by_any_field(searcher: Searcher) -> None:
    assert ids(searcher, Query("flood", sort=("-published",))) == ["y", "z", "u"]
    assert ids(searcher, Query("flood", sort=("published",))) == ["a", "u", "z"]
    assert ids(searcher, Query("flood", sort=("source", "published")), mode="all") == [
        "z", "b", "u", "y", "a",
    ]  # fmt: skip
    assert ids(searcher, Query("flood", filters={"source": ["Herald"]}, sort=("published",))) == [
        "b", "u",
    ]  # fmt: skip


def test_off_per_query_and_always_expandable(searcher: Searcher) -> None:
    everything = searcher.search("flood", mode="all")
    assert {hit.id for hit in everything.hits} == {"a", "b", "u", "z", "y"}
    assert everything.total.stories == everything.total.articles == 5
    members = searcher.copies("a")
    assert [m.document.id for m in members.members] == ["a", "b", "c", "y"]
    assert members.total == 4
    assert [m.document.id for m in searcher.copies("a", size=2, offset=1).members] == ["b", "c"]
    story = searcher.copies("a", by="story")
    assert [m.document.id for m in story.members] == ["a", "b", "c", "u", "y"]
    assert str(story.members[3].update) == "updated: 12 -> 17: people died"
    assert searcher.copies("nobody").members == ()
    json.dumps(story.to_json())


@pytest.mark.parametrize(
    ("show", "by", "shown"),
    [
        ("earliest", "group", "a"),
        ("newest", "group", "y"),
        ("longest", "group", "b"),
        ("source", "group", "c"),
        ("earliest", "story", "a"),
        ("newest", "story", "y"),
        ("best", "group", None),
    ],
)
def test_what_a_story_shows(searcher: Searcher, show: str, by: str, shown: str | None) -> None:
    page = searcher.search("tollmere", show=show, by=by, sources=("Gazette", "Wire"), copies=True)
    assert len(page.hits) == 1
    (hit,) = page.hits
    assert hit.copies == 2
    if shown is not None:
        assert hit.id == shown
    if shown == "c":
        assert (hit.matched, len(hit.matched_by)) == (False, 1)
        assert hit.to_json()["matched"] is False


def test_updates_tell_what_is_new(searcher: Searcher) -> None:
    (hit,) = searcher.search("people died").hits
    assert (hit.role, str(hit.update)) == ("update", "updated: 12 -> 17: people died")
    assert hit.to_json()["update"]["numbers"] == [["12", "17", "people died"]]
    assert hit.update is not None
    assert hit.update.of == "a"


def test_canonical_shows_originals_and_updates_and_says_when_only_a_copy_matches(
    searcher: Searcher,
) -> None:
    page = searcher.search("flood", mode="canonical")
    assert {hit.id for hit in page.hits} == {"a", "u", "z"}
    assert (page.total.stories, page.total.articles, page.total.exact) == (3, 5, True)
    assert page.notes == ()
    by_story = searcher.search("flood", mode="canonical", by="story")
    assert {hit.id for hit in by_story.hits} == {"a", "z"}
    only = searcher.search("heron", mode="canonical")
    (hit,) = only.hits
    assert (hit.id, hit.matched, hit.matched_by) == ("a", False, ("c",))
    assert (only.total.stories, only.total.articles) == (0, 1)
    assert only.notes[0].startswith("of 1 more stories only a copy matches")
    story = searcher.search("died", mode="canonical", by="story")
    assert [(h.id, h.matched_by) for h in story.hits] == [("a", ("u",))]


def test_facets_count_stories_beside_articles(searcher: Searcher) -> None:
    (source, section) = searcher.facets("flood", ["source", "section"])
    assert {b.value: (b.stories, b.articles) for b in source.buckets} == {
        "Herald": (2, 3), "Wire": (1, 1), "Courier": (1, 1),
    }  # fmt: skip
    assert {b.value: (b.stories, b.articles) for b in section.buckets} == {
        "world": (2, 4), "sport": (1, 1),
    }  # fmt: skip
    (exact,) = searcher.facets("flood", ["source"], total="exact")
    assert (exact.buckets, exact.exact) == (source.buckets, True)
    (canonical,) = searcher.facets("flood", ["source"], mode="canonical")
    assert canonical.exact
    assert {b.value: (b.stories, b.articles) for b in canonical.buckets} == {
        "Herald": (1, 3), "Wire": (1, 1), "Courier": (1, 1),
    }  # fmt: skip
    with pytest.raises(QueryError, match="give a list"):
        searcher.facets("flood", "source")


def test_the_front_page_has_the_newest_of_each_category(searcher: Searcher) -> None:
    sections = searcher.front_page("section")
    assert {s.category: [h.id for h in s.hits] for s in sections} == {
        "world": ["u"], "sport": ["z"],
    }  # fmt: skip
    (world,) = searcher.front_page("section", ["world"], by="group")
    assert [hit.id for hit in world.hits] == ["u", "a"], "a late copy moves nothing"
    json.dumps(world.to_json())


def test_cursors_and_offsets_are_not_mixed(searcher: Searcher) -> None:
    with pytest.raises(QueryError, match="exclude each other"):
        searcher.search("flood", deep=True, offset=3)
    with pytest.raises(QueryError, match="begin with the first"):
        searcher.pages("flood", offset=3)
    with pytest.raises(QueryError, match="cannot be read"):
        searcher.search("flood", cursor="!!")
    with pytest.raises(QueryError, match="there is no option sise"):
        searcher.search("flood", sise=3)
    with pytest.raises(QueryError, match="a query is words"):
        searcher.search(7)  # type: ignore[arg-type]  # a wrong query


def test_words_without_a_word_find_nothing(searcher: Searcher) -> None:
    for empty in ("", '"', " - "):
        page = searcher.search(empty)
        assert (page.hits, page.total.stories) == ((), 0)
    assert len(searcher.search(Query()).hits) == 3, "no words at all is everything"
    assert [len(p.hits) for p in searcher.pages("", size=2)] == [0]
