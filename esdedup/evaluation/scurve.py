"""How likely a pair becomes a candidate, by how alike it is: the S-curve of a sketch."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from esdedup.clustering.reconcile import QueryBuilder
from esdedup.evaluation.detectors import Item, sign_items, without_dates
from esdedup.ingest.sign import Signed
from esdedup.matching.content import read_contents
from esdedup.matching.verify import count_shared, distinct, jaccard
from esdedup.methods import METHODS
from esdedup.settings import Settings

_BINS = 20
# Pairs looked at: all of a few hundred documents, a sample of more.
_PAIRS = 60_000


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs of about this Jaccard over the compared shingles: how many are there, and found."""

    jaccard: float
    pairs: int
    candidates: int


def measure_candidates(items: Sequence[Item], settings: Settings, *, seed: int = 0) -> list[Bin]:
    """Bins over all pairs, or over an even sample of at most `_PAIRS`."""
    ready = [s for s in sign_items(without_dates(items), settings) if isinstance(s, Signed)]
    questions = QueryBuilder.of(settings)
    keys = [questions.keys(s.signature) for s in ready]
    contents = read_contents([s.document for s in ready], settings)
    sets = [distinct(content.shingles) for content in contents]
    pairs, candidates = Counter[int](), Counter[int]()
    for a, b in _draw_pairs(len(ready), seed):
        if not len(sets[a]) or not len(sets[b]):
            continue
        likeness = jaccard(count_shared(sets[a], sets[b]), len(sets[a]), len(sets[b]))
        place = min(int(likeness * _BINS), _BINS - 1)
        found = any(
            len(set(own) & set(keys[b].get(method, ())))
            >= METHODS[method].min_shared_keys(settings)
            for method, own in keys[a].items()
        )
        pairs[place] += 1
        candidates[place] += found
    return [Bin((i + 0.5) / _BINS, pairs[i], candidates[i]) for i in range(_BINS) if pairs[i]]


def expected_curve(settings: Settings, points: int = 50) -> list[tuple[float, float]]:
    """More than t of p minima equal, each with the probability of the Jaccard."""
    p, t = settings.permutations, settings.max_collisions_by_chance

    def chance(j: float) -> float:
        return 1.0 - sum(math.comb(p, i) * j**i * (1 - j) ** (p - i) for i in range(t + 1))

    return [(i / points, chance(i / points)) for i in range(points + 1)]


def _draw_pairs(count: int, seed: int) -> list[tuple[int, int]]:
    if count * (count - 1) // 2 <= _PAIRS:
        return list(itertools.combinations(range(count), 2))
    draw = random.Random(seed)
    found: set[tuple[int, int]] = set()
    while len(found) < _PAIRS:
        a, b = draw.randrange(count), draw.randrange(count)
        if a != b:
            found.add((min(a, b), max(a, b)))
    return sorted(found)
