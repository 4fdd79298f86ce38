"""Other thresholds, on every backend: groups as if made so, settings kept, nothing signed again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest import sign as signing
from esdedup.maintenance.rethreshold import find_changes, rethreshold
from esdedup.model import Document
from esdedup.settings import Settings
from tests.support.backends import Backend

SENTENCES = (
    "The old mill at Grandval burned down on Friday night and nobody was hurt, the brigade said.",
    "Sparks had been seen over the roof long before the first call came in from a neighbour.",
    "The owner wants to rebuild it with the help of the village before the next harvest begins.",
)
LOOSE = replace(Settings(), min_overlap=0.2, max_collisions_by_chance=0, extended_ratio=0.0)


def articles() -> list[Document]:
    whole = " ".join(SENTENCES)
    half = f"{SENTENCES[0]} {SENTENCES[1]} Elsewhere the day was quiet, apart from a lost cow."
    third = (
        f"{SENTENCES[0]} All other news of the valley is of rain, weddings and a football match."
    )
    return [Document(id=i, text=t) for i, t in (("a", whole), ("b", half), ("c", third))]


def test_as_if_made_so_and_back(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    with Deduplicator(backend.open(LOOSE)) as deduplicator:
        list(deduplicator.add_many(articles()))
    monkeypatch.setattr(signing, "sign_many", None)  # whoever signs again fails
    strict = backend.open(replace(LOOSE, min_overlap=0.95))
    planned = find_changes(strict)
    assert {c.decision.id: c.decision.role for c in planned} == {"b": "original", "c": "original"}
    assert len(rethreshold(strict)) == 2
    assert find_changes(strict) == []
    assert strict.maintenance.find_problems() == []
    assert backend.open(mode="read").settings.min_overlap == 0.95
    loose = backend.open(LOOSE)
    rethreshold(loose)
    there = loose.documents.get("abc")
    assert {i: r.decision.group for i, r in there.items()} == dict.fromkeys("abc", "a")
    assert backend.open(mode="read").settings.min_overlap == 0.2
