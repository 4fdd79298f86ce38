"""Readers of records: NDJSON, JSON, CSV, Parquet."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from esdedup.ingest.readers.records import FieldMap, clean_values, record_failure, to_document
from esdedup.ingest.readers.streams import (
    MAX_BYTES,
    BrokenStream,
    LineDecoder,
    OversizedLine,
    PieceReader,
    Source,
    peek,
    read_lines,
)
from esdedup.model import Document, Failure
from esdedup.model.encoding import MAX_DEPTH, TOO_DEEP, parse_json

Items = Iterator[Document | Failure]
_TOO_LONG = f"longer than {MAX_BYTES >> 20} MB, the most that is read at once"


def read_ndjson(source: Source, fields: FieldMap) -> Items:
    """One JSON object a line; a line that is none costs only itself."""
    text_of = LineDecoder(source)
    for line in read_lines(source):
        if isinstance(line, OversizedLine):
            yield record_failure(source.where, f"the line is {_TOO_LONG}")
        elif line.strip():
            yield _from_json_line(text_of(line), source.where, fields)


def read_json(source: Source, fields: FieldMap) -> Items:
    """An array of objects, streamed; one object; or, under this name too, objects line by line."""
    start = peek(source.stream).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start.startswith(b"{"):
        yield from _from_values(source, fields, level=1)
    elif _object_ends_in(start.partition(b"\n")[0]) or len(start) < 2:
        yield from read_ndjson(source, fields)
    else:
        yield from _from_values(source, fields, level=0)


def read_csv(source: Source, fields: FieldMap, delimiter: str | None = None) -> Items:
    """A header and one record a row; the delimiter is the one the header has most of."""
    csv.field_size_limit(MAX_BYTES)
    skipped: list[Failure] = []
    texts = _csv_lines(source, skipped)
    header_line = next((line for line in texts if line.strip()), "")
    delimiter = delimiter or max(",;\t|", key=header_line.count)
    rows = csv.reader(chain([header_line], texts), delimiter=delimiter)
    header = [name.strip() for name in next(rows, [])]
    if (reason := fields.explain_missing_text(header)) is not None:
        yield record_failure(source.name, reason)
        return
    while True:
        started = source.at + 1  # a row may reach over several lines
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield record_failure(f"{source.name}:{started}", f"not a row of a CSV file: {error}")
            continue
        yield from skipped
        skipped.clear()
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield _from_row(row, header, f"{source.name}:{started}", fields)


def read_tsv(source: Source, fields: FieldMap) -> Items:
    yield from read_csv(source, fields, "\t")


def read_parquet(source: Source, fields: FieldMap) -> Items:
    """Rows of a Parquet file, some hundred at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        yield record_failure(source.name, "Parquet needs one more package: pip install pyarrow")
        return
    try:
        with _seekable(source.stream) as stream:
            table = pq.ParquetFile(stream)
            if (reason := fields.explain_missing_text(table.schema_arrow.names)) is not None:
                yield record_failure(source.name, reason)
                return
            for batch in table.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    source.at += 1
                    yield to_document(clean_values(row), source.where, fields)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BrokenStream(f"not a readable Parquet file: {error}") from error


def _from_json_line(line: str, where: str, fields: FieldMap) -> Document | Failure:
    try:
        value = parse_json(line)
    except json.JSONDecodeError as error:
        return record_failure(where, f"not valid JSON: {error.msg} at character {error.pos + 1}")
    except ValueError as error:  # nested too deeply; a number of more than 4300 digits
        return record_failure(where, f"not usable JSON: {error}")
    # Only an escape can smuggle in a null byte or half a surrogate pair.
    return _from_value(
        clean_values(value) if "\\u" in line or "\0" in line else value, where, fields
    )


def _from_value(value: Any, where: str, fields: FieldMap) -> Document | Failure:
    if not isinstance(value, dict):
        return record_failure(where, "not a JSON object: an article is {...} with its fields")
    return to_document(value, where, fields)


def _object_ends_in(line: bytes) -> bool:
    """Whether a whole object is on the first line, or seems to be if the line is cut."""
    try:
        parse_json(line)
    except ValueError:
        return b"}" in line and b'"' in line and not line.rstrip().endswith((b"{", b",", b"["))
    return True


def _from_values(source: Source, fields: FieldMap, *, level: int) -> Items:
    """Values of a JSON file, or at level 1 of its array; an error ends the file, for it has no
    lines."""
    import ijson

    reader = PieceReader(source)
    events = ijson.basic_parse(reader, use_float=True, multiple_values=level == 0)
    values = _values_at(level, events)
    while True:
        try:
            value = next(values, _END)
        except (ijson.JSONError, ValueError) as error:
            raise BrokenStream(
                f"not valid JSON after {source.at} articles: {_first_line(error)}"
            ) from error
        if value is _END:
            break
        reader.restart()
        source.at += 1
        if value is _TOO_DEEP:
            yield record_failure(source.where, f"not usable JSON: {TOO_DEEP}")
        else:
            yield _from_value(clean_values(value), source.where, fields)
    if source.at == 0:
        yield record_failure(
            source.name, "the JSON file holds no article: an array of objects is read"
        )


_END, _TOO_DEEP = object(), object()


def _values_at(level: int, events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    """Values inside so many arrays, one by one; `_TOO_DEEP` in the place of one that is nested too
    deeply. ijson's own way of it keeps a path for every level, and all of them fill the memory."""
    from ijson.common import ObjectBuilder

    depth, builder = 0, ObjectBuilder()
    is_usable = True
    for event, value in events:
        depth -= event in ("end_map", "end_array")
        is_inside = depth >= level
        if is_inside and is_usable:
            builder.event(event, value)
        depth += event in ("start_map", "start_array")
        if is_usable and depth - level > MAX_DEPTH:
            is_usable, builder = False, ObjectBuilder()
            yield _TOO_DEEP
        elif is_inside and depth == level:
            if is_usable:
                yield builder.value
            is_usable, builder = True, ObjectBuilder()


def _first_line(error: Exception) -> str:
    lines_of = str(error).strip().splitlines()
    return clean_values(lines_of[0]) if lines_of else type(error).__name__


def _csv_lines(source: Source, skipped: list[Failure]) -> Iterator[str]:
    """Lines with their ends, which a quoted cell may contain; too long ones are set aside."""
    text_of = LineDecoder(source)
    for line in read_lines(source):
        if isinstance(line, OversizedLine):
            skipped.append(record_failure(source.where, f"the line is {_TOO_LONG}"))
        else:
            yield text_of(line).replace("\x00", "").replace("\r", " ") + "\n"


def _from_row(
    row: list[str], header: list[str], where: str, fields: FieldMap
) -> Document | Failure:
    if len(row) != len(header):
        return record_failure(
            where, f"the row has {len(row)} cells and the header {len(header)}: a comma or quote?"
        )
    filled = {name: cell for name, cell in zip(header, row, strict=True) if cell != ""}
    return to_document(filled, where, fields)


def _seekable(stream: BinaryIO) -> BinaryIO:
    """Parquet is read from its end: what cannot be wound forward goes through a file."""
    if stream.seekable():
        return stream
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    shutil.copyfileobj(stream, copy)
    copy.seek(0)
    return copy


Reader = Callable[[Source, FieldMap], Items]
