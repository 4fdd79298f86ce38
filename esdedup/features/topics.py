"""What an article is about: its rarest terms, weighted; and how alike two articles are in that.

A measure of two texts alone: rarity comes from fixed tables or the statistics of a corpus, never
from what else is in a store, so that the same two articles are as alike everywhere and always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esdedup.model import NO_TOPIC, Document, Topic
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix
from esdedup.text.tokens import UNSPACED
from esdedup.text.words import is_known

# Terms kept of an article, the weightiest; figures for other numbers in docs/evaluation.md.
TERMS = 32
# A text is read to here: news tell what they are about at their beginning.
CHARACTERS = 1_000
# Words at least this common weigh next to nothing (-100 log10 of their share of all words).
_COMMON = 250
# A word of the headline counts so many times.
TITLE = 3

# What a weight is at most, where terms are sorted by it.
_HEAVIEST = (1 << 20) - 1

# Texts read at once.
_MANY = 2_000

# Raised whenever a text has other terms or weights than before: what is kept is made again.
_VERSION = 1


def mark_of(settings: Settings) -> str:
    """All that topics depend on besides the texts: those under another mark are not comparable."""
    words = settings.words_version if settings.words_file else "-"
    left_out = ""
    if settings.leave_out_boilerplate:
        left_out = f" {settings.boilerplate_share} {settings.boilerplate_stories}"
    return f"{_VERSION} {TERMS} {CHARACTERS} {settings.signed_text} {words}{left_out}"


def topics(documents: Sequence[Document], settings: Settings) -> list[Topic]:
    """One for each document. Languages without statistics are read by pairs of words.

    Without a list of stop words single words would make any two texts of a language alike;
    pairs, and of scripts without spaces pairs of characters, tell of their subject.
    """
    if not documents:
        return []
    if len(documents) > _MANY:
        return [
            topic
            for start in range(0, len(documents), _MANY)
            for topic in topics(documents[start : start + _MANY], settings)
        ]
    return _topics(Batch(documents, settings, CHARACTERS))


def _topics(batch: Batch) -> list[Topic]:
    codes = {code: is_known(code) for code in set(batch.term_languages)}
    known = np.array([codes[code] for code in batch.term_languages])
    out = [NO_TOPIC] * len(batch.documents)
    if known.any():
        _of_words(batch, known, out)
    for place in np.flatnonzero(~known).tolist():
        out[place] = _of_pairs(batch, place)
    return out


def likeness(a: Topic, b: Topic) -> float:
    """Cosine of the two, 0 to 1."""
    places = np.searchsorted(a.terms, b.terms)
    places[places == len(a.terms)] = 0
    if not len(a.terms):
        return 0.0
    same = a.terms[places] == b.terms
    return float(a.weights[places[same]] @ b.weights[same])


def likenesses(one: Topic, others: Sequence[Topic]) -> list[float]:
    """`likeness` of one to each of several."""
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


def _of_words(batch: Batch, known: NDArray[np.bool_], out: list[Topic]) -> None:
    terms, tokens = batch.terms, batch.mixed_tokens
    counts = np.diff(tokens.first)
    texts = np.repeat(np.arange(len(counts)), counts)
    kept = np.flatnonzero(~terms.is_stop & known[texts])
    pairs, times = texts[kept] << 32 | terms.numbers[kept], _times(batch)[kept]
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    is_first = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    frequency = np.add.reduceat(times[order], firsts) if len(firsts) else np.zeros(0, np.int64)
    distinct = pairs[firsts]
    numbers = distinct & 0xFFFFFFFF
    weights = _weight(terms.rarities[numbers], frequency)
    order = np.argsort(_keys(distinct >> 32, weights, terms.hashes[numbers]), kind="stable")
    bounds = np.searchsorted(distinct, np.arange(len(counts) + 1) << 32)
    sizes = np.minimum(np.diff(bounds), TERMS)
    # Of each text the first in this order: its weightiest.
    kept_rows = order[np.repeat(bounds[:-1], sizes) + _ranks(sizes)]
    rows = np.repeat(np.arange(len(counts)), sizes)
    hashes, weights = terms.hashes[numbers[kept_rows]], weights[kept_rows]
    by_hash = np.lexsort((hashes, rows))
    hashes, weights = hashes[by_hash], weights[by_hash]
    ends = np.cumsum(sizes)
    lengths = np.sqrt(np.bincount(rows, weights * weights, minlength=len(counts)))
    scaled = (weights / lengths[rows]).astype(np.float32)
    for place in np.flatnonzero(known & (sizes > 0)).tolist():
        start, end = int(ends[place] - sizes[place]), int(ends[place])
        out[place] = Topic(hashes[start:end], scaled[start:end])


def sorting_key(weight: float, hash_: int) -> int:
    """What the terms of a text are sorted by: falling weight, then hash (20 and 28 bits)."""
    return (_HEAVIEST - min(int(weight * 64), _HEAVIEST)) << 28 | hash_ >> 36


def _keys(
    texts: NDArray[np.int64], weights: NDArray[np.float64], hashes: Hashes
) -> NDArray[np.uint64]:
    """The sorting keys of many texts, after the number of the text (16 bits)."""
    heavy = np.minimum(weights * 64, _HEAVIEST).astype(np.uint64)
    light = np.uint64(_HEAVIEST) - heavy
    key = texts.astype(np.uint64) << np.uint64(48) | light << np.uint64(28)
    sorted_by: NDArray[np.uint64] = key | hashes >> np.uint64(36)
    return sorted_by


def _ranks(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, … for each of several runs."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def weight_of(rarity: int, times: int) -> float:
    """Of a term that is there so many times."""
    return (1 + math.log2(times)) * max(rarity - _COMMON, 1)


def _weight(rarities: NDArray[np.int64], frequency: NDArray[np.int64]) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = np.maximum(rarities - _COMMON, 1).astype(np.float64)
    often = np.flatnonzero(frequency > 1)
    weights[often] *= 1 + np.log2(frequency[often])
    return weights


def _times(batch: Batch) -> NDArray[np.int64]:
    """How often each word of the batch counts."""
    first = batch.mixed_tokens.first.tolist()
    times = np.ones(first[-1], np.int64)
    if batch.settings.signed_text != "body":
        for start, end, document in zip(first[:-1], first[1:], batch.documents, strict=True):
            times[start : min(end, start + len(document.title.split()))] = TITLE
    return times


def _of_pairs(batch: Batch, place: int) -> Topic:
    """Pairs of words, each once and all alike; the smallest hashes where there are too many."""
    start, end = batch.mixed_tokens.shingle_ranges(2)[place].tolist()
    hashes = np.unique(mix(batch.mixed_tokens.shingles(2)[start:end]))
    return _weightiest(hashes, np.ones(len(hashes)))


def _weightiest(hashes: Hashes, weights: NDArray[np.float64]) -> Topic:
    if not len(hashes):
        return NO_TOPIC
    if len(hashes) > TERMS:
        best = np.lexsort((hashes, -weights))[:TERMS]
        hashes, weights = hashes[best], weights[best]
    order = np.argsort(hashes)
    length = float(np.sqrt(weights @ weights))
    return Topic(hashes[order], (weights[order] / length).astype(np.float32))


# --- terms as words ----------------------------------------------------------------------------


def named(document: Document, settings: Settings, most: int = TERMS) -> dict[int, str]:
    """The terms of an article, the weightiest first, each by the first word that stands for it."""
    return topic_and_names(document, settings, most)[1]


def topic_and_names(
    document: Document, settings: Settings, most: int = TERMS
) -> tuple[Topic, dict[int, str]]:
    """What an article is about, and its weightiest terms as `named` has them."""
    batch = Batch([document], settings, CHARACTERS)
    (topic,) = _topics(batch)
    order = np.lexsort((topic.terms, -topic.weights))
    terms = topic.terms[order[:most]].tolist()
    if is_known(batch.term_languages[0]):
        hashes = batch.terms.hashes[batch.terms.numbers]
        return topic, {term: batch.mixed_tokens.word(int(p)) for term, p in _first(hashes, terms)}
    hashes = mix(batch.mixed_tokens.shingles(2))
    return topic, {term: _pair(batch, p) for term, p in _first(hashes, terms)}


def _first(hashes: Hashes, terms: Sequence[int]) -> list[tuple[int, int]]:
    return [(t, int(np.flatnonzero(hashes == np.uint64(t))[0])) for t in terms]


def _pair(batch: Batch, place: int) -> str:
    one, two = batch.mixed_tokens.word(place), batch.mixed_tokens.word(place + 1)
    return f"{one}{two}" if _is_unspaced(one) and _is_unspaced(two) else f"{one} {two}"


def _is_unspaced(word: str) -> bool:
    return any(low <= ord(word[0]) <= high for low, high in UNSPACED)
