"""The difference of two texts: short passages that replace each other between shared words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, takewhile

from esdedup.features.numbers.changes import STEM, stem
from esdedup.features.numbers.finding import Quantity, Reading
from esdedup.features.numbers.languages import IDEOGRAPHS

# A longer passage was rewritten, moved, added or cut: single words say nothing about it.
_LONGEST = 12
# Words in a row that are shared; fewer between two changes are chance or another word order.
_ANCHOR = 3
# Ideographs to a word.
_SIGNS = 2

_TOKEN = re.compile(rf"[-−]?\d+(?:[.,:/]\d+)*|[{IDEOGRAPHS}]|[^\W\d_{IDEOGRAPHS}]+|[%°$€£₺]")
_CLAUSE_END = re.compile(r"[.!?;:,\n—–。；，！？：()]")


@dataclass(frozen=True, slots=True)
class Side:
    """A passage of one text: tokens `first` to `last` (exclusive)."""

    reading: Reading
    tokens: Sequence[tuple[int, int]]
    first: int
    last: int

    @property
    def size(self) -> float:
        """In words."""
        return (self.last - self.first) / (_SIGNS if self.reading.lexicon.ideographic else 1)

    def widen(self, words: int) -> Side:
        """With some words on either side."""
        more = words * (_SIGNS if self.reading.lexicon.ideographic else 1)
        first, last = max(0, self.first - more), min(len(self.tokens), self.last + more)
        return Side(self.reading, self.tokens, first, last)

    @property
    def words(self) -> list[str]:
        folded = self.reading.folded
        return [folded[start:end] for start, end in self.tokens[self.first : self.last]]

    @property
    def span(self) -> tuple[int, int]:
        """Characters; of an empty passage the place where it would stand."""
        if self.first < self.last:
            return self.tokens[self.first][0], self.tokens[self.last - 1][1]
        at = self.tokens[self.first][0] if self.first < len(self.tokens) else 0
        return at, at

    @property
    def folded(self) -> str:
        start, end = self.span
        return self.reading.folded[start:end]

    @property
    def text(self) -> str:
        """As written."""
        start, end = self.span
        return " ".join(self.reading.original[start:end].split())

    def quantities(self) -> list[Quantity]:
        """Those that reach into the passage."""
        start, end = self.span
        found = self.reading.found
        first = bisect_right(found, start, key=lambda one: one.end)
        return list(takewhile(lambda one: one.start < end, islice(found, first, None)))

    def shares_word(self, other: Side) -> bool:
        """Whether both passages have a word in common, in whatever form."""
        a, b = ({stem(word) for word in side.words if len(word) >= STEM} for side in (self, other))
        return not a.isdisjoint(b)

    def clause(self) -> str:
        """The passage with up to three words before and five behind it, within its clause."""
        return quote(self.reading, *self.span)


def quote(reading: Reading, start: int, end: int) -> str:
    """What stands around a place of the text, as written: "at least 17 people died"."""
    before = _CLAUSE_END.split(reading.original[max(0, start - 60) : start])[-1]
    after = _CLAUSE_END.split(reading.original[end : end + 90])[0]
    words_before, words_after = before.split()[-3:], after.split()[:5]
    while words_after and words_after[-1].lower() in reading.lexicon.ignored:
        words_after.pop()  # "and more than"
    left, right = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
    parts = (
        " ".join(words_before) + left if words_before else "",
        " ".join(reading.original[start:end].split()),
        right + " ".join(words_after) if words_after else "",
    )
    return "".join(parts).strip()


def find_differences(old: Reading, new: Reading) -> Iterator[tuple[Side, Side]]:
    """Passages of both texts that stand between the same words; either may be empty."""
    for i, i_end, j, j_end in _find_gaps(old, new):
        sides = Side(old, _find_spans(old), i, i_end), Side(new, _find_spans(new), j, j_end)
        if all(map(_is_within_a_line, sides)):
            yield sides


# The same original is compared with many copies. Larger caches would be copies of all its texts.
@lru_cache(maxsize=32)
def _find_words(reading: Reading) -> list[str]:
    return _TOKEN.findall(reading.folded)


@lru_cache(maxsize=32)
def _find_spans(reading: Reading) -> list[tuple[int, int]]:
    """Where the words stand."""
    return [match.span() for match in _TOKEN.finditer(reading.folded)]


@lru_cache(maxsize=32)
def _find_runs(reading: Reading) -> Mapping[tuple[str, ...], int]:
    """Places of runs that occur once; -1 for others."""
    words = _find_words(reading)
    runs: dict[tuple[str, ...], int] = {}
    for place, run in enumerate(
        zip(*(words[i:] for i in range(_run_length(reading))), strict=False)
    ):
        runs[run] = -1 if run in runs else place
    return runs


def _run_length(reading: Reading) -> int:
    return _ANCHOR * (_SIGNS if reading.lexicon.ideographic else 1)


def _find_gaps(old: Reading, new: Reading) -> Iterator[tuple[int, int, int, int]]:
    """Tokens between shared runs: from and to in the old text, from and to in the new one.

    From the end of a shared run the next one is looked for that occurs once in the old text. One
    that stands before it, or far behind, was moved: what lies between is no replacement.
    """
    a, b = _find_words(old), _find_words(new)
    longest = _LONGEST * (_SIGNS if old.lexicon.ideographic else 1)
    i = j = 0
    while j < len(b):
        if i < len(a) and a[i] == b[j]:
            i, j = i + 1, j + 1
            continue
        i_end, j_end = _find_run(old, new, j)
        while i_end > i and j_end > j and a[i_end - 1] == b[j_end - 1]:
            i_end, j_end = i_end - 1, j_end - 1
        if i <= i_end <= i + longest and j_end <= j + longest:
            yield i, i_end, j, j_end
        i, j = i_end, j_end
        if i == len(a):
            return
    if i < len(a) <= i + longest:
        yield i, len(a), j, j


def _find_run(old: Reading, new: Reading, start: int) -> tuple[int, int]:
    """The next run of both texts, or their ends."""
    runs, words, size = _find_runs(old), _find_words(new), _run_length(old)
    for j in range(start, len(words) - size + 1):
        i = runs.get(tuple(words[j : j + size]), -1)
        if i >= 0:
            return i, j
    return len(_find_words(old)), len(words)


def _is_within_a_line(side: Side) -> bool:
    """Whether a shared word stands before or behind it in the same line; others are page parts."""
    folded, tokens = side.reading.folded, side.tokens
    start, end = side.span
    before = tokens[side.first - 1][1] if side.first else -1
    behind = tokens[side.last][0] if side.last < len(tokens) else -1
    return (before >= 0 and "\n" not in folded[before:start]) or (
        behind >= 0 and "\n" not in folded[end:behind]
    )
