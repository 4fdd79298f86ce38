"""Stop words, stems and rarity per language, and the numbers words of a batch are known by."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.text import words
from esdedup.text.hashing import BASE_MIXED
from esdedup.text.tokens import tokenise
from esdedup.text.words import RAREST, Language, Term, is_known, language, primary_code, read_terms
from tests.methods import reference


def test_a_word_of_english() -> None:
    english = language("en")
    assert english.term("the") == Term("the", 127, is_stop=True)
    assert english.term("bridges") == Term("bridg", english.rarities["bridg"], is_stop=False)
    assert english.term("bridge").rarity == english.term("bridges").rarity
    assert english.term("capybara").rarity == RAREST


@pytest.mark.parametrize("code", ["en", "fr", "de", "es", "tr"])
def test_languages_of_news_have_all_three(code: str) -> None:
    known = language(code)
    assert len(known.stop_words) > 100
    assert len(known.rarities) > 8_000
    assert known.stem is not str
    assert all(
        isinstance(rarity, int) and 0 < rarity < RAREST for rarity in known.rarities.values()
    )


def test_contractions_are_stop_words_by_their_parts() -> None:
    assert {"s", "t", "ll", "re"} <= language("en").stop_words
    assert {"l", "d", "qu"} <= language("fr").stop_words
    assert not any("'" in word or not word for word in language("en").stop_words)


def test_tables_are_folded_as_texts_are() -> None:
    assert "için" in language("tr").stop_words
    assert not any("ı" in word for word in language("tr").stop_words)
    assert not any("ß" in stem for stem in language("de").rarities)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("en-GB", "en"),
        ("EN_us", "en"),
        ("no", "nb"),
        (None, ""),
        ("", ""),
        ("../../etc", ""),
        ("english", ""),
        ("日本", ""),
    ],
)
def test_codes_of_languages(code: str | None, expected: str) -> None:
    assert primary_code(code) == expected


@pytest.mark.parametrize("code", ["zz", "us", "", "tlh"])
def test_an_unknown_language_has_no_statistics(code: str) -> None:
    assert not is_known(code)
    assert language(code).term("running") == Term("running", RAREST, is_stop=False)


VOCABULARY = [
    "the",
    "and",
    "bridges",
    "bridge",
    "Bridge's",
    "flood",
    "2024",
    "İstanbul",
    "東京",
    "x",
]
texts = st.lists(st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join), max_size=5)


def naive(text: str, code: str) -> list[tuple[str, int, bool]]:
    found = [language(code).term(word) for word in reference.words(text)]
    return [(term.stem, term.rarity, term.is_stop) for term in found]


def looked_up(batch: Sequence[str], codes: Sequence[str]) -> list[list[tuple[str, int, bool]]]:
    tokens = tokenise(batch, BASE_MIXED)
    found = read_terms(tokens, codes)
    flat = [
        (found.stems[number], int(found.rarities[number]), bool(stop))
        for number, stop in zip(found.numbers.tolist(), found.is_stop.tolist(), strict=True)
    ]
    assert [words.name_hash(stem) for stem, _, _ in flat] == found.hashes[found.numbers].tolist()
    first = tokens.first.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(first)]


@given(texts, st.randoms(use_true_random=False))
@hypothesis_settings(max_examples=100, deadline=None)
def test_terms_of_a_batch_are_the_naive_ones(batch: list[str], random: object) -> None:
    codes = [random.choice(["en", "tr", "", "zz"]) for _ in batch]  # type: ignore[attr-defined]  # the strategy has it
    expected = [naive(text, code) for text, code in zip(batch, codes, strict=True)]
    assert looked_up(batch, codes) == expected


def test_a_full_table_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_MOST_WORDS", 10)
    monkeypatch.setattr(words, "_seen", {})
    kept = read_terms(tokenise(["ferry fire"], BASE_MIXED), ["en"])
    for start in range(0, 200, 20):
        batch = [" ".join(f"w{i}" for i in range(start, start + 20))]
        assert looked_up(batch, ["en"]) == [naive(batch[0], "en")]
    assert len(words._seen[""]._by_word) <= 10 + 20
    assert [kept.stems[n] for n in kept.numbers.tolist()] == ["ferri", "fire"]


def test_more_words_than_the_tables_hold_at_first() -> None:
    batch = [" ".join(f"q{i}z" for i in range(9_000))]
    assert looked_up(batch, [""]) == [naive(batch[0], "")]


def test_no_words() -> None:
    assert looked_up(["", "?!"], ["en", ""]) == [[], []]
    assert looked_up([], []) == []


def test_a_language_of_one_s_own() -> None:
    own = Language(frozenset({"uh"}), {"lo": 250}, str)
    assert own.term("lo") == Term("lo", 250, is_stop=False)
    assert own.term("uh") == Term("uh", RAREST, is_stop=True)
