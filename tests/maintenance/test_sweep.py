"""Articles that came by another route, and links that a crash left half done: `sweep`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import sweep
from tests.maintenance.foreign_index import (
    Newsroom,
    articles,
    end_after,
    expected_groups,
    run,
)
from tests.servers import Server
from tests.support.waiting import PATIENCE


def test_sweep_mends_an_embedded_store(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(store) as deduplicator:
        list(deduplicator.add_many(articles(20)))
    done = run("sweep", "--store", store, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["documents"] == 0


@pytest.mark.servers
class TestSweep:
    def test_signs_what_came_by_another_route(self, newsroom: Newsroom) -> None:
        documents = articles(60, copies=0.5)
        newsroom.fill(documents[:30])
        newsroom.backfill()
        newsroom.fill(documents[30:])
        with newsroom.open() as deduplicator:
            assert sweep(deduplicator, datetime.now(UTC)).done == 30
            assert sweep(deduplicator, datetime.now(UTC)).done == 0
        assert newsroom.groups() == expected_groups(documents)

    def test_an_original_that_was_rewritten(self, newsroom: Newsroom) -> None:
        """Another program writes an original anew: its copies find another leader."""
        documents = articles(40, copies=0.6, seed=8)
        newsroom.fill(documents)
        newsroom.backfill()
        (leader, _), = Counter(newsroom.groups().values()).most_common(1)  # fmt: skip
        changed = [
            replace(d, text=" ".join(f"other{n}" for n in range(80))) if d.id == leader else d
            for d in documents
        ]
        newsroom.fill([d for d in changed if d.id == leader])
        with newsroom.open() as deduplicator:
            sweep(deduplicator, datetime.now(UTC))
        assert newsroom.groups() == expected_groups(changed)

    def test_command_mends_links(self, newsroom: Newsroom) -> None:
        documents = articles(40, copies=0.6)
        newsroom.fill(documents)
        newsroom.backfill()
        right = newsroom.groups()
        copy = next(id_ for id_, group in right.items() if group != id_)
        newsroom.damage(copy, {"group": copy, "role": "original", "canonical": True, "story": copy})
        done = run("sweep", "--store", newsroom.url, "--since", "1h", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["relinked"] >= 1
        assert newsroom.groups() == right

    def test_daemon_ends_on_sigterm(self, newsroom: Newsroom) -> None:
        documents = articles(20)
        newsroom.fill(documents[:10])
        newsroom.backfill()
        command = [sys.executable, "-m", "esdedup", "sweep", "--store", newsroom.url]
        daemon = subprocess.Popen(
            [*command, "--watch", "0.2", "--json"], stdout=subprocess.PIPE, text=True
        )
        try:
            newsroom.fill(documents[10:])
            end_after(daemon, 10)
        finally:
            daemon.kill()
            daemon.communicate()
        assert newsroom.groups() == expected_groups(documents)


@pytest.mark.servers
def test_daemon_waits_for_its_index(server: Server) -> None:
    newsroom = Newsroom(server, f"bf-{os.getpid()}-{random.randrange(10**9)}")
    command = [sys.executable, "-m", "esdedup", "sweep", "--store", newsroom.url, "--watch", "0.2"]
    daemon = subprocess.Popen(
        [*command, "--field", "text=article.body"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert daemon.stderr is not None
        assert daemon.stdout is not None
        assert "waiting: there is no store" in daemon.stderr.readline()
        newsroom.create()
        newsroom.fill(articles(5))
        assert "5 articles signed" in daemon.stdout.readline()
        daemon.send_signal(signal.SIGINT)
        assert daemon.wait(PATIENCE) == 0
    finally:
        daemon.kill()
        daemon.communicate()
        newsroom.drop()
