"""What every store promises: searches. The same tests run on each backend."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from esdedup.search.searcher import Searcher
from esdedup.stores import Store
from tests.stores.contract import FOLDS, put, record


@pytest.mark.parametrize(
    ("fold", "stories", "shown"),
    [
        ("none", 4, {"a", "b", "u", "z"}),
        ("group", 3, {"a", "u", "z"}),
        ("story", 2, {"a", "z"}),
    ],
)
def test_search_folds_and_counts_honestly(
    searchable_store: Store, fold: str, stories: int, shown: set[str]
) -> None:
    result = Searcher(searchable_store).search("flood", **FOLDS[fold])
    column: Callable[[str], str] = {
        "none": lambda id_: id_,
        "group": lambda id_: "a" if id_ == "b" else id_,
        "story": lambda id_: "z" if id_ == "z" else "a",
    }[fold]
    assert (result.total.stories, result.total.articles) == (stories, 4)
    assert {column(hit.document.id) for hit in result.hits} == shown
    assert sum(1 + (hit.copies or 0) for hit in result.hits) == 4, (
        "c does not match and is no copy here"
    )
    scores = [hit.score or 0.0 for hit in result.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_hit_tells_its_place(searchable_store: Store) -> None:
    (hit,) = Searcher(searchable_store).search("flood update", mode="all").hits
    assert (hit.document.id, hit.group, hit.story, hit.role) == ("u", "u", "a", "update")
    assert "dry" in hit.snippet


def test_search_words_and_phrases(searchable_store: Store) -> None:
    def ids(query: str) -> set[str]:
        return {
            hit.document.id for hit in Searcher(searchable_store).search(query, mode="all").hits
        }

    assert ids("tollmere flood") == {"a", "b", "u"}, "every word must occur"
    assert ids('"flood in tollmere"') == {"a", "b"}
    assert ids("FLOOD") == {"a", "b", "u", "z"}
    assert ids("unheard") == set()
    for harmless in ("", '"', "* OR title:", "NEAR(", "flood AND", 'a"b', "-", "^x"):
        Searcher(searchable_store).search(harmless)


def test_words_are_found_without_their_diacritics(store: Store) -> None:
    put(
        store,
        record("marked", text="Recep Tayyip Erdoğan flew to Łódź and to São Paulo"),
        record("plain", text="Mr Erdogan flew to Lodz"),
        record("other", text="Ergodan is another name"),
    )

    def ids(query: str) -> list[str]:
        return [hit.document.id for hit in Searcher(store).search(query, mode="all").hits]

    assert ids("erdogan") == ["plain", "marked"], "as typed goes before other forms"
    assert ids("ERDOGAN lodz") == ["plain", "marked"]
    assert ids("erdogan lodz paulo") == ["marked"]
    assert ids('"tayyip erdogan"') == ["marked"]
    assert ids("Erdoğan") == ["marked"], "who types diacritics means these"
    assert Searcher(store).search("erdogan", mode="all").total.articles == 2
    (hit,) = Searcher(store).search("sao", mode="all").hits
    assert "São" in hit.snippet


def test_search_folds_letters_and_reads_scripts_without_spaces(store: Store) -> None:
    put(
        store,
        record("tr", 1, text="İSTANBUL IŞIKLARI"),
        record("ja", 2, text="東京都は新しい計画を発表した"),
        record("fr", 3, text="L\N{RIGHT SINGLE QUOTATION MARK}ÉTÉ"),
    )
    for query, id_ in [("istanbul", "tr"), ("ışıkları", "tr"), ("計画", "ja"), ("été", "fr")]:
        assert [hit.document.id for hit in Searcher(store).search(query).hits] == [id_], query
    assert Searcher(store).search("画計").hits == ()


@pytest.mark.parametrize("fold", ["none", "group"])
def test_pages_neither_repeat_nor_lose(store: Store, fold: str) -> None:
    """Equal scores all along: only the tie-break keeps pages apart."""
    put(
        store,
        *(
            record(
                f"d{i:02d}",
                i // 3,
                text="same words",
                of=None if i % 3 == 0 else f"d{i - i % 3:02d}",
            )
            for i in range(30)
        ),
    )
    pages = [
        Searcher(store).search("same", **FOLDS[fold], size=4, offset=offset)
        for offset in range(0, 44, 4)
    ]
    shown = [hit.document.id for page in pages for hit in page.hits]
    expected = 30 if fold == "none" else 10
    assert len(shown) == len(set(shown)) == expected
    assert {page.total.stories for page in pages} == {expected}
    assert {page.total.articles for page in pages} == {30}
