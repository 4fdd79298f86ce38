"""The online protocol of paper 000, sections 3.1 and 3.2.

Documents come one by one; each is scored when it comes:

    true positive    linked into its own cluster
    false positive   an original that was linked, or a link into another cluster (counted once)
    true negative    an original left alone
    false negative   a copy left alone; one that could not be processed, too

The very first document is not scored: it has nothing to be compared with.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Literal

from esdedup.evaluation.detectors import EvaluatedMethod, Progress, Replay, silent
from esdedup.evaluation.measures import Score, cluster_measures, pairs_of_clusters, summarise
from esdedup.evaluation.sets import GoldSet
from esdedup.model import JSON, Document

Arrival = Literal["original-first", "depth-first", "random", "time"]
Labels = Literal["copies", "events"]
Verdict = Literal["tp", "fp", "tn", "fn"]

_NO_DATE = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OnlineRun:
    """One replay, scored: the verdict on every document but the first."""

    replay: Replay
    verdicts: Mapping[str, Verdict]
    cluster: Mapping[str, str]

    @property
    def score(self) -> Score:
        return _score(self, self.verdicts)

    def by_cluster(self) -> dict[str, Score]:
        """The counts of each gold cluster's own documents."""
        parts: dict[str, list[str]] = {}
        for id_ in self.verdicts:
            parts.setdefault(self.cluster[id_], []).append(id_)
        return {name: _score(self, ids) for name, ids in parts.items()}

    def is_right(self) -> dict[str, bool]:
        return {id_: verdict in ("tp", "tn") for id_, verdict in self.verdicts.items()}


def _score(run: OnlineRun, ids: Iterable[str]) -> Score:
    chosen = set(ids)
    counts = Counter(run.verdicts[id_] for id_ in chosen)
    updates = sum(r.is_update for r in run.replay.rulings if r.id in chosen)
    return Score(counts["tp"], counts["fp"], counts["tn"], counts["fn"], updates)


def order_ids(gold: GoldSet, order: Arrival, seed: int) -> list[str]:
    """Ids in the order they come; `original-first` is random but for each cluster's original."""
    ids = sorted(gold.cluster)
    if order == "depth-first":
        return sorted(ids, key=lambda i: (gold.cluster[i], i not in gold.originals, i))
    if order == "time":
        dates = {i: item.published for i, item in gold.items.items() if isinstance(item, Document)}
        return sorted(ids, key=lambda i: (dates.get(i) or _NO_DATE, i))
    random.Random(seed).shuffle(ids)
    if order == "random":
        return ids
    first = {gold.cluster[i]: i for i in gold.originals}
    out: dict[str, None] = {}
    for id_ in ids:
        out[first.get(gold.cluster[id_], id_)] = None
        out[id_] = None
    return list(out)


def run_online(
    gold: GoldSet,
    detector: EvaluatedMethod,
    *,
    order: Arrival = "original-first",
    seed: int = 0,
    labels: Labels = "copies",
    progress: Progress = silent,
) -> OnlineRun:
    """One order. Where clusters are `events`, no two documents are copies: every link is wrong."""
    ids = order_ids(gold, order, seed)
    replay = detector.replay([gold.items[i] for i in ids], progress)
    truth = dict(gold.cluster) if labels == "copies" else {i: i for i in ids}
    verdicts: dict[str, Verdict] = {}
    seen: set[str] = set()
    for place, ruling in enumerate(replay.rulings):
        own = truth[ruling.id]
        into = truth[ruling.other] if ruling.other is not None else None
        is_original = own not in seen
        if place and into is None:
            verdicts[ruling.id] = "tn" if is_original else "fn"
        elif place:
            verdicts[ruling.id] = "tp" if into == own and not is_original else "fp"
        seen.add(own)
    return OnlineRun(replay, verdicts, gold.cluster)


def cluster_summary(gold: GoldSet, runs: Sequence[OnlineRun]) -> JSON:
    """The groups at the end against the clusters: means over the runs; counts are of pairs."""
    pairs = [pairs_of_clusters(gold.cluster, run.replay.groups) for run in runs]
    found = [cluster_measures(gold.cluster, run.replay.groups) for run in runs]
    return {**summarise(pairs), **{n: round(fmean(f[n] for f in found), 4) for n in found[0]}}
