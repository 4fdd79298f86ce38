"""Documents to rows of the embedded store, and back."""

from __future__ import annotations

import base64
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
from esdedup.methods.key_text import ALPHABET, DIGITS
from esdedup.model import (
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
from esdedup.stores.ports import Record

# Keys of format 1 (`s03:93b9beca16d5`) and of format 2 (`sD` and 8 base-64 characters).
_OLD_SKETCH = re.compile("(?:s[0-9]{2}:[0-9a-f]{12})+")
_OLD_LENGTH = 16
_SHORT = {
    DIGITS + 1: re.compile("(?:[a-z][A-Za-z0-9_-]{8})+"),
    DIGITS + 2: re.compile("(?:[a-z][A-Za-z0-9_-]{9})+"),  # with a position
}
_PLACES = {character: place for place, character in enumerate(ALPHABET, 1)}

_DOCUMENT_COLUMNS = ("id", "title", "text", "url", "source", "lang", "published", "extra")
DOCUMENT_COLUMNS = ", ".join(_DOCUMENT_COLUMNS)
RECORD_COLUMNS = (
    f"{DOCUMENT_COLUMNS}, first_seen, moment, role, "
    '"group", story, parent, score, method, reason, evidence, format, keys, words, exact, version, '
    "kept, branch, rank, agency"
)


def key_numbers(keys: Sequence[str]) -> Sequence[int]:
    """Keys as the table of keys holds them: 8 bytes each, a third of its pages less than as texts.

    A key of 48 bits is its letter, its position and these bits, so that two never meet; a sketch
    key of format 1 is its own digits (`s03:93b9beca16d5` is 0x3093b9beca16d5). Of other keys 63
    bits of a hash, as a negative number: they meet in fewer than one of 10^9 articles at 10^9 keys,
    and what is found is compared anyway.
    """
    joined = "".join(keys)
    if len(joined) == _OLD_LENGTH * len(keys) and _OLD_SKETCH.fullmatch(joined):
        digits = bytes.fromhex(joined.replace("s", "0").replace(":", "0"))
        return struct.unpack(f">{len(keys)}q", digits)
    length = len(joined) // max(1, len(keys))
    if length in _SHORT and set(map(len, keys)) == {length} and _SHORT[length].fullmatch(joined):
        return _short_numbers(keys, length)
    return [key_numbers([key])[0] for key in keys] if len(keys) > 1 else [*map(_hash, keys)]


def _short_numbers(keys: Sequence[str], length: int) -> Sequence[int]:
    """Keys of one length: a byte for the letter, one for the position, six of the digits."""
    digits = base64.urlsafe_b64decode("".join([key[-DIGITS:] for key in keys]))
    has_position = length > DIGITS + 1
    words = [
        bytes((ord(key[0]), _PLACES[key[1]] if has_position else 0)) + digits[6 * i : 6 * i + 6]
        for i, key in enumerate(keys)
    ]
    return struct.unpack(f">{len(keys)}q", b"".join(words))


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
        b"",  # since format 2 shingles, numbers and language are read from the text
        signature.words,
        signature.digest,
        "",
        None,
        now := clock(),
        now,  # the first version: another one than that of a row this one replaces
        json.dumps(dict(signature.query_seed)) if signature.query_seed else None,
        record.decision.branch,
        rank_of(record.order[0]),
        signature.agency or None,
    )


def _extra_column(document: Document) -> str:
    try:
        return json.dumps(dict(document.extra), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise DocumentError(
            document.id, f"an extra field has no JSON form ({error}); convert or leave it out"
        ) from error


def decision_columns(decision: Decision) -> tuple[Any, ...]:
    return (
        decision.role,
        decision.group,
        decision.story,
        decision.link.parent,
        decision.score,
        decision.method,
        decision.reason,
        json.dumps(decision.changes, ensure_ascii=False) if decision.changes else "[]",
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
    link = _link(row)
    return Record(
        document=document_from([row[name] for name in _DOCUMENT_COLUMNS]),
        signature=_signature(row, json.loads(row["keys"]), row["agency"] or ""),
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
            evidence=_evidence(row, link),
            branch=link.branch,
        ),
        version=row["version"],
    )


def _link(row: sqlite3.Row) -> Link:
    return Link(row["role"], row["group"], row["story"], row["parent"], bool(row["branch"]))


def _evidence(row: sqlite3.Row, link: Link) -> tuple[Evidence, ...]:
    """Whole in format 1; since then what changed, of updates alone."""
    stored = json.loads(row["evidence"])
    if stored and isinstance(stored[0], dict):
        return tuple(map(Evidence.from_json, stored))
    return stored_evidence(link, row["score"], row["reason"], stored)


def _signature(row: sqlite3.Row, keys: dict[str, list[str]], agency: str = "") -> Signature:
    return Signature(
        format=row["format"],
        keys={method: tuple(own) for method, own in keys.items()},
        digest=row["exact"],
        words=row["words"],
        query_seed=json.loads(row["kept"]) if row["kept"] else {},
        agency=agency,
    )


def candidate_from(
    row: sqlite3.Row, shared: dict[str, int], keys: dict[str, list[str]]
) -> Candidate:
    document = Document(
        row["id"], row["title"], row["text"], row["url"], row["source"], row["lang"]
    )
    return Candidate(
        document=document,
        shared=shared,
        signature=_signature(row, keys),
        order=(place_of(row["rank"], row["moment"]), row["id"]),
        link=_link(row),
    )


def pack_document(document: Document | None) -> bytes | None:
    return zlib.compress(json.dumps(document.to_json()).encode()) if document else None


def unpack_document(blob: bytes | None) -> Document | None:
    return Document.from_json(json.loads(zlib.decompress(blob))) if blob else None


def marks(values: Sequence[Any] | dict[Any, Any]) -> str:
    return ", ".join("?" * len(values))
