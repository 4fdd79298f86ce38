"""A number as it stands between two spaces ("$1.5bn", "(12)", "2-1"), read once.

News repeats its numbers: years, days, small counts and round sums. What the spaces hold decides
most of them; of those that go on ("12 million", "two hundred and five") the chunks are read
together. Only what its neighbours decide is read in its place.
"""

from __future__ import annotations

from typing import NamedTuple

from esdedup.features.numbers.context_flags import DIGITS, NO_MASKS, PERSON, SCALE, WORD, masks_of
from esdedup.features.numbers.languages import MONEY_SUFFIXES, Lexicon, phrase
from esdedup.features.numbers.reading import (
    ALWAYS_MONEY,
    letters_at,
    read_number,
    read_suffix_and_scale,
)
from esdedup.features.numbers.rules import JOINING_MARKS, KIND_BEFORE, MONEY, is_part_of_something

# Longer chunks are addresses and identifiers, which do not come twice.
LONGEST_CHUNK = 24


class Reading(NamedTuple):
    """A number from the second character of a chunk on; no value where there is none to judge."""

    length: int
    value: str
    plain: bool
    # Bits of the chunk behind the space with which the number may go on.
    goes_on: int
    refused_before: int
    refused_after: int
    doubts: int


# Whatever follows.
NO_NUMBER = Reading(0, "", False, 0, *NO_MASKS)


def _without_value(length: int, goes_on: int) -> Reading:
    return Reading(length, "", False, goes_on, *NO_MASKS)


def read_chunk(chunk: str, lexicon: Lexicon) -> Reading | None:
    """Read a chunk, or several, and the character before; None where neighbours must be seen."""
    if chunk[0] in JOINING_MARKS:
        return None
    text = f"\n{chunk} \n\n\n"
    match = lexicon.number.match(text, 2)
    if match is None:
        return _read_opening(phrase(chunk[1:]), lexicon)
    goes_on = DIGITS | (SCALE if match.lastindex == 1 else WORD)
    number = read_number(text, match, lexicon)
    if number is None:
        return _without_value(match.end() - 2, goes_on)
    if is_part_of_something(text, number):
        return _without_value(number.end - 2, goes_on)
    is_money = KIND_BEFORE.get(chunk[0], ("", ""))[0] == MONEY
    letters = letters_at(text, number.end)
    if letters in MONEY_SUFFIXES and letters not in ALWAYS_MONEY and not is_money:
        return None
    end = number.end
    read_suffix_and_scale(text, number, is_money, lexicon)
    # A scale within the chunk ("3bn") may have more behind it.
    if number.end > end or number.value == "1000":
        goes_on = DIGITS | WORD
    length, value, plain = number.end - 2, number.value, number.plain
    return Reading(length, value, plain, goes_on, *masks_of(value, plain))


def _read_opening(words: str, lexicon: Lexicon) -> Reading:
    """What is no number by itself, and may be one with what follows: "one hundred", "one man"."""
    goes_on = WORD * (words in lexicon.openings) | PERSON * (words in lexicon.not_alone)
    return _without_value(0, DIGITS | goes_on) if goes_on else NO_NUMBER
