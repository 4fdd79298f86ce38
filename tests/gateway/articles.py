"""Articles written through a gateway, and what the server stores of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from tests.servers import Server

JSON = dict[str, Any]


def random_article(number: int, *, of: int | None = None) -> JSON:
    """A text of its own, or a copy of another one with two words changed."""
    words = random.Random(number if of is None else of).choices(
        [f"w{n}" for n in range(2_000)], k=80
    )
    if of is not None:
        dice = random.Random(number)
        for place in dice.sample(range(80), 2):
            words[place] = f"changed{number}"
    return {
        "title": f"title {number}",
        "text": " ".join(words),
        "published": f"2024-03-01T{number // 60:02}:{number % 60:02}:00Z",
    }


def stored_sources(server: Server, index: str) -> dict[str, JSON]:
    server.http("POST", f"/{index}/_refresh")
    hits = server.http("POST", f"/{index}/_search", {"size": 1_000}).json()["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def stored_groups(server: Server, index: str) -> dict[str, str]:
    return {
        id_: s.get("dedup", {}).get("group") for id_, s in stored_sources(server, index).items()
    }


def expected_groups(articles: Mapping[str, JSON]) -> dict[str, str]:
    """The groups of the same articles in the embedded store."""
    with Deduplicator.open("sqlite://:memory:") as news:
        for id_, source in articles.items():
            news.add(Document.from_json({"id": id_, **source}))
        found = news.store.documents.get(list(articles))
        return {id_: record.decision.group for id_, record in found.items()}
