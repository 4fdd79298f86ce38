"""Files, lines and archives for the tests of readers, and what reading one of them gives."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import zstandard

from esdedup.ingest.readers import read
from esdedup.model import Document, Failure

PAGE = b"<html><body><p>Hello</p></body></html>"
TURKISH = "Şişli'de çıkan yangında ölenlerin sayısı yükseldi, dün akşam söndürüldü."


def deep(depth: int, kind: type = list, field: str = "x", **record: Any) -> str:
    """A JSON object with this field of so many lists, or objects, inside each other."""
    start, end = ("[", "]") if kind is list else ('{"a":', "}")
    value = start * depth + '"inside"' + end * depth
    return json.dumps({**record, field: "@"}).replace('"@"', value)


def write(path: Path, content: bytes | str) -> str:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def read_one(path: str, **options: Any) -> Document:
    (item,) = read([path], **options)
    assert isinstance(item, Document), item
    return item


def fail_one(path: str, **options: Any) -> Failure:
    (item,) = read([path], **options)
    assert isinstance(item, Failure), item
    assert item.final
    return item


def from_stdin(*lines: Any, **options: Any) -> list[Document | Failure]:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    return list(read(["-"], stdin=io.BytesIO(b"\n".join(raw)), **options))


def one_from_stdin(record: Any, **options: Any) -> Document:
    (item,) = from_stdin(record, **options)
    assert isinstance(item, Document), item
    return item


def reasons(items: list[Document | Failure]) -> list[str]:
    return [item.reason if isinstance(item, Failure) else "" for item in items]


def warc_record(
    url: str, body: bytes, *, status: str = "200 OK", headers: str = "Content-Type: text/html\r\n"
) -> bytes:
    answer = f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Date: 2020-01-02T03:04:05Z\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(answer)}\r\n\r\n"
    )
    return head.encode() + answer + b"\r\n\r\n"


TURKISH_TYPE = "Content-Type: text/html; charset=windows-1254\r\n"
WARC = [
    warc_record("http://a.example/1", PAGE, headers=TURKISH_TYPE),
    warc_record("http://a.example/gone", PAGE, status="404 Not Found"),
    warc_record("http://a.example/picture", b"\x89PNG", headers="Content-Type: image/png\r\n"),
    warc_record(
        "http://A.example:80/2#top",
        gzip.compress(PAGE),
        headers="Content-Type: application/xhtml+xml\r\nContent-Encoding: gzip\r\n",
    ),
    warc_record("http://a.example/3", PAGE * 2000),
]


def packed_warc(name: str) -> bytes:
    """Each record packed by itself, as crawlers do."""
    if name.endswith(".gz"):
        return b"".join(map(gzip.compress, WARC))
    return b"".join(map(zstandard.compress, WARC) if name.endswith(".zst") else WARC)
