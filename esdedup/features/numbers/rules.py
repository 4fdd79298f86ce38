"""What is no count: parts of names, scores and addresses; dates, times, ages and furniture."""

from __future__ import annotations

from esdedup.features.numbers.languages import (
    COUNT,
    IDEOGRAPH_DATES,
    MONEY,
    PERCENT,
    Lexicon,
    words,
)
from esdedup.features.numbers.reading import Number

_OF = words("de d di")


def kind_before(word: str, lexicon: Lexicon) -> tuple[str, str] | None:
    """Kind and currency by what stands in front: "$12", "EUR 12", "%42,9", "yüzde 42,9"."""
    if word in lexicon.currencies:
        return MONEY, lexicon.currencies[word]
    return (PERCENT, "") if lexicon.has("percent_before", word) else None


def kind_after(after: list[str], lexicon: Lexicon) -> tuple[str, str, int]:
    """Kind and currency by what stands behind, and the number of tokens that express them."""
    if not after:
        return COUNT, "", 0
    first = after[0]
    if lexicon.has("percent_words", first):
        return PERCENT, "", 1
    if first in lexicon.currencies:
        return MONEY, lexicon.currencies[first], 1
    if len(after) > 1:
        second = after[1]
        if lexicon.has("percent_first", first) and lexicon.has("percent_second", second):
            return PERCENT, "", 2
        if first in _OF and second in lexicon.currencies:
            return MONEY, lexicon.currencies[second], 2
    return COUNT, "", 0


# With a letter or digit before them these make a number a part of it.
JOINING_MARKS = "-–—/:.,+#@&=\\'’"


def is_part_of_something(folded: str, number: Number) -> bool:
    """Glued to a name, a score, a ratio, a time, an address: "F-16", "2-1", "1/5", "10:30"."""
    left, right = folded[number.start - 1], folded[number.end]
    if left == right == " ":
        return _is_among_digits(folded, number)
    # An apostrophe behind a letter is that of an article: "l'11 novembre".
    is_elided = left in "'’" and folded[number.start - 2].isalpha()
    if (
        left in JOINING_MARKS
        and not is_elided
        and (left in "+#'’" or folded[number.start - 2].isalnum())
    ):
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
    original: str,
    folded: str,
    number: Number,
    before: list[str],
    after: list[str],
    lexicon: Lexicon,
) -> bool:
    """Dates, times, ages, names and page furniture, by the words next to the number."""
    previous = before[0] if before else "\n"
    following = after[0] if after else "\n"
    has = lexicon.has
    if number.plain and (
        (has("labels", previous) and not has("counted", following))
        or (previous == "." and before[1:2] != [] and has("short_labels", before[1]))
        or _is_year(number.value, previous, following, lexicon)
        or _is_date(original, folded, number, before, after, lexicon)
        or has("furniture", following)
        or following.startswith("comment")
        or following in IDEOGRAPH_DATES
        or has("labels_after", following)
        or (len(after) > 1 and has("streets", after[1]))
    ):
        return True
    return (
        (lexicon.ideographic and following in IDEOGRAPH_DATES)
        or _is_clock_time(number, previous, after, lexicon)
        or is_age(before, after, lexicon)
        or _is_time_ago(before, after, lexicon)
        or has("fractions", following)
        or (previous == "of" and _is_page_of_pages(before, lexicon))
    )


def is_in_years(value: str) -> bool:
    """Whether digits without a separator may be a year."""
    return len(value) == 4 and "-" not in value and "1500" <= value <= "2100"


def _is_year(value: str, previous: str, following: str, lexicon: Lexicon) -> bool:
    if not is_in_years(value):
        return False
    is_after_preposition = lexicon.has("year_before", previous)
    if lexicon.has("counted", following) and not is_after_preposition:
        return False
    # Before 1900 a year stands behind a preposition, a comma or a bracket.
    return value >= "1900" or is_after_preposition


def is_day(value: str) -> bool:
    """Whether digits without a separator may be a day of a month; of "3-5 May" the last."""
    day = value.rpartition("-")[2]
    return len(day) <= 2 and int(day) <= 31


def _is_date(
    original: str,
    folded: str,
    number: Number,
    before: list[str],
    after: list[str],
    lexicon: Lexicon,
) -> bool:
    if not is_day(number.value):
        return False
    if _month_follows(after, lexicon) and not _is_modal_may(original, folded, number, after):
        return True
    if before[:1] == ["."]:
        # "Sept. 12" is a date, "in September. 12 people" is not.
        return before[1:2] != [] and before[1] in _SHORT_MONTHS
    for token in before[:4]:
        if lexicon.has("months", token):
            return True
        if not lexicon.has("date_joins", token) and not token[0].isdigit():
            return False
    return False


_SHORT_MONTHS = words("jan feb mar apr jun jul aug sep sept oct nov dec janv févr avr juil déc")


def _month_follows(after: list[str], lexicon: Lexicon) -> bool:
    """ "12 March", "12 de marzo", "12. März", "12 and 13 March"."""
    for token in after[:3]:
        if lexicon.has("months", token):
            return True
        if not lexicon.has("date_joins", token) and token != "." and not token[0].isdigit():
            return False
    return False


def _is_modal_may(original: str, folded: str, number: Number, after: list[str]) -> bool:
    """ "17 may have died": the month has a capital."""
    if after[0] != "may":
        return False
    position = folded.find("may", number.end)
    return original[position] == "m"


def _is_clock_time(number: Number, previous: str, after: list[str], lexicon: Lexicon) -> bool:
    if len(number.value) > 5:
        return False
    following = after[0] if after else ""
    if lexicon.has("clock_after", following) or lexicon.has("clock_before", previous):
        return True
    if following in {"a", "p"}:
        return "m" in after[1:3]
    return following == "o" and after[1:2] == ["clock"]


# Tokens on either side among which a word of age is looked for: "the age of the driver was 31".
_NEAR = 4


def is_age(before: list[str], after: list[str], lexicon: Lexicon) -> bool:
    """ "John Smith, 45, of Leeds", "aged 45", "un homme de 45 ans", "45 Jahre alt"."""
    previous = before[0] if before else ""
    following = after[0] if after else ""
    if following == ",":
        return previous == ","
    return (
        lexicon.has("age_after", following)
        or any(lexicon.has("age_before", token) for token in _clause(before))
        or (following in _OF_PERSONS and lexicon.has("age_before", "".join(after[1:2])))
        or _is_age_of_person(previous, before, following, lexicon)
        or (lexicon.has("year_units", following) and _are_years_of_life(before, after, lexicon))
    )


def _is_age_of_person(previous: str, before: list[str], following: str, lexicon: Lexicon) -> bool:
    """ "A boy of 9." """
    is_person = previous in _OF_PERSONS and lexicon.has("persons", "".join(before[1:2]))
    return is_person and not following[:1].isalnum()


def _are_years_of_life(before: list[str], after: list[str], lexicon: Lexicon) -> bool:
    """Years behind a number that are neither a sentence nor a while."""
    if any(_is_in(token, "prisons", lexicon) for token in after[1:4]):
        return False
    return (
        any(lexicon.has("old_words", token) for token in after[1:3])
        or any(lexicon.has("persons", token) for token in before[:3])
        or any(lexicon.has("had_words", token) for token in before[:2])
        or before[:1] == [","]
        or (before[1:2] == [","] and before[0] in _OF_PERSONS)
    )


_OF_PERSONS = words("of de di van com con من")


def _clause(tokens: list[str]) -> list[str]:
    """The nearest tokens up to a mark."""
    near = tokens[:_NEAR]
    marks = [i for i, token in enumerate(near) if not token[0].isalnum()]
    return near[: marks[0]] if marks else near


def _is_in(token: str, name: str, lexicon: Lexicon) -> bool:
    """Whether the token begins with a word of the list."""
    bare = token.removeprefix("ال")  # the Arabic article
    return any(bare.startswith(beginning) for beginning in lexicon.lists[name])


def is_counted_case(tokens: list[str], lexicon: Lexicon) -> bool:
    """Whether the nearest tokens name victims, cases or arrests."""
    return any(_is_in(token, "cases", lexicon) for token in tokens[:2])


def _is_time_ago(before: list[str], after: list[str], lexicon: Lexicon) -> bool:
    """ "3 hours ago", "il y a 3 heures", "vor 3 Stunden", "5 min read"."""
    if not after or not lexicon.has("time_units", after[0]):
        return False
    if len(after) > 1 and lexicon.has("ago_after", after[1]):
        return True
    return bool(before) and (lexicon.has("ago_before", before[0]) or before[:3] == ["a", "y", "il"])


def _is_page_of_pages(before: list[str], lexicon: Lexicon) -> bool:
    return len(before) > 2 and before[1][0].isdigit() and lexicon.has("labels", before[2])
