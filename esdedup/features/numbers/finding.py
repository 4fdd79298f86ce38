"""Finding counts in a text, each with the words around it."""

from __future__ import annotations

import re
import unicodedata

from esdedup.features.numbers.chunks import NO_NUMBER, Reading
from esdedup.features.numbers.context import (
    CONTEXT_WORDS,
    WINDOW,
    ContextReader,
    chunks_before,
    context_reader,
    remove_first,
    remove_last,
)
from esdedup.features.numbers.context_flags import JOINS, KIND, OPEN, STREET, UNKNOWN, masks_of
from esdedup.features.numbers.languages import language_by_script
from esdedup.features.numbers.prefilter import possible_starts
from esdedup.features.numbers.reading import Number, read_number, read_suffix_and_scale
from esdedup.features.numbers.rules import (
    COUNT,
    KIND_BEFORE,
    MONEY,
    is_not_a_count,
    is_part_of_something,
    kind_after,
)
from esdedup.model.numbers import NumberContext

# A page with more numbers is a table; bounds memory on hostile input.
MAX_NUMBERS = 2000


# Hard-wrapped text: a line that goes on in lower case is not a new paragraph.
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
# Languages printed with digits of their own, or wide ones; "" is an unknown language.
_OWN_DIGITS = frozenset(
    ["", "ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th", "zh", "ja", "ko"]
)
_ANY_DIGIT = re.compile(r"[^\D0-9]")


def extract_numbers(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    around = context_reader(primary_language(lang) or language_by_script(text))
    original, folded = _fold(text, around.lexicon.lang)
    contexts: list[NumberContext] = []
    readings, longest = around.numbers, around.longest_chunk
    resume = 0
    for separator in possible_starts(folded, around.pairs):
        start = separator + 1
        if start < resume:
            continue
        space = folded.find(" ", start, start + longest)
        reading = readings[folded[separator:space]] if space > 0 else None
        # Most places are words that only begin like a number.
        if reading is NO_NUMBER:
            continue
        if reading is None:
            reading = _read(folded, start, space, around)
        context, resume = _read_count(original, folded, start, space, reading, around)
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


# The count at a place, or None; and where to read on.
_Found = tuple[NumberContext | None, int]


def _read_count(
    original: str,
    folded: str,
    start: int,
    space: int,
    reading: Reading,
    around: ContextReader,
) -> _Found:
    """Decide about a number by the flags of the chunks before and behind it."""
    length, value, plain, goes_on, refused_before, refused_after, doubts = reading
    end = start + length
    # To a space, so that no word is cut.
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    right = folded[end : stop if stop > 0 else end + WINDOW].split(" ")
    if goes_on and (
        len(right) < 3 or around.flags_after[right[1]] & goes_on or folded[start - 2].isdigit()
    ):
        reading = _read(folded, start, space, around)
        return _read_count(original, folded, start, space, reading, around)
    if not value:
        return None, end
    left = chunks_before(folded, start)
    before_flags = around.flags_before[left[-1] or left[-2]]
    after_flags = around.flags_after[right[0] or right[1]]
    both = before_flags | after_flags
    # Seven to nine tenths of what is no count in news: years, days, "page 2", "3 comments".
    if not both & OPEN and (before_flags & refused_before or after_flags & refused_after):
        return None, end
    kind, currency = (
        _kind_before(left, before_flags, around) if before_flags & OPEN else (COUNT, "")
    )
    if kind == COUNT and (
        both & doubts or before_flags & after_flags & JOINS or _may_be_in_a_street(right, around)
    ):
        after = around.tokens_after(right)
        kind, currency, used = kind_after(after)
        if kind == COUNT:
            number = Number(value, start, end, plain)
            before = around.tokens_before(left)
            if is_not_a_count(original, folded, number, before, after):
                return None, end
        for token in after[:used]:
            right = remove_first(right, token)
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
    words = around.words_after(right)
    if currency:
        words = [currency, *words[: CONTEXT_WORDS - 1]]
    return NumberContext(value, kind, around.words_before(left), " ".join(words)), end


def _read(folded: str, start: int, space: int, around: ContextReader) -> Reading:
    """Read a number with all chunks that it goes on over, or else as it stands in the text."""
    while 0 < space < start + around.longest_chunk and not folded[start - 2].isdigit():
        reading = around.numbers[folded[start - 1 : space]]
        following = folded.find(" ", space + 1, space + WINDOW)
        if reading is None or following < 0:
            break
        if not around.flags_after[folded[space + 1 : following]] & reading.goes_on:
            return reading._replace(goes_on=0)
        space = following
    number = _read_in_place(folded, start, around)
    if number is None:
        return NO_NUMBER
    value, plain = number.value, number.plain
    return Reading(number.end - start, value, plain, 0, *masks_of(value, plain))


def _read_in_place(folded: str, start: int, around: ContextReader) -> Number | None:
    """The number at this place, without a value if it is a part of something else."""
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


def _is_money(folded: str, start: int, around: ContextReader) -> bool:
    before = around.tokens_before(chunks_before(folded, start))
    return bool(before) and KIND_BEFORE.get(before[0], ("", ""))[0] == MONEY


def _kind_before(left: list[str], flags: int, around: ContextReader) -> tuple[str, str]:
    """Kind and currency by what stands in front, which is taken away."""
    is_alone = flags & KIND and left[-1] in KIND_BEFORE
    before = [left[-1]] if is_alone else around.tokens_before(left)
    if not before or before[0] not in KIND_BEFORE:
        return COUNT, ""
    remove_last(left, before[0])
    return KIND_BEFORE[before[0]]


def _may_be_in_a_street(right: list[str], around: ContextReader) -> bool:
    """ "12 Main Street": the second chunk behind a number."""
    second = 1 if right[0] else 2
    return len(right) > second and bool(around.flags_after[right[second]] & (STREET | UNKNOWN))
