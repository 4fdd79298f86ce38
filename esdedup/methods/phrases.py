"""Weighted phrases (paper 002, Alonso, Fetterly & Manasse): consistent weighted sampling.

Every phrase of 7 words has a weight: a function of how common its first word is, after SpotSigs,
whose idea it is that running text begins its phrases with common words, and captions and
headlines do not; and of how rare the whole phrase is, where statistics of a corpus are at hand,
because what stands on every page is no news. For each of the samples the text draws one of its
phrases, so that two texts draw the same one with the probability of their weighted Jaccard, sum
of minima by sum of maxima.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.methods.antecedents import are_antecedents
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.boilerplate import is_boilerplate
from esdedup.text.hashing import Hashes, draw_numbers, mix
from esdedup.text.statistics import statistics_of
from esdedup.text.statistics.corpus import ARTICLE, Statistics
from esdedup.text.words import RAREST, name_hash

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Weights are whole numbers before they reach a logarithm: the largest is this.
_SCALE = 1 << 20
# Steps of the inverse document frequency of a phrase between 0 (in all documents) and 1 (new).
_IDF_STEPS = 64
# Numbers at a time, phrases by samples: so many stay in the cache, which halves the time.
_BLOCK = 1 << 12
_LOW_48 = (1 << 48) - 1

# Table 4 is lost in the scan; these are named in the text. Of x, the document frequency in 0..1.
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "uniform": lambda x: 1.0,
    "identity": lambda x: x,
    "log": lambda x: math.log1p(1000 * x) / math.log1p(1000),
    "sqrt": math.sqrt,
    "square": lambda x: x * x,
    "fourth": lambda x: x**4,
    "antecedent": lambda x: 1.0,
}


@dataclass(frozen=True, slots=True)
class PhraseSamples:
    """The samples of one text: which phrase was drawn, and at which step of its weight."""

    phrases: Hashes
    steps: NDArray[np.int64]


def sign(batch: Batch, settings: Settings) -> list[PhraseSamples]:
    """No samples of a text without a phrase that weighs anything."""
    hashes = mix(batch.tokens.shingles(settings.phrase_words))
    first = first_weights(batch, settings)
    weigh = _Weighing(batch, settings)
    out = []
    for text, (start, end) in enumerate(
        batch.tokens.shingle_ranges(settings.phrase_words).tolist()
    ):
        phrases, at = np.unique(hashes[start:end], return_index=True)
        own = weigh(text, start + at, first[start:end][at])
        weighty = own > 0
        out.append(sample(phrases[weighty], own[weighty], settings))
    return out


def keys(signed: PhraseSamples, settings: Settings) -> tuple[str, ...]:
    """`p`, the sample in two digits, 48 bits of the phrase in hex, and the step.

    Of bands, `q`, the band in two digits and 48 bits over its samples.
    """
    low = (signed.phrases & np.uint64(_LOW_48)).tolist()
    samples = [
        f"{phrase:012x}.{step}" for phrase, step in zip(low, signed.steps.tolist(), strict=True)
    ]
    if settings.phrase_band == 1:
        return tuple([f"p{i:02d}:{one}" for i, one in enumerate(samples)])
    bands = [
        samples[start : start + settings.phrase_band]
        for start in range(0, len(samples) - settings.phrase_band + 1, settings.phrase_band)
    ]
    return tuple(
        [f"q{i:02d}:{name_hash(' '.join(band)) & _LOW_48:012x}" for i, band in enumerate(bands)]
    )


def min_shared_keys(settings: Settings) -> int:
    """Half of what a match shares on average; no single sample, which common phrases share."""
    bands = settings.phrase_samples // settings.phrase_band
    shared = settings.phrase_threshold**settings.phrase_band * bands
    return max(2 if settings.phrase_band == 1 else 1, math.ceil(shared / 2))


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """Estimate of weighted Jaccard: the share of samples that are the same, which is unbiased.

    A band is the same where all its samples are, J to their number: its root is an estimate too,
    a coarse one.
    """
    bands = settings.phrase_samples // settings.phrase_band
    share: float = len(set(a) & set(b)) / max(1, bands)
    return share if settings.phrase_band == 1 else share ** (1 / settings.phrase_band)


def matches(measure: float, settings: Settings) -> bool:
    return measure >= settings.phrase_threshold


def first_weights(batch: Batch, settings: Settings) -> Integers:
    """The weight, by its first word, of a phrase that begins at each word of the batch."""
    if settings.phrase_weight == "uniform":
        return np.ones(len(batch.tokens.hashes), np.int64)
    if settings.phrase_weight == "antecedent":
        return are_antecedents(batch).astype(np.int64)
    terms = batch.terms
    return _weights(settings.phrase_weight)[terms.rarities[terms.numbers]]


class _Weighing:
    """The weights of the phrases of a batch, by what the statistics know of them."""

    def __init__(self, batch: Batch, settings: Settings) -> None:
        self._batch, self._settings = batch, settings
        self._statistics = statistics_of(settings)
        if self._statistics is not None:
            self._hashes = mix(batch.mixed_tokens.shingles(settings.phrase_words))
            self._common_above = self._statistics.common_above(settings.phrase_rare_percent)

    def __call__(self, text: int, places: NDArray[np.intp], first: Integers) -> Integers:
        """Of the phrases of a text that begin at `places`, where `first` is by the first word."""
        known = self._statistics
        if known is None:
            return first
        hashes = self._hashes[places]
        is_common = is_boilerplate(hashes, self._batch.documents[text], known, self._settings)
        weights = self._weigh_by_count(
            known, hashes, self._batch.term_languages[text], places, first
        )
        return np.where(is_common, 0, weights)

    def _weigh_by_count(
        self,
        known: Statistics,
        hashes: Hashes,
        lang: str,
        places: NDArray[np.intp],
        first: Integers,
    ) -> Integers:
        """The factor of the whole phrase: nothing is known of languages with few documents."""
        factor, name = self._settings.phrase_factor, self._settings.phrase_weight
        counts = known.counts_in(lang)
        if factor == "none" or counts is None:
            return first
        found = known.phrase_counts(hashes, lang)
        if factor == "rare":
            return np.where(found > self._common_above, 0, first)
        if factor == "inverse":
            scale = _SCALE if name in ("uniform", "antecedent") else 1
            return np.where(first > 0, np.maximum(1, first * scale // np.maximum(1, found)), 0)
        levels = _idf_levels(found, counts.documents)
        if name == "uniform":
            return (levels > 0).astype(np.int64)
        if name == "antecedent":
            return first * levels
        terms = self._batch.terms
        return _weights_by_idf(name)[terms.rarities[terms.numbers[places]], levels]


@cache
def _weights(name: str) -> Integers:
    """By rarity of the first word (see `words`): document frequency, function, whole number."""
    function = FUNCTIONS[name]
    return np.array([max(1, round(_SCALE * function(x))) for x in _frequencies()], np.int64)


@cache
def _weights_by_idf(name: str) -> Integers:
    """By rarity of the first word and level of the phrase: the function of their product."""
    function = FUNCTIONS[name]
    rows = [
        [max(1, round(_SCALE * function(x * step / _IDF_STEPS))) for step in range(_IDF_STEPS + 1)]
        for x in _frequencies()
    ]
    table = np.array(rows, np.int64)
    table[:, 0] = 0
    return table


def _frequencies() -> list[float]:
    """The document frequency of a word of each rarity, in 0..1."""
    return [1 - (1 - 10 ** (-rarity / 100)) ** ARTICLE for rarity in range(RAREST + 1)]


def _idf_levels(counts: Integers, documents: int) -> Integers:
    """ln((N + 1) / (count + 1)) / ln(N + 1), which is 1 of a new phrase, in whole steps."""
    share = 1 - np.log(np.minimum(counts, documents) + 1) / math.log(documents + 1)
    levels: Integers = np.rint(share * _IDF_STEPS).astype(np.int64)
    return levels


def sample(phrases: Hashes, weights: NDArray[np.int64], settings: Settings) -> PhraseSamples:
    """Consistent weighted sampling (Ioffe; section 4.3, the formula as in papers.md).

    For each phrase and sample u1, u2, v1, v2, beta in (0, 1) from the phrase's hash; r =
    1 / (u1 u2), t = floor(log_r W + beta), y = r^(t - beta), a = -ln(v1 v2) / (r y): the least a
    wins. Here ln a, which spares the powers and has the same least.
    """
    if not len(phrases):
        return PhraseSamples(phrases, np.zeros(0, np.int64))
    salts = draw_numbers(settings.seed, "phrases", 3 * settings.phrase_samples).reshape(3, -1, 1)
    ln_w = np.log(weights)
    together = max(1, _BLOCK // len(phrases))
    parts = [
        _draw(phrases, ln_w, salts[:, start : start + together])
        for start in range(0, settings.phrase_samples, together)
    ]
    won = np.concatenate([place for place, _ in parts])
    return PhraseSamples(
        phrases[won], np.concatenate([steps for _, steps in parts]).astype(np.int64)
    )


def _draw(phrases: Hashes, ln_w: Floats, salts: Hashes) -> tuple[NDArray[np.intp], Floats]:
    """For some of the samples which phrase won, and its t."""
    ln_r = -_ln_product(mix(phrases ^ salts[0]))
    beta = (mix(phrases ^ salts[2]) >> np.uint64(11)) * 2.0**-53
    steps = np.floor(ln_w / ln_r + beta)
    ln_a = np.log(-_ln_product(mix(phrases ^ salts[1]))) - ln_r * (1 + steps - beta)
    won = np.argmin(ln_a, axis=1)
    return won, steps[np.arange(len(won)), won]


def _ln_product(numbers: Hashes) -> Floats:
    """ln of the product of two numbers in (0, 1), the halves of 64 bits."""
    high, low = (numbers >> np.uint64(32)) + 0.5, (numbers & np.uint64(0xFFFFFFFF)) + 0.5
    product: Floats = np.log(high * low * 2.0**-64)
    return product
