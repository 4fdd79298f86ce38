"""What a deletion did: who is gone, who was never there, who leads instead."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.clustering.deduplicator import Deduplicator


def delete(deduplicator: Deduplicator, ids: Sequence[str]) -> dict[str, list[str]]:
    """Delete articles, in one transaction where the store has them, and tell what became of it."""
    store = deduplicator.store
    with store.transaction():
        before = store.get_many(store.followers(ids) - set(ids))
        removed = deduplicator.delete(ids)
        after = store.get_many(before)
    return {
        "deleted": [id_ for id_ in dict.fromkeys(ids) if id_ in removed],
        "missing": [id_ for id_ in dict.fromkeys(ids) if id_ not in removed],
        "promoted": [
            id_
            for id_, record in after.items()
            if record.decision.link.canonical and not before[id_].decision.link.canonical
        ],
    }
