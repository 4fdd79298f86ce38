"""What an article is about: a vector of its rarest terms, and the cosine of two such vectors.

The cosine is a property of two texts. Rarity comes from fixed tables or from the statistics of a
corpus, never from what else is in a store, so that two articles are as similar in every store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from esdedup.model import NO_TERMS, Document, TermVector
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix
from esdedup.text.tokens import UNSPACED
from esdedup.text.words import is_known

# Terms of a vector, those with the highest weights; docs/evaluation.md has other numbers.
TERMS = 32
# Characters of a text that are read: news state their subject at the beginning.
CHARACTERS = 1_000
# Words at least this common weigh next to nothing (-100 log10 of their share of all words).
_COMMON = 250
# A word of the headline counts this many times.
_TITLE = 3
# The highest weight that terms are sorted by.
_HEAVIEST = (1 << 20) - 1
# Texts tokenised in one pass.
_MANY = 2_000
# Raise this whenever a text gets other terms or weights: topic indexes are built again.
_VERSION = 1


def topic_version(settings: Settings) -> str:
    """Everything that vectors depend on besides the texts. Versions are not comparable."""
    words = settings.words_version if settings.words_file else "-"
    left_out = ""
    if settings.leave_out_boilerplate:
        left_out = f" {settings.boilerplate_share} {settings.boilerplate_stories}"
    return f"{_VERSION} {TERMS} {CHARACTERS} {settings.signed_text} {words}{left_out}"


def term_vectors(documents: Sequence[Document], settings: Settings) -> list[TermVector]:
    """One vector for each document. Languages without word statistics are read by pairs of words.

    Without a list of stop words, single words would make any two texts of a language similar.
    Pairs of words (in scripts without spaces, pairs of characters) tell subjects apart.
    """
    vectors: list[TermVector] = []
    for part in batched(documents, _MANY):
        vectors += _vectors(Batch(part, settings, CHARACTERS))
    return vectors


def _vectors(batch: Batch) -> list[TermVector]:
    codes = {code: is_known(code) for code in set(batch.term_languages)}
    known = np.array([codes[code] for code in batch.term_languages])
    out = [NO_TERMS] * len(batch.documents)
    if known.any():
        _fill_from_words(batch, known, out)
    for place in np.flatnonzero(~known).tolist():
        out[place] = _from_pairs(batch, place)
    return out


def cosines(one: TermVector, others: Sequence[TermVector]) -> list[float]:
    """Cosine of one vector with each of several, 0 to 1."""
    if not len(one.terms) or not others:
        return [0.0] * len(others)
    terms = np.concatenate([other.terms for other in others])
    weights = np.concatenate([other.weights for other in others])
    places = np.searchsorted(one.terms, terms)
    places[places == len(one.terms)] = 0
    products = (one.terms[places] == terms) * one.weights[places] * weights
    rows = np.repeat(np.arange(len(others)), [len(other.terms) for other in others])
    sums: list[float] = np.bincount(rows, products, len(others)).tolist()
    return sums


def _fill_from_words(batch: Batch, known: NDArray[np.bool_], out: list[TermVector]) -> None:
    terms, tokens = batch.terms, batch.mixed_tokens
    counts = np.diff(tokens.first)
    texts = np.repeat(np.arange(len(counts)), counts)
    selected = np.flatnonzero(~terms.is_stop & known[texts])
    pairs, times = texts[selected] << 32 | terms.numbers[selected], _times(batch)[selected]
    distinct, inverse = np.unique(pairs, return_inverse=True)
    frequency = np.bincount(inverse, times, len(distinct)).astype(np.float64, copy=False)
    numbers = distinct & 0xFFFFFFFF
    weights = _weights(terms.rarities[numbers], frequency)
    order = np.argsort(_sort_keys(distinct >> 32, weights, terms.hashes[numbers]), kind="stable")
    bounds = np.searchsorted(distinct, np.arange(len(counts) + 1) << 32)
    sizes = np.minimum(np.diff(bounds), TERMS)
    ends = np.cumsum(sizes)
    # The first terms of each text in this order have the highest weights.
    ranks = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
    kept_rows = order[np.repeat(bounds[:-1], sizes) + ranks]
    rows = np.repeat(np.arange(len(counts)), sizes)
    hashes, weights = terms.hashes[numbers[kept_rows]], weights[kept_rows]
    by_hash = np.lexsort((hashes, rows))
    hashes, weights = hashes[by_hash], weights[by_hash]
    lengths = np.sqrt(np.bincount(rows, weights * weights, minlength=len(counts)))
    scaled = (weights / lengths[rows]).astype(np.float32)
    for place in np.flatnonzero(known & (sizes > 0)).tolist():
        start, end = int(ends[place] - sizes[place]), int(ends[place])
        out[place] = TermVector(hashes[start:end], scaled[start:end])


def _sort_keys(
    texts: NDArray[np.int64], weights: NDArray[np.float64], hashes: Hashes
) -> NDArray[np.uint64]:
    """Sorts by text, falling weight, then hash (16, 20 and 28 bits)."""
    heavy = np.minimum(weights * 64, _HEAVIEST).astype(np.uint64)
    light = np.uint64(_HEAVIEST) - heavy
    key = texts.astype(np.uint64) << np.uint64(48) | light << np.uint64(28)
    keys: NDArray[np.uint64] = key | hashes >> np.uint64(36)
    return keys


def _weights(rarities: NDArray[np.int64], frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.maximum(rarities - _COMMON, 1).astype(np.float64)
    often = np.flatnonzero(frequency > 1)
    weights[often] *= 1 + np.log2(frequency[often])
    return weights


def _times(batch: Batch) -> NDArray[np.int64]:
    """How many times each word of the batch counts."""
    first = batch.mixed_tokens.first.tolist()
    times = np.ones(first[-1], np.int64)
    if batch.settings.signed_text != "body":
        for start, end, document in zip(first[:-1], first[1:], batch.documents, strict=True):
            times[start : min(end, start + len(document.title.split()))] = _TITLE
    return times


def _from_pairs(batch: Batch, place: int) -> TermVector:
    """Pairs of words with equal weights; where there are too many, those with the lowest hashes."""
    start, end = batch.mixed_tokens.shingle_ranges(2)[place].tolist()
    hashes = np.unique(mix(batch.mixed_tokens.shingles(2)[start:end]))[:TERMS]
    return TermVector(hashes, np.full(len(hashes), max(1, len(hashes)) ** -0.5, np.float32))


# --- terms as words ----------------------------------------------------------------------------


def vector_and_words(
    document: Document, settings: Settings, most: int = TERMS
) -> tuple[TermVector, dict[int, str]]:
    """The vector of an article, and its terms with the highest weights, each with the first word
    of the text that stands for it."""
    batch = Batch([document], settings, CHARACTERS)
    (vector,) = _vectors(batch)
    order = np.lexsort((vector.terms, -vector.weights))
    terms = vector.terms[order[:most]].tolist()
    if is_known(batch.term_languages[0]):
        hashes, word_at = batch.terms.hashes[batch.terms.numbers], batch.mixed_tokens.word
    else:
        hashes, word_at = mix(batch.mixed_tokens.shingles(2)), partial(_pair, batch)
    return vector, {t: word_at(int(np.flatnonzero(hashes == np.uint64(t))[0])) for t in terms}


def _pair(batch: Batch, place: int) -> str:
    one, two = batch.mixed_tokens.word(place), batch.mixed_tokens.word(place + 1)
    return f"{one}{two}" if _is_unspaced(one) and _is_unspaced(two) else f"{one} {two}"


def _is_unspaced(word: str) -> bool:
    return any(low <= ord(word[0]) <= high for low, high in UNSPACED)
