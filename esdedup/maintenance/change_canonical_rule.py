"""Changes the canonical rule of an existing store: every document gets its new sort key, and every
group the original that it would have had under that rule from the beginning.

Nothing is signed again. On SQLite all of it is one transaction. On a cluster nobody else should
write meanwhile; a stopped run is completed by running it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.errors import StoreError
from esdedup.maintenance.rethreshold import Change, find_changes_among, read_records
from esdedup.model.batching import batched
from esdedup.model.json_form import Result, in_json
from esdedup.settings import Settings
from esdedup.stores import Record, Store


@dataclass(frozen=True, slots=True)
class CanonicalRuleChange(Result):
    """How many documents have another sort key, and the documents with another group or role."""

    moved: int
    changes: tuple[Change, ...]

    @property
    def originals(self) -> list[Change]:
        """Documents that become originals or updates."""
        return [
            c
            for c in self.changes
            if c.decision.link.canonical and not c.record.decision.link.canonical
        ]

    @property
    @in_json()
    def new_originals(self) -> list[str]:
        return [c.decision.id for c in self.originals]


def change_canonical_rule(
    deduplicator: Deduplicator, settings: Settings, *, dry_run: bool = False
) -> CanonicalRuleChange:
    """Apply `settings`, which may differ from the store's in the canonical rule only."""
    store = deduplicator.store
    _check(store.settings, settings)
    before = store.settings
    with nullcontext() if dry_run else store.concurrency.transaction():
        store.concurrency.snapshot()
        store.settings = settings
        try:
            builder, format_ = deduplicator.writer.builder, settings.fingerprint_of_format()
            placed = []
            for old in read_records(store):
                signature = replace(old.signature, format=format_)
                new = replace(old, order=builder.order_of(old), signature=signature)
                placed.append((old, new))
            found = find_changes_among([new for _, new in placed], store)
            moved = sum(old.order != new.order for old, new in placed)
            done = CanonicalRuleChange(moved, tuple(found))
            if dry_run:
                return done
            changed = [
                new
                for old, new in placed
                if old.order != new.order or old.signature.format != format_
            ]
            _write(store, changed, found)
            store.maintenance.record_settings()
            before = settings
        finally:
            store.settings = before
    deduplicator.settings = settings
    store.concurrency.make_visible()
    return done


def _check(was: Settings, now: Settings) -> None:
    same = replace(now, keep=was.keep, keep_sources=was.keep_sources)
    if same.shaping() != was.shaping():
        raise StoreError(
            "only the canonical rule can be changed here; open the store with its settings"
        )
    if now.attract == "all":
        raise StoreError(
            "this store links online, as its preset does: its groups depend on the order of "
            "arrival, and only on that"
        )


def _write(store: Store, moved: Sequence[Record], found: Sequence[Change]) -> None:
    for part in batched(moved):
        if conflicts := store.documents.rewrite(part).conflicts:
            raise StoreError(
                f"{len(conflicts)} articles, {min(conflicts)} among them, were changed by another "
                "writer meanwhile; stop it and run the same command again"
            )
    store.concurrency.make_visible()
    ids = [change.decision.id for change in found]
    decisions = {change.decision.id: change.decision for change in found}
    for some in batched(ids):
        fresh = store.documents.get(some)
        store.documents.relink([(record, decisions[id_]) for id_, record in fresh.items()])
    # On a cluster what others did meanwhile; in a transaction nothing is left to do.
    reconcile(store, ids, ids)
