"""`doctor --fix`: signs and reconciles documents, and returns a line for each repair."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.model import Decision, Document
from esdedup.stores import Record
from esdedup.stores.ports import scan

_SHOWN = 5  # ids named in a line


def repair(deduplicator: Deduplicator) -> list[str]:
    """Sign documents without a group or with another format first; links depend on signatures."""
    return [*_sign(deduplicator), *_relink(deduplicator)]


def _sign(deduplicator: Deduplicator) -> list[str]:
    """Documents without a group, or signed in another format, are signed again."""
    if deduplicator.store.maintenance.foreign_index is None:
        # An SQLite store has no document without a group.
        documents = list(_of_other_formats(deduplicator))
        list(deduplicator.add_many(documents))
        return [f"{len(documents)} articles of another format signed"] if documents else []
    deduplicator.store.concurrency.make_visible()
    signed, refused = 0, {}
    for progress in Backfill(deduplicator, BackfillPlan()).catch_up():
        signed, refused = progress.done, progress.failures
    done = [f"{signed} articles without a group, or of another format, signed"] if signed else []
    return done + [f"{id_} cannot be signed: {reason}" for id_, reason in refused.items()]


def _of_other_formats(deduplicator: Deduplicator) -> Iterator[Document]:
    mine = deduplicator.settings.fingerprint_of_format()
    for record in chain.from_iterable(scan(deduplicator.store.documents)):
        if record.signature.format != mine and record.decision.role != "unprocessed":
            yield record.document


def _relink(deduplicator: Deduplicator) -> list[str]:
    """Broken links are computed anew; what is right but written inconsistently is rewritten."""
    store = deduplicator.store
    with store.concurrency.transaction():
        broken = store.maintenance.repair_keys()
        if not broken:
            return []
        records = store.documents.get(broken)
        changed = reconcile(store, broken, broken)
        same = [
            _as_decided(r) for id_, r in store.documents.get(records).items() if id_ not in changed
        ]
        store.documents.relink(same)
        store.concurrency.make_visible()
    named = ", ".join(sorted(broken)[:_SHOWN]) + (", …" if len(broken) > _SHOWN else "")
    return [f"{len(broken | set(changed))} links computed anew, beginning with {named}"]


def _as_decided(record: Record) -> tuple[Record, Decision]:
    """The stored decision, to be written again; an unprocessed article is a group of its own."""
    id_, decision = record.document.id, record.decision
    if decision.role == "unprocessed":
        return record, Decision(id_, "unprocessed", id_, id_, reason=decision.reason)
    return record, decision
