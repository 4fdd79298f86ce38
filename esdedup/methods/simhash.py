"""Simhash of a weighted feature vector (paper 001, Hu & You; after Charikar).

Every feature has a 64-bit hash. Each of the 64 sums takes a feature's weight where that bit of
the hash is 1 and gives it where the bit is 0; a bit of the fingerprint is 1 where its sum is
positive. Vectors with a small angle between them differ in few bits. A fingerprint is stored in
blocks: two that differ in fewer bits than there are blocks share at least one.

Features are the stems of the text, the sum of its word vectors, or what the caller brings: names
with weights, or a vector.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from esdedup.methods.vectors import load, vectors_of
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import BASE_MIXED, Hashes, draw_numbers
from esdedup.text.tokens import tokenise
from esdedup.text.words import Terms, name_hash

BITS = 64
# Bits of each block, the first from the low end. Paper 001, section 2.2.3, has three plans; its
# second is printed with four blocks of five.
PLANS: dict[str, tuple[int, ...]] = {
    "4x16": (16,) * 4,
    "5x13": (13, 13, 13, 13, 12),
    "8x8": (8,) * 8,
}

# Paper 001, section 2.3: similar but no copy where 3 < d < 8.
_SIMILAR_BELOW = 8
# A caller's weights are rounded to so many steps of the largest; sums then stay below 2^53,
# where doubles are exact, for 2^33 features.
_STEPS = 1 << 20

Weights = NDArray[np.float64]  # whole numbers, all of them


def sign(batch: Batch, settings: Settings) -> list[int | None]:
    """The fingerprint of each document; none where there is no feature."""
    signed: list[int | None] = [None] * len(batch.documents)
    given = _find_caller_features(batch, settings)
    for place, features in given.items():
        signed[place] = _fingerprint(*features)
    if len(given) < len(signed):
        features_of = _features_of_vectors if settings.simhash_vectors else _features_of_words
        for place, (hashes, weights) in enumerate(features_of(batch, settings)):
            if place not in given:
                signed[place] = _fingerprint(hashes, weights)
    return signed


def keys(signed: int | None, settings: Settings) -> tuple[str, ...]:
    """`bI:` the number of the block, then its bits in hex."""
    if signed is None:
        return ()
    return tuple(
        [
            f"b{i}:{signed >> shift & mask:0{digits}x}"
            for i, shift, mask, digits in _layout(settings.block_plan)
        ]
    )


def fingerprint_of(keys: Iterable[str], settings: Settings) -> int:
    """The fingerprint, put together again from its blocks."""
    shifts = {f"b{i}": shift for i, shift, _, _ in _layout(settings.block_plan)}
    parts = (key.split(":") for key in keys)
    return sum(int(bits, 16) << shifts[block] for block, bits in parts)


def min_shared_keys(settings: Settings) -> int:
    """Of N blocks at least N - d are equal where d bits differ."""
    return max(1, len(PLANS[settings.block_plan]) - settings.near_duplicate_distance)


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """Hamming distance: bits that differ."""
    return (fingerprint_of(a, settings) ^ fingerprint_of(b, settings)).bit_count()


def matches(measure: float, settings: Settings) -> bool:
    return measure <= settings.near_duplicate_distance


def is_similar(distance: float, settings: Settings) -> bool:
    """News of the same kind, not copies; all of it shares a block only in the plan 8x8."""
    return settings.near_duplicate_distance < distance < _SIMILAR_BELOW


def describe(distance: float, is_copy: bool, settings: Settings) -> str:
    kind = "a copy" if is_copy else "similar news" if is_similar(distance, settings) else "unlike"
    return f"Hamming distance {distance:g}: {kind}"


def is_complete(distance: int, settings: Settings) -> bool:
    """Whether every pair at this distance shares a block, so that blocks find all of them."""
    return distance < len(PLANS[settings.block_plan])


def _fingerprint(hashes: Hashes, weights: Weights) -> int | None:
    """Sum of w over bits that are 1 less that over bits that are 0, positive: bit 1."""
    if not len(hashes):
        return None
    columns = np.unpackbits(
        hashes.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"
    )
    ones: Weights = weights @ columns.astype(np.float64)
    bits = np.packbits(2 * ones > weights.sum(), bitorder="little")
    return int.from_bytes(bits.tobytes(), "little")


@cache
def _layout(plan: str) -> tuple[tuple[int, int, int, int], ...]:
    """Number, shift, mask and hex digits of each block."""
    widths = PLANS[plan]
    shifts = itertools.accumulate(widths, initial=0)
    return tuple(
        (i, shift, (1 << width) - 1, (width + 3) // 4)
        for i, (width, shift) in enumerate(zip(widths, shifts, strict=False))
    )


# --- features of the words ---------------------------------------------------------------------


def _features_of_words(batch: Batch, settings: Settings) -> Iterable[tuple[Hashes, Weights]]:
    """Stems without stop words, each once; all words of a text that has nothing else."""
    terms = batch.terms
    counts = np.diff(batch.tokens.first)
    texts = np.repeat(np.arange(len(counts)), counts)
    kept = _is_used(terms, texts, len(counts))
    # Text and term in one number: sorting it brings equal terms of a text together.
    pairs = texts << 32 | terms.numbers
    times = _emphasis(batch, settings)
    pairs = np.sort(pairs[kept] if times is None else np.repeat(pairs[kept], times[kept]))
    is_first = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    places = np.flatnonzero(is_first)
    distinct = pairs[places]
    frequency = np.diff(places, append=len(pairs))
    numbers = distinct & 0xFFFFFFFF
    hashes = terms.hashes[numbers]
    weights = _weights(terms.rarities[numbers], frequency, settings)
    bounds = np.searchsorted(distinct, np.arange(len(counts) + 1) << 32).tolist()
    return [(hashes[a:b], weights[a:b]) for a, b in itertools.pairwise(bounds)]


def check(settings: Settings) -> None:
    """Raise the error that signing would raise with every document: a missing model."""
    if settings.simhash_vectors:
        load(settings.simhash_vectors)


def _features_of_vectors(batch: Batch, settings: Settings) -> Iterable[tuple[Hashes, Weights]]:
    """The dimensions of the sum of the word vectors, each word weighted as its stem is.

    All factors are whole numbers, and so is the sum: the same on every machine.
    """
    terms, tokens = batch.terms, batch.mixed_tokens
    counts = np.diff(tokens.first)
    texts = np.repeat(np.arange(len(counts)), counts)
    _, one, distinct = np.unique(tokens.hashes, return_index=True, return_inverse=True)
    table = vectors_of([tokens.word(place) for place in one.tolist()], settings.simhash_vectors)
    times = _emphasis(batch, settings)
    each = np.ones(len(distinct), np.int64) if times is None else times
    weights = _weights(terms.rarities[terms.numbers], each, settings)
    if settings.simhash_weights == "equal":  # a word counts once
        pairs = texts * len(one) + distinct
        weights[np.setdiff1d(np.arange(len(pairs)), np.unique(pairs, return_index=True)[1])] = 0
    weights[~_is_used(terms, texts, len(counts))] = 0
    hashes = draw_numbers(settings.seed, f"simhash{table.shape[1]}", table.shape[1])
    return [
        _quantise(hashes, weights[a:b] @ table[distinct[a:b]])
        for a, b in itertools.pairwise(tokens.first.tolist())
    ]


def _is_used(terms: Terms, texts: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    has_content = np.bincount(texts[~terms.is_stop], minlength=count) > 0
    return ~(terms.is_stop & has_content[texts])


def _weights(
    rarities: NDArray[np.int64], frequency: NDArray[np.int64], settings: Settings
) -> Weights:
    """Term frequency times inverse document frequency, or 1 as in the paper.

    The frequency as it is: its logarithm finds fewer copies, and with its square the one word
    that a whole event is about decides (680 articles on one summit, within 3 bits: P .98 and
    R .24 as it is, 1 and .19 by the logarithm, .09 and .52 squared; docs/methods/simhash.md).
    """
    if settings.simhash_weights == "equal":
        return np.ones(len(rarities), np.float64)
    return (frequency * idf(rarities)).astype(np.float64)


def idf(rarities: NDArray[np.int64]) -> NDArray[np.int64]:
    """3 for the commonest words to 8 for the rarest: one more for each ten times as rare.

    From 1 to 8 unlike articles come nearer (BBC within 7 bits: P .84 against .96). Without any
    the figures are the same within the spread of the hashes: it is kept for texts whose language
    has no list of stop words and a table of frequencies.
    """
    return (rarities + 200) // 100


def _emphasis(batch: Batch, settings: Settings) -> NDArray[np.int64] | None:
    """How many times each word counts: title and lead may count more often than the rest."""
    title, lead = settings.simhash_title_weight, settings.simhash_lead_weight
    if title == lead == 1:
        return None
    first = batch.tokens.first
    times = np.ones(int(first[-1]), np.int64)
    headlines = np.minimum(_title_words(batch, settings), np.diff(first))
    for start, end, words in zip(first[:-1], first[1:], headlines, strict=True):
        body = start + words
        times[start:body] = title
        times[body : min(end, body + settings.simhash_lead_words)] = lead
    return times


def _title_words(batch: Batch, settings: Settings) -> NDArray[np.int64]:
    """The signed text begins with the title, unless only the body is signed."""
    if settings.signed_text == "body":
        return np.zeros(len(batch.documents), np.int64)
    titles = tokenise([document.title.strip() for document in batch.documents], BASE_MIXED)
    return np.diff(titles.first)


# --- features that the caller brings -----------------------------------------------------------


def _find_caller_features(batch: Batch, settings: Settings) -> dict[int, tuple[Hashes, Weights]]:
    """By place in the batch: what the field named in the settings holds, where it is there."""
    field = settings.simhash_field
    if not field:
        return {}
    return {
        place: _caller_features(document.extra[field], settings)
        for place, document in enumerate(batch.documents)
        if document.extra.get(field) is not None
    }


def _caller_features(given: Any, settings: Settings) -> tuple[Hashes, Weights]:
    """`{name: weight}`, or a vector as a sequence of numbers; anything else has no features.

    Each dimension of a vector has 64 random signs, one for each hyperplane. They depend on the
    number of dimensions too: vectors of different lengths are of different models, and what they
    have in common means nothing.
    """
    if isinstance(given, Mapping):
        hashes = np.array([name_hash(str(name)) for name in given], np.uint64)
        return _quantise(hashes, given.values())
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return _quantise(draw_numbers(settings.seed, f"simhash{len(given)}", len(given)), given)
    return _quantise(np.zeros(0, np.uint64), ())


def _quantise(hashes: Hashes, given: Iterable[Any]) -> tuple[Hashes, Weights]:
    """Whole numbers, in proportion to the largest; what is no finite number counts nothing."""
    weights = np.array([_number(weight) for weight in given], np.float64)
    largest = np.abs(weights).max(initial=0.0)
    if largest:
        weights = np.rint(weights / largest * _STEPS)
    counted = weights != 0
    return hashes[counted], weights[counted]


def _number(weight: Any) -> float:
    if not isinstance(weight, int | float | np.number):
        return 0.0
    try:
        number = float(weight)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) else 0.0
