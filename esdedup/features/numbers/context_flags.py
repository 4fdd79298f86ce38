"""What the chunks next to a number tell, as bits that are worked out once for a chunk.

A chunk is the text between two spaces. Most numbers are judged by the bits of the chunk before
them and of the one behind: dates, years and pages are refused, and a number with nothing telling
beside it is a count. Only the rest is judged by all the words around it (`judging.py`).
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
    JOINS_AFTER,
    JOINS_BEFORE,
    KIND_BEFORE,
    KINDS_AFTER,
    TELLING_AFTER,
    TELLING_BEFORE,
    YEAR_BEFORE,
    is_day,
    is_in_years,
)

# On either side.
ALWAYS = 1
KIND = 1 << 1  # a currency or a percent sign
UNKNOWN = 1 << 2  # without a word
TELLS = 1 << 3  # may make a number something else than a count
JOINS = 1 << 4  # tells no more than that a day of a month may stand here: "12 and 13 March"
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

# Of a word that tells nothing.
QUIET_BEFORE = ALWAYS
QUIET_AFTER = ALWAYS | NOT_COUNTED

# What the first words beside a number are must be known to refuse it.
OPEN = KIND | UNKNOWN
_DOUBTS = KIND | UNKNOWN | TELLS | STREET

# What tells more than a join.
_MORE_BEFORE = TELLING_BEFORE - JOINS_BEFORE
_MORE_AFTER = TELLING_AFTER - JOINS_AFTER
_FURNITURE = FURNITURE | IDEOGRAPH_DATES
_NEVER_COUNTED = AGE_AFTER | FRACTIONS
_ASCII_DIGITS = frozenset("0123456789")


def tells_before(tokens: Sequence[str]) -> int:
    """The bits of a chunk before a number, by its last word."""
    if not tokens:
        return ALWAYS | UNKNOWN
    return _told(tokens[-1], _BEFORE, QUIET_BEFORE)


def tells_after(tokens: Sequence[str]) -> int:
    """The bits of a chunk behind a number, by its first word."""
    if not tokens:
        return ALWAYS | UNKNOWN
    token = tokens[0]
    told = _told(token, _AFTER, QUIET_AFTER)
    if token.startswith("comment"):
        told |= TELLS | FURNISHED
    # The name of a street stands before it.
    return told if STREETS.isdisjoint(tokens) else told | STREET


def _told(token: str, table: Mapping[str, int], quiet: int) -> int:
    told = table.get(token, quiet)
    return told | TELLS if token[0] in _ASCII_DIGITS else told


# The bits of all words that tell something.
_BEFORE = {
    token: ALWAYS
    | KIND * (token in KIND_BEFORE)
    | JOINS * (token in JOINS_BEFORE)
    | TELLS * (token in _MORE_BEFORE)
    | MONTH * (token in MONTHS)
    | CLOCK * (token in CLOCK_BEFORE)
    | LABEL * (token in LABELS)
    | IN_YEAR * (token in YEAR_BEFORE)
    for token in TELLING_BEFORE | KIND_BEFORE.keys() | YEAR_BEFORE
}
_AFTER = {
    token: ALWAYS
    | KIND * (token in KINDS_AFTER)
    | JOINS * (token in JOINS_AFTER)
    | TELLS * (token in _MORE_AFTER)
    # "17 may have died": a look at the capital is needed.
    | MONTH * (token in MONTHS and token != "may")
    | CLOCK * (token in CLOCK_AFTER)
    | FURNISHED * (token in _FURNITURE)
    | NEVER * (token in _NEVER_COUNTED)
    | NOT_COUNTED * (token not in COUNTED)
    for token in TELLING_AFTER | KINDS_AFTER | COUNTED
}


def goes_on_with(opening: str, lexicon: Lexicon) -> int:
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
