"""Significance of differences: matched pairs, points of disagreement, confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esdedup.evaluation.measures import Score, import_extra
from esdedup.evaluation.online import OnlineRun

_RESAMPLES = 2000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Test:
    """A statistic and how likely one as large is by chance."""

    statistic: float
    p: float
    n: int


def paired_t_test(one: Sequence[float], other: Sequence[float]) -> Test:
    """t-test over matched pairs, as in paper 004, Table 6.10: is `one` greater?

    Where every difference is the same, none of them zero, there is no spread to divide by and
    the statistic is infinite; where all are zero, p is 1.
    """
    stats = import_extra("scipy.stats")
    differences = [a - b for a, b in zip(one, other, strict=True)]
    if len(differences) < 2 or len(set(differences)) == 1:
        even = not differences or differences[0] == 0 or len(differences) < 2
        right = not even and differences[0] > 0
        return Test(0.0 if even else float("inf"), 0.0 if right else 1.0, len(differences))
    found = stats.ttest_rel(one, other, alternative="greater")
    return Test(float(found.statistic), float(found.pvalue), len(differences))


def chi_squared_test(one: Sequence[bool], other: Sequence[bool]) -> Test:
    """Chi-squared over the cases that exactly one method got right (paper 002, section 4.5)."""
    stats = import_extra("scipy.stats")
    only_one = sum(a and not b for a, b in zip(one, other, strict=True))
    only_other = sum(b and not a for a, b in zip(one, other, strict=True))
    n = only_one + only_other
    if not n:
        return Test(0.0, 1.0, 0)
    found = stats.chisquare([only_one, only_other])
    return Test(float(found.statistic), float(found.pvalue), n)


def compare(one: OnlineRun, other: OnlineRun) -> dict[str, float | int]:
    """Two methods in the same order of the same set: is the first one better?

    The t-test matches clusters by their share of wrong decisions; chi-squared takes the documents
    on which exactly one is right.
    """
    wrong, also = _wrong_shares(other), _wrong_shares(one)
    names = sorted(wrong)
    t = paired_t_test([wrong[n] for n in names], [also[n] for n in names])
    right, as_well = one.is_right(), other.is_right()
    ids = sorted(right)
    chi = chi_squared_test([right[i] for i in ids], [as_well[i] for i in ids])
    return {
        "t": round(t.statistic, 4),
        "t_p": t.p,
        "clusters": t.n,
        "chi_squared": round(chi.statistic, 4),
        "chi_squared_p": chi.p,
        "disagreements": chi.n,
    }


def _wrong_shares(run: OnlineRun) -> dict[str, float]:
    shares = {}
    for name, s in run.by_cluster().items():
        shares[name] = (s.fp + s.fn) / (s.tp + s.fp + s.tn + s.fn)
    return shares


def f1_interval(parts: Mapping[str, Score], *, seed: int = 0) -> tuple[float, float]:
    """Bootstrap over clusters: documents of one cluster are not independent."""
    import numpy as np

    scores = [s for s in parts.values() if s.tp + s.fp + s.fn]
    if len(scores) < 2:
        return (0.0, 1.0)
    stats = import_extra("scipy.stats")
    tp, fp, fn = (np.array([getattr(s, n) for s in scores]) for n in ("tp", "fp", "fn"))

    def f1(tp: Any, fp: Any, fn: Any, axis: int = -1) -> Any:
        hits = 2 * np.sum(tp, axis=axis)
        return hits / np.maximum(hits + np.sum(fp, axis=axis) + np.sum(fn, axis=axis), 1)

    found = stats.bootstrap(
        (tp, fp, fn),
        f1,
        paired=True,
        vectorized=True,
        n_resamples=_RESAMPLES,
        confidence_level=_CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


def share_interval(hits: int, total: int) -> tuple[float, float]:
    """Wilson's interval of a share; all of 0 to 1 where nothing was counted."""
    if not total:
        return (0.0, 1.0)
    test = import_extra("scipy.stats").binomtest(hits, total)
    found = test.proportion_ci(_CONFIDENCE, method="wilson")
    return float(found.low), float(found.high)
