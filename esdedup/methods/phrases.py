"""Weighted phrases (paper 002, Alonso, Fetterly & Manasse): consistent weighted sampling.

Every phrase of 7 words has a weight: a function of how common its first word is, after SpotSigs,
whose idea it is that running text begins its phrases with common words, and captions and
headlines do not. For each of the samples the text draws one of its phrases, so that two texts
draw the same one with the probability of their weighted Jaccard, sum of minima by sum of maxima.

The weight of the whole phrase by its own frequency (IDF, or 1/0 for rare phrases) needs counts of
phrases, which a fixed table cannot have: it is 1 for all of them here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from esdedup.hashing import Hashes, drawn, mix
from esdedup.methods.antecedents import are_antecedents
from esdedup.methods.batch import Batch
from esdedup.settings import Settings
from esdedup.words import RAREST

Floats = NDArray[np.float64]

# Words of the article in which the document frequency of a first word is reckoned: of wordfreq's
# share f of all words 1 - (1 - f)^400 of such articles have one.
_ARTICLE = 400
# Weights are whole numbers before they reach a logarithm: the largest is this.
_SCALE = 1 << 20
# Numbers at a time, phrases by samples: so many stay in the cache, which halves the time.
_BLOCK = 1 << 12

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
class Signed:
    """The samples of one text: which phrase was drawn, and at which step of its weight."""

    phrases: Hashes
    steps: NDArray[np.int64]


def sign(batch: Batch, settings: Settings) -> list[Signed]:
    """No samples of a text without a phrase that weighs anything."""
    hashes = mix(batch.tokens.shingles(settings.phrase_words))
    weights = first_weights(batch, settings)
    out = []
    for start, end in batch.tokens.shingle_ranges(settings.phrase_words).tolist():
        phrases, at = np.unique(hashes[start:end], return_index=True)
        own = weights[start:end][at]
        weighty = own > 0
        out.append(sample(phrases[weighty], own[weighty], settings))
    return out


def keys(signed: Signed, settings: Settings) -> tuple[str, ...]:
    """`p`, the sample in two digits, 48 bits of the phrase in hex, and the step."""
    del settings
    low = (signed.phrases & np.uint64((1 << 48) - 1)).tolist()
    pairs = zip(low, signed.steps.tolist(), strict=True)
    return tuple([f"p{i:02d}:{phrase:012x}.{step}" for i, (phrase, step) in enumerate(pairs)])


def needed(settings: Settings) -> int:
    """Half of what a match shares on average; no single sample, which common phrases share."""
    return max(2, math.ceil(settings.phrase_threshold * settings.phrase_samples / 2))


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """Unbiased estimate of weighted Jaccard: the share of samples that are the same."""
    return len(set(a) & set(b)) / settings.phrase_samples


def matches(measure: float, settings: Settings) -> bool:
    return measure >= settings.phrase_threshold


def first_weights(batch: Batch, settings: Settings) -> NDArray[np.int64]:
    """The weight of a phrase that begins at each word of the batch."""
    if settings.phrase_weight == "uniform":
        return np.ones(len(batch.tokens.hashes), np.int64)
    if settings.phrase_weight == "antecedent":
        return are_antecedents(batch).astype(np.int64)
    terms = batch.terms
    return _weights(settings.phrase_weight)[terms.rarities[terms.numbers]]


@cache
def _weights(name: str) -> NDArray[np.int64]:
    """By rarity of the first word (see `words`): document frequency, function, whole number."""
    function = FUNCTIONS[name]
    frequency = [1 - (1 - 10 ** (-rarity / 100)) ** _ARTICLE for rarity in range(RAREST + 1)]
    return np.array([max(1, round(_SCALE * function(x))) for x in frequency], np.int64)


def sample(phrases: Hashes, weights: NDArray[np.int64], settings: Settings) -> Signed:
    """Consistent weighted sampling (Ioffe; section 4.3, the formula as in papers.md).

    For each phrase and sample u1, u2, v1, v2, beta in (0, 1) from the phrase's hash; r =
    1 / (u1 u2), t = floor(log_r W + beta), y = r^(t - beta), a = -ln(v1 v2) / (r y): the least a
    wins. Here ln a, which spares the powers and has the same least.
    """
    if not len(phrases):
        return Signed(phrases, np.zeros(0, np.int64))
    salts = drawn(settings.seed, "phrases", 3 * settings.phrase_samples).reshape(3, -1, 1)
    ln_w = np.log(weights)
    together = max(1, _BLOCK // len(phrases))
    parts = [
        _drawn(phrases, ln_w, salts[:, start : start + together])
        for start in range(0, settings.phrase_samples, together)
    ]
    won = np.concatenate([place for place, _ in parts])
    return Signed(phrases[won], np.concatenate([steps for _, steps in parts]).astype(np.int64))


def _drawn(phrases: Hashes, ln_w: Floats, salts: Hashes) -> tuple[NDArray[np.intp], Floats]:
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
