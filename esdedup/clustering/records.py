"""Signed documents become records: with a place in the canonical order and no decision yet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from esdedup.ingest.sign import Signed
from esdedup.matching.canonical_order import order_for
from esdedup.model import Decision, Document, Order, Signature
from esdedup.settings import Settings
from esdedup.stores import Record, Store


@dataclass(slots=True)
class Clock:
    """Microseconds that never repeat nor go back: the order of arrival is total."""

    last: int = 0

    def now(self) -> int:
        self.last = max(self.last + 1, time.time_ns() // 1000)
        return self.last


class RecordBuilder:
    """Builds the records of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.clock = Clock()

    def build(self, signed: Iterable[Signed], existing: Mapping[str, Record]) -> list[Record]:
        """Records to be placed; those that are `existing` keep their arrival and version."""
        return [self._build(one, existing.get(one.document.id)) for one in signed]

    def _build(self, signed: Signed, old: Record | None) -> Record:
        # A document that another program wrote has no arrival yet.
        first_seen = (old and old.first_seen) or self.clock.now()
        order = self.order(signed.document, signed.signature.words, first_seen)
        return replace(undecided_record(signed, order, first_seen), version=old and old.version)

    def build_unprocessed(
        self, document: Document, first_seen: int | None = None, reason: str = ""
    ) -> Record:
        """The record of a document that could not be signed: an original that matches nothing."""
        id_ = document.id
        first_seen = self.clock.now() if first_seen is None else first_seen
        decision = Decision(id_, "unprocessed", id_, id_, reason=reason)
        order = self.order(document, 0, first_seen)
        signature = empty_signature(self._store.settings)
        return Record(without_page(document), signature, order, first_seen, decision)

    def order_of(self, record: Record) -> Order:
        """The place of a stored record by the constraints and the settings of now."""
        return self.order(record.document, record.signature.words, record.first_seen)

    def order(self, document: Document, words: int, first_seen: int) -> Order:
        pinned = document.id in self._store.constraints.recent().pinned
        return order_for(document, words, first_seen, self._store.settings, pinned=pinned)


def undecided_record(signed: Signed, order: Order, first_seen: int) -> Record:
    """A record with the decision of a document that matches nothing."""
    document, id_ = without_page(signed.document), signed.document.id
    original = Decision(id_, "original", id_, id_)
    return Record(document, signed.signature, order, first_seen, original)


def without_page(document: Document) -> Document:
    """The document as it is stored: its text, not the page it was extracted from."""
    return document if document.html is None else replace(document, html=None)


def empty_signature(settings: Settings) -> Signature:
    """Of a document that could not be processed: no keys, so it attracts nothing."""
    return Signature(settings.fingerprint_of_format(), {})
