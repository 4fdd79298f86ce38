"""Context flags: what a chunk next to a number says about it, as bits computed once for a chunk.

A chunk is the text between two spaces. The flags of the chunk before a number and of the one behind
decide about most numbers: dates, years and pages are refused, and a number without a cue beside it
is a count. For the others `rules.py` looks at all the words around.

Flags and numbers read once for a chunk (`chunks.py`) are a second way to the same result: without
both, signing an article takes 5 to 20 % longer (BBC, Turkish news and SpotSigs, 181 to 318 µs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from esdedup.features.numbers.languages import (
    AGE_AFTER,
    CLOCK_AFTER,
    CLOCK_BEFORE,
    FRACTIONS,
    FURNITURE,
    IDEOGRAPH_DATES,
    LABELS,
    MONTHS,
    STREETS,
    Lexicon,
)
from esdedup.features.numbers.rules import (
    COUNTED,
    CUES_AFTER,
    CUES_BEFORE,
    JOINS_AFTER,
    JOINS_BEFORE,
    KIND_BEFORE,
    KINDS_AFTER,
    YEAR_BEFORE,
    is_day,
    is_in_years,
)

# On either side.
ALWAYS = 1
KIND = 1 << 1  # a currency or a percent sign
UNKNOWN = 1 << 2  # without a word
CUE = 1 << 3  # may make a number something else than a count
JOINS = 1 << 4  # no more than a hint at the day of a month: "12 and 13 March"
STREET = 1 << 5
MONTH = 1 << 6
CLOCK = 1 << 7
# Before a number.
LABEL = 1 << 8
IN_YEAR = 1 << 9
# Behind a number.
FURNISHED = 1 << 8
NEVER = 1 << 9  # an age or a fraction, whatever the number
NOT_COUNTED = 1 << 10  # no noun that makes a count of a four-digit number
# How a number may go on behind a space.
DIGITS = 1 << 11
SCALE = 1 << 12
WORD = 1 << 13
PERSON = 1 << 14

# Of a word that is no cue.
QUIET_BEFORE = ALWAYS
QUIET_AFTER = ALWAYS | NOT_COUNTED

# What the first words beside a number are must be known to refuse it.
OPEN = KIND | UNKNOWN
_DOUBTS = KIND | UNKNOWN | CUE | STREET

# Cues that are more than a join.
_MORE_BEFORE = CUES_BEFORE - JOINS_BEFORE
_MORE_AFTER = CUES_AFTER - JOINS_AFTER
_FURNITURE = FURNITURE | IDEOGRAPH_DATES
_NEVER_COUNTED = AGE_AFTER | FRACTIONS
_ASCII_DIGITS = frozenset("0123456789")


def flags_before(tokens: Sequence[str]) -> int:
    """The bits of a chunk before a number, by its last word."""
    if not tokens:
        return ALWAYS | UNKNOWN
    return _flags_of_word(tokens[-1], _BEFORE, QUIET_BEFORE)


def flags_after(tokens: Sequence[str]) -> int:
    """The bits of a chunk behind a number, by its first word."""
    if not tokens:
        return ALWAYS | UNKNOWN
    token = tokens[0]
    flags = _flags_of_word(token, _AFTER, QUIET_AFTER)
    if token.startswith("comment"):
        flags |= CUE | FURNISHED
    # The name of a street stands before it.
    return flags if STREETS.isdisjoint(tokens) else flags | STREET


def _flags_of_word(token: str, table: Mapping[str, int], quiet: int) -> int:
    flags = table.get(token, quiet)
    return flags | CUE if token[0] in _ASCII_DIGITS else flags


# The flags of all words that are cues.
_BEFORE = {
    token: ALWAYS
    | KIND * (token in KIND_BEFORE)
    | JOINS * (token in JOINS_BEFORE)
    | CUE * (token in _MORE_BEFORE)
    | MONTH * (token in MONTHS)
    | CLOCK * (token in CLOCK_BEFORE)
    | LABEL * (token in LABELS)
    | IN_YEAR * (token in YEAR_BEFORE)
    for token in CUES_BEFORE | KIND_BEFORE.keys() | YEAR_BEFORE
}
_AFTER = {
    token: ALWAYS
    | KIND * (token in KINDS_AFTER)
    | JOINS * (token in JOINS_AFTER)
    | CUE * (token in _MORE_AFTER)
    # "17 may have died": a look at the capital is needed.
    | MONTH * (token in MONTHS and token != "may")
    | CLOCK * (token in CLOCK_AFTER)
    | FURNISHED * (token in _FURNITURE)
    | NEVER * (token in _NEVER_COUNTED)
    | NOT_COUNTED * (token not in COUNTED)
    for token in CUES_AFTER | KINDS_AFTER | COUNTED
}


def continuation_flags(opening: str, lexicon: Lexicon) -> int:
    """Which numbers may go on with a chunk that begins with these three characters."""
    beginnings = {opening[:length] for length in (1, 2, 3)}
    return (
        DIGITS * opening[:1].isdigit()
        | SCALE * (not lexicon.scale_openings.isdisjoint(beginnings))
        | WORD * (not lexicon.continuations.isdisjoint(beginnings))
        | PERSON * (not lexicon.people_openings.isdisjoint(beginnings))
    )


class Masks(NamedTuple):
    """The bits that decide about a number: each of them alone, where nothing is `OPEN`."""

    refused_before: int
    refused_after: int
    # With none of these on either side a number is a count.
    doubts: int


# Of what is not judged.
NO_MASKS = Masks(0, 0, 0)


@lru_cache(maxsize=1 << 12)
def masks_of(value: str, plain: bool) -> Masks:
    """Which words refuse this number, and which raise doubts, by the rules of `is_not_a_count`."""
    if not value:
        return NO_MASKS
    before, after, doubts = 0, NEVER, _DOUBTS
    if len(value) <= 5:
        before, after = before | CLOCK, after | CLOCK
    if plain:
        before, after = before | LABEL, after | FURNISHED
        if is_day(value):
            before, after = before | MONTH, after | MONTH
        if is_in_years(value):
            before |= IN_YEAR
            after |= NOT_COUNTED if value >= "1900" else 0
    if len(value) < 3 or "-" in value:
        doubts |= JOINS
    if len(value) == 4 and "-" in value:
        doubts |= ALWAYS  # "2-15" may be days
    return Masks(before, after, doubts)
