"""200 random queries against a judge that reads everything: every matching story exactly once over
all pages, in the right order, and the exact total; on all stores, by every way of paging."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import pytest

from esdedup import Query, Searcher
from esdedup.model.queries import By
from esdedup.model.results import StoryPage
from tests.search.corpus import DAY, Judge, is_sorted, put, random_corpus, random_query
from tests.support.backends import Backend

QUERIES = 200


@pytest.mark.parametrize("by", ["group", "story"])
def test_every_story_once_in_order_with_the_exact_total(
    persistent_backend: Backend, by: By
) -> None:
    records = random_corpus(seed=1 if by == "group" else 2, size=300)
    searcher = Searcher(put(persistent_backend.open(), *records))
    judge = Judge(records)
    by_id = {record.document.id: record for record in records}
    pick = random.Random(3)
    found = 0
    for number in range(QUERIES // 2):
        query = random_query(pick)
        ranked = every_article(searcher, query)
        assert set(ranked) == {r.document.id for r in judge.matching(query)}, query
        assert is_sorted([by_id[id_] for id_ in ranked], query), query
        right = judge.folded(ranked, by)
        stories = judge.stories(query, by)
        assert len(right) == len(stories)
        found += len(right)
        pages = list(every_page(searcher, query, by, pick.randrange(5, 60)))
        shown = [hit.id for page in pages for hit in page.hits]
        assert shown == right, query
        for page in pages:
            assert (page.total.stories, page.total.articles) == (len(stories), len(ranked))
            assert page.total.exact
        for hit in pages[0].hits[:3]:
            story = hit.group if by == "group" else hit.story
            assert hit.copies == judge.copies(query, by, str(story)), query
        estimated = searcher.search(query, by=by, size=3)
        assert estimated.total.stories == len(stories), "below the threshold it is exact as well"
        size = pick.randrange(2, 40)
        deep = [
            hit.id for page in searcher.pages(query, by=by, size=size, total="none", copies=False)
            for hit in page.hits
        ]  # fmt: skip
        assert deep == right, query
        if number % 4 == 0:
            cursors = [hit.id for page in by_cursor(searcher, query, by, size) for hit in page.hits]
            assert cursors == right, query
    assert found > QUERIES


def every_article(searcher: Searcher, query: Query) -> list[str]:
    """All that match, in their order."""
    pages = searcher.pages(query, mode="all", size=500, total="none")
    return [hit.id for page in pages for hit in page.hits]


def every_page(searcher: Searcher, query: Query, by: By, size: int) -> Iterator[StoryPage]:
    offset = 0
    while True:
        page = searcher.search(
            query, mode="collapse", by=by, size=size, offset=offset, total="exact"
        )
        yield page
        offset += size
        if len(page.hits) < size:
            return


def by_cursor(searcher: Searcher, query: Query, by: By, size: int) -> Iterator[StoryPage]:
    page = searcher.search(query, by=by, size=size, deep=True, total="none", copies=False)
    yield page
    while page.cursor is not None:
        page = searcher.search(
            query, by=by, size=size, cursor=page.cursor, total="none", copies=False
        )
        yield page


def test_canonical_pages_are_the_originals_and_updates_that_match(
    persistent_backend: Backend,
) -> None:
    records = random_corpus(seed=4, size=200)
    searcher = Searcher(put(persistent_backend.open(), *records))
    judge = Judge(records)
    pick = random.Random(5)
    for _ in range(40):
        query = random_query(pick)
        matching = judge.matching(query)
        for by, hidden in (("group", ("duplicate",)), ("story", ("duplicate", "update"))):
            right = {r.document.id for r in matching if r.decision.role not in hidden}
            shown: list[str] = []
            size = pick.randrange(3, 60)
            for offset in range(0, len(right) + size, size):
                page = searcher.search(query, mode="canonical", by=by, size=size, offset=offset)
                assert (page.total.stories, page.total.articles) == (len(right), len(matching))
                assert page.total.exact
                shown += [hit.id for hit in page.hits if hit.matched]
            assert len(shown) == len(right)
            assert set(shown) == right
            deep = searcher.pages(query, mode="canonical", by=by, size=size)
            assert {hit.id for page in deep for hit in page.hits} == right


def test_under_a_window_the_same_story_later_is_new(persistent_backend: Backend) -> None:
    records = random_corpus(seed=6, size=150)
    searcher = Searcher(put(persistent_backend.open(), *records))
    judge = Judge(records)
    pick = random.Random(7)
    parted = 0
    for _ in range(20):
        query, days = random_query(pick), pick.choice((1, 3, 30))
        episodes = judge.episodes("group", days * DAY)
        ranked = every_article(searcher, query)
        first: dict[tuple[str, int], str] = {}
        for id_ in ranked:
            first.setdefault(episodes[id_], id_)
        right = list(first.values())
        parted += len(right) - len(judge.folded(ranked, "group"))
        window = timedelta(days=days)
        shown = []
        for offset in range(0, len(right) + 7, 7):
            page = searcher.search(query, window=window, size=7, offset=offset)
            assert (page.total.stories, page.total.exact) == (len(right), True)
            for hit in page.hits:
                shown.append(hit.id)
                same = [i for i in ranked if episodes[i] == episodes[hit.id]]
                assert hit.copies == len(same) - 1
        assert shown == right
        pages = searcher.pages(query, window=window, size=9, copies=False)
        assert [hit.id for page in pages for hit in page.hits] == right
    assert parted > 20, "or the window was never put to the test"
