"""Finding counts in a text, each with the words around it."""

from __future__ import annotations

import re
import unicodedata

from esdedup.features.numbers.languages import (
    BOUNDARIES,
    IDEOGRAPHS,
    Lexicon,
    language_by_script,
    lexicon_of,
)
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


def extract_numbers(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    lexicon = lexicon_of(primary_language(lang) or language_by_script(text))
    original, folded = _fold(text, lexicon.lang)
    contexts: list[NumberContext] = []
    position, last = 1, len(folded) - 2
    while match := lexicon.number.search(folded, position, last + 2):
        if match.start() >= last or len(contexts) == MAX_NUMBERS:
            break
        if not _may_begin(folded, match.start()):
            position = match.start() + 1
            continue
        position = max(match.end(), match.start() + 1)
        number = read_number(folded, match, lexicon)
        if number is not None:
            context, position = _judge(original, folded, number, lexicon)
            if context is not None:
                contexts.append(context)
    return tuple(contexts)


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
) -> tuple[NumberContext | None, int]:
    """The count at this place, or None; and where to read on."""
    if is_part_of_something(folded, number):
        return None, number.end
    before = tokens_before(folded, number.start, lexicon)
    kind, currency = COUNT, ""
    if before and before[0] in KIND_BEFORE:
        kind, currency = KIND_BEFORE[before.pop(0)]
    read_suffix_and_scale(folded, number, kind == MONEY, lexicon)
    end = number.end
    if not number.value:
        return None, end
    after = tokens_after(folded, end, lexicon)
    if kind == COUNT:
        kind, currency, used = kind_after(after)
        if kind == COUNT and is_not_a_count(original, folded, number, before, after):
            return None, end
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
        after = after[used:]
    right = content_words(after, lexicon, abbreviated=-1)
    if currency:
        right = [currency, *right[: CONTEXT_WORDS - 1]]
    left = content_words(before, lexicon, abbreviated=1)[::-1]
    return NumberContext(number.value, kind, " ".join(left), " ".join(right)), end


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
