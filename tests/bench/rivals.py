"""The libraries that signing is compared with: texts to signatures, and which texts they link."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import rensa
from datasketch import MinHash, MinHashLSH
from gaoya.minhash import MinHashStringIndex

from esdedup.evaluation.baselines import Baseline, Rows
from esdedup.evaluation.online import run_online
from esdedup.evaluation.sets import GoldSet

MINIMA = 128
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_USUAL_THRESHOLD = 0.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Rival:
    """A library in one configuration.

    `sign` makes the signatures of all texts. `rows` gives for each text the earlier ones that an
    index of the library returns at a threshold, with their similarity.
    """

    name: str
    sign: Callable[[Sequence[str]], object]
    rows: Callable[[Sequence[str], float], Rows]

    def best_threshold(self, gold: GoldSet) -> float:
        """The threshold of the highest F1 on this very set."""
        return max(THRESHOLDS, key=lambda t: run_online(gold, self.at(t)).score.f1)

    def at(self, threshold: float) -> Baseline:
        return Baseline(self.name, lambda batch: self.rows(batch.texts, threshold), threshold)


def split_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def shingle_words(text: str, length: int) -> list[str]:
    words = split_words(text)
    return [" ".join(words[i : i + length]) for i in range(len(words) - length + 1)]


# --- datasketch -----------------------------------------------------------------------------------


def sign_with_datasketch(texts: Sequence[str]) -> list[Any]:
    """Its batch API, on the set of words."""
    words = [[word.encode() for word in set(split_words(text))] for text in texts]
    made: list[Any] = MinHash.bulk(words, num_perm=MINIMA)
    return made


def _datasketch_rows(texts: Sequence[str], threshold: float) -> Rows:
    index = MinHashLSH(threshold=threshold, num_perm=MINIMA)
    signatures = sign_with_datasketch(texts)
    for place, signature in enumerate(signatures):
        found = [] if signature.is_empty() else index.query(signature)
        yield {old: float(signature.jaccard(signatures[old])) for old in found}
        if not signature.is_empty():
            index.insert(place, signature)


def fill_datasketch_index(texts: Iterable[Collection[str]]) -> int:
    """As its documentation does it: a MinHash of the words, a query, an insertion. Returns how many
    texts are like none before them."""
    index = MinHashLSH(threshold=_USUAL_THRESHOLD, num_perm=MINIMA)
    kept = 0
    for place, words in enumerate(texts):
        signature = MinHash(num_perm=MINIMA)
        signature.update_batch([word.encode() for word in words])
        kept += not index.query(signature)
        index.insert(str(place), signature)
    return kept


# --- rensa ----------------------------------------------------------------------------------------

Features = Callable[[str], list[str]]


def _sign_with_rensa(texts: Sequence[str], features: Features) -> Any:
    """Its batch API, which returns one matrix of all signatures."""
    sets = [features(text) for text in texts]
    return rensa.RMinHash.digest_matrix_from_token_sets(sets, MINIMA, 1)


def _sign_with_rensa_circulant(texts: Sequence[str]) -> Any:
    sets = [split_words(text) for text in texts]
    return rensa.CMinHash.digests_from_token_sets(sets, MINIMA, 1)


def _rensa_rows(texts: Sequence[str], threshold: float, features: Features) -> Rows:
    signatures = rensa.RMinHash.from_token_sets([features(t) for t in texts], MINIMA, 1)
    # 32 bands of 4: half of the pairs of similarity .42 share one.
    index = rensa.RMinHashLSH(threshold=threshold, num_perm=MINIMA, num_bands=32)
    yield from _search_and_insert(
        [bool(features(text)) for text in texts],
        lambda place: {
            old: signatures[place].jaccard(signatures[old])
            for old in index.query(signatures[place])
        },
        lambda place: index.insert(place, signatures[place]),
    )


def _rensa_circulant_rows(texts: Sequence[str], threshold: float) -> Rows:
    """Without an index of its own: every signature is compared with all before it."""
    del threshold
    signatures = rensa.CMinHash.from_token_sets([split_words(t) for t in texts], MINIMA, 1)
    for place, signature in enumerate(signatures):
        yield {old: signature.jaccard(signatures[old]) for old in range(place)}


# --- gaoya ----------------------------------------------------------------------------------------


def _fill_gaoya_index(texts: Sequence[str], minima: int, words: int) -> MinHashStringIndex:
    """It has no call that signs alone. It splits into words by itself."""
    index = _gaoya_index(minima, words, _USUAL_THRESHOLD)
    for place, text in enumerate(texts):
        index.insert_document(place, text)
    return index


def _gaoya_rows(texts: Sequence[str], threshold: float, minima: int, words: int) -> Rows:
    index = _gaoya_index(minima, words, threshold)
    yield from _search_and_insert(
        [bool(text.strip()) for text in texts],
        lambda place: dict(index.query(texts[place], return_similarity=True)),
        lambda place: index.insert_document(place, texts[place]),
    )


def _gaoya_index(minima: int, words: int, threshold: float) -> MinHashStringIndex:
    return MinHashStringIndex(
        *(32, threshold),
        num_bands=None,  # chosen by the library for this threshold
        band_size=None,
        num_hashes=minima,
        lowercase=True,
        ngram_range=(words, words),
    )


def _search_and_insert(
    has_features: Sequence[bool],
    search: Callable[[int], dict[int, float]],
    insert: Callable[[int], object],
) -> Iterator[dict[int, float]]:
    for place, is_there in enumerate(has_features):
        yield search(place) if is_there else {}
        if is_there:
            insert(place)


# --- all of them ----------------------------------------------------------------------------------


def _rensa_rival(name: str, features: Features) -> Rival:
    return Rival(
        f"rensa RMinHash({MINIMA}), batch, {name}",
        partial(_sign_with_rensa, features=features),
        partial(_rensa_rows, features=features),
    )


def _gaoya_rival(minima: int, words: int) -> Rival:
    what = "words" if words == 1 else f"{words}-word shingles"
    return Rival(
        f"gaoya, {minima} minima, {what}, index filled",
        partial(_fill_gaoya_index, minima=minima, words=words),
        partial(_gaoya_rows, minima=minima, words=words),
    )


RIVALS = (
    Rival(f"datasketch MinHash({MINIMA}), bulk, words", sign_with_datasketch, _datasketch_rows),
    _rensa_rival("words", split_words),
    _rensa_rival("4-word shingles", partial(shingle_words, length=4)),
    Rival(
        f"rensa CMinHash({MINIMA}), batch, words",
        _sign_with_rensa_circulant,
        _rensa_circulant_rows,
    ),
    *(_gaoya_rival(minima, words) for minima in (20, 128) for words in (1, 4)),
)
