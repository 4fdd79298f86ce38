"""Winnowing (Schleimer, Wilkerson & Aiken 2003): fingerprints that every long enough copy shares.

Every run of `winnow_words` words has a hash, and every `winnow_window` runs in a row keep the
smallest of theirs. Two texts with `winnow_words + winnow_window - 1` equal words in a row have a
whole window in common, so they share its key: wherever the passage stands, and however long the
texts are. A text has about 2 keys for each `winnow_window + 1` of its words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from esdedup.methods.key_text import write_keys
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix


def sign(batch: Batch, settings: Settings) -> list[Hashes]:
    """The smallest hash of every window of a text; of all runs where they do not fill a window."""
    runs = mix(batch.mixed_tokens.shingles(settings.winnow_words))
    size = settings.winnow_window
    minima = _window_minima(runs, size)
    ranges = batch.mixed_tokens.shingle_ranges(settings.winnow_words).tolist()
    return [
        minima[start : end - size + 1] if end - start >= size else _smallest(runs[start:end])
        for start, end in ranges
    ]


def keys(signed: Hashes, settings: Settings) -> tuple[str, ...]:
    """`n` and the low 48 bits, each hash once, in the order of the text."""
    return write_keys("n", _distinct(signed)[: settings.winnow_max_keys], settings)


def all_keys(document: Document, settings: Settings) -> tuple[str, ...]:
    """The keys of a search by text, however many."""
    (signed,) = sign(Batch([document], settings), settings)
    return write_keys("n", _distinct(signed), settings)


def min_shared_keys(settings: Settings) -> int:
    """One: that is what the guarantee says."""
    del settings
    return 1


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """The share of the keys of the shorter text that the other one has."""
    del settings
    fewer = min(len(set(a)), len(set(b)))
    return len(set(a) & set(b)) / fewer if fewer else 0.0


def matches(measure: float, settings: Settings) -> bool:
    return measure > settings.min_overlap


def describe(measure: float, is_copy: bool, settings: Settings) -> str:
    del is_copy
    return (
        f"{measure:.0%} of the fingerprints of the shorter text are in both, "
        f"more than {settings.min_overlap:.0%} make a copy"
    )


def guaranteed_words(settings: Settings) -> int:
    """Equal words in a row that two texts share a key for, wherever they stand."""
    return settings.winnow_words + settings.winnow_window - 1


def _window_minima(values: Hashes, size: int) -> Hashes:
    """The minimum of every `size` values in a row, in log2(size) steps: two windows that overlap
    or touch make a longer one."""
    span = 1
    while span < size and len(values):
        step = min(span, size - span)
        values = np.minimum(values[:-step], values[step:])
        span += step
    return values


def _distinct(values: Hashes) -> Hashes:
    return np.array(list(dict.fromkeys(values.tolist())), np.uint64)


def _smallest(values: Hashes) -> Hashes:
    return values.min(keepdims=True) if len(values) else values
