"""Extraction of counts without its shortcuts, to judge these and nothing else.

The shortcuts are the prefilter, numbers read once for a chunk, context flags and cached context
words. Here every place is tried, and every number is read, judged and given its words in place.
Reading a value (`reading`) and deciding what is no count (`rules`) are no shortcuts: both sides
call them, and `test_phrases.py` judges them by phrases of known meaning.
"""

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

CONTEXT_WORDS = 3
WINDOW = 40
MAX_NUMBERS = 2000

Context = tuple[str, str, str, str]

_TOKEN = re.compile(r"\w+|[^\w \t\u00a0'\u2019\"()-]")
_IDEOGRAPHIC_TOKEN = re.compile(rf"[{IDEOGRAPHS}]|[^\W_{IDEOGRAPHS}]+|[\n%。；]")
_WRAPPED_LINE = re.compile(r"\n[ \t]*(?=[a-z])")
_OWN_DIGITS = frozenset(
    ["", "ar", "fa", "ur", "ps", "hi", "mr", "ne", "bn", "as", "my", "th", "zh", "ja", "ko"]
)


def number_contexts(text: str, lang: str | None) -> tuple[Context, ...]:
    """All counts of the text in reading order; an unknown language is read by its digits only."""
    code = (lang or "").replace("_", "-").split("-")[0].lower()
    lexicon = lexicon_of(code or language_by_script(text))
    original, folded = _fold(text, lexicon.lang)
    contexts: list[Context] = []
    resume = 0
    for position in range(1, len(folded) - 2):
        if position < resume or not _may_begin(folded, position):
            continue
        match = lexicon.number.match(folded, position)
        if match is None:
            continue
        resume = match.end()
        number = read_number(folded, match, lexicon)
        if number is None:
            continue
        context, resume = _judge(original, folded, number, lexicon)
        if context is not None:
            contexts.append(context)
    return tuple(contexts[:MAX_NUMBERS])


def _fold(text: str, lang: str) -> tuple[str, str]:
    """The text composed and unwrapped, and the same in lower case, letter for letter."""
    text = unicodedata.normalize("NFC", text)
    if lang in _OWN_DIGITS:
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    original = "\n" + _WRAPPED_LINE.sub(" ", text) + "\n\n\n"
    if lang == "tr":
        return original, original.replace("İ", "i").replace("I", "ı").lower()
    return original, original.replace("İ", "I").lower()


def _may_begin(folded: str, position: int) -> bool:
    """Not behind a Latin letter, in Chinese neither; and digits of other scripts are read in their
    languages alone, which have them replaced."""
    before, first = folded[position - 1], folded[position]
    is_glued = before <= "\u00ff" and (before.isalnum() or before == "_")
    return not is_glued and (first.isascii() or not first.isdecimal())


def _judge(
    original: str, folded: str, number: Number, lexicon: Lexicon
) -> tuple[Context | None, int]:
    """The count at this place, or None; and where to read on."""
    if is_part_of_something(folded, number):
        return None, number.end
    start = number.start
    # From a space to a space, so that no word is cut.
    begin = folded.find(" ", start - WINDOW, start) if start > WINDOW else 0
    before = _tokens(folded[max(begin, start - WINDOW, 0) : start], lexicon)[::-1]
    kind, currency = COUNT, ""
    if before and before[0] in KIND_BEFORE:
        kind, currency = KIND_BEFORE[before.pop(0)]
    read_suffix_and_scale(folded, number, kind == MONEY, lexicon)
    end = number.end
    if not number.value:
        return None, end
    stop = folded.find(" ", end + WINDOW, end + 2 * WINDOW)
    after = _tokens(folded[end : max(stop, end + WINDOW)], lexicon)
    if kind == COUNT:
        kind, currency, used = kind_after(after)
        if kind == COUNT and is_not_a_count(original, folded, number, before, after):
            return None, end
        if used == 2:
            # In "pour cent" the second word is a number of its own.
            end = folded.find(after[1], end) + len(after[1])
        after = after[used:]
    left = _content_words(before, 1, lexicon)[::-1]
    right = _content_words(after, -1, lexicon)
    if currency:
        right = [currency, *right[: CONTEXT_WORDS - 1]]
    return (number.value, kind, " ".join(left), " ".join(right)), end


def _tokens(window: str, lexicon: Lexicon) -> list[str]:
    return (_IDEOGRAPHIC_TOKEN if lexicon.ideographic else _TOKEN).findall(window)


def _content_words(tokens: list[str], abbreviated: int, lexicon: Lexicon) -> list[str]:
    """The nearest content words, up to the end of the sentence.

    `abbreviated` is the step to the word a full stop belongs to: behind a single letter it is an
    abbreviation ("U.S. soldiers").
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
