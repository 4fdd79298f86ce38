"""Finding counts in a text, each with the words around it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from esdedup.numbers.chunks import NO_NUMBER, Reading
from esdedup.numbers.judging import (
    COUNT,
    JOINS,
    KIND,
    KIND_BEFORE,
    MONEY,
    STREET,
    is_not_a_count,
    is_part_of_something,
    kind_after,
)
from esdedup.numbers.languages import language_by_script
from esdedup.numbers.reading import (
    Number,
    read_number,
    read_suffix_and_scale,
)
from esdedup.numbers.surroundings import (
    CONTEXT_WORDS,
    Surroundings,
    surroundings_of,
    without_first,
    without_last,
)

# Characters looked at on either side: about seven words, of which half are function words.
WINDOW = 40
# A page with more numbers is a table; bounds memory on hostile input.
MAX_NUMBERS = 2000


# As a row of a store is read: without looking whether it has four values.
_new = tuple.__new__


class NumberContext(NamedTuple):
    """One count: its normalised value, its kind, and the content words around it.

    A tuple, since a dozen come with every article: they travel between processes and into a
    store several times as fast as objects with attributes.
    """

    value: str
    kind: str
    before: str
    after: str

    def to_json(self) -> list[str]:
        """The compact form for storage: [value, kind, before, after]."""
        return list(self)

    @classmethod
    def from_json(cls, row: Sequence[str]) -> NumberContext:
        """Read back what `to_json` wrote."""
        return _new(cls, row)


# Hard-wrapped text: a line that goes on in lower case is not a new paragraph.
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
# Languages printed with digits of their own, or wide ones; "" is an unknown language.
_OWN_DIGITS = frozenset(
    ["", "ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th", "zh", "ja", "ko"]
)
_ANY_DIGIT = re.compile(r"[^\D0-9]")


def number_contexts(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    around = surroundings_of(primary_language(lang) or language_by_script(text))
    lexicon = around.lexicon
    original, folded = _fold(text, lexicon.lang)
    contexts: list[NumberContext] = []
    readings, longest = around.numbers, around.longest_chunk
    resume = 0
    for position in _possible_starts(folded, lexicon.filters):
        if position < resume:
            continue
        space = folded.find(" ", position, position + longest)
        reading = readings.get(folded[position - 1 : space]) if space > 0 else None
        # Most places are words that only begin like a number.
        if reading is NO_NUMBER:
            continue
        number = _read(folded, position, space, reading, around)
        if number is None:
            continue
        resume = number.end
        if not number.value:
            continue
        context, resume = _judge(original, folded, number, around)
        if context is not None:
            contexts.append(context)
            if len(contexts) == MAX_NUMBERS:
                break
    return tuple(contexts)


def primary_language(lang: str | None) -> str:
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
    starts: list[int] = ((hits != 0).nonzero()[0] + 1).tolist()
    return starts


def _read(
    folded: str, start: int, space: int, reading: Reading | None, around: Surroundings
) -> Number | None:
    """The number at this place, without a value if it is a part of something else."""
    if reading is None and space > 0:
        reading = around.number(folded[start - 1 : space])
    if (
        reading is None
        or reading.goes_on(folded[space + 1 : space + 4])
        or folded[space + 1].isdigit()
        or folded[start - 2].isdigit()
    ):
        return _read_in_place(folded, start, around)
    length, value, plain, _ = reading
    return Number(value, start, start + length, plain) if length else None


def _read_in_place(folded: str, start: int, around: Surroundings) -> Number | None:
    lexicon = around.lexicon
    match = lexicon.number.match(folded, start)
    if match is None:
        return None
    number = read_number(folded, match, lexicon)
    if number is None:
        return Number("", start, match.end(), False)
    if is_part_of_something(folded, number):
        number.value = ""
    else:
        # Letters glued to the digits depend on the currency before them.
        is_money = folded[number.end].isalpha() and _is_money(folded, start, around)
        read_suffix_and_scale(folded, number, is_money, lexicon)
    return number


def _is_money(folded: str, start: int, around: Surroundings) -> bool:
    before = around.tokens_before(_chunks_before(folded, start))
    return bool(before) and KIND_BEFORE.get(before[0], ("", ""))[0] == MONEY


def _chunks_before(folded: str, start: int) -> list[str]:
    """The text before a number, from a space on, so that no word is cut."""
    begin = folded.find(" ", start - WINDOW, start) if start > WINDOW else 0
    return folded[begin if begin >= 0 else start - WINDOW : start].split(" ")


def _chunks_after(folded: str, end: int) -> list[str]:
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    return folded[end : stop if stop > 0 else end + WINDOW].split(" ")


def _is_told(value: str, told: int, after: list[str], around: Surroundings) -> bool:
    """Whether the words beside a number may tell that it is no count."""
    first, second = (0, 1) if after[0] else (1, 2)
    told += around.tells_after(after[first])
    return (
        told > JOINS
        or len(value) == 4
        or (told == JOINS and len(value) < 3)
        or (len(after) > second and around.tells_after(after[second]) == STREET)
    )


def _judge(
    original: str, folded: str, number: Number, around: Surroundings
) -> tuple[NumberContext | None, int]:
    """The count at this place, or None; and where to read on."""
    left = _chunks_before(folded, number.start)
    kind, currency = COUNT, ""
    told = around.tells_before(left[-1] or left[-2])
    if told >= KIND:
        known = told == KIND and left[-1] in KIND_BEFORE
        before = [left[-1]] if known else around.tokens_before(left)
        if before and before[0] in KIND_BEFORE:
            kind, currency = KIND_BEFORE[before[0]]
            left = without_last(left, before[0])
    end = number.end
    right = _chunks_after(folded, end)
    if kind == COUNT and _is_told(number.value, told, right, around):
        after = around.tokens_after(right)
        kind, currency, used = kind_after(after)
        if kind == COUNT:
            before = around.tokens_before(left)
            if is_not_a_count(original, folded, number, before, after):
                return None, end
        for token in after[:used]:
            right = without_first(right, token)
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
    words = around.words_after(right)
    if currency:
        words = [currency, *words[: CONTEXT_WORDS - 1]]
    found = number.value, kind, around.words_before(left), " ".join(words)
    return _new(NumberContext, found), end
