"""Measures of detection: counts and what follows from them, clusters, agreement of judges.

What scikit-learn has is taken from there (the extra `eval`); the rest is a few lines each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import fmean, stdev
from typing import Any

from esdedup.errors import SettingsError
from esdedup.model import JSON

# Paper 004, section 6.1: (1 - P(duplicate)) / P(duplicate) with 7 % of duplicates.
COST_OF_FALSE_ALARM = 13.29


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of one run, and what follows from them."""

    tp: int
    fp: int
    tn: int
    fn: int
    updates: int = 0  # of the links, those called update

    @property
    def precision(self) -> float:
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0

    @property
    def recall(self) -> float:
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn) if self.tp else 0.0

    @property
    def mcc(self) -> float:
        """Matthews correlation; 0 where a row or column of the table is empty."""
        tp, fp, tn, fn = self.tp, self.fp, self.tn, self.fn
        product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(product) if product else 0.0

    @property
    def false_alarm(self) -> float:
        """Share of the originals that were reported (F of paper 004)."""
        return self.fp / (self.fp + self.tn) if self.fp + self.tn else 0.0

    @property
    def miss(self) -> float:
        """Share of the copies that were not reported (M of paper 004)."""
        return self.fn / (self.tp + self.fn) if self.tp + self.fn else 0.0

    @property
    def cost(self) -> float:
        """C_dup normalised, paper 004, section 6.1."""
        return COST_OF_FALSE_ALARM * self.false_alarm + self.miss

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, name) + getattr(other, name) for name in _COUNTS))


_COUNTS = ("tp", "fp", "tn", "fn", "updates")


def summarise(scores: Sequence[Score]) -> JSON:
    """One object for one or several runs: means, and the spread of F1 over the seeds."""

    def mean(name: str) -> float:
        return round(fmean(getattr(s, name) for s in scores), 4)

    out = {name: mean(name) for name in ("precision", "recall", "f1")}
    counts = {n: mean(n) if len(scores) > 1 else getattr(scores[0], n) for n in _COUNTS}
    spread = round(stdev(s.f1 for s in scores), 4) if len(scores) > 1 else 0.0
    return {**out, **counts, "cost": mean("cost"), "runs": len(scores), "f1_spread": spread}


def import_extra(module: str) -> Any:
    """A module of the extra `eval`, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SettingsError(
            f"this needs {module}: pip install scikit-learn scipy datasketch"
        ) from error


# --- clusters ----------------------------------------------------------------------------------


def cluster_measures(gold: Mapping[str, str], found: Mapping[str, str]) -> dict[str, float]:
    """Of two groupings of the same documents."""
    metrics = import_extra("sklearn.metrics")
    ids = sorted(gold)
    a, b = [gold[i] for i in ids], [found[i] for i in ids]
    homogeneity, completeness, v = metrics.homogeneity_completeness_v_measure(a, b)
    precision, recall = b_cubed(gold, found)
    together = precision + recall
    return {
        "ari": float(metrics.adjusted_rand_score(a, b)),
        "b_cubed_precision": precision,
        "b_cubed_recall": recall,
        "b_cubed_f1": 2 * precision * recall / together if together else 0.0,
        "homogeneity": float(homogeneity),
        "completeness": float(completeness),
        "v_measure": float(v),
        "purity": purity(gold, found),
    }


def b_cubed(gold: Mapping[str, str], found: Mapping[str, str]) -> tuple[float, float]:
    """Mean over documents: of those found with it the share that belongs, and the reverse."""
    both = Counter((gold[i], found[i]) for i in gold)
    in_gold, in_found = Counter(gold.values()), Counter(found[i] for i in gold)
    total = len(gold)
    precision = sum(n * n / in_found[f] for (_, f), n in both.items()) / total
    recall = sum(n * n / in_gold[g] for (g, _), n in both.items()) / total
    return precision, recall


def purity(gold: Mapping[str, str], found: Mapping[str, str]) -> float:
    """Share of documents in a group of which their own cluster has the most."""
    both = Counter((found[i], gold[i]) for i in gold)
    best: dict[str, int] = {}
    for (group, _), n in both.items():
        best[group] = max(n, best.get(group, 0))
    return sum(best.values()) / len(gold)


def pairs_of_clusters(gold: Mapping[str, str], found: Mapping[str, str]) -> Score:
    """Counts over all pairs of documents, without making them."""

    def pairs(counts: Counter[Any]) -> int:
        return sum(math.comb(n, 2) for n in counts.values())

    same = pairs(Counter((gold[i], found[i]) for i in gold))
    in_gold, in_found = pairs(Counter(gold.values())), pairs(Counter(found[i] for i in gold))
    everything = math.comb(len(gold), 2)
    return Score(same, in_found - same, everything - in_gold - in_found + same, in_gold - same)


# --- judges ------------------------------------------------------------------------------------


def kappa(one: Sequence[bool], other: Sequence[bool]) -> float:
    """Cohen's: agreement beyond chance; 1 where both always say the same."""
    n = len(one)
    if not n or len(other) != n:
        raise ValueError("two lists of judgements of the same things are needed")
    observed = sum(a == b for a, b in zip(one, other, strict=True)) / n
    yes, also = sum(one) / n, sum(other) / n
    chance = yes * also + (1 - yes) * (1 - also)
    return 1.0 if chance == 1 else (observed - chance) / (1 - chance)
