"""The slow judge of esdedup/numbers: every place read, judged and given its words by itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from esdedup.numbers.languages import (
    AGE_AFTER,
    AGE_BEFORE,
    AGO_AFTER,
    AGO_BEFORE,
    BOUNDARIES,
    CLOCK_AFTER,
    CLOCK_BEFORE,
    CURRENCIES,
    DATE_JOINS,
    FRACTIONS,
    FURNITURE,
    IDEOGRAPH_DATES,
    LABELS,
    MONEY_SUFFIXES,
    MONTHS,
    OLD_WORDS,
    PERCENT_BEFORE,
    PERCENT_FIRST,
    PERCENT_SECOND,
    PERCENT_WORDS,
    SHORT_LABELS,
    STREETS,
    TIME_UNITS,
    UNITS,
    YEAR_UNITS,
    Lexicon,
    lexicon_of,
    phrase,
    words,
)

COUNT = "count"
PERCENT = "percent"
MONEY = "money"

# Words kept on either side of a number: two decide, the third is for the reader and for ties.
CONTEXT_WORDS = 3
# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
# A page with more numbers is a table; bounds memory on hostile input.
MAX_NUMBERS = 2000
# From nine digits without separators on, a number is an identifier or a telephone number.
MAX_PLAIN_DIGITS = 8
MAX_DIGITS = 15


Context = tuple[str, str, str, str]


# Words, runs of digits and signs; without brackets, quotes and hyphens, which join or say nothing.
_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+|[\n%。；]"
)
# Hard-wrapped text: a line that goes on in lower case is not a new paragraph.
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
_LETTERS = re.compile(r"[^\W\d_]+[²³]?")
# Languages printed with their own digits.
_OWN_DIGITS = frozenset({"ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th"})
_ANY_DIGIT = re.compile(r"[^\D0-9]")


def number_contexts(text: str, lang: str | None) -> tuple[Context, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    lexicon = lexicon_of(_primary_language(lang))
    original, folded = _fold(text, lexicon.lang)
    contexts: list[Context] = []
    resume = 0
    for position in _possible_starts(folded, lexicon.filters):
        if position < resume:
            continue
        match = lexicon.number.match(folded, position)
        if match is None:
            continue
        resume = match.end()
        number = _read_number(folded, match, lexicon)
        if number is None:
            continue
        context, resume = _judge(original, folded, number, lexicon)
        if context is not None:
            contexts.append(context)
            if len(contexts) == MAX_NUMBERS:
                break
    return tuple(contexts)


def _primary_language(lang: str | None) -> str:
    return lang.replace("_", "-").split("-", 1)[0].lower() if lang else ""


def _fold(text: str, lang: str) -> tuple[str, str]:
    """The text composed and unwrapped, and the same in lower case, letter for letter."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if lang in _OWN_DIGITS:
            text = _ANY_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    if "\n" in text:
        text = _WRAPPED_LINE.sub(" ", text)
    # Every number has a character before it and three behind, as the filters want.
    original = f"\n{text}\n\n\n"
    if lang == "tr":
        return original, original.replace("İ", "i").replace("I", "ı").lower()
    # The only letter that grows in lower case.
    return original, original.replace("İ", "I").lower()


def _possible_starts(folded: str, filters: tuple[bytes, ...]) -> list[int]:
    """Positions where a number may begin: byte tables and an `and`, 5 times quicker than `re`."""
    # One byte for each character: what Latin-1 lacks becomes "?", which may stand for a letter.
    encoded = folded.encode("latin-1", "replace")
    last = len(encoded) - 3
    separator, first, second, third = (
        np.frombuffer(encoded.translate(table), np.uint8) for table in filters
    )
    hits = separator[:last] & first[1 : last + 1]
    hits &= second[2 : last + 2]
    hits &= third[3:]
    # Looking for true values costs a quarter of looking for bytes other than 0.
    starts: list[int] = (np.flatnonzero(hits != 0) + 1).tolist()
    return starts


@dataclass(slots=True)
class _Number:
    """A number as read, before it is judged by what stands around it."""

    value: str
    start: int
    end: int
    # Digits without any separator: these can be years, days, pages, identifiers.
    plain: bool


def _read_number(folded: str, match: re.Match[str], lexicon: Lexicon) -> _Number | None:
    if match.lastindex == 1:
        raw = match[1]
        plain = raw.isdecimal()
        value = _plain_value(raw) if plain else _separated_value(raw, lexicon)
    else:
        plain = False
        value = _word_value(phrase(match[2]), lexicon.values)
    return _Number(value, match.start(), match.end(), plain) if value else None


def _plain_value(raw: str) -> str:
    """Leading zeros and long runs belong to identifiers and telephone numbers."""
    if len(raw) > MAX_PLAIN_DIGITS or (raw[0] == "0" and len(raw) > 1):
        return ""
    return raw if raw.isascii() else "".join(str(unicodedata.decimal(digit)) for digit in raw)


_GROUPING = re.compile("[ \u00a0\u202f\u2009'\u2019]")


def _separated_value(raw: str, lexicon: Lexicon) -> str:
    """Decide which marks group and which one is decimal; "" for dates, versions and the like."""
    if len(raw) > 2 * MAX_DIGITS:
        return ""
    raw = _GROUPING.sub("", raw)
    whole, mark, fraction = raw, "", ""
    last = max(raw.rfind("."), raw.rfind(","))
    if last >= 0 and _is_decimal_mark(raw, last, lexicon):
        whole, mark, fraction = raw[:last], raw[last], raw[last + 1 :]
    groups = whole.replace(",", ".").split(".")
    mixed = mark in whole if mark else "." in whole and "," in whole
    if mixed or not _groups_digits(groups):
        return ""
    return _decimal("".join(groups), fraction)


def _is_decimal_mark(raw: str, last: int, lexicon: Lexicon) -> bool:
    mark = raw[last]
    if raw.count(mark) > 1:
        return False
    other = "," if mark == "." else "."
    if other in raw or len(raw) - last != 4 or last > 3 or raw[0] == "0":
        return True
    # Three digits behind a lone mark: the language decides.
    return mark == lexicon.decimal and not lexicon.both_marks_group


def _groups_digits(groups: Sequence[str]) -> bool:
    """1,234,567 and the Indian 12,34,567, but not 10.4.8 or 12.03.2026."""
    if len(groups) == 1:
        return len(groups[0]) <= MAX_DIGITS
    inner = groups[1:-1]
    return (
        len(groups) <= 5
        and 1 <= len(groups[0]) <= 3
        and len(groups[-1]) == 3
        and all(2 <= len(group) <= 3 for group in inner)
    )


def _decimal(whole: str, fraction: str) -> str:
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _word_value(phrase: str, values: Mapping[str, int]) -> str:
    value = values.get(phrase)
    if value is not None:
        return str(value)
    # Hundreds and the rest: the longest beginning that is a full hundred.
    for cut in range(len(phrase) - 1, 1, -1):
        hundreds = values.get(phrase[:cut].rstrip())
        if hundreds is not None and 100 <= hundreds < 1000:
            rest = phrase[cut:].strip()
            below = values.get(rest.removeprefix("and ").removeprefix("e "))
            if below is not None:
                return str(hundreds + below)
    return ""


def scaled(value: str, power: int) -> str:
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(power, "0")
    return _decimal(whole + fraction[:power], fraction[power:])


# --- Judging --------------------------------------------------------------------------------------


def _judge(
    original: str, folded: str, number: _Number, lexicon: Lexicon
) -> tuple[Context | None, int]:
    """The count at this place, or None; and where to read on."""
    if _is_part_of_something(folded, number):
        return None, number.end
    start = number.start
    # From a space to a space, so that no word is cut.
    begin = folded.find(" ", start - WINDOW, start) if start > WINDOW else 0
    before = _tokens(folded[max(begin, start - WINDOW, 0) : start], lexicon)
    before.reverse()
    kind, currency = COUNT, ""
    if before and before[0] in _KIND_BEFORE:
        kind, currency = _KIND_BEFORE[before[0]]
        before = before[1:]
    _read_suffix_and_scale(folded, number, kind, lexicon)
    end = number.end
    if not number.value:
        return None, end
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    after = _tokens(folded[end : max(stop, end + WINDOW)], lexicon)
    if kind == COUNT:
        kind, currency, used = _kind_after(after)
        if kind == COUNT and _is_not_a_count(original, folded, number, before, after):
            return None, end
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
        after = after[used:]
    left = _content_words(before, 1, lexicon)
    left.reverse()
    right = _content_words(after, -1, lexicon)
    if currency:
        right = [currency, *right[: CONTEXT_WORDS - 1]]
    return (number.value, kind, " ".join(left), " ".join(right)), end


# Kind and currency by what stands in front: "$12", "EUR 12", "%42,9", "yüzde 42,9".
_KIND_BEFORE: Mapping[str, tuple[str, str]] = {
    **{word: (MONEY, code) for word, code in CURRENCIES.items()},
    **dict.fromkeys(PERCENT_BEFORE, (PERCENT, "")),
}
_OF = words("de d di")
_KIND_AFTER = PERCENT_WORDS | PERCENT_FIRST | CURRENCIES.keys() | _OF


def _kind_after(after: list[str]) -> tuple[str, str, int]:
    """Kind and currency by what stands behind, and how many tokens said so."""
    if not after or after[0] not in _KIND_AFTER:
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


def _tokens(window: str, lexicon: Lexicon) -> list[str]:
    if lexicon.ideographic:
        return _IDEOGRAPHIC_TOKEN.findall(window)
    # Most windows hold words, commas and full stops: four times as quick as the pattern.
    letters = window.replace(" ", "")
    if letters.isalpha():
        return window.split()
    if letters.replace(",", "").replace(".", "").isalpha():
        return window.replace(",", " , ").replace(".", " . ").split()
    return _TOKEN.findall(window)


def _content_words(tokens: list[str], abbreviated: int, lexicon: Lexicon) -> list[str]:
    """The nearest content words, up to the end of the sentence.

    `abbreviated` is the step to the word a full stop belongs to: behind a single letter it is an
    abbreviation ("U.S. soldiers").
    """
    words: list[str] = []
    passed_over, ignored = lexicon.passed_over, lexicon.ignored
    # Up to two letters: prepositions, articles, suffixes behind an apostrophe.
    shortest = 1 if lexicon.ideographic else 3
    for index, token in enumerate(tokens):
        if len(token) >= shortest and token not in passed_over and token[0] > "9":
            words.append(token)
            if len(words) == CONTEXT_WORDS:
                break
        elif token in BOUNDARIES:
            if token != "." or not _is_letter(tokens, index + abbreviated):
                break
        # Another number: the words behind it are its own.
        elif words and len(token) >= shortest and token not in ignored:
            break
    return words


def _is_letter(tokens: list[str], index: int) -> bool:
    return 0 <= index < len(tokens) and len(tokens[index]) == 1 and tokens[index].isalpha()


def _is_part_of_something(folded: str, number: _Number) -> bool:
    """Glued to a name, a score, a ratio, a time, an address: "F-16", "2-1", "1/5", "10:30"."""
    left, right = folded[number.start - 1], folded[number.end]
    if left == right == " ":
        return _is_among_digits(folded, number)
    if left in "-–—/:.,+#@&=\\'’" and (left in "+#'’" or folded[number.start - 2].isalnum()):
        return True
    following = folded[number.end + 1]
    if (right in "-–/:.@_\\" and following.isdigit()) or (right == "." and following.isalpha()):
        return True
    if left == "\n" and (right == "\n" or (right in ".)" and number.plain)):
        return True
    if left == "(" and right == ")":
        return len(number.value) < 3 or folded[number.end + 2].isdigit()
    return _is_among_digits(folded, number)


def _is_among_digits(folded: str, number: _Number) -> bool:
    """Neighbouring runs of digits are telephone numbers, tables or page links."""
    start, end = number.start, number.end
    return folded[start].isdigit() and (
        (folded[end + 1].isdigit() and folded[end] in " \u00a0")
        or (folded[start - 2].isdigit() and folded[start - 1] in " \u00a0")
    )


def _read_suffix_and_scale(folded: str, number: _Number, kind: str, lexicon: Lexicon) -> None:
    """Take in "12'si", "$3bn", "12km", "1.2 million", "12 bin 500"; ordinals lose their value."""
    right = folded[number.end]
    if right in "'’":
        suffix = _LETTERS.match(folded, number.end + 1)
        number.end = suffix.end() if suffix else number.end
    elif right.isalpha() and not lexicon.ideographic:
        _read_glued(folded, number, kind, lexicon)
    elif (
        folded[number.end + 1 : number.end + 3] in lexicon.scale_beginnings
        or lexicon.ideographic
        or number.value == "1000"
    ):
        _read_scales(folded, number, lexicon)


def _read_glued(folded: str, number: _Number, kind: str, lexicon: Lexicon) -> None:
    suffix = _LETTERS.match(folded, number.end)
    letters = suffix[0] if suffix else ""
    if letters in lexicon.scales:
        _read_scales(folded, number, lexicon)
    elif letters in MONEY_SUFFIXES and (kind == MONEY or letters in {"bn", "mn", "tn"}):
        number.value = scaled(number.value, MONEY_SUFFIXES[letters])
        number.end += len(letters)
        number.plain = False
    elif letters in UNITS or letters in CURRENCIES or letters in PERCENT_WORDS:
        number.plain = False
    else:
        number.value = ""
        number.end += len(letters)


_SHORT_SCALES = words("mio mrd mln mill")
_SCALE = re.compile(r"[\s-]?([^\W\d_]+)")
_IDEOGRAPHIC_SCALE = re.compile(r"([^\W\d_])")


def _read_scales(folded: str, number: _Number, lexicon: Lexicon) -> None:
    """Multiply by the scale words that follow, and add smaller numbers right behind them."""
    power, end = _scale_behind(folded, number.end, lexicon)
    if power == 0:
        # "bin 200", "mil doscientos": a thousand without a number before it.
        if number.value != "1000" or folded[number.start].isdigit():
            return
        number.value, power = "1", 3
    number.value = scaled(number.value, power)
    number.end, number.plain = end, False
    while "." not in number.value and (folded[end] in " \u00a0" or lexicon.ideographic):
        match = lexicon.number.match(folded, end if lexicon.ideographic else end + 1)
        smaller = _read_number(folded, match, lexicon) if match else None
        if smaller is None or "." in smaller.value:
            return
        below = power
        power, end = _scale_behind(folded, smaller.end, lexicon)
        addend = scaled(smaller.value, power)
        if len(addend) > below:
            return
        number.value = str(int(number.value) + int(addend))
        number.end = end


def _scale_behind(folded: str, end: int, lexicon: Lexicon) -> tuple[int, int]:
    """The power of ten of up to two scale words ("mil millones"), and where they end."""
    pattern = _IDEOGRAPHIC_SCALE if lexicon.ideographic else _SCALE
    power = 0
    for _ in range(2):
        word = pattern.match(folded, end)
        if word is None or word[1] not in lexicon.scales:
            break
        power += lexicon.scales[word[1]]
        end = word.end()
        if folded[end] == "." and word[1] in _SHORT_SCALES:
            end += 1
    return power, end


def _is_not_a_count(
    original: str, folded: str, number: _Number, before: list[str], after: list[str]
) -> bool:
    """Dates, times, ages, names and page furniture, told by the words next to the number."""
    previous = before[0] if before else "\n"
    following = after[0] if after else "\n"
    if not (
        previous in _TELLING_BEFORE
        or following in _TELLING_AFTER
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
_TELLING_BEFORE = (
    LABELS | MONTHS | DATE_JOINS | CLOCK_BEFORE | AGE_BEFORE | AGO_BEFORE | frozenset(".")
)
_TELLING_AFTER = (
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
_COUNTED = words(
    "people persons cases deaths dead victims patients infections personnes cas morts décès "
    "menschen fälle tote personen personas casos muertos muertes kişi vaka ölü can hasta pessoas "
    "mortos persone casi morti mensen gevallen doden"
)
_YEAR_BEFORE = words("in since by from during until of en depuis seit im año de desde dal sinds")


def _is_year(value: str, previous: str, following: str) -> bool:
    if len(value) != 4 or not "1500" <= value <= "2100":
        return False
    if following in _COUNTED and previous not in _YEAR_BEFORE:
        return False
    # Before 1900 a year stands behind a preposition, a comma or a bracket.
    return value >= "1900" or previous in _YEAR_BEFORE


def _is_date(
    original: str, folded: str, number: _Number, before: list[str], after: list[str]
) -> bool:
    if len(number.value) > 2 or int(number.value) > 31:
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


def _is_modal_may(original: str, folded: str, number: _Number, after: list[str]) -> bool:
    """ "17 may have died": the month has a capital."""
    if after[0] != "may":
        return False
    position = folded.find("may", number.end)
    return original[position] == "m"


def _is_clock_time(number: _Number, previous: str, after: list[str]) -> bool:
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
