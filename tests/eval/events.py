"""How good events are on sets whose articles are labelled by event: `python -m tests.eval.events`.

The labelled events have few articles each, so that the number that makes one is lowered; all else
is as by default. Homogeneity and completeness are those of Rosenberg and Hirschberg, over all
articles, each outside every event being one of its own.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stories.events import Event, replay
from esdedup.stories.events.history import items_of
from esdedup.stories.similar import similar_to_record
from tests.support.data import FOLDER

# An event of the labels that is large enough to be found, and its share that has to be.
_LEAST = 3
_HALF = 0.5
_PAPER = {"event_time": "published", "event_items": 0, "event_window": 96.0}


@dataclass(frozen=True, slots=True)
class Figures:
    """Homogeneity, completeness, labelled events found, and events found that are none."""

    homogeneity: float
    completeness: float
    found: int
    labelled: int
    false: int
    events: int

    @property
    def v(self) -> float:
        h, c = self.homogeneity, self.completeness
        return 2 * h * c / (h + c) if h + c else 0.0


def scored(labels: dict[str, str], events: Sequence[Event]) -> Figures:
    """An event is right where most of its articles have one label; a labelled one of three or more
    articles is found where an event has at least half of them and they are most of it."""
    event_of = {id_: e.id for e in events for id_ in e.members}
    clusters = {id_: event_of.get(id_, f"alone {id_}") for id_ in labels}
    sizes = Counter(labels.values())
    wanted = {label for label, n in sizes.items() if n >= _LEAST}
    found, false = set(), 0
    for event in events:
        label, most = Counter(labels[i] for i in event.members).most_common(1)[0]
        if most < 2 or most <= _HALF * len(event.members):
            false += 1
        elif most >= _HALF * sizes[label]:
            found.add(label)
    return Figures(
        homogeneity=_explained(labels, clusters),
        completeness=_explained(clusters, labels),
        found=len(found & wanted),
        labelled=len(wanted),
        false=false,
        events=len(events),
    )


def _explained(what: dict[str, str], by: dict[str, str]) -> float:
    """1 - H(what | by) / H(what)."""
    entropy = _entropy(Counter(what.values()))
    joint = _entropy(Counter((what[i], by[i]) for i in what)) - _entropy(Counter(by.values()))
    return 1 - joint / entropy if entropy else 1.0


def _entropy(counts: Counter[object] | Counter[str] | Counter[tuple[str, str]]) -> float:
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def labelled_set(folder: Path) -> tuple[list[Document], dict[str, str]]:
    """Documents with an event each; of pairs, what is connected is one event."""
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [Document.from_json(json.loads(line)) for line in lines]
    ids = {d.id for d in documents}
    if (folder / "clusters.csv").exists():
        with (folder / "clusters.csv").open(encoding="utf-8") as file:
            return documents, {
                r["id"]: r["cluster"] for r in csv.DictReader(file) if r["id"] in ids
            }
    parent = {id_: id_ for id_ in ids}

    def root(id_: str) -> str:
        while parent[id_] != id_:
            id_ = parent[id_]
        return id_

    with (folder / "pairs.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["coder1"] == row["coder2"] == "1":
                parent[root(row["id1"])] = root(row["id2"])
    return documents, {id_: root(id_) for id_ in ids}


def measure(documents: Sequence[Document], labels: dict[str, str], settings: Settings) -> Figures:
    with Deduplicator.open("sqlite://:memory:", settings) as news:
        list(news.add_many(documents))
        records = list(news.store.documents.get(d.id for d in documents).values())
    items = [item for item in items_of(records, settings) if item.id in labels]
    return scored(labels, replay(items, settings))


def similar_found(documents: Sequence[Document], labels: dict[str, str]) -> tuple[float, float]:
    """Of articles with others in their event: how many of the first (as many as there are others)
    are of it, and how often the first one is."""
    sizes = Counter(labels.values())
    shares, firsts = [], []
    with Deduplicator.open("sqlite://:memory:") as news:
        list(news.add_many(documents))
        for id_, record in sorted(news.store.documents.get(labels).items()):
            others = sizes[labels[id_]] - 1
            if not others or record.decision.role == "duplicate":
                continue
            found = similar_to_record(record, news.store, size=10).found
            right = [labels.get(one.document.id) == labels[id_] for one in found]
            shares.append(sum(right[:others]) / min(others, 10))
            firsts.append(right[:1] == [True])
    return sum(shares) / len(shares), sum(firsts) / len(firsts)


def run() -> None:
    for name in ("wikinews-events", "gedikli-energy"):
        share, first = similar_found(*labelled_set(FOLDER / name))
        print(f"similar, {name}: {share:.3f} of its event, {first:.3f} of the first")
    base = replace(Settings(), event_time="published", event_sources=0)
    print(f"{'set':<17}{'how':<36}{'homog.':>7}{'compl.':>7}{'V':>7}  found   false")
    for name in ("wikinews-events", "gedikli-energy"):
        documents, labels = labelled_set(FOLDER / name)
        _print(name, "every article alone", scored(labels, []))
        paper = Settings.load(preset="hu-you", environment={}, flags=_PAPER)
        _print(name, "hu-you, more than 0, 96 h", measure(documents, labels, paper))
        for items in (0, 1, 2):
            for hours in (24.0, 96.0):
                for likeness in (0.25, 0.3, 0.35):
                    chosen = replace(
                        base, event_items=items, event_window=hours, similar_topic=likeness
                    )
                    how = f"more than {items}, {hours:g} h, likeness {likeness:g}"
                    _print(name, how, measure(documents, labels, chosen))


def _print(name: str, how: str, f: Figures) -> None:
    print(
        f"{name:<17}{how:<36}{f.homogeneity:>7.3f}{f.completeness:>7.3f}{f.v:>7.3f}"
        f"{f.found:>5}/{f.labelled:<3}{f.false:>3}/{f.events}",
        flush=True,
    )


if __name__ == "__main__":
    run()
