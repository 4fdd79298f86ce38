"""Casing, words and the guess of the language; `methods/test_reference.py` has the hashes."""

from __future__ import annotations

import sys

import pytest

from esdedup.text.fulltext import select_unmarked
from esdedup.text.hashing import BASE_MIXED
from esdedup.text.tokens import guess_language, tokenise


def same_words(a: str, b: str) -> bool:
    tokens = tokenise([a, b], BASE_MIXED)
    middle = tokens.first[1]
    return bool(tokens.hashes[:middle].tolist() == tokens.hashes[middle:].tolist() and middle)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("İSTANBUL IŞIK", "istanbul ışık"),
        ("Isparta", "ısparta"),
        ("i\u0307stanbul", "İstanbul"),
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("cafe\u0301", "CAFÉ"),
        ("ﬁnance", "Finance"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("love ❤\ufe0f love", "love ❤ love"),
        ("don\u2019t — stop…", "don t stop"),
        ("東京都", "東 京、都"),
    ],
)
def test_the_same_words(one: str, other: str) -> None:
    assert same_words(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("resume", "résumé"), ("co-operate", "cooperate"), ("ab", "a b"), ("1", "١")]
)
def test_other_words(one: str, other: str) -> None:
    assert not same_words(one, other)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("… — !", 0),
        ("❤\ufe0f 👩\u200d👧", 0),
        ("\ud800\udc00", 0),
        ("snake_case", 2),
        ("3,400.5", 3),
        ("ไทย", 3),
        ("漢字かな", 4),
        ("한국어 뉴스", 2),
        ("हिन्दी", 1),
        ("x" * 256, 1),
        ("x" * 257, 2),
        ("x" * 10_000, 40),
    ],
)
def test_counting_words(text: str, count: int) -> None:
    assert tokenise(["before", text, "after"], BASE_MIXED).count(1) == count


def test_only_one_letter_grows_in_lower_case() -> None:
    """What numbers.py counts on: positions in the lower-case text are positions in the text."""
    letters = map(chr, range(sys.maxunicode + 1))
    assert [c for c in letters if len(c.lower()) != 1] == ["İ"]


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("The mayor of the town said that the river was high.", "en"),
        ("Les habitants des villages sont dans une école pour la nuit.", "fr"),
        ("Der Fluss ist nicht mehr zu halten, und die Brücke wurde gesperrt.", "de"),
        ("Bu sabah bir maden ocağında göçük oldu ve çok sayıda işçi için arama sürüyor.", "tr"),
        ("Los vecinos del pueblo han sido evacuados por la crecida, que fue grande.", "es"),
        ("東京都は新しい計画を発表した", None),
        ("Tollmere", None),
        ("", None),
    ],
)
def test_guess_of_the_language(text: str, lang: str | None) -> None:
    assert guess_language(text) == lang


def test_only_parts_with_diacritics_are_selected_without_them() -> None:
    text = "Mr Recep Tayyip Erdoğan flew to Łódź. He slept well."
    assert select_unmarked(text) == ["tayyip erdogan flew to lodz he"]
    assert select_unmarked("Plain words in ASCII") == []
    assert select_unmarked("Москва 東京") == [], "nobody types these in ASCII"
