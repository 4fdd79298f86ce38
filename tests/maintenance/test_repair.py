"""Broken stores made right again: `doctor --fix`."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from tests.maintenance.foreign_index import (
    START,
    Newsroom,
    articles,
    expected_groups,
    run,
)


@pytest.mark.servers
class TestRepair:
    def test_everything_broken_at_once(self, newsroom: Newsroom) -> None:
        documents = articles(60, copies=0.6, seed=4)
        newsroom.fill(documents)
        newsroom.backfill()
        right = newsroom.groups()
        copies = [id_ for id_, group in right.items() if group != id_]
        (leader, _), = Counter(right.values()).most_common(1)  # fmt: skip
        leaders = [id_ for id_, group in right.items() if group == id_ != leader]
        newsroom.damage(copies[0], {"group": copies[0], "canonical": True, "role": "original"})
        newsroom.damage(copies[1], {"group": copies[1]})
        newsroom.damage(copies[2], {"format": "0123456789ab"})
        newsroom.damage(copies[3], {"group": "nobody"})
        newsroom.damage(leaders[0], {"canonical": False})
        newsroom.damage(leaders[1], {"group": leader})
        newsroom.fill([d for d in documents if d.id in (copies[4], leaders[2])])  # lose ours
        path = f"/{newsroom.index}/_doc/{leader}?refresh=true"
        assert newsroom.server.http("DELETE", path).status == 200
        found = run("doctor", "--store", newsroom.url)
        assert found.exit_code == 1
        assert "doctor --fix" in found.stdout
        fixed = run("doctor", "--fix", "--store", newsroom.url)
        assert fixed.exit_code == 0, fixed.output
        assert "3 articles without a group, or of another format, signed" in fixed.stdout
        assert "links computed anew" in fixed.stdout
        assert newsroom.groups() == expected_groups([d for d in documents if d.id != leader])
        again = run("doctor", "--fix", "--store", newsroom.url, "--json")
        assert json.loads(again.stdout)["fixed"] == []


DEEDS = [
    "DELETE FROM documents WHERE id = 'a'",
    """UPDATE documents SET "group" = 'a' WHERE id = 'c'""",
    "UPDATE documents SET role = 'duplicate' WHERE id = 'c'",
    "UPDATE documents SET story = 'c' WHERE id = 'b'",
    "INSERT INTO keys VALUES ('s00:1', 1, 999)",
    "DELETE FROM keys WHERE seq = 1",
    "UPDATE keys SET leader = 0 WHERE seq = 1",
    "UPDATE documents SET format = '0123456789ab'",
]


@pytest.mark.parametrize("deed", DEEDS)
def test_an_embedded_store_is_mended(tmp_path: Path, deed: str) -> None:
    file = tmp_path / "news.db"
    text = articles(2, copies=0)
    documents = [
        Document("a", "", text[0].text, published=START),
        Document("b", "", text[0].text, published=START + timedelta(hours=1)),
        Document("c", "", text[1].text, published=START + timedelta(hours=2)),
    ]
    with Deduplicator.open(f"sqlite:///{file}") as deduplicator:
        list(deduplicator.add_many(documents))
    db = sqlite3.connect(file)
    with db:
        db.execute(deed)
    db.close()
    assert run("doctor", "--store", str(file)).exit_code == 1
    fixed = run("doctor", "--fix", "--store", str(file))
    assert fixed.exit_code == 0, fixed.output
    left = (
        [d for d in documents if d.id != "a"] if deed.startswith("DELETE FROM doc") else documents
    )
    with Deduplicator.open(f"sqlite:///{file}") as deduplicator:
        records = deduplicator.store.documents.get("abc")
        assert {i: r.decision.group for i, r in records.items()} == expected_groups(left)
