"""A cluster decides as the embedded store does, document by document."""

from __future__ import annotations

import gzip
import json
import random
from importlib.resources import as_file, files

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.readers import read
from esdedup.model import Decision, Document
from tests.support.backends import Backend
from tests.support.data import labelled

pytestmark = pytest.mark.servers


@pytest.fixture(scope="session")
def sample() -> list[Document]:
    """The pages of the demo, extracted once."""
    from esdedup.ingest.sign import read_page

    with as_file(files("esdedup.sample") / "pages") as folder, Deduplicator.open() as plain:
        pages = [page for page in read([str(folder)]) if isinstance(page, Document)]
        extracted = (read_page(page, plain.settings) for page in pages)
        return [document for document in extracted if isinstance(document, Document)]


def spotsigs() -> list[Document]:
    with gzip.open(labelled("spotsigs") / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Document.from_json({k: row[k] for k in ("id", "title", "text") if k in row})
            for row in rows]  # fmt: skip


def decisions(url: str, documents: list[Document]) -> dict[str, Decision]:
    with Deduplicator.open(url) as deduplicator:
        list(deduplicator.add_many(documents))
        records = deduplicator.store.documents.get(d.id for d in documents)
        assert deduplicator.store.maintenance.find_problems() == []
        return {id_: record.decision for id_, record in records.items()}


def test_on_the_sample_stream(cluster_backend: Backend, sample: list[Document]) -> None:
    assert len(sample) > 60
    stream = random.Random(7).sample(sample, len(sample))
    assert decisions(cluster_backend.url, stream) == decisions("sqlite://:memory:", stream)


def test_on_spotsigs(cluster_backend: Backend) -> None:
    stream = spotsigs()
    assert decisions(cluster_backend.url, stream) == decisions("sqlite://:memory:", stream)


def test_checked_together_as_one_by_one(cluster_backend: Backend, sample: list[Document]) -> None:
    stored, new = sample[::2], sample[1::2]
    with Deduplicator.open(cluster_backend.url) as deduplicator:
        list(deduplicator.add_many(stored))
        alone = [deduplicator.check(document) for document in new]
        assert list(deduplicator.check_many(new)) == alone
        assert {decision.role for decision in alone} >= {"original", "duplicate"}
