"""Detection quality on labelled sets: the online protocol of paper 000, sections 3.1 and 3.2.

A set is a folder with `docs.jsonl[.gz]` or `html.tar.gz`, and `clusters.csv` with the columns
id, cluster and (where known) is_original. Documents come one by one; each is scored when it comes:

    true positive    linked into its own cluster
    false positive   an original that was linked, or a link into another cluster (counted once)
    true negative    an original left alone
    false negative   a copy left alone; one that could not be processed, too

The very first document is left out: nothing can be said about it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
import random
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal

from esdedup.errors import InputError
from esdedup.model import JSON, Document, Failure
from esdedup.pipeline import Deduplicator
from esdedup.settings import Settings
from esdedup.signing import Signed, prepare, read_page
from esdedup.workers import Workers

Source = Literal["html", "text"]
Arrival = Literal["original-first", "depth-first", "random"]
SOURCES: dict[str, Source] = {"html": "html", "text": "text"}
ARRIVALS: dict[str, Arrival] = {
    "original-first": "original-first",
    "depth-first": "depth-first",
    "random": "random",
}
# Raised when `extract` gives other texts for the same page: cached ones are then left aside.
EXTRACTOR = 2


@dataclass(frozen=True, slots=True)
class GoldSet:
    """Labelled documents; a page that could not be read is a failure and counts as original."""

    name: str
    items: Mapping[str, Document | Failure]
    cluster: Mapping[str, str]
    originals: frozenset[str]


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


# --- reading a set -----------------------------------------------------------------------------


def load(folder: Path, settings: Settings, *, source: Source | None = None) -> GoldSet:
    """HTML where the set has it, unless `source` says otherwise."""
    labels = folder / "clusters.csv"
    if not labels.is_file():
        raise InputError(f"{folder}: no clusters.csv with the columns id, cluster, is_original")
    with labels.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or not {"id", "cluster"} <= set(rows[0]):
        raise InputError(f"{labels}: needs the columns id and cluster")
    pages = folder / "html.tar.gz"
    from_html = source == "html" or (source is None and pages.is_file())
    items = _pages(pages, settings) if from_html else _texts(folder)
    missing = [row["id"] for row in rows if row["id"] not in items]
    if missing:
        raise InputError(f"{folder}: {len(missing)} labelled ids have no document, as {missing[0]}")
    return GoldSet(
        name=folder.name,
        items=items,
        cluster={row["id"]: row["cluster"] for row in rows},
        originals=frozenset(
            row["id"] for row in rows if row.get("is_original", "").lower() in ("1", "true", "yes")
        ),
    )


def _texts(folder: Path) -> dict[str, Document | Failure]:
    for name in ("docs.jsonl.gz", "docs.jsonl"):
        file = folder / name
        if file.is_file():
            with gzip.open(file, "rt") if name.endswith(".gz") else file.open() as lines:
                documents = (Document.from_json(_without_date(json.loads(line))) for line in lines)
                return {d.id: d for d in documents}
    raise InputError(f"{folder}: no docs.jsonl, docs.jsonl.gz or html.tar.gz")


def _without_date(raw: JSON) -> JSON:
    """The protocol is one of arrival: dates must not reorder it."""
    return {**raw, "published": None}


def _pages(archive: Path, settings: Settings) -> dict[str, Document | Failure]:
    with tarfile.open(archive) as tar:
        members = [m for m in tar if m.isfile()]
        pages = [Document(id=m.name, html=_bytes(tar, m)) for m in members]
    with _Cache() as cache:
        return cache.extracted(pages, settings)


def _bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


class _Cache:
    """Extracted articles by content and version of the extractor: a second run is quick."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("ESDEDUP_CACHE", Path.home() / ".cache" / "esdedup"))
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "extracted.db", timeout=60)
        self._db.execute("CREATE TABLE IF NOT EXISTS articles (key TEXT PRIMARY KEY, article TEXT)")

    def __enter__(self) -> _Cache:
        return self

    def __exit__(self, *exception: object) -> None:
        self._db.commit()
        self._db.close()

    def extracted(
        self, pages: Sequence[Document], settings: Settings
    ) -> dict[str, Document | Failure]:
        out: dict[str, Document | Failure] = {}
        new: list[Document] = []
        for page in pages:
            row = self._db.execute(
                "SELECT article FROM articles WHERE key = ?", (self._key(page),)
            ).fetchone()
            if row is None:
                new.append(page)
            else:
                out[page.id] = _thawed(page.id, json.loads(row[0]))
        for page, item in zip(new, _extract(new, settings), strict=True):
            out[page.id] = item
            frozen = json.dumps(_frozen(item))
            self._db.execute(
                "INSERT OR REPLACE INTO articles VALUES (?, ?)", (self._key(page), frozen)
            )
        return out

    @staticmethod
    def _key(page: Document) -> str:
        digest = hashlib.sha256(page.html or b"").hexdigest()
        return f"{EXTRACTOR}:{version('trafilatura')}:{digest}"


def _extract(pages: Sequence[Document], settings: Settings) -> Iterator[Document | Failure]:
    with Workers(os.cpu_count() or 1, read_pages, settings) as pool:
        for chunk in pool.map(pages, settings.batch):
            yield from chunk


def read_pages(pages: Sequence[Document], settings: Settings) -> list[Document | Failure]:
    """What a worker process does here: extract, but not sign."""
    return [read_page(page, settings) for page in pages]


def _frozen(item: Document | Failure) -> JSON:
    if isinstance(item, Failure):
        return {"failure": item.reason}
    return {"title": item.title, "text": item.text, "lang": item.lang}


def _thawed(id_: str, raw: Mapping[str, Any]) -> Document | Failure:
    if "failure" in raw:
        return Failure(id_, id_, raw["failure"])
    return Document(id=id_, title=raw["title"], text=raw["text"], lang=raw["lang"])


# --- the online protocol -----------------------------------------------------------------------


def arrival(gold: GoldSet, order: Arrival, seed: int) -> list[str]:
    """Ids in the order they come; `original-first` is random but for each cluster's original."""
    ids = sorted(gold.cluster)
    if order == "depth-first":
        return sorted(ids, key=lambda i: (gold.cluster[i], i not in gold.originals, i))
    random.Random(seed).shuffle(ids)
    if order == "random":
        return ids
    first = {gold.cluster[i]: i for i in gold.originals}
    out: dict[str, None] = {}
    for id_ in ids:
        out[first.get(gold.cluster[id_], id_)] = None
        out[id_] = None
    return list(out)


def online(
    gold: GoldSet,
    settings: Settings,
    *,
    order: Arrival = "original-first",
    seed: int = 0,
    store: str = "sqlite://:memory:",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Score:
    """One run; every document is decided with what had come before it."""
    settings = replace(settings, keep="arrival", on_duplicate="link")
    ids = arrival(gold, order, seed)
    prepared = _prepared([gold.items[i] for i in ids], settings)
    counts = {"tp": 0, "fp": 0, "tn": 0, "fn": 0, "updates": 0}
    seen: set[str] = set()
    with Deduplicator.open(store, settings) as deduplicator:
        for place, (id_, item) in enumerate(zip(ids, prepared, strict=True)):
            outcome = deduplicator.write([item])[0].decision
            cluster = gold.cluster[id_]
            linked = outcome.role in ("duplicate", "update")
            into = gold.cluster[outcome.evidence[0].other] if linked else None
            if place:
                counts[_verdict(into, cluster, is_first=cluster not in seen)] += 1
                counts["updates"] += outcome.role == "update"
            seen.add(cluster)
            progress(place + 1, len(ids))
    return Score(**counts)


def _verdict(into: str | None, cluster: str, *, is_first: bool) -> str:
    if into is None:
        return "tn" if is_first else "fn"
    return "tp" if into == cluster and not is_first else "fp"


def _prepared(
    items: Sequence[Document | Failure], settings: Settings
) -> Iterator[Signed | Failure]:
    """Signed in batches of the size that signing likes best; failures in their place."""
    for start in range(0, len(items), 256):
        part = items[start : start + 256]
        signed = iter(prepare([d for d in part if isinstance(d, Document)], settings))
        for item in part:
            yield item if isinstance(item, Failure) else next(signed)


def summary(scores: Sequence[Score]) -> JSON:
    """One object for one or several runs: means, and the spread of F1 over the seeds."""

    def mean(name: str) -> float:
        return round(fmean(getattr(s, name) for s in scores), 4)

    out = {name: mean(name) for name in ("precision", "recall", "f1")}
    counts = {n: mean(n) if len(scores) > 1 else getattr(scores[0], n) for n in _COUNTS}
    spread = round(stdev(s.f1 for s in scores), 4) if len(scores) > 1 else 0.0
    return {**out, **counts, "runs": len(scores), "f1_spread": spread}


_COUNTS = ("tp", "fp", "tn", "fn", "updates")
