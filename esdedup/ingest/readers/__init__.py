"""Readers of files: each yields a stream of documents.

`read` takes files, folders, globs and `-`. The suffix of a name selects the reader (`.html`,
`.txt`, `.ndjson`, `.json`, `.csv`, `.warc`, `.parquet`). A file without a known suffix is
recognised by its content, a compressed one by its first bytes. A record that cannot be used becomes
a `Failure` in its place, and reading goes on.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import BinaryIO

from esdedup.errors import InputError
from esdedup.ingest.readers.encodings import looks_binary
from esdedup.ingest.readers.pages import read_html, read_text, read_warc
from esdedup.ingest.readers.records import FieldMap, canonical_url, content_id, record_failure
from esdedup.ingest.readers.streams import (
    PIECE,
    BrokenStream,
    Source,
    as_buffered,
    decompress,
    peek,
)
from esdedup.ingest.readers.tables import (
    Items,
    Reader,
    read_csv,
    read_json,
    read_ndjson,
    read_parquet,
    read_tsv,
)
from esdedup.model import Document, Failure

__all__ = ["canonical_url", "content_id", "read"]

_KINDS: Mapping[str, Reader] = {
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".txt": read_text,
    ".ndjson": read_ndjson,
    ".jsonl": read_ndjson,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".warc": read_warc,
    ".parquet": read_parquet,
}
_PACKED = (".gz", ".zst", ".zstd")
# Readers of plain text; what looks binary is not handed to them.
_OF_TEXT = (read_ndjson, read_json, read_csv, read_tsv)
KNOWN = ", ".join(_KINDS) + " (each also .gz or .zst)"

_STDIN = "stdin"


def read(
    inputs: Sequence[str],
    *,
    fields: Mapping[str, str] | None = None,
    stdin: BinaryIO | None = None,
) -> Iterator[Document | Failure]:
    """Documents from all `inputs`, one after another, each file read as it is used.

    `fields` names the fields of the records: `{"text": "article.body"}`. A path that does not
    exist raises `InputError` at once, before anything is read.
    """
    field_map = FieldMap(fields)
    plan = [(given, _expand(given)) for given in inputs]
    return _read_all(plan, field_map, stdin)


def _read_all(
    plan: list[tuple[str, list[str]]], fields: FieldMap, stdin: BinaryIO | None
) -> Iterator[Document | Failure]:
    for given, paths in plan:
        if given == "-":
            stream = stdin if stdin is not None else sys.stdin.buffer
            yield from _read_stream(stream, _STDIN, fields, read_ndjson)
        for path in paths:
            yield from (
                _read_folder(path, fields) if os.path.isdir(path) else _read_file(path, fields)
            )


def _expand(given: str) -> list[str]:
    """The paths that an argument names; a file of exactly this name goes before a glob."""
    if given == "-":
        return []
    if os.path.exists(given):
        return [given]
    if glob.has_magic(given):
        if matches := sorted(glob.glob(given, recursive=True)):
            return matches
        raise InputError(f"{given}: nothing matches; give a file, a folder, a glob or - ")
    raise InputError(f"{given}: there is no such file or folder")


def _read_folder(folder: str, fields: FieldMap) -> Items:
    """All files of a known kind below a folder, in the order of their names."""
    has_files = False
    errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            if _reader_by_name(name) is not None and os.path.isfile(path):
                has_files = True
                yield from _read_file(path, fields)
    for error in errors:
        yield record_failure(str(error.filename), f"the folder cannot be read: {error.strerror}")
    if not has_files:
        yield record_failure(folder, f"no file in this folder can be read; known are {KNOWN}")


def _read_file(path: str, fields: FieldMap) -> Items:
    try:
        stream = Path(path).open("rb", buffering=PIECE)  # noqa: SIM115 - closed below
    except OSError as error:
        yield record_failure(path, f"the file cannot be opened: {error.strerror}")
        return
    with stream:
        yield from _read_stream(stream, path, fields, _reader_by_name(path))


def _read_stream(
    stream: BinaryIO, name: str, fields: FieldMap, reader: Reader | None
) -> Iterator[Document | Failure]:
    """One input from start to end, or to where it breaks."""
    source = Source(name, as_buffered(stream))
    try:
        if not peek(source.stream, 1):
            if name != _STDIN:  # an empty pipe is no error
                yield record_failure(name, "the file is empty")
            return
        source.stream = decompress(source.stream)
        start = peek(source.stream)
        reader = reader or _reader_by_content(start)
        if reader is None:
            yield record_failure(
                name, f"neither name nor content tell what this is; known are {KNOWN}"
            )
        elif not start:
            yield record_failure(name, "the file is empty")
        elif reader in _OF_TEXT and looks_binary(start):
            yield record_failure(name, "this is not a text: the file is binary")
        else:
            yield from reader(source, fields)
    except BrokenStream as error:
        yield record_failure(source.broken_at, str(error))


def _reader_by_name(path: str) -> Reader | None:
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    while suffixes and suffixes[-1] in _PACKED:
        suffixes.pop()
    return _KINDS.get(suffixes[-1]) if suffixes else None


def _reader_by_content(start: bytes) -> Reader | None:
    if start.startswith(b"WARC/"):
        return read_warc
    if start.startswith(b"PAR1"):
        return read_parquet
    first = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"<": read_html, b"{": read_json, b"[": read_json}.get(first)
