"""Writes whole batches: decided, stored and reconciled before the next one.

On SQLite a batch is one transaction. On a cluster this is the way for single documents and for
batches that meet stored ones; `pipelined` is the quicker way for streams of new documents.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from esdedup.clustering.epoch import Epoch
from esdedup.clustering.outcomes import BatchResult, Outcome, id_of, refusal_of
from esdedup.clustering.records import RecordBuilder
from esdedup.ingest.sign import Signed
from esdedup.matching.revision import compare_versions
from esdedup.model import Document, Failure
from esdedup.model.revisions import Revision, has_same_text
from esdedup.stores import Record, Store, WriteReport

Items = Sequence[Signed | Failure]


class BatchWriter:
    """Writes and deletes documents of one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.builder = RecordBuilder(store)

    def write(self, items: Items) -> list[Outcome]:
        """Decide and store one batch: all of it, or on an error nothing."""
        outcomes: list[Outcome] = []
        with self.store.concurrency.transaction():
            for part in _without_repeated_ids(items):
                outcomes += self._write_part(part)
        return outcomes

    def _write_part(self, items: Items) -> list[Outcome]:
        """Items with distinct ids."""
        epoch = Epoch.begin(self.store)
        signed = [item for item in items if isinstance(item, Signed)]
        existing = self.store.documents.get(id_of(item) for item in items)
        records = self.builder.build(signed, existing)
        decided = epoch.place(
            [r for r in records if not _is_unchanged(r, existing.get(r.document.id))],
            is_stored=lambda r: not self.is_dropped(r, existing),
        )
        stored = [r for r in decided if not self.is_dropped(r, existing)]
        replaced = [(existing[r.document.id], r) for r in stored if r.document.id in existing]
        epoch.note_replaced([old for old, _ in replaced])
        revisions = self._keep_versions(replaced)
        report = self.store.documents.put(stored)
        done = self.finish(items, decided, stored, report, existing)
        epoch.must_recheck = bool(report.conflicts or report.failures)
        epoch.written = done.stored
        unchanged = {r.document.id for r in records} - {r.document.id for r in decided}
        relinked = epoch.reconcile(unchanged)
        done = replace(done, decided={**done.decided, **relinked}, revisions=revisions)
        # Another writer was quicker with these ids: compare with what it stored.
        again = [item for item in items if id_of(item) in report.conflicts]
        ids = {id_of(item) for item in items}
        return [
            *(done.outcome(item) for item in items if id_of(item) not in report.conflicts),
            *(Outcome(d, "relinked") for id_, d in relinked.items() if id_ not in ids),
            *(self._write_part(again) if again else ()),
        ]

    def _keep_versions(self, replaced: Sequence[tuple[Record, Record]]) -> dict[str, Revision]:
        """Keep the old version of each pair with another text; returns what the new one changes.

        Kept before the write: if that fails, the version is still the current one, and is not
        listed as an earlier one (`earlier_versions`).
        """
        at = datetime.now(UTC)
        pairs = [(old, new) for old, new in replaced if is_revised(old, new.document)]
        self.store.revisions.add([old for old, _ in pairs], at)
        compared = (
            compare_versions(old.document, new.document, at, self.store.settings)
            for old, new in pairs
        )
        return {new.document.id: r for (_, new), r in zip(pairs, compared, strict=True) if r}

    def finish(
        self,
        items: Items,
        decided: Sequence[Record],
        stored: Sequence[Record],
        report: WriteReport,
        existing: Mapping[str, Record] = MappingProxyType({}),
    ) -> BatchResult:
        """Quarantine what failed, take out of the quarantine what was accepted."""
        accepted = {r.document.id for r in stored if report.is_accepted(r.document.id)}
        failures = [item for item in items if isinstance(item, Failure)]
        failures += [refusal_of(r, report) for r in stored if r.document.id in report.failures]
        self.store.quarantine.remove(accepted)
        self._store_failures(failures, existing)
        return BatchResult(
            decided={r.document.id: r.decision for r in decided},
            stored=accepted,
            failures={f.id: f for f in failures},
            existing=existing,
        )

    def delete(
        self, ids: Iterable[str], is_wanted: Callable[[Record], bool] = lambda record: True
    ) -> set[str]:
        """Remove documents and reconcile those that depended on them; returns the removed ids.

        `is_wanted` is asked about the version that is deleted: others may have replaced it.
        """
        with self.store.concurrency.transaction():
            epoch = Epoch.begin(self.store)
            in_turn = list(dict.fromkeys(ids))
            wanted = set(in_turn)
            epoch.note_replaced(list(self.store.documents.get(wanted).values()))
            epoch.affected |= self.store.candidates.dependents(wanted)
            removed = self.store.documents.delete(in_turn, is_wanted)
            # Another writer may have added a copy meanwhile.
            if not self.store.concurrency.consistency.exclusive:
                epoch.affected |= self.store.candidates.dependents(wanted)
            epoch.affected -= removed
            epoch.reconcile(holds=True)  # nothing was written that could be wrong
        return removed

    def is_dropped(self, record: Record, existing: Container[str]) -> bool:
        """Whether the settings keep this document out of the store: a new duplicate."""
        return (
            self.store.settings.on_duplicate == "drop"
            and record.decision.role == "duplicate"
            and record.document.id not in existing
        )

    def _store_failures(self, failures: Sequence[Failure], existing: Container[str]) -> None:
        """Quarantine what failed. A failed page is stored as well, as an original."""
        self.store.documents.put(
            [
                self.builder.build_unprocessed(f.document)
                for f in failures
                if f.document is not None and f.id not in existing
            ]
        )
        self.store.quarantine.add(failures)


def is_revised(old: Record, new: Document) -> bool:
    """Whether a text is replaced by another; a page that could not be read is no version."""
    has_text = old.decision.role != "unprocessed" or bool(old.document.text)
    return has_text and not has_same_text(old.document, new)


def _is_unchanged(record: Record, existing: Record | None) -> bool:
    return (
        existing is not None
        and existing.decision.role != "unprocessed"
        and existing.document == record.document
        and existing.signature.format == record.signature.format
    )


def _without_repeated_ids(items: Items) -> Iterator[list[Signed | Failure]]:
    """Parts in which an id occurs once: a second version of an article replaces the first."""
    part: dict[str, Signed | Failure] = {}
    for item in items:
        if id_of(item) in part:
            yield list(part.values())
            part = {}
        part[id_of(item)] = item
    if part:
        yield list(part.values())
