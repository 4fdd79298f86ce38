"""The short ways of esdedup/numbers, bits of chunks and tables of pairs, by the plain rules."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from esdedup.features.numbers import extract_numbers
from esdedup.features.numbers.context import ChunkCache, ContextReader
from esdedup.features.numbers.context_flags import (
    JOINS,
    OPEN,
    QUIET_AFTER,
    QUIET_BEFORE,
    flags_after,
    flags_before,
    masks_of,
)
from esdedup.features.numbers.languages import lexicon_of, words
from esdedup.features.numbers.prefilter import pair_table, possible_starts
from esdedup.features.numbers.reading import Number
from esdedup.features.numbers.rules import KIND_BEFORE, is_not_a_count, kind_after
from tests.features.numbers.naive import number_contexts as naive_number_contexts

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


@settings(max_examples=800)
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
    met, told = flags_before(before[:1]), flags_after(after[:1])
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
        second = flags_after(after[1:2]) if len(after) > 1 else QUIET_AFTER
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
        common = 0xFFFF
        for table, letter in zip(filters, encoded[place : place + 4], strict=True):
            common &= table[letter]
        if common:
            expected.append(place)
    assert possible_starts(folded, pair_table(filters)) == expected


def test_languages_without_words_of_their_own_share_a_table() -> None:
    assert pair_table(lexicon_of("sv").filters) is pair_table(lexicon_of("ru").filters)


@pytest.mark.parametrize("word", ["people", "years", "street", "million", "march", "12th"])
def test_a_telling_word_is_not_quiet(word: str) -> None:
    around = ContextReader(lexicon_of("en"))
    assert (around.flags_before[word], around.flags_after[word]) != (QUIET_BEFORE, QUIET_AFTER)


@given(st.lists(st.sampled_from("abcdef")), st.integers(1, 4))
def test_what_is_remembered_is_right_and_bounded(chunks: list[str], most: int) -> None:
    remembered = ChunkCache(str.upper, most)
    for chunk in chunks:
        assert remembered[chunk] == chunk.upper()
        assert len(remembered) <= most


@given(st.lists(TELLING | st.text(max_size=4), max_size=12), st.integers(1, 3))
@example([".", "u", ".", "s", ".", "killed", "."], 1)
def test_small_tables_give_the_same_words(chunks: list[str], most: int) -> None:
    around, small = ContextReader(lexicon_of("en")), ContextReader(lexicon_of("en"), most)
    assert small.words_before(chunks) == around.words_before(chunks)
    assert small.words_after(chunks) == around.words_after(chunks)


# Words with which a number goes on over spaces, or seems to.
GOING_ON = st.sampled_from(
    sorted(
        words(
            """
            12 1 234 3.5 2-1 two hundred hundreds and five one a half dozen person persons million
            millions bn, on bin yüz üç beş milyon kişi deux cents mille personnes ( $ 400m % . x
            """
        )
    )
)


@settings(max_examples=400)
@given(st.lists(GOING_ON, max_size=12).map(" ".join), st.sampled_from(["en", "fr", "tr"]))
@example("two hundreds and five hundred and two people", "en")
@example("one person and one hundred and five one", "en")
@example("on iki bin 236 kişi bin 5 yüz", "tr")
@example("1 234 567 deux cents mille personnes", "fr")
def test_the_slow_judge_reads_the_same_over_spaces(text: str, lang: str) -> None:
    assert extract_numbers(text, lang) == naive_number_contexts(text, lang)


@pytest.mark.parametrize("lang", ["en", "de", "it"])
def test_words_with_other_beginnings_are_no_starts(lang: str) -> None:
    """Where the bits are enough, no word is let through by letters of two others."""
    lexicon = lexicon_of(lang)
    beginnings = {word[:2] for word in lexicon.values}
    for first, second, third in product("abcdefghijklmnopqrstuvwxyz", repeat=3):
        if possible_starts(f"\n{first}{second}{third}\n", pair_table(lexicon.filters)):
            assert first + second in beginnings


SENTENCES = st.lists(TELLING | st.sampled_from(["12", "1987", "2-1", "2-15", "two"]), max_size=30)


@settings(max_examples=300)
@given(SENTENCES.map(" ".join), st.sampled_from(["en", "de", "fr", "tr", None]))
@example("in 1987 " + "x" * 41 + " 12 " + "y" * 100, "en")
@example("mar and 2-1 the car", "en")
@example("march 12 " + "main/" * 9 + "rd 40 people", "en")
def test_the_slow_judge_finds_the_same_beside_telling_words(text: str, lang: str | None) -> None:
    assert extract_numbers(text, lang) == naive_number_contexts(text, lang)
