"""What `doctor --fix` does: every document back to its right place, and a line for each deed."""

from __future__ import annotations

from collections.abc import Iterator

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import reconcile
from esdedup.maintenance.backfill import Backfill, Plan
from esdedup.model import Decision, Document
from esdedup.stores import Record

_SHOWN = 5  # ids named in a line
_ALL = 1 << 31


def repair(deduplicator: Deduplicator) -> list[str]:
    """Missing groups and other formats first, since the links of others rest on signatures."""
    return [*_sign(deduplicator), *_relink(deduplicator)]


def _sign(deduplicator: Deduplicator) -> list[str]:
    """Documents without a group, or signed in another format, are signed again."""
    if deduplicator.store.serial:
        return _sign_again(deduplicator)
    deduplicator.store.refresh()
    signed, refused = 0, {}
    for progress in Backfill(deduplicator, Plan()).catch_up():
        signed, refused = progress.done, progress.failures
    done = [f"{signed} articles without a group, or of another format, signed"] if signed else []
    return done + [f"{id_} cannot be signed: {reason}" for id_, reason in refused.items()]


def _sign_again(deduplicator: Deduplicator) -> list[str]:
    """An SQLite store has no document without a group; those of another format are indexed anew."""
    documents = list(_of_other_formats(deduplicator))
    if not documents:
        return []
    list(deduplicator.add_many(documents))
    return [f"{len(documents)} articles of another format signed"]


def _of_other_formats(deduplicator: Deduplicator) -> Iterator[Document]:
    store, mine = deduplicator.store, deduplicator.settings.fingerprint_of_format()
    if not any("have format" in problem for problem in store.check()):
        return  # reading every document takes long
    for group, _ in store.groups(smallest=1, size=_ALL):
        for record in store.members(group):
            if record.signature.format != mine and record.decision.role != "unprocessed":
                yield record.document


def _relink(deduplicator: Deduplicator) -> list[str]:
    """Broken links are computed anew; what is right but written inconsistently is rewritten."""
    store = deduplicator.store
    with store.transaction():
        broken = store.misplaced()
        if not broken:
            return []
        records = store.get_many(broken)
        changed = reconcile(store, broken, broken)
        same = [_as_decided(r) for id_, r in store.get_many(records).items() if id_ not in changed]
        store.link_many(same)
        store.refresh()
    named = ", ".join(sorted(broken)[:_SHOWN]) + (", …" if len(broken) > _SHOWN else "")
    return [f"{len(broken | set(changed))} links computed anew, beginning with {named}"]


def _as_decided(record: Record) -> tuple[Record, Decision]:
    """The same place, written whole; an unprocessed article leads itself, whatever was stored."""
    id_, decision = record.document.id, record.decision
    if decision.role == "unprocessed":
        return record, Decision(id_, "unprocessed", id_, id_, reason=decision.reason)
    return record, decision
