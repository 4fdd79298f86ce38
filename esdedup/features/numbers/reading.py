"""Reading a number: its value by digits, marks, words and scales, and where it ends."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esdedup.features.numbers.languages import (
    COUNT,
    GLUED_UNITS,
    MONEY_SUFFIXES,
    Lexicon,
    phrase,
    words,
)

# From nine digits without separators on, a number is an identifier or a telephone number.
MAX_PLAIN_DIGITS = 8
MAX_DIGITS = 15

_LETTERS = re.compile(r"[^\W\d_]+[²³]?")


@dataclass(slots=True)
class Number:
    """A number as read, before it is judged by what stands around it."""

    value: str
    start: int
    end: int
    # Digits without any separator, or two such with a hyphen: these can be years, days, pages,
    # identifiers.
    plain: bool
    # `count`, or what a phrase says by itself: vague, a share, an ordinal.
    kind: str = COUNT


def read_number(folded: str, match: re.Match[str], lexicon: Lexicon) -> Number | None:
    if match.lastindex == 2:
        kind, value = lexicon.quantities[phrase(match[2])]
        return Number(value, match.start(), match.end(), False, kind)
    if match.lastindex == 1:
        raw = match[1]
        # A hyphen or a dash is between the numbers of a score or a range.
        parts = raw.replace("–", "-").split("-")
        plain = "".join(parts).isdecimal()
        value = _plain_pair(parts) if plain else _separated_value(raw, lexicon)
    else:
        plain = False
        value = (
            _ideograph_value(match[3])
            if lexicon.ideographic
            else _word_value(phrase(match[3]), lexicon.values)
        )
    return Number(value, match.start(), match.end(), plain) if value else None


def _plain_pair(parts: Sequence[str]) -> str:
    """One number, or both of a score or a range: "2-1"."""
    values = [_plain_value(part) for part in parts]
    return "-".join(values) if all(values) else ""


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


_IDEOGRAPH_DIGITS = {sign: value for value, sign in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
}
_IDEOGRAPH_TENS = {"十": 10, "百": 100, "千": 1000}


def _ideograph_value(signs: str) -> str:
    """ "二十一" is 21; the signs for ten thousand and up are scales. "" for a lone "one"."""
    total, digit = 0, None
    for sign in signs:
        if sign in _IDEOGRAPH_TENS:
            total += _IDEOGRAPH_TENS[sign] * (1 if digit is None else digit)
            digit = None
        else:
            digit = _IDEOGRAPH_DIGITS[sign]
    return "" if signs in "一零〇" else str(total + (digit or 0))


def _word_value(phrase: str, values: Mapping[str, float]) -> str:
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


def scale(value: str, power: int) -> str:
    whole, _, fraction = value.partition(".")
    fraction = fraction.ljust(power, "0")
    return _decimal(whole + fraction[:power], fraction[power:])


def same_figure(one: str, other: str) -> bool:
    """1.4 and 1400000: the word "million" stands elsewhere, or is an "m" glued to the digits."""
    if not (one[:1].isdigit() and other[:1].isdigit()):
        return False
    return any(scale(one, power) == other or scale(other, power) == one for power in (6, 9))


def read_suffix_and_scale(folded: str, number: Number, money: bool, lexicon: Lexicon) -> None:
    """Take in "12'si", "$3bn", "12km", "1.2 million", "12 bin 500"; ordinals lose their value."""
    if "-" in number.value or number.kind != COUNT:
        return
    right = folded[number.end]
    if right in "'’":
        suffix = _LETTERS.match(folded, number.end + 1)
        number.end = suffix.end() if suffix else number.end
    elif right.isalpha() and not lexicon.ideographic:
        _read_glued(folded, number, money, lexicon)
    elif (
        folded[number.end + 1 : number.end + 3] in lexicon.scale_beginnings
        or lexicon.ideographic
        or number.value == "1000"
    ):
        _read_scales(folded, number, lexicon)


# Suffixes that are read without a currency before them.
ALWAYS_MONEY = words("bn mn tn")


def letters_at(folded: str, position: int) -> str:
    letters = _LETTERS.match(folded, position)
    return letters[0] if letters else ""


def _read_glued(folded: str, number: Number, money: bool, lexicon: Lexicon) -> None:
    letters = letters_at(folded, number.end)
    if letters in lexicon.scales:
        _read_scales(folded, number, lexicon)
    elif letters in MONEY_SUFFIXES and (money or letters in ALWAYS_MONEY):
        number.value = scale(number.value, MONEY_SUFFIXES[letters])
        number.end += len(letters)
        number.plain = False
    elif (
        letters in GLUED_UNITS
        or letters in lexicon.currencies
        or lexicon.has("percent_words", letters)
    ):
        number.plain = False
    else:
        number.value = ""
        number.end += len(letters)


_SHORT_SCALES = words("mio mrd mln mill тыс млн млрд")
_SCALE = re.compile(r"[\s-]?([^\W\d_]+)")
_IDEOGRAPHIC_SCALE = re.compile(r"([^\W\d_])")


def _read_scales(folded: str, number: Number, lexicon: Lexicon) -> None:
    """Multiply by the scale words that follow, and add smaller numbers right behind them."""
    power, end = _scale_behind(folded, number.end, lexicon)
    if power == 0:
        # "bin 200", "mil doscientos": a thousand without a number before it.
        if number.value != "1000" or folded[number.start].isdigit():
            return
        number.value, power = "1", 3
    number.value = scale(number.value, power)
    number.end, number.plain = end, False
    while "." not in number.value and (folded[end] in " \u00a0" or lexicon.ideographic):
        # 1万2000 is written without a space.
        match = lexicon.number.match(folded, end if lexicon.ideographic else end + 1)
        smaller = read_number(folded, match, lexicon) if match else None
        # What is added is a whole number, neither a share nor a range: "2 million 10-15 times".
        if smaller is None or not smaller.value.isdecimal():
            return
        below = power
        power, end = _scale_behind(folded, smaller.end, lexicon)
        addend = scale(smaller.value, power)
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
