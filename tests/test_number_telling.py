"""The short ways of esdedup/numbers, bits of chunks and tables of pairs, by the plain rules."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from esdedup.numbers import number_contexts
from esdedup.numbers.judging import KIND_BEFORE, is_not_a_count, kind_after
from esdedup.numbers.languages import lexicon_of, words
from esdedup.numbers.reading import Number
from esdedup.numbers.starts import pair_table, possible_starts
from esdedup.numbers.surroundings import Surroundings
from esdedup.numbers.telling import (
    JOINS,
    OPEN,
    QUIET_AFTER,
    QUIET_BEFORE,
    masks_of,
    tells_after,
    tells_before,
)
from tests.naive_numbers import number_contexts as naive_number_contexts

# Words that tell each of the things there are to tell, and some that tell nothing.
WORDS = words(
    """
    in since of by de from march may mar mart sept . , and to und page no flight copyright um saat
    aged $ eur % yüzde people cases fälle killed comments commenting share 年 uhr am pm a p m o
    clock years year old hours ago vor hace il y third quarters jährige percent per pour cent euros
    street rd main highway 5 12 ² ; : the runway car
    """
)
TELLING = st.sampled_from([*sorted(WORDS), "\n"])
TOKENS = st.lists(TELLING, max_size=4)
VALUES = st.one_of(
    st.integers(0, 3000).map(str),
    st.sampled_from(
        ["2-1", "2-15", "10-5", "10-15", "1.5", "12.5", "123456", "1499", "1500", "2100"]
    ),
)


@settings(max_examples=2000)
@given(VALUES, st.booleans(), TOKENS, TOKENS)
@example("1987", True, ["in"], ["people"])
@example("1899", True, ["by"], ["the"])
@example("12", True, ["march"], [","])
@example("2-15", True, ["²", "march"], ["people"])
@example("12", True, ["the"], ["main", "street"])
def test_bits_never_say_other_than_the_rules(
    value: str, plain: bool, before: list[str], after: list[str]
) -> None:
    """`before` and `after` are nearest first, each of them a chunk of its own."""
    plain = plain and "." not in value
    met, told = tells_before(before[:1]), tells_after(after[:1])
    if (met | told) & OPEN:
        return  # judged in full
    assert before[0] not in KIND_BEFORE
    assert kind_after(after)[2] == 0
    text = f"\n{' '.join(before[::-1])} {value} {' '.join(after)}\n\n\n"
    start = text.index(f" {value} ") + 1
    number = Number(value, start, start + len(value), plain)
    refused = is_not_a_count(text, text, number, before, after)
    masks = masks_of(value, plain)
    if met & masks.refused_before or told & masks.refused_after:
        assert refused
    elif not (met | told) & masks.doubts and not met & told & JOINS:
        second = tells_after(after[1:2]) if len(after) > 1 else QUIET_AFTER
        assert not refused or second != QUIET_AFTER


@given(st.text(), st.sampled_from(["en", "de", "tr", "fr", "zh", ""]))
@example("one of the two hundred and five; 12 ‘Beş’ üç’ü", "tr")
@example("", "en")
def test_pairs_find_what_the_filters_let_pass(text: str, lang: str) -> None:
    filters = lexicon_of(lang).filters
    folded = f"\n{text}\n\n\n"
    encoded = folded.encode("latin-1", "replace")
    expected = []
    for place in range(len(encoded) - 3):
        common = 0xFF
        for table, letter in zip(filters, encoded[place : place + 4], strict=True):
            common &= table[letter]
        if common:
            expected.append(place)
    assert possible_starts(folded, pair_table(filters)) == expected


def test_languages_without_words_of_their_own_share_a_table() -> None:
    assert pair_table(lexicon_of("sv").filters) is pair_table(lexicon_of("ru").filters)


@given(TOKENS)
def test_a_word_in_the_table_of_quiet_ones_is_quiet(chunks: list[str]) -> None:
    around, fresh = Surroundings(lexicon_of("en")), Surroundings(lexicon_of("en"))
    around.words_after(chunks)
    for chunk in chunks:
        assert around.tells_after(chunk) == fresh.tells_after(chunk)
        assert around.tells_before(chunk) == fresh.tells_before(chunk)


@pytest.mark.parametrize("word", ["people", "years", "street", "million", "march", "12th"])
def test_a_telling_word_is_not_quiet(word: str) -> None:
    around = Surroundings(lexicon_of("en"))
    around.words_after([word])
    assert (around.tells_before(word), around.tells_after(word)) != (QUIET_BEFORE, QUIET_AFTER)


SENTENCES = st.lists(TELLING | st.sampled_from(["12", "1987", "2-1", "2-15", "two"]), max_size=30)


@settings(max_examples=500)
@given(SENTENCES.map(" ".join), st.sampled_from(["en", "de", "fr", "tr", None]))
@example("in 1987 " + "x" * 41 + " 12 " + "y" * 100, "en")
@example("mar and 2-1 the car", "en")
@example("march 12 " + "main/" * 9 + "rd 40 people", "en")
def test_the_slow_judge_finds_the_same_beside_telling_words(text: str, lang: str | None) -> None:
    assert number_contexts(text, lang) == naive_number_contexts(text, lang)
