"""kill -9 at moments drawn from a seed, inside statements and between them: whole batches are kept,
and the same command, run again, ends with the groups of one run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Link
from esdedup.settings import Settings
from esdedup.stores.sqlite.store import SQLiteStore
from tests.soak import of_one_writer, stream
from tests.support.waiting import PATIENCE

DOCUMENTS = stream(7)[:60]
BATCH = 5
KILLS = 12
# SQLite calls back once in so many steps of its virtual machine.
_STEPS = 100


def index(path: str, on_step: Callable[[], bool]) -> None:
    """All documents, as `esdedup index` does; what is stored already is found unchanged."""
    with Deduplicator.open(path, Settings(batch=BATCH)) as deduplicator:
        assert isinstance(deduplicator.store, SQLiteStore)
        deduplicator.store.database.db.set_progress_handler(on_step, _STEPS)
        list(deduplicator.add_many(DOCUMENTS))


def index_until_killed(path: str, moment: int) -> None:
    steps = 0

    def on_step() -> bool:
        nonlocal steps
        steps += 1
        if steps == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    index(path, on_step)


def kill_and_run_again(folder: Path) -> None:
    """In a process without threads, which may fork. Each kill has a store of its own."""
    total = 0

    def count() -> bool:
        nonlocal total
        total += 1
        return False

    index(str(folder / "whole.db"), count)
    chance, right = random.Random(7), of_one_writer(DOCUMENTS)
    for number in range(KILLS):
        path = str(folder / f"{number}.db")
        moment = chance.randrange(1, total)
        child = os.fork()
        if child == 0:
            index_until_killed(path, moment)
            os._exit(0)
        _, ended = os.waitpid(child, 0)
        assert os.WIFSIGNALED(ended), f"the run ended before its step {moment}"
        check_whole_batches(path)
        index(path, lambda: False)
        assert links_in(path) == right, f"killed at step {moment}"


def check_whole_batches(path: str) -> None:
    with Deduplicator.open(path) as deduplicator:
        store = deduplicator.store
        assert store.maintenance.find_problems() == []
        assert store.maintenance.stats()["documents"] % BATCH == 0


def links_in(path: str) -> dict[str, Link]:
    with Deduplicator.open(path, mode="read") as deduplicator:
        records = deduplicator.store.documents.get(d.id for d in DOCUMENTS)
        return {id_: record.decision.link for id_, record in records.items()}


def test_killed_at_any_moment(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.stores.test_sqlite_kills", str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=10 * PATIENCE,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


if __name__ == "__main__":
    kill_and_run_again(Path(sys.argv[1]))
