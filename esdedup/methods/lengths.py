"""Windows of sentence lengths (paper 003, Chang & Wang): partial copies and quotations.

A text is the string of its sentences' lengths in words; every window of WS lengths is a key,
without its place, so that a passage is found wherever it stands in another text. t windows next
to each other in both texts make a copy: WS + SW (t - 1) sentences of the same lengths in the same
order. The language does not matter, nor do words that were replaced one by one.

Jumping, static (SW > 1) or dynamic, is a scheme of the index alone: fewer windows are stored, and
a text queries with all of its windows, one sentence apart. So that a stored text can query again,
its feature string is stored beside its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch, signed_text
from esdedup.text.sentences import Numbers, split

# Verse, tables and lists have regular lengths, which say nothing of the text (section 5): a
# window with fewer distinct lengths is not stored.
MIN_DISTINCT = 3


@dataclass(frozen=True, slots=True)
class SentenceLengths:
    """The feature string of one text, and where the windows that are stored begin."""

    lengths: Numbers
    starts: Numbers


def sign(batch: Batch, settings: Settings) -> list[SentenceLengths]:
    """No windows for a text of fewer than `shortest` sentences, nor beyond `max_windows`."""
    sentences = split(batch.texts, settings.clause_marks)
    chosen = window_starts(sentences.words, settings)
    first, last = sentences.first[:-1], sentences.first[1:]
    beyond = np.where(
        last - first < min_sentences(settings), first, last - settings.window_sentences + 1
    )
    low, high = np.searchsorted(chosen, first), np.searchsorted(chosen, beyond)
    rows = np.stack([first, last, low, high], axis=1).tolist()
    return [
        _choose_windows(sentences.words[start:end], chosen[a:b] - start, settings)
        for start, end, a, b in rows
    ]


def keys(signed: SentenceLengths, settings: Settings) -> tuple[str, ...]:
    """`w:` and the lengths of a window, in the order of the text, each window once."""
    words = list(map(str, signed.lengths.tolist()))
    together = "-".join(words)
    places = list(accumulate(map(len, words), lambda place, size: place + size + 1, initial=0))
    windows = zip(places, places[settings.window_sentences :], strict=False)
    keys = ["w:" + together[start : end - 1] for start, end in windows]
    return tuple(dict.fromkeys([keys[i] for i in signed.starts.tolist()]))


def query_seed(signed: SentenceLengths, settings: Settings) -> str:
    """The feature string, if jumping stores fewer windows than a text queries with."""
    if not is_jumping(settings) or len(signed.lengths) < min_sentences(settings):
        return ""
    # As far as stored windows reach, where none of them says nothing.
    reach = settings.max_windows * settings.window_step + settings.window_sentences
    return "-".join(map(str, signed.lengths[:reach].tolist()))


def query_keys(seed: str, settings: Settings) -> tuple[str, ...]:
    """The keys a text queries with when it is indexed: windows one sentence apart (3.2)."""
    string = _parse(seed)
    starts = window_starts(string, settings)[: settings.max_windows]
    return keys(SentenceLengths(string, starts), settings)


def all_keys(document: Document, settings: Settings) -> tuple[str, ...]:
    """The keys of a search by text: windows one sentence apart, however many."""
    own = split([signed_text(document, settings)], settings.clause_marks).words
    return keys(SentenceLengths(own, window_starts(own, settings)), settings)


def min_shared_keys(settings: Settings) -> int:
    """As many as must be next to each other: shared keys only make the candidate."""
    return settings.min_windows


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """The most windows that follow each other in both texts."""
    del settings
    return max((run.windows for run in find_equal_runs(a, b)), default=0)


def compare_seeds(old: str, new: str, settings: Settings) -> float:
    """The most stored windows of `old` in one run of lengths that `new` has as well."""
    a, b = _parse(old), _parse(new)
    stored = select_stored(a, window_starts(a, settings), settings)[: settings.max_windows]
    return _most_on_a_diagonal(a.tolist(), b.tolist(), stored.tolist(), settings.window_sentences)


def matches(measure: float, settings: Settings) -> bool:
    return measure >= settings.min_windows


def describe(measure: float, is_copy: bool, settings: Settings) -> str:
    del is_copy
    return f"{measure:g} windows in a row match, {settings.min_windows} make a copy"


def min_sentences(settings: Settings) -> int:
    """Length_min of equation (1): shorter copies cannot be recognised, and have no windows."""
    return settings.window_sentences + settings.window_step * (settings.min_windows - 1)


def is_jumping(settings: Settings) -> bool:
    """Whether fewer windows are stored than a text has."""
    return settings.window_step > 1 or settings.dynamic_jumping


def _parse(seed: str) -> Numbers:
    return np.array(seed.split("-") if seed else [], np.int64)


def _choose_windows(lengths: Numbers, starts: Numbers, settings: Settings) -> SentenceLengths:
    return SentenceLengths(
        lengths, select_stored(lengths, starts, settings)[: settings.max_windows]
    )


def window_starts(lengths: Numbers, settings: Settings) -> Numbers:
    """All windows of a feature string that say something, one sentence apart."""
    if len(lengths) < settings.window_sentences:
        return np.zeros(0, np.int64)
    in_order = np.sort(sliding_window_view(lengths, settings.window_sentences), axis=1)
    distinct = 1 + np.count_nonzero(in_order[:, 1:] != in_order[:, :-1], axis=1)
    return np.flatnonzero(distinct >= min(MIN_DISTINCT, settings.window_sentences))


def select_stored(lengths: Numbers, starts: Numbers, settings: Settings) -> Numbers:
    """Those of the windows that are stored: every SW-th, without repeats where jumping is dynamic.

    Both are schemes of the index alone; a query slides by one.
    """
    step = settings.window_step
    if step > 1:
        starts = starts[starts % step == 0]
    if settings.dynamic_jumping:
        starts = starts[~_is_repeated(lengths, starts, step)]
    return starts


def _is_repeated(lengths: Numbers, starts: Numbers, step: int) -> NDArray[np.bool_]:
    """Windows whose first SW lengths equal the SW before them and the SW after those."""
    same = np.zeros(len(lengths), np.bool_)
    same[step:] = lengths[step:] == lengths[:-step]
    counts = np.concatenate([[0], np.cumsum(same)])
    inside = (starts >= step) & (starts + 2 * step <= len(lengths))
    repeated = np.zeros(len(starts), np.bool_)
    at = starts[inside]
    repeated[inside] = counts[at + 2 * step] - counts[at] == 2 * step
    return repeated


# --- where two texts agree ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EqualRun:
    """`windows` windows, one after the other from `a` on in one text and from `b` on in another."""

    a: int
    b: int
    windows: int


def _most_on_a_diagonal(a: list[int], b: list[int], stored: Sequence[int], size: int) -> int:
    """Of the windows of `a` that begin at `stored`, the most in one run equal to one of `b`."""
    places: dict[tuple[int, ...], list[int]] = {}
    for j in range(len(b) - size + 1):
        places.setdefault(tuple(b[j : j + size]), []).append(j)
    most = 0
    reached: dict[int, tuple[int, int]] = {}  # diagonal -> where its last window began, how many
    for i in stored:
        for j in places.get(tuple(a[i : i + size]), ()):
            before, count = reached.get(j - i, (i, 0))
            unbroken = a[before:i] == b[before + j - i : j]
            reached[j - i] = (i, count + 1 if unbroken else 1)
            most = max(most, reached[j - i][1])
    return most


def find_equal_runs(a: Sequence[object], b: Sequence[object]) -> Iterator[EqualRun]:
    """Runs of equal items on one diagonal, in the order of `a`.

    One pass: a run goes on where it can, and begins at the first place of its item in `b`. So a
    text that repeats itself costs no more than another.
    """
    places: dict[object, int] = {}
    for j, item in enumerate(b):
        places.setdefault(item, j)
    start_a = start_b = size = 0
    for i, item in enumerate(a):
        following = start_b + size
        if size and following < len(b) and b[following] == item:
            size += 1
            continue
        if size:
            yield EqualRun(start_a, start_b, size)
        start_a, start_b = i, places.get(item, -1)
        size = int(start_b >= 0)
    if size:
        yield EqualRun(start_a, start_b, size)
