"""Indexing end to end on SQLite: from NDJSON, with two worker processes, against datasketch."""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import QueryBuilder
from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from esdedup.stores import CandidateQuery
from tests.bench.articles import Newsroom
from tests.bench.rivals import fill_datasketch_index, split_words
from tests.bench.timing import best_seconds, headline, line

COUNT = 20_000
PEER_COUNT = 3_000
REPEATS = 3
PROBES = 1_000  # as many as a batch asks for
LOOKUP_REPEATS = 9
FEW, MANY = 10_000, 100_000


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _rate_and_memory(Path(folder))
        _lookups(Path(folder))


def _rate_and_memory(folder: Path) -> None:
    headline(f"esdedup index: {COUNT:,} articles of 400 words from NDJSON, 2 workers, SQLite")
    documents = list(Newsroom().articles(COUNT))
    texts = [f"{d.title} {d.text}" for d in documents[:PEER_COUNT]]
    input_ = folder / "stream.ndjson"
    with input_.open("w") as out:
        out.writelines(json.dumps(d.to_json()) + "\n" for d in documents)
    for number in range(REPEATS):  # in turn: what else the machine does strikes both
        peer = PEER_COUNT / best_seconds(
            lambda: fill_datasketch_index(map(split_words, texts)), repeats=1
        )
        line("datasketch MinHash(128) + MinHashLSH in memory", f"{peer:,.0f} articles/s")
        start = time.perf_counter()
        _index(input_, folder / f"news{number}.db")
        rate = COUNT / (time.perf_counter() - start)
        line("esdedup index, start to end", f"{rate:,.0f} articles/s", rate / peer, "bar 1.5")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    line("largest process", f"{peak:,.0f} MB", None, "bar 400 MB")
    size = (folder / "news0.db").stat().st_size / COUNT
    line("store, text and full-text index included", f"{size:,.0f} bytes/article")


def _index(input_: Path, store: Path) -> None:
    command = [sys.executable, "-m", "esdedup", "index", str(input_), "--store", str(store)]
    subprocess.run([*command, "--workers", "2", "--quiet"], check=True)


def _lookups(folder: Path) -> None:
    """Two stores side by side, asked in turn, every time for articles not asked for before."""
    few, many = FEW, MANY
    headline(f"Candidate lookup at {few:,} and at {many:,} documents (SQLite, processor time)")
    newsroom = Newsroom(words=150)
    smaller, larger = folder / "few.db", folder / "many.db"
    with Deduplicator.open(str(smaller)) as deduplicator:
        _fill(deduplicator, list(newsroom.articles(few, prefix="few")))
    shutil.copy(smaller, larger)
    with Deduplicator.open(str(larger)) as deduplicator:
        _fill(deduplicator, list(newsroom.articles(many - few, prefix="many")))
    with Deduplicator.open(str(smaller)) as before, Deduplicator.open(str(larger)) as after:
        pairs = []
        for number in range(LOOKUP_REPEATS):
            probes = _probes(before, list(newsroom.articles(PROBES, prefix=f"probe{number}-")))
            pairs.append((_microseconds(before, probes), _microseconds(after, probes)))
    for documents, costs in zip((few, many), zip(*pairs, strict=True), strict=True):
        middle = statistics.median(costs)
        line(f"{documents:,} documents", f"{middle:,.0f} us", None, _spread(costs, "{:,.0f}"))
    ratios = [large / small for small, large in pairs]
    line("larger store, times the smaller", "", statistics.median(ratios), "bar below 1.3")
    line("all ratios", "", None, _spread(ratios, "{:.2f}"))


def _microseconds(deduplicator: Deduplicator, probes: list[CandidateQuery]) -> float:
    start = time.process_time()
    deduplicator.store.candidates.find(probes)
    return (time.process_time() - start) / len(probes) * 1e6


def _spread(values: Sequence[float], form: str) -> str:
    return " ".join(form.format(value) for value in sorted(values))


def _probes(deduplicator: Deduplicator, documents: list[Document]) -> list[CandidateQuery]:
    settings = deduplicator.settings
    questions, latest = QueryBuilder.of(settings), 1 << 62
    return [questions.build(s, (latest, s.document.id)) for s in sign_many(documents, settings)]


def _fill(deduplicator: Deduplicator, documents: list[Document]) -> None:
    for _ in deduplicator.add_many(documents):
        pass


if __name__ == "__main__":
    run()
