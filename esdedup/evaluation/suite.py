"""Methods on sets, under one protocol: what `esdedup eval` runs, and the chapter it writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from esdedup.errors import InputError
from esdedup.evaluation.baselines import Baseline, with_threshold
from esdedup.evaluation.detectors import EvaluatedMethod, Ours
from esdedup.evaluation.measures import summarise
from esdedup.evaluation.online import Arrival, Labels, OnlineRun, cluster_summary, run_online
from esdedup.evaluation.pairs import PairRun, pair_summary, run_pairs
from esdedup.evaluation.report import (
    Chapter,
    describe_set,
    find_online_mistakes,
    find_pair_mistakes,
)
from esdedup.evaluation.scurve import expected_curve, measure_candidates
from esdedup.evaluation.sets import GoldSet, Kind
from esdedup.evaluation.significance import compare, f1_interval, share_interval
from esdedup.model import JSON

Protocol = Literal["online", "pairs", "clusters"]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """How sets are evaluated. Without a protocol: online if the set has clusters, else pairs."""

    protocol: Protocol | None = None
    order: Arrival = "original-first"
    seeds: int = 1
    labels: Labels = "copies"
    with_statistics: bool = False


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One method on one set: the row of the table, and what it was made from."""

    detector: EvaluatedMethod
    row: JSON
    runs: Sequence[OnlineRun] = ()
    pairs: PairRun | None = None


def choose_labels(folder: Path, plan: EvaluationPlan) -> Kind:
    """Which labels to read where a set may have both: a broken file that is not needed is left."""
    needed: Kind = "pairs" if plan.protocol == "pairs" else "clusters"
    return needed if (folder / f"{needed}.csv").is_file() else "any"


def choose_protocol(gold: GoldSet, plan: EvaluationPlan) -> Protocol:
    if plan.protocol in ("online", "clusters") and not gold.cluster:
        raise InputError(
            f"{gold.name}: the {plan.protocol} protocol needs clusters.csv, or a pairs.csv that "
            "lists all copies; --protocol pairs takes judged pairs"
        )
    if plan.protocol is not None:
        return plan.protocol
    return "online" if gold.cluster and gold.are_clusters_given else "pairs"


def evaluate(
    gold: GoldSet,
    detector: EvaluatedMethod,
    plan: EvaluationPlan,
    progress: Progress = lambda what, done, total: None,
) -> EvaluationResult:
    protocol = choose_protocol(gold, plan)
    chosen: JSON = {}
    if isinstance(detector, Baseline) and detector.swept:
        detector, value = _best(gold, detector, plan, protocol)
        chosen = {"chosen": value, "chosen_on": gold.name}
    about: JSON = {"set": gold.name, "method": detector.name}
    if isinstance(detector, Ours):
        about["preset"] = detector.settings.preset
    if protocol == "pairs":
        return _evaluate_pairs(gold, detector, plan, {**about, "protocol": "pairs", **chosen})
    name = detector.name
    runs = _runs(gold, detector, plan, lambda done, total: progress(name, done, total))
    if protocol == "clusters":
        figures = cluster_summary(gold, runs)
    else:
        figures = summarise([run.score for run in runs])
        if plan.labels == "events":
            figures["false_positive_rate"] = round(figures["fp"] / len(runs[0].verdicts), 6)
    if plan.with_statistics:
        low, high = f1_interval(runs[0].by_cluster())
        figures["f1_interval"] = [round(low, 4), round(high, 4)]
    row = {**about, "order": plan.order, **figures, **chosen}
    return EvaluationResult(detector, row, runs)


def _runs(
    gold: GoldSet,
    detector: EvaluatedMethod,
    plan: EvaluationPlan,
    progress: Callable[[int, int], None],
) -> list[OnlineRun]:
    """One run per seed. Orders without randomness are run once."""

    def run(seed: int) -> OnlineRun:
        return run_online(
            gold, detector, order=plan.order, seed=seed, labels=plan.labels, progress=progress
        )

    if plan.order in ("depth-first", "time"):
        return [run(0)] * plan.seeds
    return [run(seed) for seed in range(plan.seeds)]


def _evaluate_pairs(
    gold: GoldSet, detector: EvaluatedMethod, plan: EvaluationPlan, about: JSON
) -> EvaluationResult:
    run = run_pairs(gold, detector, labels=plan.labels)
    figures = pair_summary(run)
    if plan.with_statistics:
        score = run.score
        low, high = share_interval(score.fp, score.fp + score.tn)
        figures["false_positive_interval"] = [round(low, 6), round(high, 6)]
        if (correlation := run.spearman()) is not None:
            figures["spearman"] = round(correlation, 4)
    return EvaluationResult(detector, {**about, **figures}, pairs=run)


def _best(
    gold: GoldSet, detector: Baseline, plan: EvaluationPlan, protocol: Protocol
) -> tuple[Baseline, float]:
    """The threshold with the highest F1 on this very set (the first order): an upper bound."""

    def f1(threshold: float) -> float:
        one = with_threshold(detector, threshold)
        if protocol == "pairs":
            return run_pairs(gold, one, labels=plan.labels).score.f1
        return run_online(gold, one, order=plan.order, labels=plan.labels).score.f1

    best = max(detector.swept, key=f1)
    return with_threshold(detector, best), abs(best)


def without_update_rules(
    gold: GoldSet, result: EvaluationResult, plan: EvaluationPlan, progress: Progress
) -> EvaluationResult | None:
    """The same online run with the update rules off; None if they are off already."""
    detector = result.detector
    if not isinstance(detector, Ours) or not detector.has_update_rules:
        return None
    if choose_protocol(gold, plan) != "online":
        return None
    return evaluate(gold, detector.without_update_rules(), plan, progress)


def compare_results(results: Sequence[EvaluationResult]) -> list[JSON]:
    """Every method against every other that is worse than it, in the first order."""
    ranked = sorted((r for r in results if r.runs), key=lambda r: -r.row["f1"])
    return [
        {
            "better": one.row["method"],
            "worse": other.row["method"],
            **compare(one.runs[0], other.runs[0]),
        }
        for place, one in enumerate(ranked)
        for other in ranked[place + 1 :]
    ]


def build_chapter(
    gold: GoldSet, results: Sequence[EvaluationResult], plan: EvaluationPlan
) -> Chapter:
    """Everything the page shows about one set."""
    curves = {r.row["method"]: _pairs_of(gold, r, plan).curve() for r in results}
    ours = next((r.detector for r in results if isinstance(r.detector, Ours)), None)
    s_curve = None
    if ours is not None and "sketch" in ours.settings.methods:
        items = [gold.items[i] for i in sorted(gold.cluster or gold.items)]
        s_curve = (measure_candidates(items, ours.settings), expected_curve(ours.settings))
    mistakes: dict[str, Any] = {}
    for r in results:
        found = find_online_mistakes(gold, r.runs[0]) if r.runs else None
        if found is None and r.pairs is not None:
            found = find_pair_mistakes(gold, r.pairs)
        mistakes[r.row["method"]] = found or []
    return Chapter(
        title=gold.name,
        facts=describe_set(gold, [f"protocol {choose_protocol(gold, plan)}"]),
        rows=[r.row for r in results],
        curves=curves,
        s_curve=s_curve,
        mistakes=mistakes,
        comparisons=compare_results(results),
    )


def _pairs_of(gold: GoldSet, result: EvaluationResult, plan: EvaluationPlan) -> PairRun:
    if result.pairs is not None:
        return result.pairs
    by_cluster = replace(gold, pairs=(), is_closed=False) if gold.cluster else gold
    return run_pairs(by_cluster, result.detector, labels=plan.labels)
