"""Documents on their way in: signed, decided, given our fields. What a batch needs, no HTTP.

An operation becomes a change of one line of the bulk, or stays as it is. Signing and deciding are
those of every other writer; see `reconcile` for why what is decided here may be settled later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from esdedup.clustering.records import RecordBuilder
from esdedup.gateway import bulk
from esdedup.gateway.bulk import Operation
from esdedup.ingest.readers.dates import parse_date
from esdedup.ingest.readers.records import FieldMap, to_document
from esdedup.ingest.sign import Signed
from esdedup.model import JSON, Document, Failure, iso
from esdedup.model.encoding import encode_json
from esdedup.stores import Record
from esdedup.stores.cluster.requests import documents as document_requests

# What of an article its signature and its place in the order are made from.
_SIGNED = ("title", "text", "lang", "published", "html")


@dataclass(slots=True)
class Draft:
    """One document to sign: what it will be after the write, and where our fields go."""

    operation: Operation
    id: str
    source: JSON
    part: Literal["whole", "doc", "upsert"]
    old: Record | None = None
    document: Document | Failure | None = None


@dataclass(slots=True)
class Plan:
    """What of a batch is to be signed, and what is to be looked at after the write."""

    drafts: list[Draft] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # all that are written
    replaced: list[Record] = field(default_factory=list)  # as they were
    # Deleted, or replaced without our fields: whoever leaned on them is looked at.
    gone: set[str] = field(default_factory=set)
    to_verify: dict[str, str] = field(default_factory=dict)  # id -> index, changed in the cluster


def wants_reading(operation: Operation) -> bool:
    """Whether what is there now has to be known."""
    return operation.id is not None and operation.verb != "create"


def plan_batch(
    operations: Sequence[Operation], there: Mapping[tuple[str, str], JSON], names: FieldMap
) -> Plan:
    """`there`: (index, id) -> the document as a hit, of those that exist."""
    plan = Plan()
    for operation in operations:
        hit = there.get((operation.index, operation.id or ""))
        old = old_record(hit) if hit else None
        if operation.verb == "delete" or operation.is_versioned:
            plan.gone.add(operation.id or "")
        else:
            draft = _draft(operation, hit, old, names)
            if operation.verb == "update" and hit is not None and operation.id is not None:
                plan.to_verify[operation.id] = operation.index
            if draft is None:
                continue
            plan.drafts.append(draft)
            plan.ids.add(draft.id)
        if old is not None:
            plan.replaced.append(old)
    return plan


def _draft(
    operation: Operation, hit: JSON | None, old: Record | None, names: FieldMap
) -> Draft | None:
    source = operation.source
    if source is None:
        return None
    if operation.verb != "update":
        id_ = operation.id or bulk.new_id()
        return Draft(operation, id_, source, "whole", old, document(source, id_, names))
    if operation.id is None:
        return None
    if hit is None:
        return _draft_upsert(operation, operation.id, source, names)
    return _draft_update(operation, operation.id, source, hit, old, names)


def _draft_upsert(operation: Operation, id_: str, source: JSON, names: FieldMap) -> Draft | None:
    """Nothing is there: what the update makes."""
    doc, upsert = source.get("doc"), source.get("upsert")
    if isinstance(doc, dict) and source.get("doc_as_upsert") is True:
        return Draft(operation, id_, doc, "doc", None, document(doc, id_, names))
    if isinstance(upsert, dict) and "scripted_upsert" not in source:
        return Draft(operation, id_, upsert, "upsert", None, document(upsert, id_, names))
    return None


def _draft_update(
    operation: Operation, id_: str, source: JSON, hit: JSON, old: Record | None, names: FieldMap
) -> Draft | None:
    doc = source.get("doc")
    if not isinstance(doc, dict) or "script" in source:
        return None  # verified after the write
    now: JSON = hit.get("_source", {})
    after_source = bulk.merge_update(now, doc)
    after = document(after_source, id_, names)
    if old is not None and "dedup" not in doc and _is_same(document(now, id_, names), after):
        return None  # a change beside the article; and one that changes nothing stays a noop
    return Draft(operation, id_, after_source, "doc", old, after)


def _is_same(before: Document | Failure, after: Document | Failure) -> bool:
    if isinstance(before, Failure) or isinstance(after, Failure):
        return isinstance(before, Failure) and isinstance(after, Failure)
    return all(getattr(before, name) == getattr(after, name) for name in _SIGNED)


def document(source: JSON, id_: str, names: FieldMap) -> Document | Failure:
    """The article under its `_id`, whatever its fields are called."""
    own = {k: v for k, v in source.items() if k not in ("dedup", "id")}
    return to_document({**own, "id": id_}, id_, names)


def old_record(hit: JSON) -> Record | None:
    """A document that has a place, as the store reads it; None of one that has not."""
    dedup = hit.get("_source", {}).get("dedup")
    if not isinstance(dedup, dict) or not {"group", "moment", "first_seen"} <= set(dedup):
        return None
    return document_requests.record_from(hit["_id"], {"dedup": dedup}, None)


def record_of(
    builder: RecordBuilder, draft: Draft, signed: Signed | Failure, names: FieldMap
) -> Record:
    """Not decided yet; an article that could not be signed stays an original of its own."""
    if isinstance(signed, Signed):
        (record,) = builder.build([signed], {draft.id: draft.old} if draft.old else {})
        return record
    own = {k: v for k, v in draft.source.items() if k != "dedup"}
    document = Document(draft.id, published=parse_date(names.take(own, "published")))
    first_seen = draft.old.first_seen if draft.old else None
    return builder.build_unprocessed(document, first_seen, signed.reason)


def changed_lines(
    drafts: Sequence[Draft],
    records: Sequence[Record],
    names: document_requests.Names,
    *,
    alone: bool = False,
) -> dict[int, bytes]:
    """Number of a line -> what is sent instead; `alone` is a request of one document.

    `names` are those that the store reads the index by.
    """
    now = iso(datetime.now(UTC))
    out: dict[int, bytes] = {}
    for draft, record in zip(drafts, records, strict=True):
        operation = draft.operation
        fields = document_requests.dedup_fields(record, now)
        fields |= document_requests.signed_fields(record, draft.source, names)
        if draft.part == "doc" and draft.old is not None:
            # A partial update merges: what is not named stays.
            fields = {**dict.fromkeys(document_requests.OPTIONAL_FIELDS), **fields}
        dedup = encode_json(fields)
        if draft.part == "whole":
            source = operation.source or {}
            out[operation.source_line] = bulk.with_dedup(operation.text, source, dedup)
        else:
            new = bulk.update_with_dedup(operation.text, draft.part, dedup)
            out[operation.source_line] = new
        if operation.id is None and not alone:
            out[operation.action_line] = bulk.action_with_id(operation, draft.id)
    return out
