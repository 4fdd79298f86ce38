"""Readers: every kind of input, its fields, ids and dates."""

from __future__ import annotations

import gzip
import io
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard

from esdedup.errors import InputError
from esdedup.ingest.readers import canonical_url, content_id, read
from esdedup.ingest.readers.dates import parse_date
from esdedup.ingest.readers.encodings import decode
from esdedup.ingest.readers.records import parse_language
from esdedup.model import Document, iso
from tests.ingest.reading import (
    PAGE,
    TURKISH,
    fail_one,
    one_from_stdin,
    packed_warc,
    read_one,
    write,
)

# --- kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".html", ".htm", ".xhtml", ".HTML"])
def test_page(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", PAGE)
    document = read_one(path)
    assert document.html == PAGE
    assert document.text == ""
    assert document.id == content_id(html=PAGE)
    assert document.extra == {"file": path}


def test_text(tmp_path: Path) -> None:
    document = read_one(write(tmp_path / "a.txt", "Hello\nworld\n"))
    assert document.text == "Hello\nworld"
    assert document.id == content_id(text="Hello\nworld")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1254"])
def test_text_in_encodings(tmp_path: Path, encoding: str) -> None:
    assert read_one(write(tmp_path / "a.txt", TURKISH.encode(encoding))).text == TURKISH


@pytest.mark.parametrize("suffix", [".ndjson", ".jsonl", ".json", ""])
def test_ndjson(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a{suffix}", '{"id": 1, "text": "a"}\n\n{"id": "b", "text": "c"}\n')
    assert [item.id for item in read([path])] == ["1", "b"]


@pytest.mark.parametrize("name", ["a.json", "a.data"])
def test_json_array(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, json.dumps([{"text": "a", "n": 1.5}, {"text": "b"}], indent=1))
    first, second = read([path])
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.text, first.extra, second.text) == ("a", {"n": 1.5}, "b")


@pytest.mark.parametrize("indent", [None, 2])
def test_json_object(tmp_path: Path, indent: int | None) -> None:
    path = write(tmp_path / "a.json", json.dumps({"text": "a", "tags": ["x", "y"]}, indent=indent))
    assert read_one(path).extra == {"tags": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.csv", ";"), ("a.csv", "|"), ("a.tsv", "\t")]
)
def test_csv(tmp_path: Path, name: str, delimiter: str) -> None:
    rows = [["id", "headline", "body", "date", "x"], ["1", "T", '"two\nlines"', "2007-03-05", ""]]
    path = write(tmp_path / name, "".join(delimiter.join(row) + "\r\n" for row in rows))
    document = read_one(path)
    assert (document.id, document.title, document.text) == ("1", "T", "two\nlines")
    assert document.published == datetime(2007, 3, 5, tzinfo=UTC)
    assert document.extra == {}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1254"])
def test_csv_in_encodings(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "a.csv", f'id,text\n1,"{TURKISH}"\n'.encode(encoding))
    assert read_one(path).text == TURKISH


def test_parquet(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet")
    first, second = read([path])
    assert isinstance(first, Document)
    assert (first.text, first.published, first.extra) == (
        "one",
        datetime(2020, 1, 2, tzinfo=UTC),
        {"n": 1},
    )
    packed = write(tmp_path / "b.parquet.gz", gzip.compress(Path(path).read_bytes()))
    assert list(read([packed])) == [first, second]


def write_parquet(path: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    day = datetime(2020, 1, 2)
    pq.write_table(pa.table({"text": ["one", "two"], "date": [day, day], "n": [1, 2]}), path)
    return str(path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install pyarrow" in fail_one(path).reason


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "a.warc.zst", "unnamed", "unnamed.gz"])
def test_warc(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, packed_warc(name))
    documents = list(read([path]))
    assert all(isinstance(document, Document) for document in documents)
    first, second, third = documents
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert [d.id for d in (first, second, third)] == [
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ]
    assert first.published is None  # the date of the archive is not that of the article
    assert first.extra == {
        "file": path,
        "crawled": iso(datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)),
        "charset": "windows-1254",
    }
    assert second.html == PAGE
    assert second.url == "http://A.example:80/2#top"


def test_folder_glob_and_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    write(tmp_path / "b" / "2.txt", "two")
    write(tmp_path / "b" / "1.ndjson", '{"text": "one"}')
    write(tmp_path / "c.txt", "c")
    write(tmp_path / "notes.md", "not read")
    texts = [d.text for d in read([str(tmp_path)]) if isinstance(d, Document)]
    assert texts == ["c", "one", "two"]
    texts = [d.text for d in read([str(tmp_path / "**" / "*.txt")]) if isinstance(d, Document)]
    assert texts == ["two", "c"]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("suffix", [".gz", ".zst", ""])
def test_compressed_told_by_content(tmp_path: Path, pack: Any, suffix: str) -> None:
    twice = pack(b'{"text": "a"}\n') + pack(b'{"text": "b"}\n')  # members one after another
    path = write(tmp_path / f"a.ndjson{suffix}", twice)
    assert [d.text for d in read([path]) if isinstance(d, Document)] == ["a", "b"]
    page = read_one(write(tmp_path / f"a.html{suffix}", pack(PAGE)))
    assert page.html == PAGE


def test_standard_input_after_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "file")
    items = list(read([path, "-"], stdin=io.BytesIO(b'{"text": "in"}')))
    assert [d.text for d in items if isinstance(d, Document)] == ["file", "in"]


# --- fields and ids --------------------------------------------------------------------------


def test_usual_names_and_untouched_rest() -> None:
    record = {
        "headline": " T ",
        "content": "B",
        "link": "https://A.example/x?utm_source=q",
        "pubDate": "Mon, 05 Mar 2007 10:00:00 GMT",
        "language": "en-US",
        "publisher": "The Daily",
        "tags": [1, {"deep": None}],
        "body": None,
    }
    document = one_from_stdin(record)
    assert document == Document(
        id="https://a.example/x",
        title="T",
        text="B",
        url="https://A.example/x?utm_source=q",
        source="The Daily",
        lang="en",
        published=datetime(2007, 3, 5, 10, tzinfo=UTC),
        extra={"tags": [1, {"deep": None}]},
    )


def test_mapped_fields_with_dotted_paths() -> None:
    record = {"article": {"body": "B", "n": 1}, "text": "other", "a.b": "T"}
    document = one_from_stdin(record, fields={"text": "article.body", "title": "a.b"})
    assert (document.title, document.text) == ("T", "B")
    assert document.extra == {"article": {"n": 1}, "text": "other"}


def test_unknown_field_in_mapping_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no field 'txt'"):
        read(["-"], fields={"txt": "body"})


@pytest.mark.parametrize("form", ["text", "base64"])
def test_page_in_a_record(form: str) -> None:
    page = "<meta charset=windows-1254><p>Şişli</p>"
    given_page = page if form == "text" else Document(id="1", html=page.encode()).to_json()["html"]
    document = one_from_stdin({"html": given_page})
    assert document.html is not None
    assert decode(document.html, declared=("windows-1254",)) == page
    assert document.id == content_id(html=page.encode())


def test_ready_text_goes_before_the_page() -> None:
    document = one_from_stdin({"html": "<p>x</p>", "text": "ready"})
    assert (document.text, document.html) == ("ready", None)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTPS://WWW.A.example:443/B?utm_source=x&b=1&fbclid=2#c", "https://www.a.example/B?b=1"),
        ("http://a.example", "http://a.example/"),
        ("http://a.example:8080/?gclid=1", "http://a.example:8080/"),
        ("http://a.example/?q=a%20b&&utm_medium", "http://a.example/?q=a%20b"),
        ("http://me:pw@A.example:80/", "http://me:pw@a.example/"),
        ("http://[::1]:80/x", "http://[::1]/x"),
        (" not an address ", "not an address"),
        ("http://[broken/", "http://[broken/"),
        ("http://a.example:port/", "http://a.example:port/"),
    ],
)
def test_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


def test_long_url_is_hashed() -> None:
    long = canonical_url("http://a.example/" + "x" * 600)
    assert long.startswith("url:")
    assert len(long) == 4 + 24


@pytest.mark.parametrize("url", ["n/a", "-", "/relative", "mailto:x@y", 5])
def test_what_is_no_address_makes_no_id(url: Any) -> None:
    assert one_from_stdin({"text": "a", "url": url}).id == content_id(text="a")


def test_content_id_is_stable() -> None:
    assert content_id(title="a", text="b") == "content:7e18f737311b2dc3b2f269dd"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2007-03-05T10:00:00+01:00", datetime(2007, 3, 5, 9, tzinfo=UTC)),
        ("2007-03-05 10:00:00 +0100", datetime(2007, 3, 5, 9, tzinfo=UTC)),
        ("2007-03-05 10:00:00 UTC", datetime(2007, 3, 5, 10, tzinfo=UTC)),
        ("2007/03/05", datetime(2007, 3, 5, tzinfo=UTC)),
        ("20070305", datetime(2007, 3, 5, tzinfo=UTC)),
        ("20070305101500", datetime(2007, 3, 5, 10, 15, tzinfo=UTC)),
        ("Thursday, January 25, 2007 2:22", datetime(2007, 1, 25, 2, 22, tzinfo=UTC)),
        ("Jan. 9, 2007", datetime(2007, 1, 9, tzinfo=UTC)),
        (1173088800, datetime(2007, 3, 5, 10, tzinfo=UTC)),
        ("1173088800000", datetime(2007, 3, 5, 10, tzinfo=UTC)),
        ("1173088800", datetime(2007, 3, 5, 10, tzinfo=UTC)),
        ("20260301T120000Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026/03/01 12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026/3/1 12:00", datetime(2026, 3, 1, 12, tzinfo=UTC)),
        ("2026-03-01 12:00:00 EST", datetime(2026, 3, 1, 17, tzinfo=UTC)),
        ("3-MAR-1987 11:06:57.66", datetime(1987, 3, 3, 11, 6, 57, 660_000, tzinfo=UTC)),
        ("Mon, 05 Mar 2007 10:00:00 +0100", datetime(2007, 3, 5, 9, tzinfo=UTC)),
        ("Mon, 05 Mar 2007 10:00:00 CET", datetime(2007, 3, 5, 9, tzinfo=UTC)),
        ("Mon, 05 Mar 2007 10:00:00 PDT", datetime(2007, 3, 5, 17, tzinfo=UTC)),
        ("Tue Mar  3 11:06:57 UTC 2026", datetime(2026, 3, 3, 11, 6, 57, tzinfo=UTC)),
        ("March 3, 2026", datetime(2026, 3, 3, tzinfo=UTC)),
        ("3 March 2026", datetime(2026, 3, 3, tzinfo=UTC)),
        ("3rd of March 2026 at 5:30 p.m. EST", datetime(2026, 3, 3, 22, 30, tzinfo=UTC)),
        ("3 March 2026 10:00 GMT+3", datetime(2026, 3, 3, 7, tzinfo=UTC)),
        ("13/02/2026 10:15", datetime(2026, 2, 13, 10, 15, tzinfo=UTC)),
        ("02/13/2026", datetime(2026, 2, 13, tzinfo=UTC)),
        ("02/02/2026", datetime(2026, 2, 2, tzinfo=UTC)),
        # A zone of several meanings, a year or a day that is missing, of two digits, or relative.
        ("3 March 2026 10:15 IST", None),
        ("March 2026", None),
        ("3 March", None),
        ("10 March 11 2026", None),
        ("3-MAR-87 11:06:57", None),
        ("Maybe 3, 2026", None),
        ("2026-13-02", None),
        ("29 February 2026", None),
        ("now", None),
        ("2 hours ago", None),
        ("01/02/2026", None),
        ("05.03.2007", None),
        ("03/05/2007", None),
        ("Foo 12, 2007", None),
        ("January 35, 2007", None),
        ("yesterday", None),
        (float("nan"), None),
        (1e300, None),
        (True, None),
        ([2007], None),
    ],
)
def test_times(value: object, expected: datetime | None) -> None:
    assert parse_date(value) == expected


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "EST5EDT"])
def test_times_do_not_depend_on_the_machine(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_date("3 March 2026 10:00") == datetime(2026, 3, 3, 10, tzinfo=UTC)
        assert parse_date("3 March 2026 10:00 EST") == datetime(2026, 3, 3, 15, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("value", "code"),
    [("tr", "tr"), ("en_GB.UTF-8", "en"), ("eng", "en"), ("Klingon!", None), ("", None)],
)
def test_language(value: str, code: str | None) -> None:
    assert parse_language(value) == code
