"""Documents as the cluster keeps them, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from esdedup.model import (
    JSON,
    Candidate,
    Decision,
    Document,
    Evidence,
    Link,
    Signature,
    drop_deep_fields,
    parse_time,
    place_of,
    rank_of,
    stored_evidence,
    time_of,
)
from esdedup.model.methods import METHOD_SPECS, key_fields
from esdedup.settings import Settings
from esdedup.stores.ports import Record
from esdedup.text.fulltext import select_unmarked

# Ours -> the names it goes by in an index that somebody else designed, in the order to look.
Names = Mapping[str, Sequence[str]]
NO_NAMES: Names = {}


def source_of(record: Record, now: str) -> JSON:
    """What is stored: the article's own fields as they came, and ours in `dedup`."""
    source = record.document.to_json()
    del source["id"]
    source.pop("html", None)
    source["dedup"] = dedup_fields(record, now)
    return source


def dedup_fields(record: Record, now: str) -> JSON:
    """Our object: the signature, the place in the order, the link."""
    signature = record.signature
    return {
        "format": signature.format,
        **{METHOD_SPECS[m].key_field: list(keys) for m, keys in signature.keys.items()},
        **({"kept": dict(signature.query_seed)} if signature.query_seed else {}),
        **({"plain": plain} if (plain := _unmarked_parts(record.document)) else {}),
        "digest": signature.digest,
        "words": signature.words,
        **({"agency": signature.agency} if signature.agency else {}),
        "id": record.document.id,
        **place_fields(record),
        "first_seen": record.first_seen,
        **link_fields(record.decision, now),
    }


def _unmarked_parts(document: Document) -> list[str]:
    return [*select_unmarked(document.title), *select_unmarked(document.text)]


# What verification reads of an article; the site is for boilerplate.
READ_FIELDS = ("title", "text", "lang", "source", "url")
# Our fields of an article that may be absent: a partial update, which merges, has to name them.
_FORMAT_1_FIELDS = ("shingles", "numbers", "evidence", "lang")
OPTIONAL_FIELDS = (
    *key_fields().values(),
    "kept",
    "agency",
    "plain",
    "signed",
    "changes",
    "rank",
    *_FORMAT_1_FIELDS,
)


def signed_fields(record: Record, source: Mapping[str, Any], names: Names) -> JSON:
    """What was signed, as far as it is not what `document_from` reads from the source: the text of
    a page, or one in several parts. Verification reads it here."""
    plain = document_from(record.document.id, {**source, "dedup": {}}, names)
    signed = {
        name: value
        for name in ("title", "text", "lang")
        if (value := getattr(record.document, name)) != getattr(plain, name)
    }
    return {"signed": signed} if signed else {}


def place_fields(record: Record) -> JSON:
    """The place in the order."""
    place = record.order[0]
    rank = rank_of(place)
    return {"moment": time_of(place), **({"rank": rank} if rank else {})}


def place_from(dedup: Mapping[str, Any]) -> int:
    return place_of(dedup.get("rank") or 0, dedup["moment"])


def rewritten_fields(record: Record, now: str) -> JSON:
    """What another place in the order, another format or other keys rewrite."""
    signature = record.signature
    keys = {f: list(signature.keys.get(m, ())) or None for m, f in key_fields().items()}
    return {
        **dict.fromkeys(("rank", *_FORMAT_1_FIELDS)),
        **place_fields(record),
        "format": signature.format,
        **keys,
        "kept": dict(signature.query_seed) or None,
        "digest": signature.digest,
        "words": signature.words,
        "agency": signature.agency or None,
        "at": now,
    }


def link_fields(decision: Decision, now: str) -> JSON:
    """What a change of place rewrites."""
    link = decision.link
    return {
        "role": link.role,
        "group": link.group,
        "gid": group_number(link.group),
        "story": link.story,
        "parent": link.parent,
        "canonical": link.canonical,
        "attracts": link.is_representative,
        "score": decision.score,
        "method": decision.method,
        "reason": decision.reason,
        "changes": {"list": decision.changes} if decision.changes else None,
        "at": now,
    }


def group_number(group: str) -> int:
    """A signed 64-bit hash of a group's id."""
    digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def record_from(
    id_: str, source: Mapping[str, Any], version: Any, names: Names = NO_NAMES
) -> Record:
    """The reverse of `source_of`."""
    dedup = source["dedup"]
    link = link_from(dedup)
    return Record(
        document=document_from(id_, source, names),
        signature=signature_from(dedup),
        order=(place_from(dedup), id_),
        first_seen=dedup["first_seen"],
        decision=Decision(
            id=id_,
            role=dedup["role"],
            group=dedup["group"],
            story=dedup["story"],
            score=dedup["score"],
            method=dedup["method"],
            reason=dedup["reason"],
            branch=link.branch,
            evidence=evidence_from(dedup, link),
        ),
        version=version,
    )


def link_from(dedup: Mapping[str, Any]) -> Link:
    role = dedup["role"]
    is_branch = role == "duplicate" and dedup["attracts"]
    return Link(role, dedup["group"], dedup["story"], dedup.get("parent"), is_branch)


def evidence_from(dedup: Mapping[str, Any], link: Link) -> tuple[Evidence, ...]:
    """Whole in format 1; since then what changed, of updates alone."""
    if whole := (dedup.get("evidence") or {}).get("list"):
        return tuple(map(Evidence.from_json, whole))
    changes = (dedup.get("changes") or {}).get("list") or ()
    return stored_evidence(link, dedup["score"], dedup["reason"], changes)


def document_from(id_: str, source: Mapping[str, Any], names: Names = NO_NAMES) -> Document:
    own = drop_deep_fields({k: v for k, v in source.items() if k != "dedup"})
    for ours, theirs in names.items():
        found = (value for name in theirs if (value := at_path(source, name)) is not None)
        if (value := next(found, None)) is not None:
            own[ours] = value
    own |= (source.get("dedup") or {}).get("signed") or {}
    return Document.from_json({**_usable(own), "id": id_})


def at_path(source: Mapping[str, Any], path: str) -> Any:
    """The value under a name, or under a path with dots; None if there is none."""
    if path in source:
        return source[path]
    head, _, tail = path.partition(".")
    inner = source.get(head)
    return at_path(inner, tail) if tail and isinstance(inner, dict) else None


def _usable(own: JSON) -> JSON:
    """Fields of our names with values of another kind are kept beside, as the readers do it."""
    out = dict(own)
    for name in ("title", "text", "url", "source", "lang", "published", "html"):
        if (value := out.get(name)) is not None and not _is_ours(name, value):
            out[f"{name}_raw"] = out.pop(name)
    return out


def _is_ours(name: str, value: Any) -> bool:
    if name != "published":
        return isinstance(value, str) and name != "html"
    try:
        parse_time(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return False
    return True


def foreign_record(
    id_: str,
    source: Mapping[str, Any],
    settings: Settings,
    version: Any,
    names: Names = NO_NAMES,
) -> Record:
    """A document that somebody else wrote without our fields: there, and not processed yet."""
    nothing = Signature(settings.fingerprint_of_format(), {})
    unprocessed = Decision(id_, "unprocessed", id_, id_)
    return Record(document_from(id_, source, names), nothing, (0, id_), 0, unprocessed, version)


def keys_from(dedup: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {m: tuple(dedup[f]) for m, f in key_fields().items() if dedup.get(f)}


def signature_from(dedup: Mapping[str, Any]) -> Signature:
    return Signature(
        format=dedup["format"],
        keys=keys_from(dedup),
        digest=dedup["digest"],
        words=dedup["words"],
        query_seed=dedup.get("kept") or {},
        agency=dedup.get("agency") or "",
    )


def candidate_from(
    hit: Mapping[str, Any], shared: Mapping[str, int], names: Names = NO_NAMES
) -> Candidate:
    source = hit["_source"]
    dedup = source["dedup"]
    return Candidate(
        document=document_from(hit["_id"], source, names),
        shared=shared,
        signature=signature_from(dedup),
        order=(place_from(dedup), hit["_id"]),
        link=link_from(dedup),
    )
