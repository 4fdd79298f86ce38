"""Text to words: normalised, folded, and hashed once for all methods, many texts at a time.

A word is a run of letters, marks and digits. Scripts that do not put spaces between words
(Chinese, Japanese, Thai, Lao, Khmer, Burmese) give one word per character, so that a shingle of
n words is an n-gram of characters there. docs/format.md has every rule.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.text.hashing import Hashes, powers

_SEPARATOR, _LETTER, _SINGLE, _IGNORED = range(4)

# A longer run of letters is read as several words: it is no word, and the table of powers that
# hashing needs stays small.
LONGEST_WORD = 256

# Blocks written without spaces: Thai, Lao, Burmese, Khmer, kana, bopomofo, Han and their
# extensions (Hangul is written with spaces).
UNSPACED = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3040, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


def fold(text: str) -> str:
    """The form keys are made from: NFKC, case folded, dotless and dotted i as one letter.

    Folding the two together makes keys independent of the language a page claims: ISPARTA and
    Isparta meet in a page marked Turkish, marked English or not marked at all.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).replace("İ", "i").casefold()
    return folded.replace("ı", "i").replace("i̇", "i")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words of a batch of texts, as hashes.

    `first[i]:first[i + 1]` are the words of text i. `hashes` holds each word's polynomial
    h = h * base + code point; `lengths` its number of characters; `starts` where it begins
    among `codes`, the folded code points of the batch.
    """

    hashes: Hashes
    lengths: NDArray[np.int64]
    first: NDArray[np.int64]
    base: int
    codes: NDArray[np.uint32]
    starts: NDArray[np.int64]

    def count(self, text: int) -> int:
        return int(self.first[text + 1] - self.first[text])

    def word(self, place: int) -> str:
        """The folded word itself; methods need few of them, and use hashes for the others."""
        start = self.starts[place]
        code_points = self.codes[start : start + self.lengths[place]]
        return code_points.tobytes().decode("utf-32-le", "surrogatepass")

    def words(self, places: NDArray[np.int64]) -> list[str]:
        """The words at several places, in a third of the time that single calls take."""
        starts = self.starts[places]
        ends = starts + self.lengths[places]
        return [
            self.codes[start:end].tobytes().decode("utf-32-le", "surrogatepass")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def shingles(self, words: int) -> Hashes:
        """Polynomial over the characters of each run of `words` words joined by one space.

        Entry i starts at word i of the batch; the last words - 1 entries of every text reach
        into the next one and are the caller's to leave out (`shingle_ranges`).
        """
        runs = len(self.hashes) - words + 1
        if runs <= 0:
            return np.zeros(0, np.uint64)
        power = powers(self.base, LONGEST_WORD + 2)
        # Horner's rule by words: append " " and a word of length l, that is shift by l + 1.
        shift = power[self.lengths + 1]
        spaced = self.hashes + np.uint64(ord(" ")) * power[self.lengths]
        out = self.hashes[:runs].copy()
        for i in range(1, words):
            out *= shift[i : runs + i]
            out += spaced[i : runs + i]
        return out

    def shingle_ranges(self, words: int) -> NDArray[np.int64]:
        """(start, end) of each text's shingles within `shingles(words)`; end is never before."""
        starts = self.first[:-1]
        ends = np.maximum(self.first[1:] - (words - 1), starts)
        return np.stack([starts, ends], axis=1)


def code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def word_edges(codes: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each word begins and ends in a text as it stands, not folded.

    The text begins and ends with a line end, so that edges come in pairs.
    """
    classes = character_classes().take(codes)
    if not (classes == _IGNORED).any():
        return _word_edges(classes)
    places = np.flatnonzero(classes != _IGNORED)
    starts, ends = _word_edges(classes[places])
    return places[starts], places[ends - 1] + 1


def tokenise(texts: Sequence[str], base: int) -> Tokens:
    """Words of all texts at once: a handful of passes in numpy over their characters."""
    codes, classes, ends_of_texts = _classify([fold(text) for text in texts])
    starts, ends = _word_edges(classes)
    hashes = _word_hashes(codes, starts, ends, base)
    first = np.concatenate([[0], np.searchsorted(starts, ends_of_texts)])
    return Tokens(hashes, ends - starts, first, base, codes, starts)


def _classify(
    folded: Sequence[str],
) -> tuple[NDArray[np.uint32], NDArray[np.uint8], NDArray[np.int64]]:
    """Code points and their classes without those that are ignored, and where each text ends."""
    # A line end before, between and after: no word crosses a text, and edges come in pairs.
    codes = code_points("\n" + "\n".join(folded) + "\n")
    ends_of_texts = np.cumsum(np.fromiter(map(len, folded), np.int64, len(folded)) + 1)
    classes = character_classes().take(codes)
    if (classes == _IGNORED).any():
        is_read = classes != _IGNORED
        ends_of_texts = np.cumsum(is_read)[ends_of_texts] - 1
        codes, classes = codes[is_read], classes[is_read]
    return codes, classes, ends_of_texts


def _word_edges(classes: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    letters = classes == _LETTER
    edges = np.flatnonzero(letters[1:] != letters[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    singles = np.flatnonzero(classes == _SINGLE)
    if len(singles):
        starts = np.sort(np.concatenate([starts, singles]))
        ends = np.sort(np.concatenate([ends, singles + 1]))
    if len(starts) and int((ends - starts).max()) > LONGEST_WORD:
        starts, ends = _cut_long_words(starts, ends)
    return starts, ends


def _cut_long_words(
    starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    long = np.flatnonzero(ends - starts > LONGEST_WORD)
    cuts = np.concatenate(
        [np.arange(starts[i] + LONGEST_WORD, ends[i], LONGEST_WORD) for i in long]
    )
    return np.sort(np.concatenate([starts, cuts])), np.sort(np.concatenate([ends, cuts]))


def _word_hashes(
    codes: NDArray[np.uint32], starts: NDArray[np.int64], ends: NDArray[np.int64], base: int
) -> Hashes:
    """Each word's polynomial as a difference of prefix sums, without a loop over characters.

    With P(j) = sum over i < j of code(i) * base^-i the word from s to e has the polynomial
    (P(e) - P(s)) * base^(e - 1): an odd base has an inverse modulo 2^64. Positions count from
    the beginning of a block, so that two small tables of powers serve texts of any length.
    """
    up, down = _block_powers(base)
    out = np.empty(len(starts), np.uint64)
    blocks = np.searchsorted(starts, np.arange(0, len(codes) + _BLOCK, _BLOCK))
    for block, (low, high) in enumerate(itertools.pairwise(blocks)):
        origin = block * _BLOCK
        part = codes[origin : origin + _BLOCK + LONGEST_WORD].astype(np.uint64)
        sums = np.zeros(len(part) + 1, np.uint64)
        np.cumsum(part * down[: len(part)], out=sums[1:])
        s, e = starts[low:high] - origin, ends[low:high] - origin
        out[low:high] = (sums[e] - sums[s]) * up[e - 1]
    return out


# Characters hashed at once; a word that begins in a block may end beyond it.
_BLOCK = 1 << 16


@cache
def _block_powers(base: int) -> tuple[Hashes, Hashes]:
    size = _BLOCK + LONGEST_WORD
    return powers(base, size), powers(pow(base, -1, 1 << 64), size)


@cache
def character_classes() -> NDArray[np.uint8]:
    """What each code point is to a word; built once, on first use (about 30 ms)."""
    table = np.zeros(0x110000, np.uint8)
    for code in range(0x20000):
        category = unicodedata.category(chr(code))
        if category[0] in "LMN":
            table[code] = _LETTER
        elif category == "Cf":  # soft hyphens, joiners, direction marks, byte order marks
            table[code] = _IGNORED
    table[0xFE00:0xFE10] = _IGNORED  # variation selectors: the look of an emoji is no word
    for low, high in UNSPACED:
        block = table[low : high + 1]
        block[(block == _LETTER) | (low >= 0x20000)] = _SINGLE
    return table


# The commonest function words that the other languages of the table do not share; enough to
# recognise the language of a news text if the page does not declare it.
_FUNCTION_WORDS = {
    "en": "the of and was for that with said has have from were this which",
    "fr": "les des est une dans pour qui sur avec été cette aux sont ont",
    "de": "der die das und ist nicht mit von auf dem sich ein eine wurde",
    "es": "los las del una por con para que fue más sus pero está han",
    "tr": "bir ve bu için ile olarak olan daha çok da de sonra kadar gibi",
    "it": "il gli della che di per sono nel con una alla anche dei stato",
    "pt": "os uma não com para dos que foi mais são pelo ao como das",
    "nl": "het een van dat op zijn met voor niet aan werd ook naar bij",
}


@cache
def _languages_by_word() -> dict[str, tuple[str, ...]]:
    table: dict[str, tuple[str, ...]] = {}
    for lang, words in _FUNCTION_WORDS.items():
        for word in words.split():
            table[word] = (*table.get(word, ()), lang)
    return table


def guess_language(text: str) -> str | None:
    """The language whose function words are most frequent at the beginning of the text."""
    votes: dict[str, int] = {}
    table = _languages_by_word()
    for word in text[:2000].lower().split():
        for lang in table.get(word, ()):
            votes[lang] = votes.get(lang, 0) + 1
    best = max(votes, key=votes.__getitem__, default=None)
    return best if best is not None and votes[best] >= 3 else None
