"""Any list, folded: each rule, its limits, and lists with something wrong in them."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup import Deduplicator, Document, fold
from esdedup.errors import QueryError
from esdedup.search.fold import FoldedItem, KeptItem, fold_stream, read_list
from esdedup.search.items import page_address
from tests.support.articles import BRIDGE, FERRY

LEAD = (
    "Fire swept through the car deck of an overnight ferry off the Eastshire coast, and the "
    "coastguard lifted people from the upper decks as flames spread to the forward cabins."
)


def places(items: list[Any], **options: Any) -> dict[int, tuple[int, str]]:
    """Of what is folded: into which place, by which rule."""
    return {f.place: (f.into, f.rule) for f in fold(items, **options).folded}


def text(body: str, **more: Any) -> dict[str, Any]:
    return {"text": body, **more}


# --- whole texts ----------------------------------------------------------------------------------


def test_copies_fold_updates_and_others_stay() -> None:
    items = [
        text(FERRY, id="a"),
        text(BRIDGE, id="b"),
        text(FERRY.replace("Several passengers", "Some passengers"), id="c"),
        text(FERRY.replace("12 people", "17 people"), id="u"),
    ]
    result = fold(items)
    assert [kept.id for kept in result.kept] == ["a", "b", "u"]
    (folded,) = result.folded
    assert (folded.id, folded.into_id, folded.rule) == ("c", "a", "text")
    assert folded.overlap is not None
    assert folded.overlap > 0.8
    update = result.kept[2].update
    assert update is not None
    assert str(update.numbers[0]).startswith("12 -> 17: At least 17 people died")
    assert result.items == [items[0], items[1], items[3]]
    by_story = fold(items, by="story")
    assert [kept.id for kept in by_story.kept] == ["a", "b"]


def test_a_copy_folds_into_the_closest_match() -> None:
    update = FERRY.replace("12 people", "17 people")
    items = [text(FERRY), text(update), text(update.replace("Several", "Some"))]
    assert places(items) == {2: (1, "text")}
    assert places(items, by="story") == {1: (0, "text"), 2: (0, "text")}


def test_a_result_has_a_json_form() -> None:
    document = Document(id="d", text=FERRY)
    out = fold([text(FERRY, id="a"), document, Document(id="e", text=BRIDGE)]).to_json()
    assert [kept["id"] for kept in out["kept"]] == ["a", "e"]
    assert out["kept"][0]["folded"] == out["folded"]
    assert out["folded"][0]["rule"] == "text"
    assert out["kept"][1]["item"]["text"] == BRIDGE


def test_hits_of_a_search_engine_are_items() -> None:
    answer = {"hits": {"hits": [
        {"_id": "1", "_source": {"text": FERRY}},
        {"_id": "2", "_source": {"text": FERRY, "dedup": {"group": "1"}}},
        {"_id": "3", "_source": {"title": "Nothing", "dedup": {"group": "1"}}},
    ]}}  # fmt: skip
    assert places(read_list(answer)) == {1: (0, "text"), 2: (0, "known group")}
    with pytest.raises(QueryError, match="no list in it"):
        read_list({"answer": 42})


# --- ids and addresses ----------------------------------------------------------------------------


def test_the_same_page_is_one_item() -> None:
    items = [
        {"title": "One", "url": "https://www.example.org/news/1?utm_source=x#top"},
        {"title": "Other words", "url": "http://example.org/news/1/"},
        {"title": "Another page", "url": "https://example.org/news/1?page=2"},
    ]
    assert places(items) == {1: (0, "same address")}


def test_the_address_of_a_whole_site_is_none() -> None:
    items = [{"title": "One", "url": "https://example.org/"}, {"title": "Two"},
             {"title": "Three", "url": "https://example.org"}]  # fmt: skip
    assert places(items) == {}


@pytest.mark.parametrize("url", ["", "no url", "mailto:a@b.c", "http://[bad", "http://h:99999/x"])
def test_what_is_no_address(url: str) -> None:
    assert page_address(url) is None


def test_duplicate_ids_fold_unless_the_texts_differ() -> None:
    items = [
        {"id": 7, "title": "One"},
        {"id": "7", "title": "One more"},
        text(FERRY, id="x"),
        text(BRIDGE, id="x"),
    ]
    result = fold(items)
    assert places(items) == {1: (0, "same id")}
    assert result.notes == ("x: two items have this id and different texts; both stay",)


# --- snippets -------------------------------------------------------------------------------------

TITLES = {"title": "Ferry fire off Eastshire: rescue at sea"}


def test_equal_snippets_under_like_headlines_fold() -> None:
    items = [
        {**TITLES, "snippet": LEAD},
        {"title": "Rescue at sea as ferry burns off Eastshire", "snippet": LEAD[:120] + " uppe …"},
        {"title": "Ferry fire off Eastshire", "summary": LEAD},
    ]
    assert places(items) == {1: (0, "snippet"), 2: (0, "snippet")}


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"title": "Our cookies and your choice", "snippet": LEAD}, "headlines have little shared"),
        ({**TITLES, "snippet": LEAD[:60]}, "too few words"),
        ({**TITLES, "snippet": LEAD.replace("overnight", "17")}, "a number the other has not"),
        ({**TITLES, "snippet": LEAD.replace("car deck", "engine room")}, "words changed"),
        ({**TITLES, "snippet": LEAD, "published": "2027-03-03"}, "a year later"),
        ({"title": "Ferry fire: 9 saved", "snippet": LEAD}, "another number in the headline"),
    ],
)
def test_the_rule_for_snippets_is_strict(other: dict[str, Any], why: str) -> None:
    first = {
        "title": "Ferry fire: 7 saved off Eastshire",
        "snippet": LEAD,
        "published": "2026-03-03",
    }
    if "9 saved" not in other["title"]:
        first |= TITLES
    assert places([first, other]) == {}, why


def test_a_snippet_folds_into_the_text_it_was_cut_from() -> None:
    snippet = " ".join(FERRY.split()[:30]) + " …"
    items = [{**TITLES, **text(FERRY)}, {**TITLES, "snippet": snippet}]
    assert places(items) == {1: (0, "snippet")}
    assert places(items[::-1]) == {1: (0, "snippet")}
    quoting = {"title": "Ten years of bad luck at sea", **text(BRIDGE + " " + snippet)}
    assert places([items[1], quoting]) == {}, "a longer article may quote"


def test_untitled_snippets_need_more_words() -> None:
    assert places([{"snippet": LEAD}, {"snippet": LEAD}]) == {1: (0, "snippet")}
    short = " ".join(LEAD.split()[:15])
    assert places([{"snippet": short}, {"snippet": short}]) == {}


# --- headlines alone ------------------------------------------------------------------------------


def headline(title: str, host: str, day: int | None = None) -> dict[str, Any]:
    out = {"title": title, "url": f"https://{host}/{abs(hash((title, host, day)))}"}
    return out if day is None else {**out, "published": f"2026-03-{day:02}"}


def test_equal_headlines_of_different_sites_fold() -> None:
    long = "Ferry fire off Eastshire coast kills at least twelve"
    items = [headline(long, "a.example"), headline(f"{long} | B News", "bnews.example"),
             headline(long.upper(), "c.example")]  # fmt: skip
    assert places(items) == {1: (0, "headline"), 2: (0, "headline")}


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (headline("Weather for today", "a.x", 3), headline("Weather for today", "b.x", 3), "short"),
        (headline("Ferry fire off Eastshire coast today", "a.x"),
         headline("Ferry fire off Eastshire coast today", "b.x"), "six words, no dates"),
        (headline("Ferry fire off Eastshire coast", "a.x", 3),
         headline("Ferry fire off Eastshire coast", "b.x", 9), "six days apart"),
        (headline("The morning briefing with all you need to know", "a.x", 3),
         headline("The morning briefing with all you need to know", "a.x", 4), "one site's column"),
        (headline("Ferry fire off Eastshire coast kills 12 people", "a.x"),
         headline("Ferry fire off Eastshire coast kills 17 people", "b.x"), "numbers differ"),
    ],
)  # fmt: skip
def test_the_rule_for_headlines_is_strict(a: dict[str, Any], b: dict[str, Any], why: str) -> None:
    assert places([a, b]) == {}, why


def test_headlines_never_fold_two_different_texts() -> None:
    title = {"title": "What we know so far about the fire on the ferry"}
    assert places([{**title, **text(FERRY)}, {**title, **text(BRIDGE)}]) == {}


# --- what is kept ---------------------------------------------------------------------------------


KEEPS: list[tuple[Any, tuple[str, ...]]] = [
    ("first", ()),
    ("earliest", ()),
    ("longest", ()),
    ("source", ("Wire", "Gazette")),
]


def test_keep_rules_and_order() -> None:
    items = [
        text(BRIDGE, id="other"),
        text(FERRY, id="first", published="2026-03-05", source="Herald"),
        text(FERRY + " More soon.", id="long", published="2026-03-04", source="Gazette"),
        text(FERRY, id="early", published="2026-03-03", source="Wire"),
        text(FERRY, id="undated"),
    ]
    kept = {
        keep: [k.id for k in fold(items, keep=keep, sources=sources).kept]
        for keep, sources in KEEPS
    }
    assert kept == {
        "first": ["other", "first"], "earliest": ["other", "early"],
        "longest": ["other", "long"], "source": ["other", "early"],
    }  # fmt: skip
    result = fold(items, keep="earliest")
    assert {f.id: f.into_id for f in result.folded} == dict.fromkeys(
        ("first", "long", "undated"), "early"
    )
    assert [k.rank for k in result.kept] == [0, 1]
    with pytest.raises(QueryError, match="keep is 'best'"):
        fold(items, keep="best")  # type: ignore[arg-type]  # no such rule
    with pytest.raises(QueryError, match="needs `sources`"):
        fold(items, keep="source")


def test_a_window_makes_the_same_story_new() -> None:
    items = [text(FERRY, published="2026-03-03"), text(FERRY, published="2027-03-03")]
    assert places(items) == {1: (0, "text")}
    assert places(items, window=timedelta(days=30)) == {}


# --- streaming ------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_stream_gives_the_same(batch: int) -> None:
    pool = random.Random(5)
    items = [
        text(pool.choice([FERRY, BRIDGE, FERRY[:400]]), id=str(i), **TITLES) for i in range(20)
    ] + [
        {"title": f"Headline number {pool.randrange(3)} of many in the list today"} for _ in "abcd"
    ]
    whole = fold(items)
    streamed = list(fold_stream(iter(items), batch=batch))
    assert [k.place for k in streamed if isinstance(k, KeptItem)] == [k.place for k in whole.kept]
    assert [f.to_json() for f in streamed if isinstance(f, FoldedItem)] == [
        f.to_json() for f in whole.folded
    ]


def test_a_stream_answers_at_once() -> None:
    def endless() -> Any:
        yield text(FERRY)
        yield text(FERRY)
        raise AssertionError("asked for more than was needed")

    stream = fold_stream(endless())
    assert isinstance(next(stream), KeptItem)
    assert isinstance(next(stream), FoldedItem)


# --- with a store ---------------------------------------------------------------------------------


def test_a_store_knows_groups_by_id_address_and_text(deduplicator: Deduplicator) -> None:
    changed = FERRY.replace("early on Tuesday", "on Tuesday")
    list(deduplicator.add_many([
        Document(id="a", text=FERRY), Document(id="https://x.example/b", text=changed),
        Document(id="u", text=FERRY.replace("12 people", "17 people")),
    ]))  # fmt: skip
    items = [
        {"id": "a", "title": "only a headline"},
        {"title": "another headline", "url": "https://x.example/b"},
        text(FERRY.replace("Several", "Some")),
        {"id": "u", "title": "the update"},
        {"id": "nobody knows", "title": "a stranger"},
    ]
    store = deduplicator.store
    assert places(items, store=store) == {1: (0, "known group"), 2: (0, "known group")}
    assert places(items, store=store, by="story") == {
        1: (0, "known group"), 2: (0, "known group"), 3: (0, "known group"),
    }  # fmt: skip
    assert places(items) == {}


# --- lists with something wrong -------------------------------------------------------------------


def test_nothing_in_a_list_is_lost_or_an_error() -> None:
    items: list[Any] = [
        None, 7, "text", [], {}, {"id": None}, {"id": ""}, {"title": None, "text": None},
        {"text": "", "url": ""}, {"id": {"a": 1}}, {"id": "x", "published": "not a date"},
        {"text": "\x00\ud800 … ..."}, {"title": "…"}, {"snippet": "..."},
        {"_source": None, "_id": "q"}, {"source": {"name": 3}, "url": 5},
    ]  # fmt: skip
    result = fold(items)
    assert [k.place for k in result.kept] == list(range(len(items)))
    assert result.notes == (
        "item 1 is no object but null; kept as it is",
        "item 2 is no object but int; kept as it is",
        "item 3 is no object but str; kept as it is",
        "item 4 is no object but list; kept as it is",
        "x has no date that can be read ('not a date')",
    )
    assert fold([]).kept == ()


ITEMS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.sampled_from(["a", "b", 3, None]),
            "title": st.sampled_from(
                ["", "Ferry", "Ferry fire off Eastshire coast kills many now"]
            ),
            "text": st.sampled_from(["", FERRY, BRIDGE, FERRY[:300], FERRY.replace("12", "17")]),
            "snippet": st.sampled_from(["", LEAD, LEAD[:100]]),
            "url": st.sampled_from(["", "https://a.example/1", "https://b.example/2"]),
        },
    ),
    max_size=12,
)


@given(ITEMS, st.sampled_from(["first", "earliest", "longest"]))
def test_every_item_is_kept_or_folded_once(items: list[dict[str, Any]], keep: Any) -> None:
    result = fold(items, keep=keep)
    kept = [k.place for k in result.kept]
    assert sorted(kept + [f.place for f in result.folded]) == list(range(len(items)))
    assert {f.into for f in result.folded} <= set(kept)
    again = fold([items[place] for place in kept], keep=keep)
    if keep == "first":
        assert kept == sorted(kept)
        assert again.folded == (), "what was kept apart stays apart"
