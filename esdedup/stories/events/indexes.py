"""Indexes that find the similar articles of a window: by topic, or by simhash.

All sums are of whole numbers, so that the answer does not depend on how a stream was cut into
batches. Slots are the numbers by which the detector knows its articles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from esdedup.methods import simhash
from esdedup.settings import Settings
from esdedup.stories.events.items import EventItem
from esdedup.text.hashing import Hashes

Slots = NDArray[np.int64]
Products = NDArray[np.float64]  # whole numbers, all of them: their sums are exact

# Weights of a vector as whole numbers: a cosine is a sum of products over this squared.
_SCALE = 1 << 12
# Scores of some articles with the whole window: 2 MB, which fits in a processor cache.
_CELLS = 1 << 18
# Products held at a time: 8 bytes each, a few arrays of them.
_MANY = 1 << 20


class SimilarityIndex(Protocol):
    def add(self, first: int, items: Sequence[EventItem]) -> None:
        """Index articles under the slots first, first + 1, …"""

    def find_similar(self, items: Sequence[EventItem]) -> Iterator[Slots]:
        """For each article the slots of all that are similar, itself among them perhaps."""

    def keep(self, slots: Slots) -> None:
        """Forget all but these; they are 0, 1, … from now on."""


class ByTopic:
    """An inverted index: terms in rising order, each with the slot of an article and its weight."""

    def __init__(self, settings: Settings) -> None:
        self._least = round(settings.similar_topic * _SCALE * _SCALE)
        self._terms, self._slots, self._weights = _flatten([], 0)
        self._size = 0

    def add(self, first: int, items: Sequence[EventItem]) -> None:
        terms, slots, weights = _flatten(items, first)
        terms = np.concatenate([self._terms, terms])
        order = np.argsort(terms, kind="stable")
        self._terms = terms[order]
        self._slots = np.concatenate([self._slots, slots])[order]
        self._weights = np.concatenate([self._weights, weights])[order]
        self._size = first + len(items)

    def find_similar(self, items: Sequence[EventItem]) -> Iterator[Slots]:
        at_once = max(1, _CELLS // max(1, self._size))
        for start in range(0, len(items), at_once):
            yield from self._score_all(items[start : start + at_once])

    def _score_all(self, items: Sequence[EventItem]) -> list[Slots]:
        terms, rows, weights = _flatten(items, 0)
        rows *= self._size
        scores = np.zeros(len(items) * self._size)
        low = np.searchsorted(self._terms, terms, "left")
        counts = np.searchsorted(self._terms, terms, "right") - low
        for met in _split_by_size(np.flatnonzero(counts), counts):
            times = counts[met]
            before = np.cumsum(times) - times
            places = np.arange(int(times.sum())) + np.repeat(low[met] - before, times)
            pairs = self._slots[places] + np.repeat(rows[met], times)
            products = self._weights[places] * np.repeat(weights[met], times)
            scores += np.bincount(pairs, products, minlength=len(scores))
        hits = np.flatnonzero(scores >= self._least)
        bounds = np.searchsorted(hits, np.arange(len(items) + 1) * self._size).tolist()
        return [hits[a:b] - row * self._size for row, (a, b) in enumerate(pairwise(bounds))]

    def keep(self, slots: Slots) -> None:
        new = np.full(self._size, -1, np.int64)
        new[slots] = np.arange(len(slots))
        moved = new[self._slots]
        stays = moved >= 0
        self._terms, self._slots = self._terms[stays], moved[stays]
        self._weights = self._weights[stays]
        self._size = len(slots)


def _split_by_size(met: Slots, counts: Slots) -> Iterator[Slots]:
    """Terms that occur, in parts of at most `_MANY` products; an over-frequent term by itself."""
    ends = np.cumsum(counts[met])
    start = 0
    while start < len(met):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _MANY, "right")))
        yield met[start:stop]
        start = stop


def _flatten(items: Sequence[EventItem], first: int) -> tuple[Hashes, Slots, Products]:
    sizes = [len(item.topic.terms) for item in items]
    slots = np.repeat(np.arange(first, first + len(items)), sizes)
    if not len(slots):
        return np.zeros(0, np.uint64), slots, np.zeros(0)
    terms = np.concatenate([item.topic.terms for item in items])
    weights = np.concatenate([item.topic.weights for item in items])
    return terms, slots, np.rint(weights.astype(np.float64) * _SCALE)


class BySimhash:
    """All fingerprints of the window. Each is compared: a plan of blocks would miss some.

    Ten thousand take some 20 microseconds.
    """

    def __init__(self, settings: Settings) -> None:
        self._is_similar = np.array(
            [simhash.is_similar(distance, settings) for distance in range(simhash.BITS + 1)]
        )
        self._values = np.zeros(0, np.uint64)
        self._signed = np.zeros(0, np.bool_)

    def add(self, first: int, items: Sequence[EventItem]) -> None:
        values = np.array([item.fingerprint or 0 for item in items], np.uint64)
        signed = np.array([item.fingerprint is not None for item in items], np.bool_)
        self._values = np.concatenate([self._values[:first], values])
        self._signed = np.concatenate([self._signed[:first], signed])

    def find_similar(self, items: Sequence[EventItem]) -> Iterator[Slots]:
        for item in items:
            if item.fingerprint is None:
                yield np.zeros(0, np.int64)
                continue
            distances = _count_bits(self._values ^ np.uint64(item.fingerprint))
            yield np.flatnonzero(self._is_similar[distances] & self._signed)

    def keep(self, slots: Slots) -> None:
        self._values, self._signed = self._values[slots], self._signed[slots]


# Bits set in each number of 16 bits.
_BITS_SET = np.array([number.bit_count() for number in range(1 << 16)], np.uint8)


def _count_bits(values: Hashes) -> NDArray[np.int64]:
    parts = values.view(np.uint16).reshape(-1, 4)
    counts: NDArray[np.int64] = _BITS_SET[parts].sum(axis=1, dtype=np.int64)
    return counts


def make_index(settings: Settings) -> SimilarityIndex:
    return BySimhash(settings) if settings.event_count == "items" else ByTopic(settings)
