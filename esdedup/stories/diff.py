"""Two texts word by word: what both have, what changed, moved, was added or taken away.

Landmarks that occur once in both cut the texts into pieces, difflib sees only the small ones in
between: a pair of 5,000 words takes a fraction of a second, hostile ones included.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from typing import Literal

from esdedup.model import JSON
from esdedup.text.tokens import UNSPACED, fold

Kind = Literal["equal", "changed", "removed", "added", "moved"]

# Words of each text that are compared; a longer one is cut, and the explanation says so.
MAX_WORDS = 20_000
# difflib is quadratic, and worse on repeated words: it only sees gaps of this many word pairs
# (about 200 x 200 words, 12 ms at worst), after rarer landmarks have cut the texts into pieces.
_SMALL_GAP = 40_000
# Landmarks are runs of words that occur once in both pieces: first runs of four, then single words.
_LANDMARKS = (4, 1)
# Pieces inside pieces: far more than real texts need, and an end for hostile ones.
_MAX_DEPTH = 50
# Fewer equal words than this between two rewritten passages are chance, not a shared passage.
_ISLAND = 3
# A passage of this many words found elsewhere was moved; shorter ones are phrases of the trade.
_MOVED = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A passage of the old text and what stands for it in the new one.

    Spans follow the new text. A `moved` span stands at its new place and nowhere else.
    """

    kind: Kind
    old: str
    new: str

    def to_json(self) -> JSON:
        return {"kind": self.kind, "old": self.old, "new": self.new}


def align(old: str, new: str) -> tuple[tuple[Span, ...], bool]:
    """The passages of two texts, and whether they were cut to `MAX_WORDS`.

    All spans' `new`, joined, are the new text (as far as compared); their `old`, the old one,
    but for the order of what moved.
    """
    a, b = _pieces(old), _pieces(new)
    cut = max(len(a), len(b)) > MAX_WORDS
    a, b = a[:MAX_WORDS], b[:MAX_WORDS]
    keys_a, keys_b = [_key(p) for p in a], [_key(p) for p in b]
    blocks = _without_islands(_in_order(keys_a, keys_b), len(a), len(b))
    moved = _moved(keys_a, keys_b, blocks)
    return tuple(_spans(a, b, blocks, moved)), cut


@dataclass(frozen=True, slots=True, order=True)
class _Block:
    """`size` equal words from `i` on in the old text and from `j` on in the new one."""

    i: int
    j: int
    size: int


def _pieces(text: str) -> list[str]:
    """Words with the white space after them; one character each in unspaced scripts."""
    return _word_pattern().findall(text)


@cache
def _word_pattern() -> re.Pattern[str]:
    unspaced = "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED)
    return re.compile(rf"\s*(?:[{unspaced}]|[^\s{unspaced}]+)\s*")


def _key(piece: str) -> str:
    """What makes two words the same: neither case nor the punctuation around them."""
    word = fold(piece.strip())
    return word.strip(_PUNCTUATION) or word


_PUNCTUATION = "\"'`.,;:!?()[]{}«»‹›„“”‘’‚…–—-"


def _in_order(a: Sequence[str], b: Sequence[str]) -> list[_Block]:
    """Equal blocks in the same order in both texts: landmarks first, difflib in between."""
    found: list[_Block] = []
    todo = [(0, len(a), 0, len(b), 0)]
    while todo:
        i0, i1, j0, j1, depth = todo.pop()
        head = _common(a[i0:i1], b[j0:j1])
        found.append(_Block(i0, j0, head))
        i0, j0 = i0 + head, j0 + head
        tail = _common(a[i0:i1][::-1], b[j0:j1][::-1])
        i1, j1 = i1 - tail, j1 - tail
        found.append(_Block(i1, j1, tail))
        if i0 == i1 or j0 == j1:
            continue
        if (i1 - i0) * (j1 - j0) <= _SMALL_GAP:
            matcher = SequenceMatcher(None, a[i0:i1], b[j0:j1], autojunk=False)
            found += [_Block(m.a + i0, m.b + j0, m.size) for m in matcher.get_matching_blocks()]
        elif depth < _MAX_DEPTH:
            todo += [
                (i0 + pi, i0 + qi, j0 + pj, j0 + qj, depth + 1)
                for (pi, pj), (qi, qj) in pairwise(_landmarks(a[i0:i1], b[j0:j1]))
            ]
    return sorted(block for block in found if block.size)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _landmarks(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Where both pieces can be cut, with their beginning and end; empty where nowhere."""
    for words in _LANDMARKS:
        in_a, in_b = _once(a, words), _once(b, words)
        pairs = _longest_rising([(i, in_b[run]) for run, i in in_a.items() if run in in_b])
        if pairs:
            return [(0, 0), *pairs, (len(a), len(b))]
    return []


def _once(words: Sequence[str], size: int) -> dict[tuple[str, ...], int]:
    """Runs of words that occur exactly once, with their place, in order."""
    places: dict[tuple[str, ...], int] = {}
    for i in range(len(words) - size + 1):
        run = tuple(words[i : i + size])
        places[run] = -1 if run in places else i
    return {run: i for run, i in places.items() if i >= 0}


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs that rise on both sides (patience sorting); the first sides rise already."""
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(at[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [j]
        at[pile : pile + 1] = [n]
    rising = []
    n = at[-1] if at else -1
    while n >= 0:
        rising.append(pairs[n])
        n = before[n]
    return rising[::-1]


def _without_islands(blocks: Sequence[_Block], a: int, b: int) -> list[_Block]:
    """Neighbouring blocks joined, and a word or two inside a rewritten passage left out."""
    joined = _joined(blocks)
    kept = []
    edges = [_Block(0, 0, 0), *joined, _Block(a, b, 0)]
    for before, block, after in zip(edges, edges[1:], edges[2:], strict=False):
        if block.size >= _ISLAND or min(_gap(before, block), _gap(block, after)) <= _ISLAND:
            kept.append(block)
    return kept


def _joined(blocks: Sequence[_Block]) -> list[_Block]:
    joined: list[_Block] = []
    for block in blocks:
        last = joined[-1] if joined else _Block(-1, -1, 0)
        if (last.i + last.size, last.j + last.size) == (block.i, block.j):
            joined[-1] = _Block(last.i, last.j, last.size + block.size)
        else:
            joined.append(block)
    return joined


def _gap(before: _Block, after: _Block) -> int:
    """Words between two blocks, on the side where there are more."""
    return max(after.i - before.i - before.size, after.j - before.j - before.size)


def _moved(a: Sequence[str], b: Sequence[str], blocks: Sequence[_Block]) -> list[_Block]:
    """Long passages that are in both texts, but not in the same order."""
    free_a, free_b = [True] * len(a), [True] * len(b)
    for block in blocks:
        free_a[block.i : block.i + block.size] = [False] * block.size
        free_b[block.j : block.j + block.size] = [False] * block.size
    places = {run: i for run, i in _once(a, _MOVED).items() if all(free_a[i : i + _MOVED])}
    moved = []
    j = 0
    while j + _MOVED <= len(b):
        i = places.get(tuple(b[j : j + _MOVED]), -1)
        size = 0
        while i >= 0 and i + size < len(a) and j + size < len(b):
            same = a[i + size] == b[j + size] and free_a[i + size] and free_b[j + size]
            if not same:
                break
            size += 1
        if size >= _MOVED:
            free_a[i : i + size] = [False] * size
            moved.append(_Block(i, j, size))
        j += size if size >= _MOVED else 1
    return moved


def _spans(
    a: Sequence[str], b: Sequence[str], blocks: Sequence[_Block], moved: Sequence[_Block]
) -> Iterator[Span]:
    gone = {i for block in moved for i in range(block.i, block.i + block.size)}
    i = j = 0
    for block in [*blocks, _Block(len(a), len(b), 0)]:
        old = "".join(a[k] for k in range(i, block.i) if k not in gone)
        inside = [m for m in moved if j <= m.j < block.j]
        yield from _between(old, b, j, block.j, inside, a)
        i, j = block.i + block.size, block.j + block.size
        if block.size:
            yield Span("equal", "".join(a[block.i : i]), "".join(b[block.j : j]))


def _between(
    old: str, b: Sequence[str], start: int, end: int, moved: Sequence[_Block], a: Sequence[str]
) -> Iterator[Span]:
    """What stands between two equal passages: changed words, and what came from elsewhere."""
    for block in [*moved, _Block(0, end, 0)]:
        new = "".join(b[start : block.j])
        if old or new:
            yield Span("changed" if old and new else "removed" if old else "added", old, new)
        old = ""
        start = block.j + block.size
        if block.size:
            text = "".join(a[block.i : block.i + block.size])
            yield Span("moved", text, "".join(b[block.j : start]))
