"""Precision and recall on your own store: pairs drawn evenly over score bins, judged by people.

Paper 002, section 4.1: pairs that share something are drawn evenly over the whole range of
likeness, so that the few close ones and the borderline ones are seen as often as the many that are
far apart. Each drawn pair represents all pairs of its bin in equal parts; the estimates are
weighted by that. Recall is relative to the candidates: pairs that share no keys are not seen.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from esdedup.clustering.reconcile import QueryBuilder
from esdedup.errors import InputError
from esdedup.evaluation.measures import kappa
from esdedup.evaluation.sets import read_lines
from esdedup.matching.verify import verify
from esdedup.model.batching import batched
from esdedup.model.json_form import JsonField, Result, Rounded
from esdedup.model.methods import is_distance
from esdedup.stores import Store

BINS = 10
_BATCH = 100
_EVER = datetime.fromtimestamp(0, UTC)
_RESAMPLES = 1000
_FARTHEST = 64  # bits


@dataclass(frozen=True, slots=True)
class Sampled(Result):
    """A pair to be judged; `population` is how many pairs its bin has."""

    old: str
    new: str
    score: Annotated[float, JsonField(digits=6)]
    is_reported: bool
    bin: int
    population: int
    judgements: Mapping[str, bool] = field(default_factory=dict)

    def with_judgement(self, judge: str, is_copy: bool) -> Sampled:
        return replace(self, judgements={**self.judgements, judge: is_copy})


def sample(
    store: Store, *, per_bin: int, most: int, seed: int = 0, bins: int = BINS
) -> list[Sampled]:
    """At most `per_bin` pairs of each bin, over the candidates of at most `most` documents."""
    draw = random.Random(seed)
    seen: Counter[int] = Counter()
    drawn: dict[int, list[tuple[str, str, float, bool]]] = defaultdict(list)
    for pair in _candidate_pairs(store, most, draw):
        place = min(int(pair[2] * bins), bins - 1)
        seen[place] += 1
        if len(drawn[place]) < per_bin:
            drawn[place].append(pair)
        elif (at := draw.randrange(seen[place])) < per_bin:  # reservoir: all are as likely
            drawn[place][at] = pair
    out = [
        Sampled(*pair, bin=place, population=seen[place])
        for place, pairs in sorted(drawn.items())
        for pair in pairs
    ]
    draw.shuffle(out)  # nobody should guess the score from the order
    return out


def _candidate_pairs(
    store: Store, most: int, draw: random.Random
) -> Iterator[tuple[str, str, float, bool]]:
    settings = store.settings
    everybody = QueryBuilder.of(replace(settings, attract="all"))
    ids = sorted(store.documents.changed_ids(_EVER))
    draw.shuffle(ids)
    for part in batched(ids[:most], _BATCH):
        records = list(store.documents.get(part).values())
        queries = [everybody.build(r, r.order) for r in records]
        for record, candidates in zip(records, store.candidates.find(queries), strict=True):
            for c in candidates:
                evidence = verify(c, record, settings, c.shared)
                score = evidence.overlap
                if is_distance(settings.verified_by):
                    score = 1 - score / _FARTHEST
                is_reported = evidence.verdict != "different"
                yield c.id, record.document.id, min(1.0, max(0.0, score)), is_reported


# --- judgements --------------------------------------------------------------------------------


def read(file: Path) -> list[Sampled]:
    """The pairs with their judgements so far."""
    try:
        return [Sampled(**json.loads(line)) for _, line in read_lines(file)]
    except (ValueError, TypeError) as error:
        raise InputError(f"{file} is no list of judged pairs: {error}") from error


def write(file: Path, pairs: Sequence[Sampled]) -> None:
    """Replace the file at once, so that an interrupted session keeps every answer."""
    beside = file.with_name(f"{file.name}.new")
    beside.write_text("".join(json.dumps(p.to_json()) + "\n" for p in pairs), "utf-8")
    beside.replace(file)


def judges(pairs: Sequence[Sampled]) -> list[str]:
    return sorted({judge for pair in pairs for judge in pair.judgements})


def agreement(pairs: Sequence[Sampled]) -> float | None:
    """Cohen's kappa of the first two judges, over pairs that both have judged."""
    if len(names := judges(pairs)) < 2:
        return None
    both = [p.judgements for p in pairs if names[0] in p.judgements and names[1] in p.judgements]
    return kappa([j[names[0]] for j in both], [j[names[1]] for j in both]) if both else None


def agreed_pairs(pairs: Sequence[Sampled]) -> list[tuple[Sampled, bool]]:
    """Pairs on which all who judged them agree."""
    out = []
    for pair in pairs:
        verdicts = set(pair.judgements.values())
        if len(verdicts) == 1:
            out.append((pair, verdicts.pop()))
    return out


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """A figure, with the bounds between which 95 of 100 resampled estimates lie."""

    value: Rounded
    low: Rounded
    high: Rounded


@dataclass(frozen=True, slots=True)
class Judged(Result):
    """What the judged pairs say about a store."""

    precision: Estimate
    recall: Estimate
    pairs: int
    kappa: Annotated[float | None, JsonField(digits=4)]  # agreement of two judges
    best_threshold: float | None  # with the highest F1 of these very pairs


def estimate(pairs: Sequence[Sampled], *, seed: int = 0) -> Judged:
    """Precision and recall, each pair weighted; intervals by resampling within bins."""
    known = agreed_pairs(pairs)
    if not known:
        raise InputError("no pair is judged yet, or no two judges agree on any")
    by_bin: dict[int, list[tuple[Sampled, bool]]] = defaultdict(list)
    for entry in known:
        by_bin[entry[0].bin].append(entry)
    weighted = {
        place: [Weighted(pair, is_copy, pair.population / len(part)) for pair, is_copy in part]
        for place, part in by_bin.items()
    }
    everything = [w for part in weighted.values() for w in part]
    draw = random.Random(seed)
    found = [_precision_and_recall(everything)]
    for _ in range(_RESAMPLES):
        again = [w for part in weighted.values() for w in draw.choices(part, k=len(part))]
        found.append(_precision_and_recall(again))
    precision, recall = (_estimate([f[i] for f in found]) for i in range(2))
    best = _best_threshold(everything)
    return Judged(precision, recall, len(known), agreement(pairs), best)


@dataclass(frozen=True, slots=True)
class Weighted:
    """A judged pair, and how many pairs of its bin it represents."""

    pair: Sampled
    is_copy: bool
    weight: float


def _precision_and_recall(known: Sequence[Weighted]) -> tuple[float, float]:
    hits = sum(w.weight for w in known if w.is_copy and w.pair.is_reported)
    reported = sum(w.weight for w in known if w.pair.is_reported)
    copies = sum(w.weight for w in known if w.is_copy)
    return hits / reported if reported else 0.0, hits / copies if copies else 0.0


def _estimate(values: Sequence[float]) -> Estimate:
    drawn = sorted(values[1:])
    return Estimate(values[0], drawn[int(0.025 * len(drawn))], drawn[int(0.975 * len(drawn)) - 1])


def _best_threshold(known: Sequence[Weighted]) -> float | None:
    def f1(threshold: float) -> float:
        hits = sum(w.weight for w in known if w.is_copy and w.pair.score >= threshold)
        reported = sum(w.weight for w in known if w.pair.score >= threshold)
        copies = sum(w.weight for w in known if w.is_copy)
        return 2 * hits / (reported + copies) if hits else 0.0

    best = max((w.pair.score for w in known), key=f1)
    return best if f1(best) else None
