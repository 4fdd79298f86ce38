"""Deletion with a report: which articles are gone, and which lead their group instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model.json_form import Result
from esdedup.stores import Record


@dataclass(frozen=True, slots=True)
class Deleted(Result):
    """The deleted articles, the ids that the store does not have, and the new originals."""

    deleted: list[str]
    missing: list[str]
    promoted: list[str]


def delete(
    deduplicator: Deduplicator,
    ids: Sequence[str],
    is_wanted: Callable[[Record], bool] = lambda record: True,
) -> Deleted:
    """Delete articles, in one transaction if the store has transactions.

    `is_wanted` is asked about the version that is deleted: others may have replaced it.
    """
    store = deduplicator.store
    with store.concurrency.transaction():
        before = store.documents.get(store.candidates.dependents(ids) - set(ids))
        removed = deduplicator.writer.delete(ids, is_wanted)
        after = store.documents.get(before)
    return Deleted(
        [id_ for id_ in dict.fromkeys(ids) if id_ in removed],
        [id_ for id_ in dict.fromkeys(ids) if id_ not in removed],
        [
            id_
            for id_, record in after.items()
            if record.decision.link.canonical and not before[id_].decision.link.canonical
        ],
    )
