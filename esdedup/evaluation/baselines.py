"""Baselines: other methods on the same texts in the same order.

Each links a document to the most alike of those before it that it reports. Words are ours: runs of
letters and digits, folded.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from esdedup.evaluation.detectors import Item, Likeness, Progress, Replay, Ruling, silent
from esdedup.evaluation.measures import import_extra
from esdedup.methods import exact, simhash
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, draw_numbers, mix

_PERMUTATIONS = 128
# Beyond this many bits two fingerprints are as good as drawn by chance.
_FAR = 24

# For each document in turn: the earlier ones it was compared with, and how alike they are.
Rows = Iterator[dict[int, float]]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A similarity measure with the threshold from which it reports a copy."""

    name: str
    rows: Callable[[Batch], Rows]
    threshold: float
    # For those that report at the best of several thresholds, found on the set itself.
    swept: tuple[float, ...] = ()

    def replay(self, items: Sequence[Item], progress: Progress = silent) -> Replay:
        rulings: list[Ruling] = []
        groups: dict[str, str] = {}
        for place, row in self._rows_of(items):
            id_ = items[place].id
            best = max(row, key=lambda old: (row[old], -old), default=None)
            is_linked = best is not None and row[best] >= self.threshold
            other = items[best].id if best is not None and is_linked else None
            rulings.append(Ruling(id_, other))
            groups[id_] = groups[other] if other is not None else id_
            progress(place + 1, len(items))
        return Replay(tuple(rulings), groups)

    def likenesses(self, items: Sequence[Item]) -> Iterator[Likeness]:
        for place, row in self._rows_of(items):
            for old, score in row.items():
                yield Likeness(old, place, score, score >= self.threshold)

    def _rows_of(self, items: Sequence[Item]) -> Iterator[tuple[int, dict[int, float]]]:
        """By the places of the items; a failure is compared with nothing."""
        places = [i for i, item in enumerate(items) if isinstance(item, Document)]
        documents = [item for item in items if isinstance(item, Document)]
        rows = iter(self.rows(Batch(documents, Settings()))) if documents else iter(())
        for place, item in enumerate(items):
            row = next(rows) if isinstance(item, Document) else {}
            yield place, {places[old]: score for old, score in row.items()}


def _words(batch: Batch) -> Iterator[Hashes]:
    for start, end in itertools.pairwise(batch.tokens.first.tolist()):
        yield batch.tokens.hashes[start:end]


def _equal(signatures: Iterator[Any] | list[Any]) -> Rows:
    """1.0 for equal signatures; a document without one (None) matches nothing."""
    first: dict[Any, list[int]] = defaultdict(list)
    for place, signature in enumerate(signatures):
        yield dict.fromkeys(first[signature] if signature is not None else (), 1.0)
        if signature is not None:
            first[signature].append(place)


def exact_rows(batch: Batch) -> Rows:
    """A hash of all words in order."""
    return _equal(exact.sign(batch, batch.settings))


def whole_signature_rows(batch: Batch) -> Rows:
    """The signature of the minhash plugins, one bit of each of 128 minima, as a key that
    is equal or not."""
    numbers = draw_numbers(0, "minhash plugin", _PERMUTATIONS)

    def signature(words: Hashes) -> bytes | None:
        if not len(words):
            return None
        minima = mix(np.unique(words)[:, None] ^ numbers[None, :]).min(axis=0)
        return np.packbits((minima & np.uint64(1)).astype(np.bool_)).tobytes()

    return _equal(signature(words) for words in _words(batch))


def simhash_rows(batch: Batch) -> Rows:
    """Minus the bits that differ, against every earlier fingerprint."""
    signed = simhash.sign(batch, batch.settings)
    values = np.array([v or 0 for v in signed], np.uint64)
    there = np.array([v is not None for v in signed], np.bool_)
    for place in range(len(values)):
        different = (values[:place] ^ values[place]).astype("<u8").view(np.uint8)
        bits = np.unpackbits(different.reshape(place, 8), axis=1).sum(axis=1)
        near = np.flatnonzero((bits <= _FAR) & there[:place]) if there[place] else ()
        yield {int(old): -float(bits[old]) for old in near}


def datasketch_rows(batch: Batch, *, threshold: float) -> Rows:
    """MinHashLSH over the set of words, as its documentation does; what it finds it reports."""
    datasketch = import_extra("datasketch")
    index = datasketch.MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    made: list[Any] = []
    for place, words in enumerate(_words(batch)):
        one = datasketch.MinHash(num_perm=_PERMUTATIONS)
        one.update_batch([word.tobytes() for word in np.unique(words)])
        found = index.query(one) if len(words) else []
        yield {old: float(one.jaccard(made[old])) for old in found}
        made.append(one)
        if len(words):
            index.insert(place, one)


def _datasketch(threshold: float, name: str = "") -> Baseline:
    rows = partial(datasketch_rows, threshold=threshold)
    swept = () if not name else tuple(round(0.1 * i, 1) for i in range(2, 10))
    return Baseline(name or f"datasketch-{threshold}", rows, 0.0, swept)


def with_threshold(baseline: Baseline, threshold: float) -> Baseline:
    """The same baseline with another threshold."""
    if baseline.name.startswith("datasketch"):
        return Baseline(baseline.name, partial(datasketch_rows, threshold=threshold), 0.0)
    return Baseline(baseline.name, baseline.rows, threshold)


BASELINES: dict[str, Callable[[], Baseline]] = {
    "exact": lambda: Baseline("exact", exact_rows, 1.0),
    "minhash-plugin": lambda: Baseline("minhash-plugin", whole_signature_rows, 1.0),
    "simhash-3": lambda: Baseline("simhash-3", simhash_rows, -3.0),
    "simhash-best": lambda: Baseline(
        "simhash-best", simhash_rows, -3.0, tuple(-float(d) for d in range(_FAR + 1))
    ),
    "datasketch-0.5": lambda: _datasketch(0.5),
    "datasketch-0.7": lambda: _datasketch(0.7),
    "datasketch-best": lambda: _datasketch(0.5, "datasketch-best"),
}
