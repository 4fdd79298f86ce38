"""Readers: every kind of input, and every kind of bad input, by name."""

from __future__ import annotations

import gzip
import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esdedup.errors import InputError
from esdedup.model import Document, Failure, iso
from esdedup.readers import canonical_url, content_id, read, streams
from esdedup.readers.encodings import decode, looks_binary
from esdedup.readers.records import language, moment

PAGE = b"<html><body><p>Hello</p></body></html>"
TURKISH = "Şişli'de çıkan yangında ölenlerin sayısı yükseldi, dün akşam söndürüldü."


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
    assert "pip install 'esdedup[parquet]'" in fail_one(path).reason


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
    assert moment(value) == expected


@pytest.mark.parametrize(
    ("value", "code"),
    [("tr", "tr"), ("en_GB.UTF-8", "en"), ("eng", "en"), ("Klingon!", None), ("", None)],
)
def test_language(value: str, code: str | None) -> None:
    assert language(value) == code


# --- bad input -------------------------------------------------------------------------------


def test_missing_path_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    there = write(tmp_path / "a.txt", "a")
    with pytest.raises(InputError, match=r"gone\.txt: there is no such file"):
        read([there, str(tmp_path / "gone.txt")])
    with pytest.raises(InputError, match="nothing matches"):
        read([str(tmp_path / "*.csv")])


@pytest.mark.parametrize("kind", ["html", "txt", "ndjson", "json", "csv", "warc", "parquet", "x"])
def test_empty_file(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"a.{kind}", b"")
    assert fail_one(path) == Failure(path, path, "the file is empty", final=True)
    packed = write(tmp_path / f"a.{kind}.gz", gzip.compress(b""))
    assert "empty" in fail_one(packed).reason or kind == "x"


@pytest.mark.parametrize("kind", ["txt", "ndjson", "json", "csv", "tsv"])
def test_binary_file_with_the_name_of_a_text(tmp_path: Path, kind: str) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
    assert "binary" in fail_one(write(tmp_path / f"a.{kind}", png)).reason


def test_what_is_binary() -> None:
    assert looks_binary(bytes(range(256)) * 4)
    assert not looks_binary(TURKISH.encode("utf-16"))
    assert not looks_binary(b"a page with a \x00 or two \x00" * 3 + b"x" * 200)


def test_unknown_kind_names_the_known(tmp_path: Path) -> None:
    assert ".ndjson" in fail_one(write(tmp_path / "a.doc", b"hello")).reason
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "a.doc", b"hello")
    assert ".ndjson" in fail_one(str(tmp_path / "folder")).reason


def test_unreadable_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "a.txt")  # a loop: it is there and cannot be read
    (tmp_path / "b.txt").write_text("b")
    items = list(read([str(tmp_path)]))
    assert [item.text for item in items if isinstance(item, Document)] == ["b"]


def test_invalid_json_on_line_7_of_10(tmp_path: Path) -> None:
    rows = [json.dumps({"id": i, "text": "x"}) for i in range(1, 11)]
    rows[6] = rows[6][:-3]
    path = write(tmp_path / "a.ndjson", "\n".join(rows))
    items = list(read([path]))
    assert [item.id for item in items] == [*"123456", f"{path}:7", *"89", "10"]
    assert items[6] == Failure(
        f"{path}:7",
        f"{path}:7",
        "not valid JSON: Unterminated string starting at at character 19",
        final=True,
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"title": "only"}', "the record has no text (looked for text, body"),
        (b'{"id": "a", "text": " "}', "the record has no text (it is empty)"),
        (b'{"text": 5}', "the text is not a text but a number"),
        (b'{"text": {"a": 1}}', "the text is not a text but an object"),
        (b'{"html": ["x"]}', "the page is not a text but a list"),
        (b"[1, 2]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[" * 100_000, "not usable JSON: nested too deeply"),
        (b'{"text": ' + b"9" * 5000 + b"}", "not usable JSON: Exceeds the limit"),
        (b"\x00\x01", "not valid JSON"),
    ],
)
def test_record_that_cannot_be_used(line: bytes, reason: str) -> None:
    first, bad, last = from_stdin({"text": "a"}, line, {"text": "b"})
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(bad, Failure)
    assert bad.reason.startswith(reason)
    assert bad.where == "stdin:2"
    assert bad.final


def test_id_of_10000_characters() -> None:
    (item,) = from_stdin({"id": "x" * 10_000, "text": "kept"})
    assert isinstance(item, Failure)
    assert item.reason.startswith("the id is longer than 512 bytes")
    assert item.id == content_id(text="kept")
    assert item.document is not None
    assert item.document.text == "kept"
    (item,) = from_stdin({"id": "x" * 10_000})
    assert item.id == "stdin:1"


@pytest.mark.parametrize("value", ["yesterday", 1e300, [2007], {"y": 1}, True])
def test_unreadable_date_does_not_lose_the_article(value: Any) -> None:
    document = one_from_stdin({"text": "a", "date": value})
    assert document.published is None
    assert "published_raw" in document.extra


def test_values_of_other_types_are_kept_beside_their_field() -> None:
    record = {"text": "a", "source": {"name": "N"}, "title": 1984, "lang": 7, "id": [1]}
    document = one_from_stdin(record)
    assert (document.title, document.source, document.lang) == ("1984", None, None)
    assert document.extra == {"source_raw": {"name": "N"}, "lang_raw": 7, "id_raw": [1]}


def test_null_bytes_and_lone_surrogates() -> None:
    line = b'{"id": "i\\ud800", "text": "a\\u0000b \\ud800 \\ud83d\\ude00", "x": ["\\udc00"]}'
    (document,) = from_stdin(line)
    assert isinstance(document, Document)
    assert (document.id, document.text) == ("i�", "ab � 😀")
    assert document.extra == {"x": ["�"]}
    json.dumps(document.to_json(), ensure_ascii=False).encode()


def test_null_bytes_in_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", b"id,text\n1,a\x00b and much more text after it\n")
    assert read_one(path).text == "ab and much more text after it"


def test_lines_not_in_utf8() -> None:
    (document,) = from_stdin(b"\xef\xbb\xbf" + json.dumps({"text": "x"}).encode())
    assert isinstance(document, Document)
    line = json.dumps({"text": TURKISH}, ensure_ascii=False).encode("cp1254")
    (document,) = from_stdin(line)
    assert isinstance(document, Document)
    assert document.text == TURKISH


def test_csv_rows_of_other_length(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,text\n1,a\n2\n3,a,b\n\n4,d\n")
    items = list(read([path]))
    assert [item.id for item in items] == ["1", f"{path}:3", f"{path}:4", "4"]
    assert reasons(items)[1].startswith("the row has 1 cells and the header 2")


def test_table_without_text_is_one_failure(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b\n1,2\n3,4\n")
    assert "--field text=NAME" in fail_one(path).reason
    assert read([path], fields={"text": "b"})
    assert [d.text for d in read([path], fields={"text": "b"}) if isinstance(d, Document)] == [
        "2",
        "4",
    ]


def test_broken_json_array_delivers_what_came_before(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '[{"text": "a"}, 3, {"text": "b"}, {"text": ')
    first, number, second, end = read([path])
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert isinstance(number, Failure)
    assert isinstance(end, Failure)
    assert end.where == f"{path}:4"
    assert end.reason.startswith("not valid JSON after 3 articles")
    assert "no article" in fail_one(write(tmp_path / "b.json", "[]")).reason


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_cut_off_compressed_file_delivers_what_came_before(tmp_path: Path, pack: Any) -> None:
    noise = [content_id(text=str(i)) for i in range(20_000)]
    packed = pack("\n".join(json.dumps({"id": n, "text": n}) for n in noise).encode())
    path = write(tmp_path / "a.ndjson", packed[: len(packed) // 2])
    *good, end = read([path])
    assert len(good) > 5_000
    assert [item.id for item in good] == noise[: len(good)]
    assert isinstance(end, Failure)
    assert end.where == f"{path}:{len(good) + 1}"
    assert "cut off" in end.reason


def test_damaged_gzip(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b'{"text": "a"}\n' * 10))
    packed[15] ^= 0xFF
    *_, end = read([write(tmp_path / "a.ndjson.gz", bytes(packed))])
    assert isinstance(end, Failure)


@pytest.mark.parametrize(
    ("name", "cut"), [("a.warc", 1000), ("a.warc", 76_200), ("a.warc.gz", 30), ("a.warc.zst", 30)]
)
def test_cut_off_warc_delivers_what_came_before(tmp_path: Path, name: str, cut: int) -> None:
    path = write(tmp_path / name, packed_warc(name)[:-cut])
    *good, end = read([path])
    assert [item.id for item in good] == ["http://a.example/1", "http://a.example/2"]
    assert isinstance(end, Failure)
    assert "cut off" in end.reason


def test_what_is_no_warc(tmp_path: Path) -> None:
    assert "damaged" in fail_one(write(tmp_path / "a.warc", b"hello world " * 20)).reason


def test_what_is_no_parquet(tmp_path: Path) -> None:
    reason = fail_one(write(tmp_path / "a.parquet", b"PAR1 and nothing else")).reason
    assert reason.startswith("not a readable Parquet file")


def test_line_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_BYTES", 200_000)
    rows = ['{"text": "a"}', '{"text": "' + "x" * 300_000 + '"}', '{"text": "b"}']
    items = list(read([write(tmp_path / "a.ndjson", "\n".join(rows))]))
    assert [isinstance(item, Failure) for item in items] == [False, True, False]
    assert "longer than" in reasons(items)[1]
    table = f"id,text\n1,a\n2,{'x' * 300_000}\n3,b\n"
    items = list(read([write(tmp_path / "a.csv", table)]))
    assert sorted(isinstance(item, Failure) for item in items) == [False, False, True]
    array = json.dumps([{"text": "a"}, {"text": "x" * 300_000}])
    items = list(read([write(tmp_path / "a.json", array)]))
    assert [isinstance(item, Failure) for item in items] == [False, True]


@pytest.mark.parametrize("kind", ["html", "txt"])
def test_file_over_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(streams, "MAX_BYTES", 200_000)
    path = tmp_path / f"a.{kind}"
    with path.open("wb") as file:
        file.write(b"<p>")
        file.truncate(5 * 1024**3)  # sparse: 5 GB that take no space
    assert "longer than" in fail_one(str(path)).reason


@pytest.mark.parametrize("kind", ["ndjson", "json", "html", "csv", "txt", "warc", "data"])
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_arbitrary_bytes_never_raise(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    json_pieces = [b'{"text": "a"}', b"\n", b"[", b"{", b'"', b",", b"\\ud800"]
    other_pieces = [
        b"id,text\n",
        b"\xff",
        b"\x00",
        b"\x1f\x8b\x08\x00",
        b"\xff\xfe",
        b"WARC/1.0\r\n",
    ]
    pieces = st.sampled_from([*json_pieces, *other_pieces, b"\r\n", b"Content-Length: 5\r\n"])
    content = data.draw(st.lists(st.one_of(st.binary(max_size=40), pieces)).map(b"".join))
    path = write(tmp_path / f"a.{kind}", content)
    for item in read([path]):
        assert isinstance(item, Document | Failure)
        json.dumps(item.to_json(), ensure_ascii=False).encode()


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["id", "text", "title", "url", "date", "lang", "html", "source", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=4,
        ),
    )
)
def test_arbitrary_records_never_raise(record: dict[str, Any]) -> None:
    (item,) = from_stdin(record)
    assert isinstance(item, Document | Failure)
    json.dumps(item.to_json(), ensure_ascii=False).encode()
