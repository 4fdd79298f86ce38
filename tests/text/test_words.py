"""Stop words, stems and rarity per language, and the numbers words of a batch are known by."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
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


def test_words_that_drive_each_other_out_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two places for all words nearly every one is unseen again."""
    _give_places(monkeypatch, bits=1)
    batch = ["the bridges of the flood", "flood and fire, and the river", "bridge"]
    for _ in range(3):
        assert looked_up(batch, ["en"] * 3) == [naive(text, "en") for text in batch]


def test_after_some_turns_every_word_has_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    _give_places(monkeypatch, bits=10)
    batch = [" ".join(f"w{i}" for i in range(200))]
    for _ in range(50):
        assert looked_up(batch, ["en"]) == [naive(batch[0], "en")]
    monkeypatch.setattr(words, "term", None)  # nobody asks what a word is any more
    assert looked_up(batch, ["en"]) == [naive(batch[0], "en")]


def _give_places(monkeypatch: pytest.MonkeyPatch, *, bits: int) -> None:
    monkeypatch.setattr(words, "_PLACES", 1 << bits)
    monkeypatch.setattr(words, "_SHIFT", np.uint64(64 - bits))
    monkeypatch.setattr(words, "_SECOND_SHIFT", np.uint64(64 - 2 * bits))
    monkeypatch.setattr(words, "_IN_TABLE", np.uint64((1 << bits) - 1))
    monkeypatch.setattr(words, "_seen", {})


def test_a_full_memory_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_MOST_TERMS", 10)
    monkeypatch.setattr(words, "_seen", {})
    kept = read_terms(tokenise(["ferry fire"], BASE_MIXED), ["en"])
    for start in range(0, 200, 20):
        batch = [" ".join(f"w{i}" for i in range(start, start + 20))]
        assert looked_up(batch, ["en"]) == [naive(batch[0], "en")]
    assert len(words._seen[""]._stems) <= 10 + 21
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
