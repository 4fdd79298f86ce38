"""Words for the embedded full-text index, and queries over them.

The index holds folded text (see `text.fold`), so that İSTANBUL, Istanbul and istanbul are one
word in it, and characters of scripts without spaces one by one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import groupby, islice, product
from operator import itemgetter

from esdedup.text.tokens import UNSPACED, fold

# A character of a script without spaces; those beyond the first plane stay together.
_BLOCKS = "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED if high < 0x10000)
_UNSPACED = re.compile(f"([{_BLOCKS}])")
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"\w+")
_SNIPPET_WORDS = 28
# Forms of a phrase that a query includes: those of each word multiply.
_MOST_FORMS = 64
# Letters that do not decompose, as the filter `asciifolding` of the engines has them.
_PLAIN = str.maketrans(
    {"æ": "ae", "ð": "d", "ø": "o", "þ": "th", "đ": "d", "ħ": "h", "ł": "l", "œ": "oe", "ŧ": "t"}
)


def fold_for_index(text: str) -> str:
    """What is indexed of a text; SQLite cannot hold null bytes or lone surrogates."""
    folded = fold(text)
    if folded.isascii():
        return folded.replace("\0", " ")
    safe = folded.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return _UNSPACED.sub(r" \1 ", safe)


def strip_marks(folded: str) -> str:
    """A folded text as people type it without diacritics: erdogan for erdoğan."""
    if folded.isascii():
        return folded
    letters = unicodedata.normalize("NFKD", folded.translate(_PLAIN))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def select_unmarked(text: str) -> list[str]:
    """The parts of a text that have words with diacritics, without these: such a word and those
    beside it. Empty for most texts in English, and for scripts that nobody types in ASCII."""
    if text.isascii():
        return []
    words = _WORD.findall(fold(text))
    plain = [strip_marks(word) for word in words]
    is_marked = [
        not word.isascii() and other.isascii() for word, other in zip(words, plain, strict=True)
    ]
    is_near = [any(is_marked[max(0, i - 1) : i + 2]) for i in range(len(words))]
    runs = groupby(zip(is_near, plain, strict=True), key=itemgetter(0))
    parts = (" ".join(word for _, word in run) for near, run in runs if near)
    return list(dict.fromkeys(parts))


def match_expression(
    query: str, find_forms: Callable[[str], Sequence[str]] = lambda word: [word]
) -> str:
    """Every word must occur; words in double quotes as a phrase. No other syntax can leak in.

    `find_forms` names the forms of a word that count as that word.
    """
    terms = []
    for match in _TERM.finditer(query):
        words = _WORD.findall(fold_for_index(match.group(1) or match.group(2) or ""))
        if words:
            forms = islice(product(*map(find_forms, words)), _MOST_FORMS)
            phrases = ['"' + " ".join(form) + '"' for form in forms]
            terms.append(phrases[0] if len(phrases) == 1 else f"({' OR '.join(phrases)})")
    return " AND ".join(terms)


def query_terms(query: str) -> list[str]:
    """The words and quoted phrases of a query, lower case, for an analyser to take apart."""
    found = (match.group(1) or match.group(2) or "" for match in _TERM.finditer(query))
    return [term.replace("İ", "i").lower().strip('"') for term in found if _WORD.search(term)]


def snippet(text: str, query: str) -> str:
    """A few words of the text around the first that the query names."""
    wanted = set(_WORD.findall(fold_for_index(query)))
    words = text.split()
    hit = next((i for i, w in enumerate(words) if wanted & _forms_of(w)), 0)
    start = max(0, hit - _SNIPPET_WORDS // 4)
    part = " ".join(words[start : start + _SNIPPET_WORDS])
    return ("… " if start else "") + part + (" …" if start + _SNIPPET_WORDS < len(words) else "")


def _forms_of(word: str) -> set[str]:
    """A word as it stands in the index, and without diacritics."""
    folded = fold(word)
    return {*_WORD.findall(folded), *_WORD.findall(strip_marks(folded))}
