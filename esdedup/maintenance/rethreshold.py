"""Applies other thresholds to an existing store: decides every document again from its keys.

No text is signed again. The right decision about a document depends only on earlier documents; one
pass in canonical order therefore gives the fixed point of `reconcile`, before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from esdedup.clustering.place import PendingIndex, place
from esdedup.clustering.reconcile import is_keyless, queries_of, reconcile
from esdedup.errors import StoreError
from esdedup.matching.constraints import DocumentConstraints
from esdedup.model import JSON, Candidate, Decision, Document, Link, Order
from esdedup.model.batching import batched
from esdedup.model.json_form import Result
from esdedup.stores import CandidateQuery, Record, Store
from esdedup.stores.ports import scan


@dataclass(frozen=True, slots=True)
class Change(Result):
    """A document that gets another decision under the new settings."""

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


def find_changes(store: Store) -> list[Change]:
    """Find what the settings that the store was opened with would change; nothing is written."""
    return find_changes_among(list(read_records(store)), store)


def find_changes_among(records: list[Record], store: Store) -> list[Change]:
    """Like `find_changes`, for records whose canonical order may differ from the stored one."""
    signed = [r for r in records if r.decision.role != "unprocessed"]
    signed.sort(key=lambda r: r.order)
    pending, found = _TextlessIndex(store), list[Change]()
    positions: dict[str, tuple[Order, Link]] = {}
    for part in batched(signed):
        whole = pending.read_texts(part)
        queries = queries_of(whole, store.settings)
        pending.read_candidates(queries)
        placement = place(
            whole,
            queries,
            [()] * len(part),
            store.settings,
            pending=pending,
            constraints=store.constraints.recent(),
            positions=positions,
            decide_keyless=_decide_keyless,
        )
        for record, placed in zip(part, placement.records, strict=True):
            if placed.decision.link != record.decision.link:
                found.append(Change(record, placed.decision))
    return found


class _TextlessIndex(PendingIndex):
    """Decided records without their texts. The texts of one part of the documents, and of what they
    are compared with, are read from the store when that part is decided."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self._documents: dict[str, Document] = {}

    def read_texts(self, part: Sequence[Record]) -> list[Record]:
        """The records with their texts; those of the part before are dropped."""
        self._documents = {}
        self._read(r.document.id for r in part)
        return [replace(r, document=self._with_text(r.document)) for r in part]

    def read_candidates(self, queries: Iterable[CandidateQuery]) -> None:
        found = (super(_TextlessIndex, self).find_with_successors(query)[0] for query in queries)
        self._read({c.id for candidates in found for c in candidates} - self._documents.keys())

    def put(self, record: Record) -> None:
        super().put(_without_text(record))

    def find_with_successors(self, query: CandidateQuery) -> tuple[list[Candidate], set[str]]:
        candidates, successors = super().find_with_successors(query)
        return [replace(c, document=self._with_text(c.document)) for c in candidates], successors

    def _read(self, ids: Iterable[str]) -> None:
        stored = self._store.documents.get(ids)
        self._documents |= {id_: record.document for id_, record in stored.items()}

    def _with_text(self, document: Document) -> Document:
        """The document itself if another writer has deleted it since."""
        return self._documents.get(document.id, document)


def _decide_keyless(record: Record, constraints: DocumentConstraints) -> Decision | None:
    """Keep the decision about a document without keys: nothing can be compared."""
    return record.decision if is_keyless(record) else None


def rethreshold(store: Store) -> list[Change]:
    """Write the changes and the settings; on a cluster, reconcile what others wrote meanwhile."""
    with store.concurrency.transaction():
        store.concurrency.snapshot()
        found = find_changes(store)
        ids = {change.decision.id for change in found}
        report = store.documents.relink([(change.record, change.decision) for change in found])
        if store.settings.attract != "all":
            reconcile(store, ids, ids)
        elif report.conflicts:
            raise StoreError(
                f"{len(report.conflicts)} documents were changed by another writer meanwhile; run "
                "the same command again"
            )
        store.maintenance.record_settings()
    store.concurrency.make_visible()
    return found


def read_records(store: Store) -> Iterator[Record]:
    """All documents without their texts: those of a large store do not fit into the memory."""
    for page in scan(store.documents):
        yield from map(_without_text, page)


def _without_text(record: Record) -> Record:
    return replace(record, document=replace(record.document, text="", extra={}))
