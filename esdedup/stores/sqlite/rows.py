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
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

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
_OLD_LENGTH = 16
_FORMS = {
    _OLD_LENGTH: re.compile("(?:s[0-9]{2}:[0-9a-f]{12})+"),
    DIGITS + 1: re.compile("(?:[a-z][A-Za-z0-9_-]{8})+"),
    DIGITS + 2: re.compile("(?:[a-z][A-Za-z0-9_-]{9})+"),  # with a position
}
# Character -> its place in the alphabet, from 1 on.
_PLACES = np.zeros(128, np.uint8)
_PLACES[[*map(ord, ALPHABET)]] = np.arange(1, len(ALPHABET) + 1)

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
    by_length: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        by_length.setdefault(len(key), []).append(place)
    if len(by_length) > 1:
        numbers = [0] * len(keys)
        for places in by_length.values():
            for place, number in zip(places, key_numbers([keys[i] for i in places]), strict=True):
                numbers[place] = number
        return numbers
    for length in by_length:
        if form := _FORMS.get(length):
            joined = "".join(keys)
            if not form.fullmatch(joined):
                return [key_numbers([key])[0] for key in keys] if len(keys) > 1 else [_hash(joined)]
            return _old_numbers(joined) if length == _OLD_LENGTH else _short_numbers(joined, length)
    return [_hash(key) for key in keys]


def _old_numbers(joined: str) -> list[int]:
    digits = bytes.fromhex(joined.replace("s", "0").replace(":", "0"))
    return list(struct.unpack(f">{len(joined) // _OLD_LENGTH}q", digits))


def _short_numbers(joined: str, length: int) -> list[int]:
    """Keys of one length: a byte for the letter, one for the position, six of the digits."""
    text = np.frombuffer(joined.encode("ascii"), np.uint8).reshape(-1, length)
    digits = base64.urlsafe_b64decode(text[:, -DIGITS:].tobytes())
    numbers = np.zeros((len(text), 8), np.uint8)
    numbers[:, 0] = text[:, 0]
    if length > DIGITS + 1:
        numbers[:, 1] = _PLACES[text[:, 1]]
    numbers[:, 2:] = np.frombuffer(digits, np.uint8).reshape(-1, 6)
    out: list[int] = numbers.view(">i8").ravel().tolist()
    return out


def numbers_by_method(several: Sequence[Mapping[str, Sequence[str]]]) -> list[dict[str, list[int]]]:
    """The keys of several documents as numbers. All keys of a method are read at once: document by
    document it took 29 us each, together 13."""
    out: list[dict[str, list[int]]] = [{} for _ in several]
    for method in dict.fromkeys(method for own in several for method in own):
        numbers = iter(key_numbers([key for own in several for key in own.get(method, ())]))
        for own, read in zip(several, out, strict=True):
            if keys := own.get(method):
                read[method] = list(islice(numbers, len(keys)))
    return out


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
