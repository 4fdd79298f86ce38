"""What is no count: parts of names, scores and addresses; dates, times, ages and furniture."""

from __future__ import annotations

from collections.abc import Mapping

from esdedup.features.numbers.languages import (
    AGE_AFTER,
    AGE_BEFORE,
    AGO_AFTER,
    AGO_BEFORE,
    CLOCK_AFTER,
    CLOCK_BEFORE,
    CURRENCIES,
    DATE_JOINS,
    FRACTIONS,
    FURNITURE,
    IDEOGRAPH_DATES,
    LABELS,
    MONTHS,
    OLD_WORDS,
    PERCENT_BEFORE,
    PERCENT_FIRST,
    PERCENT_SECOND,
    PERCENT_WORDS,
    SHORT_LABELS,
    STREETS,
    TIME_UNITS,
    YEAR_UNITS,
    words,
)
from esdedup.features.numbers.reading import Number

COUNT = "count"
PERCENT = "percent"
MONEY = "money"


# Kind and currency by what stands in front: "$12", "EUR 12", "%42,9", "yüzde 42,9".
KIND_BEFORE: Mapping[str, tuple[str, str]] = {
    **{word: (MONEY, code) for word, code in CURRENCIES.items()},
    **dict.fromkeys(PERCENT_BEFORE, (PERCENT, "")),
}
_OF = words("de d di")
KINDS_AFTER = PERCENT_WORDS | PERCENT_FIRST | CURRENCIES.keys() | _OF


def kind_after(after: list[str]) -> tuple[str, str, int]:
    """Kind and currency by what stands behind, and the number of tokens that express them."""
    if not after or after[0] not in KINDS_AFTER:
        return COUNT, "", 0
    first = after[0]
    if first in PERCENT_WORDS:
        return PERCENT, "", 1
    if first in CURRENCIES:
        return MONEY, CURRENCIES[first], 1
    if len(after) > 1:
        second = after[1]
        if first in PERCENT_FIRST and second in PERCENT_SECOND:
            return PERCENT, "", 2
        if first in _OF and second in CURRENCIES:
            return MONEY, CURRENCIES[second], 2
    return COUNT, "", 0


# With a letter or digit before them these make a number a part of it.
JOINING_MARKS = "-–—/:.,+#@&=\\'’"


def is_part_of_something(folded: str, number: Number) -> bool:
    """Glued to a name, a score, a ratio, a time, an address: "F-16", "2-1", "1/5", "10:30"."""
    left, right = folded[number.start - 1], folded[number.end]
    if left == right == " ":
        return _is_among_digits(folded, number)
    if left in JOINING_MARKS and (left in "+#'’" or folded[number.start - 2].isalnum()):
        # "A magnitude-5.1 earthquake" is how agencies write it.
        return left != "-" or not folded.endswith("magnitude", 0, number.start - 1)
    following = folded[number.end + 1]
    if (right in "-–/:.@_\\" and following.isdigit()) or (right == "." and following.isalpha()):
        return True
    if left == "\n" and (right == "\n" or (right in ".)" and number.plain)):
        return True
    if left == "(" and right == ")":
        return len(number.value) < 3 or folded[number.end + 2].isdigit()
    return _is_among_digits(folded, number)


def _is_among_digits(folded: str, number: Number) -> bool:
    """Neighbouring runs of digits are telephone numbers, tables or page links."""
    start, end = number.start, number.end
    return folded[start].isdigit() and (
        (folded[end + 1].isdigit() and folded[end] in " \u00a0")
        or (folded[start - 2].isdigit() and folded[start - 1] in " \u00a0")
    )


def is_not_a_count(
    original: str, folded: str, number: Number, before: list[str], after: list[str]
) -> bool:
    """Dates, times, ages, names and page furniture, by the words next to the number."""
    previous = before[0] if before else "\n"
    following = after[0] if after else "\n"
    if not (
        previous in CUES_BEFORE
        or following in CUES_AFTER
        or previous[0] in "0123456789"
        or following[0] in "0123456789c"
        or len(number.value) == 4
        or (len(after) > 1 and after[1] in STREETS)
    ):
        return False
    if number.plain and (
        previous in LABELS
        or (previous == "." and before[1:2] != [] and before[1] in SHORT_LABELS)
        or _is_year(number.value, previous, following)
        or _is_date(original, folded, number, before, after)
        or following in FURNITURE
        or following.startswith("comment")
        or following in IDEOGRAPH_DATES
        or (len(after) > 1 and after[1] in STREETS)
    ):
        return True
    return (
        _is_clock_time(number, previous, after)
        or _is_age(previous, before, after)
        or _is_time_ago(before, after)
        or following in FRACTIONS
        or (previous == "of" and _is_page_of_pages(before))
    )


# Most counts have none of these beside them and need no further look.
CUES_BEFORE = LABELS | MONTHS | DATE_JOINS | CLOCK_BEFORE | AGE_BEFORE | AGO_BEFORE | frozenset(".")
CUES_AFTER = (
    FURNITURE
    | IDEOGRAPH_DATES
    | MONTHS
    | DATE_JOINS
    | CLOCK_AFTER
    | AGE_AFTER
    | YEAR_UNITS
    | TIME_UNITS
    | FRACTIONS
    | frozenset({"a", "p", "o", "."})
)
# Nouns that make a four-digit number a count and not a year.
COUNTED = words(
    "people persons cases deaths dead victims patients infections personnes cas morts décès "
    "menschen fälle tote personen personas casos muertos muertes kişi vaka ölü can hasta pessoas "
    "mortos persone casi morti mensen gevallen doden"
)
YEAR_BEFORE = words("in since by from during until of en depuis seit im año de desde dal sinds")


def is_in_years(value: str) -> bool:
    """Whether digits without a separator may be a year."""
    return len(value) == 4 and "-" not in value and "1500" <= value <= "2100"


def _is_year(value: str, previous: str, following: str) -> bool:
    if not is_in_years(value):
        return False
    if following in COUNTED and previous not in YEAR_BEFORE:
        return False
    # Before 1900 a year stands behind a preposition, a comma or a bracket.
    return value >= "1900" or previous in YEAR_BEFORE


def is_day(value: str) -> bool:
    """Whether digits without a separator may be a day of a month; of "3-5 May" the last."""
    day = value.rpartition("-")[2]
    return len(day) <= 2 and int(day) <= 31


def _is_date(
    original: str, folded: str, number: Number, before: list[str], after: list[str]
) -> bool:
    if not is_day(number.value):
        return False
    if _month_follows(after) and not _is_modal_may(original, folded, number, after):
        return True
    if before[:1] == ["."]:
        # "Sept. 12" is a date, "in September. 12 people" is not.
        return before[1:2] != [] and before[1] in _SHORT_MONTHS
    for token in before[:4]:
        if token in MONTHS:
            return True
        if token not in DATE_JOINS and not token[0].isdigit():
            return False
    return False


_SHORT_MONTHS = words("jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr juil déc")


def _month_follows(after: list[str]) -> bool:
    """ "12 March", "12 de marzo", "12. März", "12 and 13 March"."""
    for token in after[:3]:
        if token in MONTHS:
            return True
        if token not in DATE_JOINS and token != "." and not token[0].isdigit():
            return False
    return False


def _is_modal_may(original: str, folded: str, number: Number, after: list[str]) -> bool:
    """ "17 may have died": the month has a capital."""
    if after[0] != "may":
        return False
    position = folded.find("may", number.end)
    return original[position] == "m"


def _is_clock_time(number: Number, previous: str, after: list[str]) -> bool:
    if len(number.value) > 5:
        return False
    following = after[0] if after else ""
    if following in CLOCK_AFTER or previous in CLOCK_BEFORE:
        return True
    if following in {"a", "p"}:
        return "m" in after[1:3]
    return following == "o" and after[1:2] == ["clock"]


def _is_age(previous: str, before: list[str], after: list[str]) -> bool:
    following = after[0] if after else ""
    if following == ",":
        # "John Smith, 45, of Leeds"
        return previous == ","
    if previous in AGE_BEFORE or following in AGE_AFTER:
        return True
    if following in YEAR_UNITS:
        return (len(after) > 1 and after[1] in OLD_WORDS) or (
            len(before) > 1 and before[1] in AGE_BEFORE
        )
    return False


def _is_time_ago(before: list[str], after: list[str]) -> bool:
    """ "3 hours ago", "il y a 3 heures", "vor 3 Stunden", "5 min read"."""
    if not after or after[0] not in TIME_UNITS:
        return False
    if len(after) > 1 and after[1] in AGO_AFTER:
        return True
    return bool(before) and (before[0] in AGO_BEFORE or before[:3] == ["a", "y", "il"])


def _is_page_of_pages(before: list[str]) -> bool:
    return len(before) > 2 and before[1][0].isdigit() and before[2] in LABELS
