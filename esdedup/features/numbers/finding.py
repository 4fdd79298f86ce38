"""Finding counts in a text, each with the words around it."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from esdedup.features.numbers.languages import (
    BOUNDARIES,
    COUNT,
    IDEOGRAPHS,
    MONEY,
    ORDINAL,
    PERCENT,
    SHARE,
    VAGUE,
    Lexicon,
    guess_language,
    language_by_script,
    lexicon_of,
)
from esdedup.features.numbers.moments import find_moments
from esdedup.features.numbers.reading import Number, read_number, read_suffix_and_scale
from esdedup.features.numbers.rules import (
    is_age,
    is_counted_case,
    is_not_a_count,
    is_part_of_something,
    kind_after,
    kind_before,
)
from esdedup.model.numbers import NumberContext

# A page with more numbers is a table; bounds memory on hostile input.
MAX_NUMBERS = 2000
# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
# Content words on either side of a number: two decide, the third is for readers and for ties.
CONTEXT_WORDS = 3

# Words, runs of digits and signs; without brackets, quotes and hyphens, which join or say nothing.
_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(rf"[{IDEOGRAPHS}]|[^\W_{IDEOGRAPHS}]+|[\n%。；]")
# Hard-wrapped text: a line that goes on in lower case is not a new paragraph.
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
# Languages printed with digits of their own, or wide ones; "" is an unknown language.
_OWN_DIGITS = frozenset(
    ["", "ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th", "zh", "ja", "ko"]
)
_ANY_DIGIT = re.compile(r"[^\D0-9]")


class Quantity(NamedTuple):
    """A quantity and where it stands; `unit` is a unit of measure or a currency."""

    context: NumberContext
    start: int
    end: int
    unit: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text as it was read: composed, folded letter for letter, with all its quantities."""

    original: str
    folded: str
    lexicon: Lexicon
    found: tuple[Quantity, ...]

    @property
    def counts(self) -> tuple[NumberContext, ...]:
        """Cardinal numbers in reading order."""
        return tuple(one.context for one in self.found if one.context.kind in _CARDINAL)


_CARDINAL = frozenset({COUNT, PERCENT, MONEY})


def extract_numbers(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    return _read(text, primary_language(lang) or language_by_script(text)).counts


def read_quantities(text: str, lang: str | None) -> Reading:
    """The text with its counts, shares, ordinals and vague quantities. A language is guessed."""
    return _read(text, primary_language(lang) or guess_language(text))


def _read(text: str, lang: str) -> Reading:
    lexicon = lexicon_of(lang)
    original, folded = _fold(text, lexicon.lang)
    moments = deque(find_moments(folded, lexicon))
    found: list[Quantity] = []
    position, last = 1, len(folded) - 2
    while match := lexicon.number.search(folded, position, last + 2):
        if match.start() >= last or len(found) == MAX_NUMBERS:
            break
        while moments and moments[0][1] <= match.start():
            moments.popleft()
        if moments and moments[0][0] <= match.start():
            position = moments[0][1]
            continue
        if not _may_begin(folded, match.start()):
            position = match.start() + 1
            continue
        position = max(match.end(), match.start() + 1)
        number = read_number(folded, match, lexicon)
        if number is not None:
            one, position = _judge(original, folded, number, lexicon)
            if one is not None:
                found.append(one)
    return Reading(original, folded, lexicon, tuple(found))


def primary_language(lang: str | None) -> str:
    return lang.replace("_", "-").split("-", 1)[0].lower() if lang else ""


def _fold(text: str, lang: str) -> tuple[str, str]:
    """The text composed and unwrapped, and the same in lower case, letter for letter."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if lang in _OWN_DIGITS:
            text = _ANY_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    # Every number has a character before it and three behind, which the rules look at.
    original = "\n" + _WRAPPED_LINE.sub(" ", text) + "\n\n\n"
    if lang == "tr":
        return original, original.replace("İ", "i").replace("I", "ı").lower()
    # The only letter that grows in lower case.
    return original, original.replace("İ", "I").lower()


def _may_begin(folded: str, position: int) -> bool:
    """Not behind a Latin letter, in Chinese neither; and digits of other scripts are read in their
    languages alone, which have them replaced."""
    before, first = folded[position - 1], folded[position]
    is_glued = before <= "\u00ff" and (before.isalnum() or before == "_")
    return not is_glued and (first.isascii() or not first.isdecimal())


def _judge(
    original: str, folded: str, number: Number, lexicon: Lexicon
) -> tuple[Quantity | None, int]:
    """The quantity at this place, or None; and where to read on."""
    if is_part_of_something(folded, number):
        return None, number.end
    before = tokens_before(folded, number.start, lexicon)
    if number.kind != COUNT:
        return _judge_phrase(folded, number, before, lexicon)
    if ordinal := _read_ordinal(folded, number, before, lexicon):
        return ordinal, ordinal.end
    sign = _read_minus(folded, number, before, lexicon)
    kind, unit = COUNT, ""
    if before and (known := kind_before(before[0], lexicon)):
        kind, unit = known
        before.pop(0)
    read_suffix_and_scale(folded, number, kind == MONEY, lexicon)
    end = number.end
    if not number.value:
        return None, end
    after = tokens_after(folded, end, lexicon)
    if kind == COUNT:
        kind, unit, used = kind_after(after, lexicon)
        if kind == COUNT and _is_excluded(original, folded, number, before, after, lexicon):
            return None, end
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
        after = after[used:]
    if below := _below_zero(lexicon).match(folded, end):
        sign, end = "-", below.end()
    right = content_words(after, lexicon, abbreviated=-1)
    if unit:
        right = [unit, *right[: CONTEXT_WORDS - 1]]
    left = content_words(before, lexicon, abbreviated=1)[::-1]
    context = NumberContext(sign + number.value, kind, " ".join(left), " ".join(right))
    return Quantity(context, number.start, end, unit or _measure(after, lexicon)), end


def _is_excluded(
    original: str,
    folded: str,
    number: Number,
    before: list[str],
    after: list[str],
    lexicon: Lexicon,
) -> bool:
    if lexicon.ideographic and not folded[number.start].isdigit():
        # Numerals are parts of many words; before a counter they count.
        following = folded[number.end]
        if following not in "".join(lexicon.lists["counters"]):
            return True
    return is_not_a_count(original, folded, number, before, after, lexicon)


def _judge_phrase(
    folded: str, number: Number, before: list[str], lexicon: Lexicon
) -> tuple[Quantity | None, int]:
    """Vague quantities, shares and ordinals; an ordinal counts victims, cases and arrests only."""
    after = tokens_after(folded, number.end, lexicon)
    kind, value = number.kind, number.value
    if kind == SHARE and value.startswith("1/") and is_counted_case(after, lexicon):
        kind, value = ORDINAL, value[2:]  # "a third victim"
    if kind == COUNT and is_age(before, after, lexicon):
        return None, number.end
    if kind == ORDINAL:
        is_share = bool(before) and lexicon.has("every", before[0])
        if is_share:
            kind, value = SHARE, f"1/{value}"
        elif not is_counted_case(after, lexicon) and not is_counted_case(before, lexicon):
            return None, number.end
    # "Some 43 people": a hedge.
    if kind == VAGUE and after and (after[0][0].isdigit() or after[0] in lexicon.values):
        return None, number.end
    context = NumberContext(value, kind, "", "")
    if kind == COUNT:
        scaled = Number(value, number.start, number.end, False)
        read_suffix_and_scale(folded, scaled, False, lexicon)
        after = tokens_after(folded, scaled.end, lexicon)
        kind, unit, used = kind_after(after, lexicon)
        right = content_words(after[used:], lexicon, abbreviated=-1)
        left = content_words(before, lexicon, abbreviated=1)[::-1]
        if unit:
            right = [unit, *right[: CONTEXT_WORDS - 1]]
        context = NumberContext(scaled.value, kind, " ".join(left), " ".join(right))
        return Quantity(context, number.start, scaled.end, unit), scaled.end
    return Quantity(context, number.start, number.end), number.end


_ORDINAL_MARK = re.compile(r"-?([^\W\d_]{1,3}|[ªº°.])(?= )")


def _read_ordinal(
    folded: str, number: Number, before: list[str], lexicon: Lexicon
) -> Quantity | None:
    """ "the 14th arrest", "die 14. Festnahme", "第14例"."""
    context = NumberContext(number.value, ORDINAL, "", "")
    if lexicon.ideographic:
        is_ordinal = folded[number.start - 1] == "第" and folded[number.end] in "例名位起宗人个次"
        return Quantity(context, number.start, number.end) if is_ordinal else None
    mark = _ORDINAL_MARK.match(folded, number.end) if number.plain else None
    if mark is None or not (mark[1] == "." or lexicon.has("ordinal_marks", mark[1])):
        return None
    if not is_counted_case(tokens_after(folded, mark.end(), lexicon), lexicon):
        return None
    return Quantity(context, number.start, mark.end())


# What a minus in words stands before; "au moins 12" and "al menos 12" are no minus.
_MEASURED = re.compile(
    r"\s?(?:[°%]|[cf](?!\w)|degr|grad|grau|derece|градус|درج|per ?cent|p[eo]u?r c|prozent|procent|"
    r"процент|point|punt|punkt)"
)


def _read_minus(folded: str, number: Number, before: list[str], lexicon: Lexicon) -> str:
    """The sign in front, and the start of the number moved to it: "-5", "minus 5", "零下5"."""
    start = number.start
    if folded[start - 1] in "-−–" and not folded[start - 2].isalnum():
        number.start -= 1
        return "-"
    if lexicon.ideographic and folded.endswith("零下", 0, start):
        number.start -= 2
        return "-"
    if before and lexicon.has("minus_words", before[0]) and _MEASURED.match(folded, number.end):
        number.start = folded.rfind(before[0], 0, start)
        before.pop(0)
        return "-"
    return ""


@cache
def _below_zero_pattern(phrases: frozenset[str]) -> re.Pattern[str]:
    alternatives = "|".join(sorted(phrases)).replace("_", r"\s")
    return re.compile(rf"(?:\s[^\s.,;]+){{0,2}}?\s(?:{alternatives})(?!\w)")


def _below_zero(lexicon: Lexicon) -> re.Pattern[str]:
    """ "8 degrees below zero", behind the number."""
    return _below_zero_pattern(lexicon.lists["below_zero"])


_SQUARE = re.compile("square|carré|cuadrad|quadrat|quadrad|vierkant|kare|квадратн|مربع")
_SQUARES = {"kilometre": "km2", "mile": "mile2"}


def _measure(after: list[str], lexicon: Lexicon) -> str:
    """The unit of measure behind a number: "degrees Celsius", "F", "公里"."""
    if lexicon.ideographic:
        signs = "".join(after[:4])
        return next((lexicon.units[signs[:n]] for n in (3, 2, 1) if signs[:n] in lexicon.units), "")
    if after[:3] == ["km", "/", "h"]:
        return "kmh"
    unit = next((lexicon.units[token] for token in after[:3] if token in lexicon.units), "")
    return _SQUARES.get(unit, unit) if any(map(_SQUARE.match, after[:3])) else unit


def tokens_before(folded: str, start: int, lexicon: Lexicon) -> list[str]:
    """The tokens before a place, nearest first; from a space on, so that no word is cut."""
    begin = folded.find(" ", start - WINDOW, start) if start > WINDOW else 0
    return _tokens(folded[max(begin, start - WINDOW, 0) : start], lexicon)[::-1]


def tokens_after(folded: str, end: int, lexicon: Lexicon) -> list[str]:
    """The tokens behind a place, up to a space."""
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    return _tokens(folded[end : max(stop, end + WINDOW)], lexicon)


def _tokens(window: str, lexicon: Lexicon) -> list[str]:
    return (_IDEOGRAPHIC_TOKEN if lexicon.ideographic else _TOKEN).findall(window)


def content_words(tokens: list[str], lexicon: Lexicon, *, abbreviated: int) -> list[str]:
    """The nearest content words, up to the end of the sentence.

    `abbreviated` is the step to the word that a full stop belongs to: behind a single letter it is
    an abbreviation ("U.S. soldiers").
    """
    words: list[str] = []
    # Up to two letters: prepositions, articles, suffixes behind an apostrophe.
    shortest = 1 if lexicon.ideographic else 3
    for index, token in enumerate(tokens):
        if len(token) >= shortest and token not in lexicon.passed_over and token[0] > "9":
            words.append(token)
            if len(words) == CONTEXT_WORDS:
                break
        elif token in BOUNDARIES:
            if token != "." or not _is_letter(tokens, index + abbreviated):
                break
        # Another number: the words behind it are its own.
        elif words and len(token) >= shortest and token not in lexicon.ignored:
            break
    return words


def _is_letter(tokens: list[str], index: int) -> bool:
    return 0 <= index < len(tokens) and len(tokens[index]) == 1 and tokens[index].isalpha()
