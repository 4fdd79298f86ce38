"""Which article leads, under every keep rule; windows of languages and sources; rerooting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsError, StoreError
from esdedup.maintenance.change_canonical_rule import change_canonical_rule
from esdedup.maintenance.curation import pin
from esdedup.matching.canonical_order import PINNED, order_for, widest_window, window_of
from esdedup.matching.content import content_of
from esdedup.model import Document, Link, microseconds, place_of, rank_of, time_of
from esdedup.settings import Settings
from esdedup.stores import open_store
from tests.clustering.test_fixed_point import (
    SETTINGS,
    assert_invariants,
    dated_or_not,
    index,
    links_of,
    naive_links,
    new_deduplicator,
    orders_of,
    universes,
)
from tests.support.articles import DAY_ONE, StoryVariant

SOURCES = ("Agency", "paper.example")
RULES = {
    "earliest": SETTINGS,
    "arrival": replace(SETTINGS, keep="arrival"),
    "ranking": replace(SETTINGS, keep="ranking", keep_sources=SOURCES),
    "longest": replace(SETTINGS, keep="longest"),
}
DAY = 86_400_000_000
SEEN = microseconds(DAY_ONE) + DAY


@given(st.integers(-(2**31) + 1, 2**31), st.integers(-(2**53), 2**53 - 1))
def test_a_place_is_a_rank_and_a_time(rank: int, time: int) -> None:
    place = place_of(rank, time)
    assert (rank_of(place), time_of(place)) == (rank, time)
    assert place_of(0, time) == time


@given(*[st.tuples(st.integers(-1000, 1000), st.integers(-(2**53), 2**53 - 1)) for _ in range(2)])
def test_places_are_in_the_order_of_rank_then_time(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert (place_of(*a) < place_of(*b)) == (a < b)


def test_the_order_of_each_rule() -> None:
    first = Document("a", source="AGENCY", published=DAY_ONE)
    later = Document("b", source="blog", published=DAY_ONE - timedelta(days=1))

    def leads(rule: str, words: tuple[int, int] = (100, 100)) -> str:
        orders = [
            order_for(document, n, seen, RULES[rule])
            for document, n, seen in zip((first, later), words, (SEEN, SEEN + DAY), strict=True)
        ]
        return min(orders)[1]

    assert leads("earliest") == "b"
    assert leads("arrival") == "a"
    assert leads("ranking") == "a", "whatever the case of its name"
    assert leads("longest", (101, 100)) == "a"
    assert leads("longest") == "b", "of equal ones the earliest"
    assert rank_of(order_for(first, 5, 0, RULES["longest"], pinned=True)[0]) == PINNED


def with_sources(documents: Sequence[Document], chosen: Sequence[str | None]) -> list[Document]:
    return [replace(d, source=s) for d, s in zip(documents, chosen, strict=True)]


@given(
    universes(dated_or_not), st.sampled_from(list(RULES)), st.sampled_from(list(RULES)), st.data()
)
@hypothesis_settings(max_examples=60)
def test_rerooting_is_as_if_the_rule_had_held_from_the_beginning(
    documents: list[Document], was: str, now: str, data: st.DataObject
) -> None:
    sources = st.sampled_from([None, "agency", "paper.example", "blog"])
    chosen = data.draw(st.lists(sources, min_size=len(documents), max_size=len(documents)))
    documents = with_sources(documents, chosen)
    pinned = data.draw(st.sets(st.sampled_from([d.id for d in documents]), max_size=1))
    with new_deduplicator(RULES[was]) as deduplicator:
        index(deduplicator, documents)
        for id_ in pinned:
            pin(deduplicator, id_)
        before = links_of(deduplicator, documents)
        tried = change_canonical_rule(deduplicator, RULES[now], dry_run=True)
        assert links_of(deduplicator, documents) == before
        assert deduplicator.store.settings == RULES[was]
        done = change_canonical_rule(deduplicator, RULES[now])
        assert [c.decision for c in done.changes] == [c.decision for c in tried.changes]
        links, orders = links_of(deduplicator, documents), orders_of(deduplicator, documents)
        assert {c.decision.id: c.decision.link for c in done.changes} == {
            i: link for i, link in links.items() if link != before[i]
        }
        assert links == naive_links(documents, orders, RULES[now])
        assert_invariants(deduplicator, documents)
        assert {i for i in orders if rank_of(orders[i][0]) == PINNED} == pinned
        again = change_canonical_rule(deduplicator, RULES[now])
        assert (again.moved, again.changes) == (0, ())
        index(deduplicator, [replace(documents[0], title="Another title")])
        assert deduplicator.store.maintenance.find_problems() == []


@given(universes(dated_or_not), st.sampled_from(["ranking", "longest"]))
@hypothesis_settings(max_examples=30)
def test_the_best_of_a_group_leads_it(documents: list[Document], rule: str) -> None:
    documents = [replace(d, source=(*SOURCES, "blog")[n % 3]) for n, d in enumerate(documents)]
    with new_deduplicator(RULES[rule]) as deduplicator:
        index(deduplicator, documents)
        records = deduplicator.store.documents.get(d.id for d in documents)
        for record in records.values():
            leader = records[record.decision.group]
            if rule == "longest":
                lengths = [content_of(r.document, RULES[rule]).words for r in (leader, record)]
                assert lengths[0] >= lengths[1]
            else:
                names = [s.casefold() for s in (*SOURCES, "blog")]
                ranks = [
                    names.index((r.document.source or "").casefold()) for r in (leader, record)
                ]
                assert ranks[0] <= ranks[1]


def test_the_rule_is_kept_with_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'news.db'}"
    with Deduplicator.open(url) as deduplicator:
        index(deduplicator, [StoryVariant(0, day=1).document("a")])
        change_canonical_rule(deduplicator, RULES["ranking"])
    opened = open_store(url)
    assert (opened.settings.keep, opened.settings.keep_sources) == ("ranking", SOURCES)
    assert opened.maintenance.find_problems() == []
    opened.close()


def test_nothing_but_the_rule_can_be_changed() -> None:
    expected = pytest.raises(StoreError, match="only the canonical rule")
    with new_deduplicator() as deduplicator, expected:
        change_canonical_rule(deduplicator, replace(RULES["longest"], shingle_words=5))


def test_a_ranking_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sources.txt"
    file.write_text("# the best first\nAgency\n\npaper.example  # a paper\n", "utf-8")
    flags = {"keep": "ranking", "keep_sources": f"@{file}"}
    assert Settings.load(flags=flags, environment={}).keep_sources == SOURCES
    with pytest.raises(SettingsError, match="keep_sources"):
        Settings.load(flags={"keep": "ranking"}, environment={})
    with pytest.raises(SettingsError, match="cannot be read"):
        Settings.load(flags={**flags, "keep_sources": "@nowhere.txt"}, environment={})


# --- windows -----------------------------------------------------------------------------------


def test_a_source_goes_before_a_language() -> None:
    settings = replace(
        SETTINGS, candidate_window=1.0, candidate_windows=("tr=7", "source:Agency=30")
    )
    assert window_of(settings, "en", "blog") == DAY
    assert window_of(settings, "tr", "blog") == 7 * DAY
    assert window_of(settings, "tr", "agency") == 30 * DAY
    assert widest_window(settings) == 30 * DAY
    assert widest_window(replace(settings, candidate_windows=("tr=0",))) == 0


@pytest.mark.parametrize("entry", ["tr", "=7", "tr=week", "tr=-1", "tr=inf"])
def test_a_window_that_is_none(entry: str) -> None:
    with pytest.raises(SettingsError, match="write LANGUAGE=DAYS or source:NAME=DAYS"):
        replace(SETTINGS, candidate_windows=(entry,))


def windowed_links(
    documents: Sequence[Document], batches: Sequence[Sequence[int]]
) -> dict[str, Link]:
    settings = replace(
        SETTINGS, candidate_window=1.0, candidate_windows=("source:slow=3", "source:ever=0")
    )
    with new_deduplicator(settings) as deduplicator:
        for batch in batches:
            index(deduplicator, [documents[i] for i in batch])
        assert deduplicator.store.maintenance.find_problems() == []
        return links_of(deduplicator, documents)


@given(universes(st.integers(0, 9)), st.data())
@hypothesis_settings(max_examples=40)
def test_windows_give_the_same_groups_in_any_order(
    documents: list[Document], data: st.DataObject
) -> None:
    sources = st.sampled_from([None, "slow", "ever"])
    chosen = data.draw(st.lists(sources, min_size=len(documents), max_size=len(documents)))
    documents = with_sources(documents, chosen)
    order = data.draw(st.permutations(range(len(documents))))
    links = windowed_links(documents, [[i] for i in order])
    assert links == windowed_links(documents, [range(len(documents))])
    spans = {None: 1, "slow": 3, "ever": 99}
    when = {d.id: d.published for d in documents}
    for document in documents:
        link = links[document.id]
        if link.parent is not None:
            mine, theirs = when[document.id], when[link.parent]
            assert mine is not None
            assert theirs is not None
            apart = abs(mine - theirs)
            assert apart <= timedelta(days=spans[document.source])


def test_every_article_looks_as_far_back_as_its_own_window() -> None:
    texts = {
        id_: StoryVariant(0, day=day).document(id_, source=source)
        for id_, day, source in [("a", 0, None), ("b", 2, None), ("c", 2, "slow"), ("d", 9, "ever")]
    }
    links = windowed_links(list(texts.values()), [range(4)])
    groups = {i: link.group for i, link in links.items()}
    assert groups == {"a": "a", "b": "b", "c": "a", "d": "a"}
