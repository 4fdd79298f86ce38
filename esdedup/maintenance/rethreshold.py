"""Other thresholds for a store that is there: every document decided anew from what is stored.

Signatures hold all that verification reads, so no text is read or signed again. The right place of
a document depends on the documents before it alone; one pass along the order therefore gives the
fixed point of `reconcile`, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from esdedup.clustering.place import PendingIndex, place
from esdedup.clustering.reconcile import is_keyless, probes_of, reconcile
from esdedup.errors import StoreError
from esdedup.matching.constraints import Heard
from esdedup.model import JSON, Decision, Link, Order
from esdedup.stores import Record, Store
from esdedup.stores.cluster.msearch import chunks

_EVER = datetime.fromtimestamp(0, UTC)
_BATCH = 500
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    del done, total


@dataclass(frozen=True, slots=True)
class Change:
    """A document whose place is another one under the new settings."""

    record: Record
    decision: Decision

    def to_json(self) -> JSON:
        was, now = self.record.decision, self.decision
        return {
            "id": now.id,
            "title": self.record.document.title,
            "was": {"role": was.role, "group": was.group, "story": was.story},
            "now": {"role": now.role, "group": now.group, "story": now.story},
            "overlap": round(now.score, 4),
        }


def changes(store: Store, progress: Progress = _silent) -> list[Change]:
    """What the settings that the store was opened with would change; nothing is written."""
    return changes_of(list(all_records(store)), store, progress)


def changes_of(records: list[Record], store: Store, progress: Progress = _silent) -> list[Change]:
    """The same for records that may stand elsewhere in the order than they are stored."""
    signed = [r for r in records if r.decision.role != "unprocessed"]
    signed.sort(key=lambda r: r.order)
    pending, found, done = PendingIndex(), list[Change](), 0
    positions: dict[str, tuple[Order, Link]] = {}
    for part in chunks(signed, _BATCH):
        placement = place(
            part,
            probes_of(part, store.settings),
            [()] * len(part),
            store.settings,
            pending=pending,
            constraints=store.corrections,
            positions=positions,
            decide_keyless=_unchanged,
        )
        for record, placed in zip(part, placement.records, strict=True):
            if placed.decision.link != record.decision.link:
                found.append(Change(record, placed.decision))
        done += len(part)
        progress(done, len(signed))
    return found


def _unchanged(record: Record, said: Heard) -> Decision | None:
    """Without keys there is nothing to compare a document by."""
    return record.decision if is_keyless(record) else None


def rethreshold(store: Store, progress: Progress = _silent) -> list[Change]:
    """Write them, and the settings; on a cluster what other writers did meanwhile is settled."""
    with store.transaction():
        store.begin()
        found = changes(store, progress)
        ids = {change.decision.id for change in found}
        report = store.link_many([(change.record, change.decision) for change in found])
        if store.settings.attract != "all":
            reconcile(store, ids, ids)
        elif report.conflicts:
            raise StoreError(
                f"{len(report.conflicts)} documents were changed by another writer meanwhile; run "
                "the same command again"
            )
        store.record_settings()
    store.refresh()
    return found


def all_records(store: Store) -> Iterator[Record]:
    """All documents, without the texts, which nothing here reads."""
    ids = sorted(store.changed_since(_EVER))
    for start in range(0, len(ids), _BATCH):
        for record in store.get_many(ids[start : start + _BATCH]).values():
            yield replace(record, document=replace(record.document, text="", extra={}))
