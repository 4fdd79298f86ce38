"""The words of a batch of texts as entities are read from them: arrays, no string a word.

They are the words that all methods share (text/tokens.py), with what folding takes away: which
begin with a capital, and what stands between them. Of words with an apostrophe between them one
is kept: Ankara'nın is Ankara, l'État is État.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.features.entities.gazetteers import ELIDED, SUFFIXED
from esdedup.features.entities.lexicon import EntityLexicon, group_by_lexicon
from esdedup.text.hashing import BASE_MIXED, Hashes
from esdedup.text.tokens import (
    SplitTexts,
    Tokens,
    code_points,
    fold,
    split_words,
    tokenise,
    word_edges,
)

Places = NDArray[np.int64]
Flags = NDArray[np.int64]
Marks = NDArray[np.uint8]

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
    0 without one. `tokens` and `places` lead to the word itself, `written` and `numbers` to its
    form before folding.
    """

    tokens: Tokens
    places: Places
    first: Places
    hashes: Hashes
    flags: Flags
    suffix: Flags
    kinds: NDArray[np.uint8]
    behind: Marks
    written: SplitTexts
    numbers: Places

    def marks_before(self, places: Places) -> Marks:
        """What stands before these words; a text begins as a sentence does."""
        out = self.behind[places - 1]
        out[places == 0] = STOP
        return out

    def are_acronyms(self, places: Places) -> NDArray[np.bool_]:
        """NBA, UEFA: three to five letters, of which the first, second and last are capitals."""
        lengths = self.tokens.lengths[self.places[places]]
        starts = self.written.starts[self.numbers[places]]
        ends = self.written.ends[self.numbers[places]]
        first, second, last = (
            _kind_table().take(self.written.codes[at]) == CAPITAL
            for at in (starts, starts + 1, ends - 1)
        )
        out: NDArray[np.bool_] = (lengths > 2) & (lengths < 6) & first & second & last
        return out

    def word(self, place: int) -> str:
        return self.tokens.word(int(self.places[place]))

    def join_words(self, start: int, end: int) -> str:
        return " ".join(self.word(place) for place in range(start, end))


def read(
    tokens: Tokens,
    texts: Sequence[str],
    lexicons: Sequence[EntityLexicon],
    *,
    titles: Sequence[str] = (),
    signed: Tokens | None = None,
) -> Words:
    """The words of each text behind its title, which is empty or what the text begins with.

    `tokens` are all words of the texts, `signed` those that are read if some are left out.
    """
    written = _split_written(tokens, texts)
    numbers = np.arange(len(tokens.starts))
    bodies = tokens.first[:-1]
    if any(titles):
        bodies = bodies + np.diff(split_words([fold(title) for title in titles]).first)
    if signed is not None:
        numbers = np.searchsorted(tokens.starts, signed.starts)
        bodies = np.searchsorted(numbers, bodies)
        tokens = signed
    kinds = _kind_table().take(written.codes[written.starts[numbers]])
    marks, joined = _marks(tokens)
    flags = np.zeros(len(kinds), np.int64)
    near = _near_capitals(kinds, joined)
    for lexicon, rows in group_by_lexicon(lexicons, tokens.first, near):
        flags[near[rows]] = lexicon.find_flags(tokens, near[rows])
    heads, lasts = _find_joined_rows(flags, joined)
    is_kept = np.ones(len(kinds), bool)
    is_kept[joined] = is_kept[joined - 1] = False
    is_kept[heads] = True
    for start, end in zip(tokens.first[:-1].tolist(), bodies.tolist(), strict=True):
        is_kept[start:end] = False
    kept = np.flatnonzero(is_kept)
    first = np.searchsorted(kept, tokens.first)
    marks[heads] = marks[lasts]
    behind = marks[kept]
    suffix = np.zeros(len(kept), np.int64)
    suffixed = heads[(heads < lasts) & is_kept[heads]]
    suffix[np.searchsorted(kept, suffixed)] = flags[suffixed + 1] | SUFFIXED
    ends = first[1:]
    behind[ends[ends > first[:-1]] - 1] = STOP
    return Words(
        tokens=tokens,
        places=kept,
        first=first,
        hashes=tokens.hashes[kept],
        flags=flags[kept],
        suffix=suffix,
        kinds=kinds[kept],
        behind=behind,
        written=written,
        numbers=numbers[kept],
    )


def _split_written(tokens: Tokens, texts: Sequence[str]) -> SplitTexts:
    """The texts before folding, with as many words as after it.

    Only where a word is too long and cut, and folding changes its length, the numbers may differ;
    such a text is read as if it had no capitals.
    """
    forms = [unicodedata.normalize("NFKC", text) for text in texts]
    written = split_words(forms)
    if not np.array_equal(written.first, tokens.first):
        is_same = (np.diff(written.first) == np.diff(tokens.first)).tolist()
        rows = zip(is_same, forms, texts, strict=True)
        written = split_words([form if same else fold(text) for same, form, text in rows])
    return written


def _near_capitals(kinds: NDArray[np.uint8], joined: Places) -> Places:
    """The words that rules look at: those with a capital and beside one, and what stands in or
    beside a row of words joined by apostrophes, of which one is kept."""
    begun = kinds == CAPITAL
    begun[joined] = True
    near = begun.copy()
    near[:-1] |= begun[1:]
    near[1:] |= begun[:-1]
    return np.flatnonzero(near)


def _find_joined_rows(flags: Flags, joined: Places) -> tuple[Places, Places]:
    """Of each row of words joined by apostrophes the one that is kept, and the row's last."""
    goes_on = np.diff(joined) == 1
    heads = joined[np.concatenate([joined[:1] >= 0, ~goes_on])] - 1
    heads += flags[heads] & ELIDED != 0
    return heads, joined[np.concatenate([~goes_on, joined[:1] >= 0])]


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
