"""Counts in bounded memory: a count-min sketch, a sketch of bitmaps, a sample counted exactly.

All three add up: the sum of two parts is what counting both parts at once would have given,
whatever the order. Keys are 64-bit hashes that are well mixed already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from esdedup.text.hashing import Hashes, draw_numbers, mix

Counts = NDArray[np.uint32]

# The seed of the places in a row; part of the format of the file.
_SEED = 0
_MOST = np.uint64((1 << 32) - 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """`width` cells (a power of two) in each of `depth` rows."""

    width: int
    depth: int

    @classmethod
    def of(cls, error: float, doubt: float) -> Shape:
        """For counts at most `error` times all that was counted too high, but for `doubt` of them.

        Cormode & Muthukrishnan: width e / error, depth ln(1 / doubt).
        """
        width = 1 << max(1, math.ceil(math.log2(math.e / error)))
        return cls(width, max(1, math.ceil(math.log(1 / doubt))))

    @property
    def error(self) -> float:
        return math.e / self.width

    @property
    def doubt(self) -> float:
        return math.exp(-self.depth)

    def for_sites(self) -> Shape:
        """A quarter of the width: what must be in the bits of all rows need not be alone there."""
        return Shape(max(2, self.width // 4), self.depth)

    def empty(self) -> Counts:
        return np.zeros((self.depth, self.width), np.uint32)

    def places(self, keys: Hashes, row: int) -> NDArray[np.int64]:
        """Where a row keeps the keys: the high bits of the key mixed with a number of the row."""
        salt = draw_numbers(_SEED, "words", self.depth)[row]
        return (mix(keys ^ salt) >> np.uint64(65 - self.width.bit_length())).astype(np.int64)


def shape_of(table: Counts) -> Shape:
    return Shape(table.shape[1], table.shape[0])


def add_counts(table: Counts, keys: Hashes) -> None:
    """One more for each of the keys, as often as it is among them."""
    shape = shape_of(table)
    for row, cells in enumerate(table):
        np.add.at(cells, shape.places(keys, row), np.uint32(1))


def estimates(table: Counts, keys: Hashes) -> NDArray[np.int64]:
    """Never less than the true count: the least of the cells that a key shares with others."""
    shape = shape_of(table)
    cells = [own[shape.places(keys, row)] for row, own in enumerate(table)]
    least: NDArray[np.int64] = np.minimum.reduce(cells).astype(np.int64)
    return least


def add_tables(a: Counts, b: Counts) -> Counts:
    both: Counts = np.minimum(a.astype(np.uint64) + b, _MOST).astype(np.uint32)
    return both


def add_bits(table: Counts, keys: Hashes, bits: NDArray[np.int64]) -> None:
    """Set bit `bits[i]` (0 to 31) for key i."""
    shape = shape_of(table)
    values = np.left_shift(np.uint32(1), bits.astype(np.uint32))
    for row, cells in enumerate(table):
        np.bitwise_or.at(cells, shape.places(keys, row), values)


def bits_set(table: Counts, keys: Hashes) -> NDArray[np.int64]:
    """How many bits all cells of a key have in common: at least those that were set for it."""
    shape = shape_of(table)
    cells = [own[shape.places(keys, row)] for row, own in enumerate(table)]
    common = np.bitwise_and.reduce(cells).astype("<u4")
    bits = np.unpackbits(common.view(np.uint8).reshape(-1, 4), axis=1)
    number: NDArray[np.int64] = bits.sum(axis=1, dtype=np.int64)
    return number


@dataclass(frozen=True, slots=True)
class Exact:
    """Distinct keys, sorted, and how often each came; with a `limit` only the smallest keys.

    A key among the smallest of all is among the smallest of every part that it is in, so that its
    count is never interrupted: the smallest keys are a random sample, counted exactly.
    """

    keys: Hashes
    counts: Counts
    limit: int = 0  # 0: all keys

    @classmethod
    def empty(cls, limit: int = 0) -> Exact:
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.uint32), limit)

    @property
    def is_full(self) -> bool:
        return bool(self.limit) and len(self.keys) == self.limit

    def add_keys(self, keys: Hashes) -> Exact:
        """With these keys counted, as often as each is among them."""
        if self.is_full:
            keys = keys[keys <= self.keys[-1]]
        distinct, counts = np.unique(keys, return_counts=True)
        return self.merge(Exact(distinct, counts.astype(np.uint32), self.limit))

    def merge(self, other: Exact) -> Exact:
        if not len(other.keys):
            return self
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], np.concatenate([self.counts, other.counts])[order]
        is_first = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
        places = np.flatnonzero(is_first)
        together = np.minimum(np.add.reduceat(counts.astype(np.uint64), places), _MOST)
        end = self.limit or len(places)
        return Exact(keys[places][:end], together.astype(np.uint32)[:end], self.limit)

    def distinct(self) -> float:
        """How many distinct keys there were, from the density of the smallest ones."""
        if not self.is_full:
            return float(len(self.keys))
        return (self.limit - 1) / (float(self.keys[-1]) / 2.0**64)
