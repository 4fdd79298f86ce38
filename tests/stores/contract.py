"""Records for the tests of what every store promises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from esdedup.model import Decision, Document, Evidence, Signature
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, Store, WriteReport

FORMAT = Settings().fingerprint_of_format()
FOLDS: dict[str, dict[str, Any]] = {
    "none": {"mode": "all"},
    "group": {"mode": "collapse", "by": "group"},
    "story": {"mode": "collapse", "by": "story"},
}


def sketch_keys(numbers: Iterable[int]) -> tuple[str, ...]:
    """A key each; equal numbers at equal places collide."""
    return tuple(f"s{i:02d}:{n:012x}" for i, n in enumerate(numbers))


def record(
    id_: str,
    moment: int = 0,
    keys: Iterable[int] = (),
    *,
    exact_key: str | None = None,
    title: str = "",
    text: str = "text",
    of: str | None = None,
    decision: Decision | None = None,
) -> Record:
    """An original, or with `of` a duplicate of that document."""
    by_method = {"sketch": own} if (own := sketch_keys(keys)) else {}
    if exact_key is not None:
        by_method["exact"] = (exact_key,)
    if decision is None:
        role, group = ("original", id_) if of is None else ("duplicate", of)
        evidence = () if of is None else (Evidence(of, verdict="duplicate"),)
        decision = Decision(id_, role, group, group, evidence=evidence)  # type: ignore[arg-type]  # any role
    signature = Signature(FORMAT, by_method)
    document = Document(id=id_, title=title, text=text)
    return Record(document, signature, (moment, id_), moment, decision)


def update(id_: str, moment: int, of: str, story: str) -> Record:
    evidence = (Evidence(of, verdict="update", reason="numbers"),)
    return record(id_, moment, decision=Decision(id_, "update", id_, story, evidence=evidence))


def put(store: Store, *records: Record) -> None:
    """As the pipeline does: what is replaced is replaced in the version that was read."""
    with store.concurrency.transaction():
        there = store.documents.get(r.document.id for r in records)
        versions = {id_: old.version for id_, old in there.items()}
        report = store.documents.put(
            [replace(r, version=versions.get(r.document.id)) for r in records]
        )
        assert report == WriteReport()
    store.concurrency.make_visible()


def probe(
    id_: str, moment: int, keys: Iterable[int], needed: int = 1, **options: object
) -> CandidateQuery:
    return CandidateQuery(
        id_,
        {"sketch": sketch_keys(keys)},
        {"sketch": needed},
        (moment, id_),
        **options,  # type: ignore[arg-type]  # fields of a document by name
    )


def found(store: Store, question: CandidateQuery) -> dict[str, dict[str, int]]:
    (candidates,) = store.candidates.find([question])
    return {c.id: dict(c.shared) for c in candidates}


@pytest.fixture
def searchable_store(store: Store) -> Store:
    put(
        store,
        record("a", 1, title="Flood in Tollmere", text="The river rose."),
        record("b", 2, title="River rises", text="A flood in Tollmere, again a flood.", of="a"),
        record("c", 3, title="Nothing here", text="Dry land.", of="a"),
        replace(
            update("u", 4, "a", "a"),
            document=Document(id="u", title="Flood update", text="Tollmere is dry."),
        ),
        record("z", 5, title="Flood elsewhere", text="In another valley."),
    )
    return store
