"""Other thresholds for a store that is there: every document decided anew from what is stored.

Signatures hold all that verification reads, so no text is read or signed again. The right place of
a document depends on the documents before it alone; one pass along the order therefore gives the
fixed point of `linking`, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from esdedup.corrections import heard
from esdedup.decide import decide
from esdedup.errors import StoreError
from esdedup.keeping import window_of
from esdedup.linking import Questions, Window, is_keyless, settle
from esdedup.model import JSON, Decision, Link, Order
from esdedup.stores import Record, Store

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
    records = sorted(records, key=lambda r: r.order)
    window, questions = Window(store.settings), Questions.of(store.settings)
    corrections = store.corrections
    places: dict[str, tuple[Order, Link]] = {}
    out = []
    for place, record in enumerate(records):
        if record.decision.role == "unprocessed":
            continue
        id_, signature, order = record.document.id, record.signature, record.order
        if is_keyless(record):
            places[id_] = order, record.decision.link
            continue  # there is nothing to compare it by any more
        span = window_of(store.settings, signature.lang, record.document.source)
        candidates = window.candidates(questions.keys(signature), order, span)
        said = heard(id_, order, corrections, places)
        decision = decide(id_, signature, candidates, store.settings, said)
        window.add(id_, signature, order, decision)
        places[id_] = order, decision.link
        if decision.link != record.decision.link:
            out.append(Change(record, decision))
        progress(place + 1, len(records))
    return out


def rethreshold(store: Store, progress: Progress = _silent) -> list[Change]:
    """Write them, and the settings; on a cluster what other writers did meanwhile is settled."""
    with store.transaction():
        store.begin()
        found = changes(store, progress)
        ids = {change.decision.id for change in found}
        report = store.link_many([(change.record, change.decision) for change in found])
        if store.settings.attract != "all":
            settle(store, ids, ids)
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
