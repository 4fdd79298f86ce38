"""The protocol over pairs: which of the judged pairs does a method report?"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from esdedup.evaluation.detectors import EvaluatedMethod
from esdedup.evaluation.measures import Score, import_extra
from esdedup.evaluation.online import Labels
from esdedup.evaluation.sets import GoldSet, Pair
from esdedup.model import JSON

Key = tuple[str, str]
# Points of a curve: more would be indistinguishable by eye.
_POINTS = 200


@dataclass(frozen=True, slots=True)
class Point:
    """What a method would reach with another threshold."""

    threshold: float
    score: Score


@dataclass(frozen=True, slots=True)
class PairRun:
    """Judged pairs with what a method made of them.

    `judged` has those that were named, `others` is the number of further pairs, none of them
    copies, of which `scores` has the ones that the method looked at.
    """

    judged: Mapping[Key, Pair]
    others: int
    scores: Mapping[Key, tuple[float, bool]]
    undecided: int

    @property
    def score(self) -> Score:
        reported = {key for key, (_, is_reported) in self.scores.items() if is_reported}
        counts = Counter((bool(pair.is_copy), key in reported) for key, pair in self.judged.items())
        beyond = len(reported - self.judged.keys())
        return Score(
            tp=counts[True, True],
            fp=counts[False, True] + beyond,
            tn=counts[False, False] + self.others - beyond,
            fn=counts[True, False],
        )

    def curve(self) -> list[Point]:
        """Every threshold at which something changes, thinned; candidates only have a score."""
        copies = sum(bool(pair.is_copy) for pair in self.judged.values())
        negatives = len(self.judged) - copies + self.others
        ranked = sorted(((s, self._is_copy(k)) for k, (s, _) in self.scores.items()), reverse=True)
        tp = fp = 0
        points = []
        for score, same in itertools.groupby(ranked, key=lambda pair: pair[0]):
            for _, is_copy in same:
                tp, fp = tp + is_copy, fp + (not is_copy)
            points.append(Point(score, Score(tp, fp, negatives - fp, copies - tp)))
        return thin_out(points)

    def _is_copy(self, key: Key) -> bool:
        return key in self.judged and bool(self.judged[key].is_copy)

    def by_degree(self) -> dict[str, dict[str, int]]:
        """Pairs and reported pairs of each label, for sets with more labels than yes and no."""
        out: dict[str, dict[str, int]] = defaultdict(lambda: {"pairs": 0, "reported": 0})
        for key, pair in self.judged.items():
            if pair.degree:
                out[pair.degree]["pairs"] += 1
                out[pair.degree]["reported"] += key in self.scores and self.scores[key][1]
        return dict(sorted(out.items()))

    def spearman(self) -> float | None:
        """Rank correlation of the measure with the grades that people gave."""
        graded = [(k, p.grade) for k, p in self.judged.items() if p.grade is not None]
        if len(graded) < 3:
            return None
        ours = [self.scores[k][0] if k in self.scores else _NOT_EVEN_A_CANDIDATE for k, _ in graded]
        if len(set(ours)) == 1:
            return 0.0
        grades = [grade for _, grade in graded]
        return float(import_extra("scipy.stats").spearmanr(ours, grades).statistic)


_NOT_EVEN_A_CANDIDATE = -100.0  # below every score: distances are at most 64


def thin_out(points: Sequence[Point]) -> list[Point]:
    if len(points) <= _POINTS:
        return list(points)
    best = max(points, key=lambda p: p.score.f1)
    chosen = {round(i * (len(points) - 1) / (_POINTS - 1)) for i in range(_POINTS)}
    return [p for i, p in enumerate(points) if i in chosen or p is best]


def run_pairs(gold: GoldSet, detector: EvaluatedMethod, *, labels: Labels = "copies") -> PairRun:
    """Pairs that were judged; with clusters, or a full list of copies, all pairs there are.

    Where clusters are `events`, the pairs of an event are judged, and none of them is a copy.
    """
    named: Iterable[str] = gold.cluster or (i for p in gold.pairs for i in (p.a, p.b))
    ids = sorted(gold.items if gold.is_closed else set(named))
    items = [gold.items[id_] for id_ in ids]
    judged, others = _judged_pairs(gold, ids, labels)
    everything = others > 0
    undecided = sum(pair.is_copy is None for pair in gold.pairs)
    scores: dict[Key, tuple[float, bool]] = {}
    for found in detector.likenesses(items):
        key = _key(ids[found.old], ids[found.new])
        if everything or key in judged:
            scores[key] = (found.score, found.is_reported)
    return PairRun(judged, others, scores, undecided)


def _judged_pairs(gold: GoldSet, ids: Sequence[str], labels: Labels) -> tuple[dict[Key, Pair], int]:
    if gold.pairs:
        pairs = [p for p in gold.pairs if p.is_copy is not None]
        if labels == "events":
            pairs = [Pair(p.a, p.b, False, p.degree, p.grade) for p in pairs]
        judged = {_key(p.a, p.b): p for p in pairs}
        everything = len(ids) * (len(ids) - 1) // 2
        return judged, everything - len(judged) if gold.is_closed else 0
    inside: dict[str, list[str]] = defaultdict(list)
    for id_ in ids:
        inside[gold.cluster[id_]].append(id_)
    is_copy = labels == "copies"
    judged = {
        _key(a, b): Pair(a, b, is_copy)
        for members in inside.values()
        for a, b in itertools.combinations(members, 2)
    }
    others = len(ids) * (len(ids) - 1) // 2 - len(judged)
    return judged, others if is_copy else 0


def _key(a: str, b: str) -> Key:
    return (a, b) if a < b else (b, a)


def pair_summary(run: PairRun) -> JSON:
    """One object: counts, what follows from them, the best threshold of this very set."""
    score, points = run.score, run.curve()
    best = max(points, key=lambda p: p.score.f1, default=None)
    out: JSON = {
        **{n: round(getattr(score, n), 4) for n in ("precision", "recall", "f1", "mcc")},
        **{n: getattr(score, n) for n in ("tp", "fp", "tn", "fn")},
        "false_positive_rate": round(score.false_alarm, 6),
        "cost": round(score.cost, 4),
        "undecided": run.undecided,
    }
    if best is not None:
        out |= {"best_threshold": round(best.threshold, 4), "best_f1": round(best.score.f1, 4)}
    if degrees := run.by_degree():
        out["by_degree"] = degrees
    return out
