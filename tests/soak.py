"""Several processes write into one index; afterwards the groups are those of a single writer.

    python -m tests.soak [--seeds 10] [--product elasticsearch | opensearch | both]

`tests/clustering/test_parallel.py` runs a few seeds of the same trials. Every trial pauses at
random before its writes, so that what was read is often stale by then.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document, Link
from esdedup.settings import Settings
from esdedup.stores.cluster.store import ClusterStore
from tests.servers import Product, Server, start
from tests.support.articles import SENTENCES, WHOLE, StoryVariant
from tests.support.backends import drop_index

PROCESSES = 4
DOCUMENTS = 80
SETTINGS = Settings(batch=12)
_LONGEST_PAUSE = 0.03
_SECONDS = 240  # a process that takes longer hangs


def stream(seed: int) -> list[Document]:
    """Three in ten are copies, cut copies (likeness in chains) or updates; many share a day."""
    chance = random.Random(seed)
    articles: list[StoryVariant] = []
    for number in range(DOCUMENTS):
        day = chance.randrange(6)
        if articles and chance.random() < 0.3:
            first, last = sorted(chance.sample(range(SENTENCES + 1), 2))
            chosen = chance.choice([WHOLE, WHOLE, WHOLE[first:last] or WHOLE])
            dead = chance.choice([12, 12, 12, 17, 23])
            # Favours few stories, so that some of them grow.
            story = chance.choice(articles[: 1 + len(articles) // 4]).story
            articles.append(StoryVariant(story, chosen, dead, chance.choice([0, 0, 0, 9]), day))
        else:
            articles.append(StoryVariant(seed * 1000 + number, day=day))
    return [article.document(f"d{number:03d}") for number, article in enumerate(articles)]


def links(deduplicator: Deduplicator, documents: Sequence[Document]) -> dict[str, Link]:
    records = deduplicator.store.documents.get(d.id for d in documents)
    return {id_: record.decision.link for id_, record in records.items()}


def of_one_writer(documents: Sequence[Document]) -> dict[str, Link]:
    with Deduplicator.open(settings=SETTINGS) as deduplicator:
        list(deduplicator.add_many(documents))
        return links(deduplicator, documents)


# --- what a process does ---------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One process: what it writes or deletes, and after how many writes it kills itself."""

    url: str
    seed: int
    documents: Sequence[Document] = ()
    deleted: Sequence[str] = ()
    dies_after: int | None = None

    def run(self) -> None:
        with Deduplicator.open(self.url, SETTINGS) as deduplicator:
            assert isinstance(deduplicator.store, ClusterStore)
            self._disturb(deduplicator.store)
            if self.documents:
                list(deduplicator.add_many(self.documents))
            for start_ in range(0, len(self.deleted), 5):
                deduplicator.delete(self.deleted[start_ : start_ + 5])

    def _disturb(self, store: ClusterStore) -> None:
        chance = random.Random(f"{self.seed} {os.getpid()}")
        write: Callable[..., Any] = store.documents.write
        writes = 0

        def paused(actions: Any, *given: Any) -> Any:
            nonlocal writes
            time.sleep(chance.random() * _LONGEST_PAUSE)
            written = write(actions, *given)
            writes += bool(actions)
            if writes == self.dies_after:
                os.kill(os.getpid(), signal.SIGKILL)
            return written

        store.documents.write = paused  # type: ignore[method-assign,assignment]  # a slow writer


def run_all(jobs: Sequence[Job]) -> list[int | None]:
    """Each job in a process of its own, all at once; their exit codes."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=job.run) for job in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
    return [process.exitcode for process in processes]


# --- trials ----------------------------------------------------------------------------------


def check(url: str, expected: dict[str, Link]) -> None:
    """The groups of one writer, every document once, each group with exactly one original."""
    with Deduplicator.open(url, SETTINGS, mode="read") as deduplicator:
        store = deduplicator.store
        store.concurrency.make_visible()
        found = {id_: r.decision.link for id_, r in store.documents.get(expected).items()}
        wrong = {i: (found.get(i), link) for i, link in expected.items() if found.get(i) != link}
        assert not wrong, f"{len(wrong)} links differ (is, should be): {wrong}"
        assert store.maintenance.stats()["documents"] == len(expected)
        assert store.maintenance.find_problems() == []


def several_writers(url: str, seed: int) -> None:
    """By turns every process writes everything, or each its share."""
    documents = stream(seed)
    chance = random.Random(seed)
    shuffled = [chance.sample(documents, len(documents)) for _ in range(PROCESSES)]
    if seed % 2:
        shuffled = [shuffled[0][number::PROCESSES] for number in range(PROCESSES)]
    jobs = [Job(url, seed, part) for part in shuffled]
    assert run_all(jobs) == [0] * PROCESSES
    check(url, of_one_writer(documents))


def killed_and_run_again(url: str, seed: int) -> None:
    """Two writers, one of them killed between two writes; it runs again, and a sweep ends it."""
    documents = stream(seed)
    chance = random.Random(seed)
    chance.shuffle(documents)
    began = datetime.now(UTC) - timedelta(minutes=1)
    halves = documents[::2], documents[1::2]
    dying = Job(url, seed, halves[0], dies_after=chance.randrange(1, 5))
    assert run_all([dying, Job(url, seed, halves[1])]) == [-signal.SIGKILL, 0]
    assert run_all([Job(url, seed, halves[0])]) == [0]
    with Deduplicator.open(url, SETTINGS) as deduplicator:
        deduplicator.sweep(began)
    check(url, of_one_writer(documents))


def several_deleters(url: str, seed: int) -> None:
    documents = stream(seed)
    assert run_all([Job(url, seed, documents)]) == [0]
    chance = random.Random(seed)
    gone = [d.id for d in chance.sample(documents, len(documents) // 2)]
    jobs = [Job(url, seed, deleted=gone[number::PROCESSES]) for number in range(PROCESSES)]
    assert run_all(jobs) == [0] * PROCESSES
    check(url, of_one_writer([d for d in documents if d.id not in gone]))


TRIALS = (several_writers, killed_and_run_again, several_deleters)


def in_new_index(server: Server, trial: Callable[[str, int], None], seed: int) -> None:
    index = f"own-soak-{uuid.uuid4().hex[:8]}"
    try:
        trial(f"{server.product}+{server.url}/{index}", seed)
    finally:
        drop_index(server, index)


def main() -> int:
    products: tuple[Product, ...] = ("elasticsearch", "opensearch")
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--product", default="both", choices=[*products, "both"])
    arguments = parser.parse_args()
    failed = 0
    for product in products if arguments.product == "both" else [arguments.product]:
        with start(product) as server:
            for seed in range(arguments.seeds):
                for trial in TRIALS:
                    began = time.monotonic()
                    outcome = "ok"
                    try:
                        in_new_index(server, trial, seed)
                    except AssertionError as error:
                        failed += 1
                        outcome = f"WRONG: {error}"
                    seconds = time.monotonic() - began
                    print(f"{product} seed {seed} {trial.__name__} {seconds:.1f} s: {outcome}")
                    sys.stdout.flush()
    print(f"{failed} trials went wrong" if failed else "all trials ended as with one writer")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
