"""Words for the embedded full-text index, and queries over them.

The index holds folded text (see `text.fold`), so that İSTANBUL, Istanbul and istanbul are one
word in it, and characters of scripts without spaces one by one.
"""

from __future__ import annotations

import re

from esdedup.text.tokens import UNSPACED, fold

# A character of a script without spaces; those beyond the first plane stay together.
_BLOCKS = "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED if high < 0x10000)
_UNSPACED = re.compile(f"([{_BLOCKS}])")
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"\w+")
_SNIPPET_WORDS = 28


def fold_for_index(text: str) -> str:
    """What is indexed of a text; SQLite cannot hold null bytes or lone surrogates."""
    folded = fold(text)
    if folded.isascii():
        return folded.replace("\0", " ")
    safe = folded.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return _UNSPACED.sub(r" \1 ", safe)


def match_expression(query: str) -> str:
    """Every word must occur; words in double quotes as a phrase. No other syntax can leak in."""
    terms = []
    for match in _TERM.finditer(query):
        words = _WORD.findall(fold_for_index(match.group(1) or match.group(2) or ""))
        if words:
            terms.append('"' + " ".join(words) + '"')
    return " AND ".join(terms)


def query_terms(query: str) -> list[str]:
    """The words and quoted phrases of a query, lower case, for an analyser to take apart."""
    found = (match.group(1) or match.group(2) or "" for match in _TERM.finditer(query))
    return [term.replace("İ", "i").lower().strip('"') for term in found if _WORD.search(term)]


def snippet(text: str, query: str) -> str:
    """A few words of the text around the first that the query names."""
    wanted = set(_WORD.findall(fold_for_index(query)))
    words = text.split()
    hit = next((i for i, w in enumerate(words) if wanted & set(_WORD.findall(fold(w)))), 0)
    start = max(0, hit - _SNIPPET_WORDS // 4)
    part = " ".join(words[start : start + _SNIPPET_WORDS])
    return ("… " if start else "") + part + (" …" if start + _SNIPPET_WORDS < len(words) else "")
