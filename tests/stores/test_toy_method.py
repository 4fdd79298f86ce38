"""A method that is registered in a few lines runs through every store."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.methods import METHODS
from esdedup.model import Document
from esdedup.model.methods import METHOD_SPECS, MethodSpec
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from tests.support.backends import Backend

TEXT = "The ferry caught fire off the coast on Tuesday and the coastguard brought all ashore."

# The first three words of a text are its only key.
TOY = SimpleNamespace(
    sign=lambda batch, settings: [text.lower().split()[:3] for text in _texts(batch)],
    keys=lambda signed, settings: ("toy:" + "-".join(signed),) if signed else (),
    min_shared_keys=lambda settings: 1,
    compare=lambda a, b, settings: float(set(a) == set(b)),
    matches=lambda measure, settings: measure > 0,
)


def _texts(batch: Batch) -> Sequence[str]:
    return batch.texts


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHOD_SPECS, "toy", MethodSpec("toy", "toy"))
    monkeypatch.setitem(METHODS, "toy", TOY)


@pytest.mark.usefixtures("_toy")
def test_a_toy_method_finds_a_copy_on_every_store(backend: Backend) -> None:
    with Deduplicator(backend.open(Settings(methods=("toy",)))) as news:
        documents = [
            Document(id="a", text=TEXT),
            Document(id="b", text=TEXT + " More soon."),
            Document(id="c", text="Nothing of the kind: " + TEXT),
        ]
        for document in documents:
            news.add(document)
        decisions = {id_: r.decision for id_, r in news.store.documents.get("abc").items()}
        assert {id_: d.group for id_, d in decisions.items()} == {"a": "a", "b": "a", "c": "c"}
        assert decisions["b"].method == "toy"
        assert news.store.maintenance.find_problems() == []
