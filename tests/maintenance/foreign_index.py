"""A foreign index of news on a real server, and the groups it must have.

The embedded store defines these: the same articles indexed there, in any order, have the groups
that the cluster must come to.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from typer.testing import CliRunner, Result

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.model import Document
from esdedup.settings import Settings
from tests.servers import Server
from tests.support.backends import drop_side_indices
from tests.support.waiting import PATIENCE

JSON = dict[str, Any]
START = datetime(2024, 3, 1, tzinfo=UTC)
# Somebody's own mapping: other names, strict, with a note of their own.
MAPPING: JSON = {
    "dynamic": "strict",
    "_meta": {"owner": "newsroom"},
    "properties": {
        "headline": {"type": "text"},
        "article": {"properties": {"body": {"type": "text"}}},
        "published_at": {"type": "date"},
        "desk": {"type": "keyword"},
    },
}
FIELDS = {"text": "article.body"}


def articles(count: int = 120, *, copies: float = 0.3, seed: int = 1) -> list[Document]:
    """Stories of random words; a share of them copies with a few words changed, days later."""
    dice = random.Random(seed)
    vocabulary = [f"word{n}" for n in range(3_000)]
    made: list[Document] = []
    for number in range(count):
        words = dice.choices(vocabulary, k=90)
        if made and dice.random() < copies:
            words = dice.choice(made).text.split()
            for place in dice.sample(range(len(words)), 3):
                words[place] = dice.choice(vocabulary)
        published = START + timedelta(minutes=dice.randrange(count * 7))
        made.append(Document(f"d{number:04}", f"title {number}", " ".join(words), None,
                             published=published))  # fmt: skip
    return made


def as_theirs(document: Document) -> JSON:
    source: JSON = {"headline": document.title, "desk": "world"}
    if document.text:
        source["article"] = {"body": document.text}
    if document.published:
        source["published_at"] = document.published.isoformat()
    return source


def expected_groups(documents: Sequence[Document]) -> dict[str, str]:
    with Deduplicator.open() as judge:
        list(judge.add_many(documents))
        return {
            id_: r.decision.group for id_, r in judge.store.documents.get(ids(documents)).items()
        }


def ids(documents: Sequence[Document]) -> list[str]:
    return [d.id for d in documents]


@dataclass
class Newsroom:
    """An index on a real server without our fields."""

    server: Server
    index: str
    names: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.server.url}/{self.index}"

    def create(self, mapping: Mapping[str, Any] = MAPPING, index: str | None = None) -> None:
        name = index or self.index
        self.names.append(name)
        settings = {"number_of_shards": 2, "number_of_replicas": 0}
        body = {"settings": settings, "mappings": mapping}
        assert self.server.http("PUT", f"/{name}", body).status == 200

    def fill(self, documents: Sequence[Document], index: str | None = None) -> None:
        lines = []
        for document in documents:
            lines += [{"index": {"_id": document.id}}, as_theirs(document)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        path = f"/{index or self.index}/_bulk?refresh=true"
        answer = self.server.http("POST", path, text)
        assert not answer.json()["errors"], answer.text

    def sources(self) -> dict[str, JSON]:
        self.server.http("POST", f"/{self.index}/_refresh")
        answer = self.server.http("POST", f"/{self.index}/_search", {"size": 5_000}).json()
        return {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}

    def groups(self) -> dict[str, str]:
        return {id_: s.get("dedup", {}).get("group") for id_, s in self.sources().items()}

    def groups_of_ours(self) -> dict[str, str]:
        """Like `groups`, where `dedup` may also be a field of the user."""
        found = {id_: source.get("dedup") for id_, source in self.sources().items()}
        return {id_: d["group"] for id_, d in found.items() if isinstance(d, dict)}

    def open(self, settings: Settings | None = None) -> Deduplicator:
        return Deduplicator.open(self.url, settings)

    def backfill(self, plan: BackfillPlan | None = None, settings: Settings | None = None) -> JSON:
        with self.open(settings) as deduplicator:
            result: JSON = {}
            for progress in Backfill(deduplicator, plan or BackfillPlan(fields=FIELDS)).run():
                result = progress.to_json()
        return result

    def damage(self, id_: str, dedup: JSON) -> None:
        path = f"/{self.index}/_update/{id_}?refresh=true"
        assert self.server.http("POST", path, {"doc": {"dedup": dedup}}).status == 200

    def drop(self) -> None:
        for name in self.names:
            assert self.server.http("DELETE", f"/{name}").status in (200, 404)
        drop_side_indices(self.server, self.index)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


def end_after(daemon: subprocess.Popen[str], documents: int) -> None:
    """Stop a sweeping daemon (`--json`) once it has reported so many articles."""
    assert daemon.stdout is not None
    seen = 0
    while seen < documents:
        seen += json.loads(daemon.stdout.readline())["documents"]
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(PATIENCE) == 0
