"""Flags of every word of a batch, looked up by hash: most words never become strings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from esdedup.features.entities.gazetteers import Knowledge, code_of, knowledge
from esdedup.text.hashing import BASE_MIXED, Hashes
from esdedup.text.tokens import Tokens, code_points

# Places for words seen, a power of two: the vocabulary of some ten thousand articles, in 4 MB.
# A word has two: one that comes to the first drives what is there to its second, so that the
# size is bounded and nothing is searched.
_PLACES = 1 << 18
_SHIFT = np.uint64(64 - 18)
_FIRST, _SECOND = np.uint64(0xC4CEB9FE1A85EC53), np.uint64(0xFF51AFD7ED558CCD)

Places = NDArray[np.int64]


@dataclass(frozen=True)
class EntityLexicon:
    """The knowledge of one language with what finding it by hash needs."""

    knowledge: Knowledge
    salt: int
    names: Hashes  # names of several words, by hash in ascending order
    name_flags: NDArray[np.int64]

    def find_names(self, hashes: Hashes) -> NDArray[np.int64]:
        """Flags of names of several words; 0 for what is none."""
        found = np.minimum(np.searchsorted(self.names, hashes), len(self.names) - 1)
        return np.where(self.names[found] == hashes, self.name_flags[found], 0)


def flags_of(
    tokens: Tokens, lexicons: Sequence[EntityLexicon], places: Places
) -> NDArray[np.int64]:
    """Flags of the words at these places, each text in its language."""
    with _lock:
        return _seen.flags(tokens, lexicons, places)


def lexicon(lang: str | None) -> EntityLexicon:
    return _lexicon(code_of(lang))


@cache
def _lexicon(code: str) -> EntityLexicon:
    known = knowledge(code)
    hashes = polynomials([*known.names])
    order = np.argsort(hashes)
    flags = np.fromiter(known.names.values(), np.int64, len(hashes))
    digest = hashlib.blake2b(code.encode(), digest_size=8).digest()
    salt = int.from_bytes(digest, "little")
    return EntityLexicon(known, salt, hashes[order], flags[order])


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


class _FlagTable:
    """Words met before, by hash and language."""

    def __init__(self) -> None:
        self._keys = np.zeros(_PLACES, np.uint64)
        self._flags = np.zeros(_PLACES, np.int64)

    def flags(
        self, tokens: Tokens, lexicons: Sequence[EntityLexicon], places: Places
    ) -> NDArray[np.int64]:
        salts = np.array([one.salt for one in lexicons], np.uint64)
        if len({one.salt for one in lexicons}) == 1:
            keys = tokens.hashes[places] + salts[0]
        else:
            keys = tokens.hashes[places] + np.repeat(salts, np.diff(tokens.first))[places]
        first = _place(keys, _FIRST)
        out = self._flags[first]
        others = np.flatnonzero(self._keys[first] != keys)
        if len(others):
            second = _place(keys[others], _SECOND)
            out[others] = self._flags[second]
            unseen = others[self._keys[second] != keys[others]]
            if len(unseen):
                out[unseen] = self._learn(tokens, lexicons, keys[unseen], places[unseen])
        return out

    def _learn(
        self, tokens: Tokens, lexicons: Sequence[EntityLexicon], keys: Hashes, places: Places
    ) -> NDArray[np.int64]:
        distinct, one, inverse = np.unique(keys, return_index=True, return_inverse=True)
        places = places[one]
        texts = np.searchsorted(tokens.first, places, side="right") - 1
        flags = np.fromiter(
            (
                lexicons[text].knowledge.flags(tokens.word(place))
                for place, text in zip(places.tolist(), texts.tolist(), strict=True)
            ),
            np.int64,
            len(distinct),
        )
        first = _place(distinct, _FIRST)
        second = _place(self._keys[first], _SECOND)
        self._keys[second], self._flags[second] = self._keys[first], self._flags[first]
        self._keys[first], self._flags[first] = distinct, flags
        return flags[inverse]


def _place(keys: Hashes, factor: np.uint64) -> Places:
    """By the high bits of a product, on which all bits of the key have their say."""
    return (keys * factor >> _SHIFT).view(np.int64)


_seen = _FlagTable()
_lock = Lock()
