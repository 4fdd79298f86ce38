"""Detection quality on labelled sets: sets, protocols, measures, baselines, report, tuning."""

from __future__ import annotations

from esdedup.evaluation.detectors import (
    Detector,
    Likeness,
    Ours,
    Replay,
    Ruling,
    all_names,
    resolve,
)
from esdedup.evaluation.measures import Score, cluster_measures, summary
from esdedup.evaluation.online import (
    ARRIVALS,
    LABELS,
    Arrival,
    Labels,
    Run,
    arrival,
    cluster_summary,
    online,
    run_online,
)
from esdedup.evaluation.pairs import PairRun, pair_summary, run_pairs
from esdedup.evaluation.sets import SOURCES, GoldSet, Pair, Source, load

__all__ = [
    "ARRIVALS",
    "LABELS",
    "SOURCES",
    "Arrival",
    "Detector",
    "GoldSet",
    "Labels",
    "Likeness",
    "Ours",
    "Pair",
    "PairRun",
    "Replay",
    "Ruling",
    "Run",
    "Score",
    "Source",
    "all_names",
    "arrival",
    "cluster_measures",
    "cluster_summary",
    "load",
    "online",
    "pair_summary",
    "resolve",
    "run_online",
    "run_pairs",
    "summary",
]
