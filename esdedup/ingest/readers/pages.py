"""Readers of whole articles: HTML and text files, web archives."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from esdedup.ingest.readers.encodings import decode, looks_binary
from esdedup.ingest.readers.paragraphs import join_wrapped_lines
from esdedup.ingest.readers.records import FieldMap, clean, content_id, record_failure, url_id
from esdedup.ingest.readers.streams import (
    MAX_BYTES,
    BrokenStream,
    CountedReader,
    OversizedLine,
    Source,
    read_whole,
)
from esdedup.ingest.readers.tables import Items
from esdedup.model import Document, Failure, iso

_HTML_TYPES = ("text/html", "application/xhtml")


def read_html(source: Source, fields: FieldMap) -> Items:
    """A page as it is; extraction finds its title, text and address."""
    data = _read_page(source)
    yield Document(id=content_id(html=data), html=data, extra={"file": clean(source.name)})


def read_text(source: Source, fields: FieldMap) -> Items:
    """A text file is one article without a title."""
    data = _read_page(source)
    if looks_binary(data):
        yield record_failure(source.name, "this is not a text: the file is binary")
        return
    text = clean(decode(data)).strip()
    if not text:
        yield record_failure(source.name, "the file has no text")
        return
    yield Document(
        id=content_id(text=text),
        text=join_wrapped_lines(text),
        extra={"file": clean(source.name)},
    )


def read_warc(source: Source, fields: FieldMap) -> Items:
    """HTML answers with status 200 of a web archive; everything else in it is passed over."""
    with warnings.catch_warnings():  # fastwarc 1.1 warns of its own legacy module on import
        warnings.simplefilter("ignore", DeprecationWarning)
        from fastwarc.warc import ArchiveIterator, WarcRecordType

    stream = CountedReader(source.stream)
    with _archive_errors():
        records = iter(
            ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False)
        )
    while True:
        with _archive_errors():
            record = next(records, None)
        if record is None:
            break
        source.at += 1
        if record.content_length > MAX_BYTES:
            yield _too_large(record, source)
            continue
        with _archive_errors():
            block = record.reader.read(record.content_length)
        if len(block) < record.content_length:
            source.at -= 1
            raise stream.broken or BrokenStream("the archive is cut off inside this record")
        yield from _read_response(record, block, source)
    if stream.broken is not None:
        raise stream.broken
    if not stream.last.endswith((b"\r\n\r\n", b"\n\n")):  # how every record ends
        raise BrokenStream("the archive is cut off inside the head of a record")


@contextmanager
def _archive_errors() -> Iterator[None]:
    """What fastwarc raises for damaged data; its parser, in Rust, may panic instead."""
    try:
        yield
    except (OSError, EOFError, ValueError, RuntimeError) as error:
        raise BrokenStream(f"the archive is damaged: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise BrokenStream(f"the archive is damaged beyond reading: {error}") from error


def _read_response(record: Any, block: bytes, source: Source) -> Items:
    try:
        with _archive_errors():
            record.set_bytes_content(block)
            record.parse_http(auto_decode="all")
            if not _is_page(record):
                return
            data = record.reader.read(MAX_BYTES + 1)
    except BrokenStream as error:  # the answer inside is, the archive around it is not
        yield record_failure(source.where, str(error), id_=url_id(_address(record)))
        return
    if len(data) > MAX_BYTES:
        yield _too_large(record, source)
        return
    url = _address(record)
    if not data.strip():
        yield record_failure(source.where, f"the page {url} is empty", id_=url_id(url))
        return
    extra = {"file": clean(source.name)}
    if record.record_date is not None:
        extra["crawled"] = iso(record.record_date)  # not: published
    if record.http_charset:
        extra["charset"] = record.http_charset
    id_ = url_id(url) or content_id(html=data)
    yield Document(id=id_, url=url or None, html=data, extra=extra)


def _too_large(record: Any, source: Source) -> Failure:
    url = _address(record)
    return record_failure(
        source.where, f"the page {url} is longer than {MAX_BYTES >> 20} MB", id_=url_id(url)
    )


def _address(record: Any) -> str:
    return clean((record.headers.get("WARC-Target-URI") or "").strip("<> "))


def _is_page(record: Any) -> bool:
    if record.http_headers is None or record.http_headers.status_code != 200:
        return False
    return (record.http_content_type or "").lower().startswith(_HTML_TYPES)


def _read_page(source: Source) -> bytes:
    data = read_whole(source.stream)
    if isinstance(data, OversizedLine):
        raise BrokenStream(f"the file is longer than {MAX_BYTES >> 20} MB, the most a page may be")
    return data
