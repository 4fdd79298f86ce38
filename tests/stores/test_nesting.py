"""Values nested deeper than the limit, on every store: one document fails, its neighbours go on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import sweep
from esdedup.model import Document
from esdedup.model.encoding import MAX_DEPTH, TOO_DEEP
from esdedup.model.queries import Query
from esdedup.search.searcher import Searcher
from tests.ingest.reading import deep, from_stdin
from tests.servers import Server
from tests.support.articles import BRIDGE, FERRY
from tests.support.backends import Backend, new_index
from tests.support.commands import article_json

# Both engines keep up to 999 levels of a field.
DEPTHS = [MAX_DEPTH, 500, 700, 900, 999]


@pytest.mark.parametrize("workers", [0, 1])
def test_indexing_sets_the_deep_one_aside(backend: Backend, workers: int) -> None:
    first, last = article_json("first", FERRY, 3), article_json("last", BRIDGE, 4)
    lines = [first, *(deep(depth, text=FERRY).encode() for depth in DEPTHS), last]
    with Deduplicator(backend.open()) as news:
        outcomes = list(news.add_many(from_stdin(*lines), workers=workers))
        assert [o.status for o in outcomes] == ["new", *["failed"] * len(DEPTHS), "new"]
        kept = news.store.quarantine.entries()
        assert len(kept) == len(DEPTHS)
        assert all(TOO_DEEP in failure.reason and failure.final for failure in kept)
        assert set(news.store.documents.get(["first", "last"])) == {"first", "last"}


@pytest.mark.servers
def test_sweep_signs_what_stands_beside_a_deep_one(server: Server) -> None:
    """Written by another program: in a field that sweep reads, and in one that it does not."""
    index = new_index()
    # Objects, not lists, of which OpenSearch takes 20; `enabled` false, so that nothing maps them.
    off = {"type": "object", "enabled": False}
    mapping = {"mappings": {"properties": {"source": off, "x": off}}}
    assert server.http("PUT", f"/{index}", mapping).status == 200
    written: dict[str, Any] = {"first": {"text": FERRY}, "last": {"text": BRIDGE}}
    for field in ("source", "x"):
        for depth in DEPTHS:
            written[f"{field}-{depth}"] = deep(depth, dict, field, text=FERRY)
    for id_, source in written.items():
        assert server.http("PUT", f"/{index}/_doc/{id_}", source).status == 201, id_
    try:
        with Deduplicator.open(f"{server.product}+{server.url}/{index}") as news:
            done = sweep(news, datetime.now(UTC))
            assert not done.failures
            assert done.done == len(written)
            assert not sweep(news, datetime.now(UTC)).done, "all of them have a place"
            records = news.store.documents.get(written)
            for id_, record in records.items():
                is_refused = id_.startswith("source-")
                assert (record.decision.role == "unprocessed") == is_refused, id_
            # What shows articles leaves the deep fields out.
            found = Searcher(news.store).search(Query(words=None), mode="all", size=50)
            assert {hit.id for hit in found.hits} == set(written)
            assert "x" not in records["x-999"].document.extra
    finally:
        server.http("DELETE", f"/{index},esdedup-*-{index}")


def test_what_is_not_too_deep_comes_back(backend: Backend) -> None:
    line = deep(MAX_DEPTH - 1, dict, id="a", text=FERRY)
    (document,) = from_stdin(line.encode())
    assert isinstance(document, Document)
    with Deduplicator(backend.open()) as news:
        news.add(document)
        assert news.store.documents.get(["a"])["a"].document.extra["x"] == json.loads(line)["x"]
