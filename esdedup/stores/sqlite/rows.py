"""Documents to rows of the embedded store, and back."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import struct
import time
import zlib
from collections.abc import Sequence
from typing import Any

from esdedup.errors import DocumentError
from esdedup.features.numbers import WrittenNumbers, encode_numbers
from esdedup.model import (
    Candidate,
    Decision,
    Document,
    Evidence,
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
from esdedup.stores.ports import MAX_STORED_EVIDENCE, Record

_SKETCH = re.compile("(?:s[0-9]{2}:[0-9a-f]{12})+")
_LENGTH = 16  # of such a key

_DOCUMENT_COLUMNS = ("id", "title", "text", "url", "source", "lang", "published", "extra")
DOCUMENT_COLUMNS = ", ".join(_DOCUMENT_COLUMNS)
RECORD_COLUMNS = (
    f"{DOCUMENT_COLUMNS}, first_seen, moment, role, "
    '"group", story, parent, score, method, reason, evidence, format, keys, shingles, words, '
    "exact, numbers, signed_lang, version, kept, branch, rank"
)


def key_numbers(keys: Sequence[str]) -> Sequence[int]:
    """Keys as the table of keys holds them: 8 bytes each, a third of its pages less than as texts.

    A sketch key is its own digits (`s03:93b9beca16d5` is 0x3093b9beca16d5), so that neighbours
    stay neighbours and two never meet. Of other keys 63 bits of a hash, as a negative number: they
    meet in fewer than one of 10^9 articles at 10^9 keys, and what is found is compared anyway.
    """
    joined = "".join(keys)
    if len(joined) == _LENGTH * len(keys) and _SKETCH.fullmatch(joined):
        digits = bytes.fromhex(joined.replace("s", "0").replace(":", "0"))
        return struct.unpack(f">{len(keys)}q", digits)
    return [key_numbers([k])[0] if _SKETCH.fullmatch(k) else _hash(k) for k in keys]


def _hash(key: str) -> int:
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -1 - (int.from_bytes(digest, "little") >> 1)


def clock() -> int:
    return time.time_ns() // 1000


def row_of(record: Record, seq: int) -> tuple[Any, ...]:
    document, signature = record.document, record.signature
    return (
        seq,
        document.id,
        document.title,
        document.text,
        document.url,
        document.source,
        document.lang,
        document.published.isoformat() if document.published else None,
        _extra_column(document) if document.extra else None,
        record.first_seen,
        time_of(record.order[0]),
        *decision_columns(record.decision),
        signature.format,
        json.dumps(dict(signature.keys)),
        pack(signature.shingles),
        signature.words,
        signature.exact,
        encode_numbers(signature.numbers),
        signature.lang,
        now := clock(),
        now,  # the first version: another one than that of a row this one replaces
        json.dumps(dict(signature.query_seed)) if signature.query_seed else None,
        record.decision.branch,
        rank_of(record.order[0]),
    )


def _extra_column(document: Document) -> str:
    try:
        return json.dumps(dict(document.extra), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise DocumentError(
            document.id, f"an extra field has no JSON form ({error}); convert or leave it out"
        ) from error


def decision_columns(decision: Decision) -> tuple[Any, ...]:
    evidence = [e.to_json() for e in decision.evidence[:MAX_STORED_EVIDENCE]]
    return (
        decision.role,
        decision.group,
        decision.story,
        decision.link.parent,
        decision.score,
        decision.method,
        decision.reason,
        json.dumps(evidence, ensure_ascii=False) if evidence else "[]",
    )


def document_from(columns: Sequence[Any]) -> Document:
    """Of DOCUMENT_COLUMNS."""
    id_, title, text, url, source, lang, published, extra = columns
    return Document(
        id=id_,
        title=title,
        text=text,
        url=url,
        source=source,
        lang=lang,
        published=parse_time(published),
        extra=drop_deep_fields(json.loads(extra)) if extra else {},
    )


def record_from(row: sqlite3.Row) -> Record:
    evidence = tuple(Evidence.from_json(e) for e in json.loads(row["evidence"]))
    return Record(
        document=document_from([row[name] for name in _DOCUMENT_COLUMNS]),
        signature=_signature(row, json.loads(row["keys"])),
        order=(place_of(row["rank"], row["moment"]), row["id"]),
        first_seen=row["first_seen"],
        decision=Decision(
            id=row["id"],
            role=row["role"],
            group=row["group"],
            story=row["story"],
            score=row["score"],
            method=row["method"],
            reason=row["reason"],
            evidence=evidence,
            branch=bool(row["branch"]),
        ),
        version=row["version"],
    )


def _signature(row: sqlite3.Row, keys: dict[str, list[str]]) -> Signature:
    return Signature(
        format=row["format"],
        keys={method: tuple(own) for method, own in keys.items()},
        shingles=unpack(row["shingles"]),
        words=row["words"],
        exact=row["exact"],
        numbers=WrittenNumbers(row["numbers"]),
        lang=row["signed_lang"],
        query_seed=json.loads(row["kept"]) if row["kept"] else {},
    )


def candidate_from(
    row: sqlite3.Row, shared: dict[str, int], keys: dict[str, list[str]]
) -> Candidate:
    return Candidate(
        id=row["id"],
        shared=shared,
        signature=_signature(row, keys),
        order=(place_of(row["rank"], row["moment"]), row["id"]),
        link=Link(row["role"], row["group"], row["story"], row["parent"], bool(row["branch"])),
    )


def pack_document(document: Document | None) -> bytes | None:
    return zlib.compress(json.dumps(document.to_json()).encode()) if document else None


def unpack_document(blob: bytes | None) -> Document | None:
    return Document.from_json(json.loads(zlib.decompress(blob))) if blob else None


def marks(values: Sequence[Any] | dict[Any, Any]) -> str:
    return ", ".join("?" * len(values))
