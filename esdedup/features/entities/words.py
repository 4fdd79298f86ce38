"""The words of a batch of texts as entities are read from them: arrays, no string a word.

They are the words that all methods share (text/tokens.py), with what folding takes away: which
begin with a capital, and what stands between them. Of words with an apostrophe between them one
is left: Ankara'nın is Ankara, l'État is État.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.features.entities.gazetteers import ELIDED, SUFFIXED
from esdedup.features.entities.lexicon import EntityLexicon, flags_of
from esdedup.text.hashing import BASE_MIXED, Hashes
from esdedup.text.tokens import Tokens, code_points, fold, tokenise, word_edges

Places = NDArray[np.int64]
Flags = NDArray[np.int64]
Marks = NDArray[np.uint8]
# Of one byte each where all of a batch is ASCII.
_Codes = NDArray[np.uint32] | NDArray[np.uint8]

# What may stand between two words; several of them add up.
SPACE, HYPHEN, DOT, APOSTROPHE, STOP, QUOTE, OTHER, AMPERSAND = (1 << i for i in range(8))
# What a word begins with.
CAPITAL, DIGIT = 1, 2
_SIGNS = {
    HYPHEN: "-\u2010\u2011",
    DOT: ".",
    APOSTROPHE: "'\u2019\u2018`\u02bc",
    STOP: "!?:\u2026",
    QUOTE: '"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a',
    AMPERSAND: "&",
}


@dataclass(frozen=True, slots=True)
class Words:
    """`first[i]:first[i + 1]` are the words of text i; all else is by word.

    `flags` are those of words near a capital, 0 elsewhere. `behind` is what stands between a word
    and the next one of its text, `suffix` what is known of the ending behind a word's apostrophe,
    0 without one. `tokens` and `places` lead to the word itself, `written` are the code points of
    the batch before folding.
    """

    tokens: Tokens
    places: Places
    first: Places
    hashes: Hashes
    flags: Flags
    suffix: Flags
    kinds: NDArray[np.uint8]
    behind: Marks
    written: _Codes

    def marks_before(self, places: Places) -> Marks:
        """What stands before these words; a text begins as a sentence does."""
        out = self.behind[places - 1]
        out[places == 0] = STOP
        return out

    def are_acronyms(self, places: Places) -> NDArray[np.bool_]:
        """NBA, UEFA: three to five letters, of which the first, second and last are capitals."""
        out = np.zeros(len(places), bool)
        lengths = self.tokens.lengths[self.places[places]]
        short = np.flatnonzero((lengths > 2) & (lengths < 6))
        at = self.tokens.starts[self.places[places[short]]]
        first, second, last = (
            _kind_table().take(self.written[at + i]) == CAPITAL for i in (0, 1, lengths[short] - 1)
        )
        out[short] = first & second & last
        return out

    def word(self, place: int) -> str:
        return self.tokens.word(int(self.places[place]))

    def join_words(self, start: int, end: int) -> str:
        return " ".join(self.word(place) for place in range(start, end))


def read(
    tokens: Tokens, texts: Sequence[str], lexicons: Sequence[EntityLexicon], titles: Sequence[str]
) -> Words:
    """Of each text the words behind its title (with which it begins, or which is empty);
    `tokens` are those of the texts."""
    written, bodies = _align_written(texts, titles)
    kinds = _kind_table().take(written[tokens.starts])
    marks, joined = _marks(tokens)
    flags = np.zeros(len(kinds), np.int64)
    near = _near_capitals(kinds, joined)
    flags[near] = flags_of(tokens, lexicons, near)
    heads, lasts = _find_joined_rows(flags, joined)
    is_selected = np.ones(len(kinds), bool)
    is_selected[joined] = is_selected[joined - 1] = False
    is_selected[heads] = True
    for start, end in _headings(tokens, bodies):
        is_selected[start:end] = False
    selected = np.flatnonzero(is_selected)
    first = np.searchsorted(selected, tokens.first)
    marks[heads] = marks[lasts]
    behind = marks[selected]
    suffix = np.zeros(len(selected), np.int64)
    suffixed = heads[(heads < lasts) & is_selected[heads]]
    suffix[np.searchsorted(selected, suffixed)] = flags[suffixed + 1] | SUFFIXED
    ends = first[1:]
    behind[ends[ends > first[:-1]] - 1] = STOP
    return Words(
        tokens=tokens,
        places=selected,
        first=first,
        hashes=tokens.hashes[selected],
        flags=flags[selected],
        suffix=suffix,
        kinds=kinds[selected],
        behind=behind,
        written=written,
    )


def _near_capitals(kinds: NDArray[np.uint8], joined: Places) -> Places:
    """The words that rules look at: those with a capital and beside one, and what stands in or
    beside a row of words joined by apostrophes, of which one is selected."""
    begun = kinds == CAPITAL
    begun[joined] = True
    near = begun.copy()
    near[:-1] |= begun[1:]
    near[1:] |= begun[:-1]
    return np.flatnonzero(near)


def _find_joined_rows(flags: Flags, joined: Places) -> tuple[Places, Places]:
    """Of each row of words joined by apostrophes the one that is selected, and the row's last."""
    goes_on = np.diff(joined) == 1
    heads = joined[np.concatenate([joined[:1] >= 0, ~goes_on])] - 1
    heads += flags[heads] & ELIDED != 0
    return heads, joined[np.concatenate([~goes_on, joined[:1] >= 0])]


def _headings(tokens: Tokens, bodies: Places) -> Iterator[tuple[int, int]]:
    """First word of each text and of its body, where texts have titles."""
    begins = np.searchsorted(tokens.starts, bodies)
    return zip(tokens.first[: len(begins)].tolist(), begins.tolist(), strict=True)


def _marks(tokens: Tokens) -> tuple[Marks, Places]:
    """What stands behind each word, and the words that an apostrophe joins to the one before.

    Most words have one space between them; only the other gaps are looked into.
    """
    out = np.full(len(tokens.starts), SPACE, np.uint8)
    ends = tokens.starts[:-1] + tokens.lengths[:-1]
    sizes = tokens.starts[1:] - ends
    odd = np.flatnonzero((sizes != 1) | (tokens.codes[ends] != ord(" ")))
    begins, sizes = ends[odd], sizes[odd]
    classes, codes = _mark_table(), tokens.codes
    seen = classes.take(codes[begins]) | classes.take(codes[begins + sizes - 1])
    long = np.flatnonzero(sizes > 2)
    if len(long):
        inner = sizes[long] - 2
        origins = np.cumsum(inner) - inner
        at = np.repeat(begins[long] + 1 - origins, inner) + np.arange(int(inner.sum()))
        seen[long] |= np.bitwise_or.reduceat(classes.take(codes[at]), origins)
    seen[sizes == 0] = 0
    out[odd] = seen
    joined = odd[(seen == APOSTROPHE) & (sizes == 1)] + 1
    return out, joined[~np.isin(joined, tokens.first)]


# --- the texts as they are written -------------------------------------------------------------


def _align_written(texts: Sequence[str], titles: Sequence[str]) -> tuple[_Codes, Places]:
    """The code points of the batch before folding, each where `Tokens.codes` has it folded, and
    where the body of each text begins; none if no text has a title."""
    forms = [_normalise(text) for text in texts]
    sizes = np.fromiter(map(len, forms), np.int64, len(forms)) + 1
    heads = [len(_normalise(title)) for title in titles]
    bodies = 1 + np.cumsum(sizes) - sizes + heads if any(heads) else np.zeros(0, np.int64)
    joined = "\n" + "\n".join(forms) + "\n"
    if joined.isascii():
        return np.frombuffer(joined.encode(), np.uint8), bodies
    codes = code_points(joined)
    counts = _folded_lengths().take(codes)
    for dot in np.flatnonzero(codes == 0x0307).tolist():
        if fold(chr(codes[dot - 1])).endswith("i"):  # an i with its dot written apart is an i
            counts[dot] = 0
    if (counts == 1).all():
        return codes, bodies
    return np.repeat(codes, counts), np.cumsum(counts, dtype=np.int64)[bodies - 1]


def _normalise(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


@cache
def _folded_lengths() -> NDArray[np.uint8]:
    """How many characters folding makes of each; 0 for those that are no part of any word."""
    table = np.ones(0x110000, np.uint8)
    for code in range(0x80, 0x20000):
        character = chr(code)
        is_left_out = unicodedata.category(character) == "Cf" or 0xFE00 <= code < 0xFE10
        table[code] = 0 if is_left_out else len(fold(character))
    return table


@cache
def _kind_table() -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    for code in range(0x20000):
        character = chr(code)
        if character.isupper() or character.istitle():
            table[code] = CAPITAL
        elif character.isnumeric():
            table[code] = DIGIT
    return table


@cache
def _mark_table() -> Marks:
    table = np.full(0x110000, OTHER, np.uint8)
    for code in range(0x20000):
        if chr(code).isspace():
            table[code] = SPACE
    for mark, signs in _SIGNS.items():
        for sign in signs:
            table[ord(sign)] = mark
    return table


# --- places in a text --------------------------------------------------------------------------

_CHUNK = re.compile(r"\S+")


def locate_words(text: str) -> list[tuple[int, int]]:
    """Where each word of a text stands in it; slower than reading, for those who need places.

    Where folding makes other words of some characters (½ is 1 and 2), these share their place.
    """
    chunks = [(match.start(), match[0]) for match in _CHUNK.finditer(text)]
    tokens = tokenise([chunk for _, chunk in chunks], BASE_MIXED)
    counts = np.diff(tokens.first).tolist()
    out: list[tuple[int, int]] = []
    for (origin, chunk), count in zip(chunks, counts, strict=True):
        starts, ends = word_edges(code_points(f"\n{chunk}\n"))
        if len(starts) == count:
            pairs = zip((starts - 1).tolist(), (ends - 1).tolist(), strict=True)
            out += [(origin + start, origin + end) for start, end in pairs]
        else:
            out += [(origin, origin + len(chunk))] * count
    return out
