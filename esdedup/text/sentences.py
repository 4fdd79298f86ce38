"""Texts to sentences: where each begins and ends, and how many words it has.

A sentence is what stands between two delimiters and holds a word (paper 003, section 3.1). That
is all: abbreviations and decimal points delimit as well, since both texts of a copy have them at
the same places; line ends do not, since every page breaks its lines differently. Words are those
of `text`, counted in the text as it stands, so that offsets are those of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.model.batching import batched
from esdedup.text.tokens import code_points, word_edges

Numbers = NDArray[np.int64]

# Unicode's Sentence_Terminal (UAX 29) of scripts that news is written in, the compatibility forms
# of these, and the ellipsis. Written out, so that keys do not depend on a Unicode version.
DELIMITERS = (
    ".!?…"
    "։"  # Armenian
    "؝؞؟۔"  # Arabic, Urdu
    "܀܁܂"  # Syriac
    "߹"  # N'Ko
    "।॥"  # Devanagari, and most scripts of India
    "།༎"  # Tibetan
    "၊။"  # Burmese
    "።፧፨"  # Ethiopic
    "᙮"  # Canadian syllabics
    "។៕"  # Khmer
    "᠃᠉"  # Mongolian
    "᱾᱿"  # Ol Chiki
    "\u037e\u2024\u203c\u203d\u2047\u2048\u2049\u2e2e\u2e3c"
    "。\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57\uff01\uff0e\uff1f\uff61"  # Chinese, Japanese
    "꓿꘎꘏꛳꛷꡶꡷꯫"  # Lisu, Vai, Bamum, Phags-pa, Meetei Mayek
)
# Thai and Lao have no mark: a space after one of their letters ends a sentence.
_SPACED_SENTENCES = (0x0E00, 0x0EFF)

# Texts in one go: of 16 articles the arrays stay in the cache and below the size that the system
# maps anew each time; with 256 a text costs twice as much.
_TOGETHER = 16
_NONE = np.zeros(0, np.int64)

_PLAIN, _DELIMITER, _SPACE, _THAI = range(4)


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences of a batch of texts.

    `first[i]:first[i + 1]` are those of text i; `words` is the length of each, `starts` and
    `ends` its place in its own text, the delimiter included.
    """

    words: Numbers
    starts: Numbers
    ends: Numbers
    first: Numbers

    def count(self, text: int) -> int:
        return int(self.first[text + 1] - self.first[text])


def split(texts: Sequence[str], further: str = "") -> Sentences:
    """All texts: a few passes in numpy over the characters of some of them at a time.

    `further` marks delimit as well: with "," and ";" the pieces are clauses.
    """
    parts = [_split(part, further) for part in batched(texts, _TOGETHER)]
    if len(parts) == 1:
        return parts[0]
    counts = [np.diff(part.first) for part in parts]
    return Sentences(
        np.concatenate([_NONE, *(part.words for part in parts)]),
        np.concatenate([_NONE, *(part.starts for part in parts)]),
        np.concatenate([_NONE, *(part.ends for part in parts)]),
        np.concatenate([[0], np.cumsum(np.concatenate([_NONE, *counts]))]),
    )


def _split(texts: Sequence[str], further: str) -> Sentences:
    codes = code_points("\n".join(["", *texts, ""]))
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    ends_of_texts = np.cumsum(sizes + 1)  # the line ends after each
    starts, _ = word_edges(codes)
    delimiters = _delimiters(codes, ends_of_texts, further)
    before = np.searchsorted(starts, delimiters)  # words before each delimiter
    words = np.diff(before, prepend=0)
    filled = np.flatnonzero(words)
    delimiters, words = delimiters[filled], words[filled]
    first_words = starts[before[filled] - words]
    first = np.concatenate([[0], np.searchsorted(delimiters, ends_of_texts, side="right")])
    owner = np.repeat(np.arange(len(texts)), np.diff(first))
    origins = (ends_of_texts - sizes)[owner]
    ends = np.minimum(delimiters + 1 - origins, sizes[owner])
    return Sentences(words, first_words - origins, ends, first)


def _delimiters(codes: NDArray[np.uint32], ends_of_texts: Numbers, further: str) -> Numbers:
    """Their places, and the end of every text: no sentence crosses it."""
    kinds = _kinds(further).take(codes)
    found = np.flatnonzero(kinds == _DELIMITER)
    parts = [found, ends_of_texts]
    thai = np.flatnonzero(kinds == _THAI)
    if len(thai):
        after = thai + 1
        parts.append(after[kinds[after] == _SPACE])
    return np.sort(np.concatenate(parts))


@cache
def _kinds(further: str) -> NDArray[np.uint8]:
    table = np.zeros(0x110000, np.uint8)
    table[[ord(c) for c in DELIMITERS + further]] = _DELIMITER
    table[[ord(c) for c in " \t\n\r\u00a0"]] = _SPACE
    low, high = _SPACED_SENTENCES
    table[low : high + 1] = _THAI
    return table
