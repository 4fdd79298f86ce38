"""A number as it stands between two spaces ("$1.5bn", "(12)", "2-1"), read once.

News repeats its numbers: years, days, small counts and round sums. What the spaces hold decides
most of them; the rest ("12 million", "two hundred and five") is read in its place.
"""

from __future__ import annotations

from typing import NamedTuple

from esdedup.numbers.judging import JOINING_MARKS, KIND_BEFORE, MONEY, is_part_of_something
from esdedup.numbers.languages import MONEY_SUFFIXES, Lexicon, phrase
from esdedup.numbers.reading import (
    ALWAYS_MONEY,
    letters_at,
    read_number,
    read_suffix_and_scale,
)

# Longer chunks are addresses and identifiers, which do not come twice.
LONGEST_CHUNK = 24


class Reading(NamedTuple):
    """A number from the second character of a chunk on; no value where there is none to judge."""

    length: int
    value: str
    plain: bool
    # Up to three letters of the words behind the space with which the number may go on.
    openings: frozenset[str]

    def goes_on(self, letters: str) -> bool:
        """Whether the number may go on with these three letters behind the space."""
        openings = self.openings
        return letters in openings or letters[:2] in openings or letters[0] in openings


# Whatever follows.
NO_NUMBER = Reading(0, "", False, frozenset())


def read_chunk(chunk: str, lexicon: Lexicon) -> Reading | None:
    """Read a chunk and the character before it; None where its neighbours must be seen."""
    if chunk[0] in JOINING_MARKS:
        return None
    text = f"\n{chunk} \n\n\n"
    match = lexicon.number.match(text, 2)
    if match is None:
        return _opening(phrase(chunk[1:]), lexicon)
    goes_on = lexicon.scale_openings if match.lastindex == 1 else lexicon.continuations
    number = read_number(text, match, lexicon)
    if number is None:
        return Reading(match.end() - 2, "", False, goes_on)
    if is_part_of_something(text, number):
        return Reading(number.end - 2, "", False, goes_on)
    is_money = KIND_BEFORE.get(chunk[0], ("", ""))[0] == MONEY
    letters = letters_at(text, number.end)
    if letters in MONEY_SUFFIXES and letters not in ALWAYS_MONEY and not is_money:
        return None
    end = number.end
    read_suffix_and_scale(text, number, is_money, lexicon)
    # A scale within the chunk ("3bn") may have more behind it.
    if number.end > end or number.value == "1000":
        goes_on = lexicon.continuations
    return Reading(number.end - 2, number.value, number.plain, goes_on)


def _opening(words: str, lexicon: Lexicon) -> Reading:
    """What is no number by itself, and may be one with what follows: "one hundred", "one man"."""
    goes_on: frozenset[str] = frozenset()
    if words in lexicon.openings:
        goes_on |= lexicon.continuations
    if words in lexicon.not_alone:
        goes_on |= lexicon.people_openings
    return Reading(0, "", False, goes_on) if goes_on else NO_NUMBER
