"""Shingle min-hash sketch (paper 000, NRC-GPHIN; after Broder).

Every shingle of n words has a 64-bit fingerprint. For each of p permutations the smallest
permuted fingerprint of the text goes into its sketch; two texts share a key for about that
share of the p permutations which their sets of shingles have in common (Jaccard).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from esdedup.methods.key_text import write_keys_by_position
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, draw_numbers, mix

# Permuted fingerprints held at a time: what the processor's nearest cache takes.
_AT_ONCE = 1 << 14


def sign(batch: Batch, settings: Settings) -> list[Hashes]:
    """The p minima of each text; none for a text with fewer than n words."""
    values = batch.fingerprints
    samples = [_sample(values[start:end], settings.sample_size) for start, end in batch.ranges]
    lengths = np.fromiter(map(len, samples), np.int64, len(samples))
    signed = [np.zeros(0, np.uint64)] * len(samples)
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return signed
    together = np.concatenate(samples)
    offsets = (np.cumsum(lengths) - lengths)[filled]
    sketches = np.empty((len(filled), settings.permutations), np.uint64)
    numbers = _permutations(settings)
    # One article alone takes all permutations in one step, a batch one after the other.
    step = max(1, _AT_ONCE // len(together))
    for first in range(0, settings.permutations, step):
        part = slice(first, first + step)
        permuted = _permute(together, numbers[part, np.newaxis], settings)
        sketches[:, part] = np.minimum.reduceat(permuted, offsets, axis=1).T
    for place, text in enumerate(filled.tolist()):
        signed[text] = sketches[place]
    return signed


def keys(signed: Hashes, settings: Settings) -> tuple[str, ...]:
    """`s`, the number of the permutation, and the low 48 bits of its minimum."""
    return write_keys_by_position("s", signed, settings)


def min_shared_keys(settings: Settings) -> int:
    """More than t collisions make a candidate."""
    return settings.max_collisions_by_chance + 1


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """Collisions: a key says which permutation it belongs to."""
    del settings
    return len(set(a) & set(b))


def matches(measure: float, settings: Settings) -> bool:
    """As many collisions of p as two texts have that are alike to the share r."""
    return measure > settings.min_overlap * settings.permutations


def _sample(values: Hashes, size: int) -> Hashes:
    """At most `size` shingles, the smallest by a second hash: the choice depends on content."""
    if len(values) <= size:
        return values
    distinct = np.unique(values)
    if len(distinct) <= size:
        return distinct
    second = mix(distinct + np.uint64(1))
    return distinct[np.argpartition(second, size - 1)[:size]]


def _permute(values: Hashes, numbers: Hashes, settings: Settings) -> Hashes:
    """The paper permutes by exclusive or; multiplying by an odd number reorders more freely."""
    return values ^ numbers if settings.fingerprint == "poly31" else values * numbers


def _permutations(settings: Settings) -> Hashes:
    numbers = draw_numbers(settings.seed, "sketch", settings.permutations)
    return numbers if settings.fingerprint == "poly31" else numbers | np.uint64(1)
