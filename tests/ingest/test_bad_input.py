"""Bad input, each kind by name: a clear reason, and nothing else is lost."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from esdedup.errors import DocumentError, InputError
from esdedup.ingest.readers import content_id, read, streams
from esdedup.ingest.readers.encodings import looks_binary
from esdedup.model import Document, Failure
from esdedup.model.encoding import MAX_DEPTH, TOO_DEEP
from tests.ingest.reading import (
    TURKISH,
    deep,
    fail_one,
    from_stdin,
    one_from_stdin,
    packed_warc,
    read_one,
    reasons,
    write,
)
from tests.support.waiting import PATIENCE


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
        (b"[" * 100_000, "not usable JSON: nested more than 200 levels deep"),
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


@pytest.mark.parametrize("depth", [MAX_DEPTH, 500, 900, 50_000])
@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize(
    ("name", "start", "between", "end"),
    [
        ("a.ndjson", "", "\n", ""),
        ("a.json", "[", ",", "]"),
        ("b.json", "[\n", "\n,\n", "\n]"),
        ("c.json", "{\n", "}\n{", "}"),
    ],
)
def test_a_deep_value_costs_only_its_record(
    tmp_path: Path, name: str, start: str, between: str, end: str, kind: type, depth: int
) -> None:
    records = [
        '{"id": 1, "text": "a\\u0041"}',
        deep(depth, kind, text="b"),
        '{"id": 2, "text": "c"}',
    ]
    if name == "c.json":  # objects one after another, each over several lines
        records = [record[1:-1] for record in records]
    first, bad, last = read([write(tmp_path / name, start + between.join(records) + end)])
    assert (first.id, last.id) == ("1", "2")
    assert isinstance(bad, Failure)
    assert bad.reason == f"not usable JSON: {TOO_DEEP}"
    assert bad.where == f"{tmp_path / name}:2"


def test_depth_takes_no_memory(tmp_path: Path) -> None:
    """Each level of 80,000 with a path of its own would be 16 GB."""
    path = write(tmp_path / "a.json", "[" * 80_000)
    beside = write(tmp_path / "b.json", '[{"text": "beside"}]')
    program = (
        "import resource, sys, ijson; from esdedup.ingest.readers import read; "
        "most = 1 << 30; resource.setrlimit(resource.RLIMIT_AS, (most, most)); "
        "[print(getattr(i, 'reason', i.id), i.where if hasattr(i, 'where') else i.text) "
        "for i in read(sys.argv[1:])]"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path, beside],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    deep_one, end, good = done.stdout.splitlines()
    assert deep_one == f"not usable JSON: {TOO_DEEP} {path}:1"
    assert end.startswith("not valid JSON after 1 articles")
    assert good.endswith("beside")


def test_a_deep_field_is_refused_where_a_document_is_made() -> None:
    with pytest.raises(DocumentError, match=f"a: a field is {TOO_DEEP}"):
        Document("a", text="b", extra=json.loads(deep(MAX_DEPTH)))
    Document("a", text="b", extra=json.loads(deep(MAX_DEPTH - 1)))
    endless: dict[str, Any] = {}
    endless["x"] = [endless]
    with pytest.raises(DocumentError, match=TOO_DEEP):
        Document("a", text="b", extra=endless)


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
