"""Flags of words by hash: most words of a text never become strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from esdedup.features.entities.gazetteers import Knowledge, code_of, knowledge
from esdedup.text.hashing import BASE_MIXED, Hashes
from esdedup.text.tokens import Tokens, code_points

Places = NDArray[np.int64]
Flags = NDArray[np.int64]

# Slots for words that were looked up before, a power of two: 8 MB a language. Two words that share
# a slot are looked up again in turn.
_SLOTS = 1 << 19
_SHIFT = np.uint64(64 - 19)
_FACTOR = np.uint64(0xC4CEB9FE1A85EC53)  # odd: the high bits of a product depend on all others


class EntityLexicon:
    """The knowledge of one language, looked up by the hashes of words."""

    def __init__(self, known: Knowledge) -> None:
        self.knowledge = known
        names = polynomials([*known.names])
        order = np.argsort(names)
        self._names = names[order]
        self._name_flags = np.fromiter(known.names.values(), np.int64, len(names))[order]
        self._keys = np.zeros(_SLOTS, np.uint64)
        self._flags = np.zeros(_SLOTS, np.int64)
        self._lock = Lock()

    def find_flags(self, tokens: Tokens, places: Places) -> Flags:
        """Flags of the words at these places."""
        hashes = tokens.hashes[places]
        slots = (hashes * _FACTOR >> _SHIFT).view(np.int64)
        with self._lock:
            flags = self._flags[slots]
            unseen = np.flatnonzero(self._keys[slots] != hashes)
            if len(unseen):
                words = map(tokens.word, places[unseen].tolist())
                flags[unseen] = [self.knowledge.flags(word) for word in words]
                self._keys[slots[unseen]] = hashes[unseen]
                self._flags[slots[unseen]] = flags[unseen]
        return flags

    def find_names(self, hashes: Hashes) -> Flags:
        """Flags of names of several words; 0 for what is none."""
        found = np.minimum(np.searchsorted(self._names, hashes), len(self._names) - 1)
        return np.where(self._names[found] == hashes, self._name_flags[found], 0)


def group_by_lexicon(
    lexicons: Sequence[EntityLexicon], first: Places, places: Places
) -> Iterator[tuple[EntityLexicon, Places]]:
    """Which of these places are read with which lexicon; text i has the i-th one, and its words
    begin at `first[i]`."""
    distinct = list(dict.fromkeys(lexicons))
    if len(distinct) == 1:
        yield distinct[0], np.arange(len(places))
        return
    texts = np.searchsorted(first, places, side="right") - 1
    numbers = np.array([distinct.index(one) for one in lexicons])[texts]
    for number, one in enumerate(distinct):
        yield one, np.flatnonzero(numbers == number)


def lexicon(lang: str | None) -> EntityLexicon:
    return _lexicon(code_of(lang))


@cache
def _lexicon(code: str) -> EntityLexicon:
    return EntityLexicon(knowledge(code))


def polynomials(names: Sequence[str]) -> Hashes:
    """h = h * base + code point over the characters of each name, all names at once."""
    out = np.zeros(len(names), np.uint64)
    longest = max(map(len, names), default=0)
    padded = code_points("".join(name.ljust(longest, "\0") for name in names))
    letters = padded.reshape(len(names), longest).astype(np.uint64)
    for column in letters.T:
        is_there = column != 0
        out[is_there] = out[is_there] * np.uint64(BASE_MIXED) + column[is_there]
    return out
