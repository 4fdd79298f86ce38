"""A text as words between white space: as written, and folded without punctuation.

White space of any kind is the same, so that neither paragraphs nor wrapped lines change what is
found. Typographic quotes, apostrophes and dashes are the plain ones.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from esdedup.text import fold

_QUOTES = (("’", "'"), ("‘", "'"), ("`", "'"), ("“", '"'), ("”", '"'), ("„", '"'), ("«", '"'))
_DASHES = (("–", " - "), ("—", " - "))
# No letters, so no part of a folded word: without them most English news is ASCII, and quicker.
_SIGNS = (("£", ""), ("€", ""), ("•", ""))
_PLAIN = (*_QUOTES, ("»", '"'), ("‹", '"'), ("›", '"'), *_DASHES, *_SIGNS)
# Heads that the apostrophe leaves out of a word: l'État, qu'il, O'Neill. Elsewhere the tail goes.
_ELIDED = frozenset(
    ("l", "d", "j", "m", "t", "s", "c", "n", "qu", "o", "jusqu", "lorsqu", "puisqu")
)
# In UTF-8 no byte of another character is one of these.
_PUNCTUATION = bytes(i for i in range(128) if not chr(i).isalnum() and chr(i) not in " '")


_OPENING = "\"'([{<*#@"


class Words(NamedTuple):
    """`raw` as written, punctuation attached; `folded` the same words as keys are made of them."""

    raw: list[str]
    folded: list[str]


def split(text: str) -> Words:
    """The words of a text; what holds no letter or digit is none, and stays with the one before."""
    if not text.isascii():
        text = plain(text)
    raw = text.replace(" - ", "- ").split()
    if not raw:
        return Words([], [])
    return _folded(raw)


def plain(text: str) -> str:
    if not unicodedata.is_normalized("NFKC", text):
        text = unicodedata.normalize("NFKC", text)
    for typographic, simple in _PLAIN:
        if typographic in text:
            text = text.replace(typographic, simple)
    return text


def _folded(raw: list[str]) -> Words:
    """Folded all at once, joined by one space: folding puts no space in."""
    text = fold(" ".join(raw)).encode("utf-8", "surrogatepass").translate(None, _PUNCTUATION)
    bare = text.decode("utf-8", "surrogatepass")
    parts = bare.split(" ")
    is_whole = "  " not in bare and bare[:1] not in " " and bare[-1] != " "
    if not bare.isascii() and not bare.replace(" ", "").replace("'", "").isalnum():
        parts = [part if part.isalnum() else _letters(part) for part in parts]
        is_whole = False
    if "'" in bare:
        parts = [_cut(part) if "'" in part else part for part in parts]
        is_whole = False
    return Words(raw, parts) if is_whole or "" not in parts else _without_empty(raw, parts)


def _cut(part: str) -> str:
    """`ankara'da` is `ankara`, `l'état` is `état`; quotes around a word are no part of it."""
    head, _, tail = part.strip("'").partition("'")
    kept = tail if head in _ELIDED and tail else head
    return kept.replace("'", "")


def without_opening(word: str) -> str:
    """Without the quotes and brackets before it, and without an article melted into it."""
    bare = word.lstrip(_OPENING)
    if "'" in bare and bare[0].islower():
        head, _, tail = bare.partition("'")
        return tail if head in _ELIDED else bare
    return bare


def _letters(part: str) -> str:
    return "".join(c for c in part if c == "'" or _is_letter(c))


@cache
def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _without_empty(raw: list[str], folded: list[str]) -> Words:
    kept_raw: list[str] = []
    kept: list[str] = []
    for written, word in zip(raw, folded, strict=True):
        if word:
            kept_raw.append(written)
            kept.append(word)
        elif kept:
            kept_raw[-1] += written
    return Words(kept_raw, kept)


_TOKEN = re.compile(r"\S+")


def located(text: str) -> tuple[Words, list[tuple[int, int]]]:
    """The same words with the place of each in the text; slower, for those who need places."""
    raw: list[str] = []
    folded: list[str] = []
    places: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        pieces = split(match[0])
        start = match.start()
        if not pieces.raw and raw:
            raw[-1] += plain(match[0]).strip()
        left = len(pieces.raw)
        for written, word in zip(*pieces, strict=True):
            left -= 1  # each of those to come has a character of its own at least
            end = min(start + len(written), match.end() - left) if left else match.end()
            raw.append(written)
            folded.append(word)
            places.append((start, end))
            start = end
    return Words(raw, folded), places
