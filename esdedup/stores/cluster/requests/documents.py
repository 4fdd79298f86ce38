"""Documents as the cluster keeps them, and back."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from esdedup.features.numbers import NumberContext, encode_numbers
from esdedup.model import (
    JSON,
    Candidate,
    Decision,
    Document,
    Evidence,
    Hashes32,
    Link,
    Signature,
    drop_deep_fields,
    pack,
    parse_time,
    place_of,
    rank_of,
    time_of,
    unpack,
)
from esdedup.model.encoding import RawJson
from esdedup.model.methods import METHOD_SPECS, key_fields
from esdedup.settings import Settings
from esdedup.stores.ports import MAX_STORED_EVIDENCE, Record


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
        "digest": signature.exact,
        "shingles": base64.b64encode(pack(signature.shingles)).decode("ascii"),
        # Of most documents the counts are never read: they came as JSON from where it was signed.
        "numbers": {"list": RawJson(encode_numbers(signature.numbers))},
        "words": signature.words,
        "lang": signature.lang,
        "id": record.document.id,
        **place_fields(record),
        "first_seen": record.first_seen,
        **link_fields(record.decision, now),
    }


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
        "rank": None,
        **place_fields(record),
        "format": signature.format,
        **keys,
        "kept": dict(signature.query_seed) or None,
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
        "evidence": {"list": [e.to_json() for e in decision.evidence[:MAX_STORED_EVIDENCE]]},
        "at": now,
    }


def group_number(group: str) -> int:
    """A signed 64-bit hash of a group's id."""
    digest = hashlib.blake2b(group.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


# Ours -> the names it goes by in an index that somebody else designed, in the order to look.
Names = Mapping[str, Sequence[str]]
NO_NAMES: Names = {}


def record_from(
    id_: str, source: Mapping[str, Any], version: Any, names: Names = NO_NAMES
) -> Record:
    """The reverse of `source_of`."""
    dedup = source["dedup"]
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
            branch=dedup["role"] == "duplicate" and dedup["attracts"],
            evidence=tuple(Evidence.from_json(e) for e in dedup["evidence"]["list"]),
        ),
        version=version,
    )


def document_from(id_: str, source: Mapping[str, Any], names: Names = NO_NAMES) -> Document:
    own = drop_deep_fields({k: v for k, v in source.items() if k != "dedup"})
    for ours, theirs in names.items():
        found = (value for name in theirs if (value := at_path(source, name)) is not None)
        if (value := next(found, None)) is not None:
            own[ours] = value
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
    nothing = Signature(settings.fingerprint_of_format(), {}, unpack(b""), 0, "")
    unprocessed = Decision(id_, "unprocessed", id_, id_)
    return Record(document_from(id_, source, names), nothing, (0, id_), 0, unprocessed, version)


def keys_from(dedup: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {m: tuple(dedup[f]) for m, f in key_fields().items() if dedup.get(f)}


def shingles_from(dedup: Mapping[str, Any]) -> Hashes32:
    return unpack(base64.b64decode(dedup["shingles"]))


def signature_from(dedup: Mapping[str, Any]) -> Signature:
    return Signature(
        format=dedup["format"],
        keys=keys_from(dedup),
        shingles=shingles_from(dedup),
        words=dedup["words"],
        exact=dedup["digest"],
        numbers=tuple(NumberContext.from_json(n) for n in dedup["numbers"]["list"]),
        lang=dedup["lang"],
        query_seed=dedup.get("kept") or {},
    )


def candidate_from(hit: Mapping[str, Any], shared: Mapping[str, int]) -> Candidate:
    dedup = hit["_source"]["dedup"]
    return Candidate(
        id=hit["_id"],
        shared=shared,
        signature=signature_from(dedup),
        order=(place_from(dedup), hit["_id"]),
        link=Link(
            dedup["role"],
            dedup["group"],
            dedup["story"],
            dedup.get("parent"),
            dedup["role"] == "duplicate" and dedup["attracts"],
        ),
    )
