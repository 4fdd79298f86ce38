"""Another keep rule for a store that is full: every document gets its new place in the order, and
every group the original that it would have had under that rule from the beginning.

Nothing is signed again. On SQLite all of it is one transaction. On a cluster nobody else should
write meanwhile; a run that was stopped is run again, and does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import StoreError
from esdedup.maintenance.rethreshold import Change, Progress, _silent, all_records, changes_of
from esdedup.matching.canonical_order import order_for
from esdedup.model import JSON
from esdedup.settings import Settings
from esdedup.stores import Record, Store

_BATCH = 500


@dataclass(frozen=True, slots=True)
class Rerooted:
    """Documents that stand elsewhere in the order, and those in another group or role."""

    moved: int
    changes: tuple[Change, ...]

    @property
    def originals(self) -> list[Change]:
        """Documents that lead now and did not."""
        return [
            c
            for c in self.changes
            if c.decision.link.canonical and not c.record.decision.link.canonical
        ]

    def to_json(self) -> JSON:
        return {
            "moved": self.moved,
            "new_originals": [c.decision.id for c in self.originals],
            "changes": [c.to_json() for c in self.changes],
        }


def reroot(
    deduplicator: Deduplicator,
    settings: Settings,
    *,
    dry_run: bool = False,
    progress: Progress = _silent,
) -> Rerooted:
    """Settings that differ from the store's in the keep rule alone; recorded when all is done."""
    store = deduplicator.store
    _check(store.settings, settings)
    before = store.settings
    with nullcontext() if dry_run else store.transaction():
        store.begin()
        store.adopt(settings)
        try:
            placed = [_placed(record, store) for record in all_records(store)]
            found = changes_of([new for _, new in placed], store, progress)
            moved = [new for old, new in placed if _stands_elsewhere(old, new)]
            done = Rerooted(sum(old.order != new.order for old, new in placed), tuple(found))
            if dry_run:
                return done
            _write(store, moved, found)
            store.record_settings()
            before = settings
        finally:
            store.adopt(before)
    deduplicator.settings = settings
    store.refresh()
    return done


def _check(was: Settings, now: Settings) -> None:
    same = replace(now, keep=was.keep, keep_sources=was.keep_sources)
    if same.shaping() != was.shaping():
        raise StoreError("only the keep rule can be changed here; open the store with its settings")
    if now.attract == "all":
        raise StoreError(
            "this store links online, as its preset does: its groups depend on the order of "
            "arrival, and only on that"
        )


def _placed(record: Record, store: Store) -> tuple[Record, Record]:
    document, signature = record.document, record.signature
    pinned = document.id in store.corrections.pinned
    order = order_for(document, signature.words, record.first_seen, store.settings, pinned=pinned)
    signed = replace(signature, format=store.settings.fingerprint_of_format())
    return record, replace(record, order=order, signature=signed)


def _stands_elsewhere(old: Record, new: Record) -> bool:
    return old.order != new.order or old.signature.format != new.signature.format


def _write(store: Store, moved: Sequence[Record], found: Sequence[Change]) -> None:
    for part in _parts(moved):
        if conflicts := store.rewrite_many(part).conflicts:
            raise StoreError(
                f"{len(conflicts)} articles, {min(conflicts)} among them, were changed by another "
                "writer meanwhile; stop it and run the same command again"
            )
    store.refresh()
    ids = [change.decision.id for change in found]
    decisions = {change.decision.id: change.decision for change in found}
    for start in range(0, len(ids), _BATCH):
        fresh = store.get_many(ids[start : start + _BATCH])
        store.link_many([(record, decisions[id_]) for id_, record in fresh.items()])
    # On a cluster what others did meanwhile; in a transaction nothing is left to do.
    reconcile(store, ids, ids)


def _parts(records: Sequence[Record]) -> list[Sequence[Record]]:
    return [records[start : start + _BATCH] for start in range(0, len(records), _BATCH)]
