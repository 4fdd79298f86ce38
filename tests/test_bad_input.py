"""Over a hundred classes of bad input, each by name: refused with a reason, and nothing breaks.

Four doors: files, the command line, the HTTP service, the gateway. What else is in a batch beside a
bad article is kept; `tests/ingest/test_bad_input.py` tests that file by file.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from esdedup.ingest.readers import read
from esdedup.model import Failure
from esdedup.service.config import ServiceConfig
from tests.gateway import running as gateways
from tests.gateway.running import Listener, request, status
from tests.ingest.reading import deep, write
from tests.service import conftest as services
from tests.support.articles import FERRY
from tests.support.commands import ARTICLES, Cli, ndjson

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


def line(**record: Any) -> bytes:
    return json.dumps(record).encode()


# --- files: name, content, what the failure says --------------------------------------------------

FILES: dict[str, tuple[str, bytes, str]] = {
    "empty page": ("a.html", b"", "the file is empty"),
    "empty text": ("a.txt", b"", "the file is empty"),
    "empty file of lines": ("a.ndjson", b"", "the file is empty"),
    "empty JSON": ("a.json", b"", "the file is empty"),
    "empty table": ("a.csv", b"", "the file is empty"),
    "empty archive": ("a.warc", b"", "the file is empty"),
    "empty Parquet file": ("a.parquet", b"", "the file is empty"),
    "compressed nothing": ("a.ndjson.gz", gzip.compress(b""), "the file is empty"),
    "picture named as text": ("a.txt", PICTURE, "the file is binary"),
    "picture named as lines": ("a.ndjson", PICTURE, "the file is binary"),
    "picture named as table": ("a.csv", PICTURE, "the file is binary"),
    "picture named as JSON": ("a.json", PICTURE, "the file is binary"),
    "unknown kind": ("a.doc", b"hello", "known are .html"),
    "no archive": ("a.warc", b"hello world " * 20, "the archive is damaged"),
    "no Parquet file": ("a.parquet", b"PAR1 and nothing else", "not a readable Parquet file"),
    "gzip cut off": ("a.ndjson.gz", gzip.compress(line(text="a"))[:12], "the file is cut off"),
    "gzip of garbage": ("a.ndjson.gz", b"\x1f\x8b\x08\x00garbage", "the file is cut off"),
    "table without a text": ("a.csv", b"id,x\n1,2\n", "no column holds the text"),
    "array without items": ("a.json", b"[]", "holds no article"),
    "array that ends early": ("a.json", b'[{"text": "a"', "not valid JSON after 0 articles"),
    "JSON of one number": ("a.json", b"5", "holds no article"),
    "JSON and something behind it": ("a.json", b'{"text": "a"} x', "Extra data"),
    "record without text": ("a.ndjson", line(title="only"), "the record has no text (looked for"),
    "record with an empty text": ("a.ndjson", line(text=" "), "no text (it is empty)"),
    "text that is a number": ("a.ndjson", line(text=5), "not a text but a number"),
    "text that is an object": ("a.ndjson", line(text={"a": 1}), "not a text but an object"),
    "text that is a list": ("a.ndjson", line(text=["a"]), "not a text but a list"),
    "text that is null": ("a.ndjson", line(text=None), "the record has no text"),
    "page that is a list": ("a.ndjson", line(html=["x"]), "the page is not a text but a list"),
    "line that is a list": ("a.ndjson", b"[1, 2]", "not a JSON object"),
    "line that is a text": ("a.ndjson", b'"text"', "not a JSON object"),
    "line that is null": ("a.ndjson", b"null", "not a JSON object"),
    "line that is no JSON": ("a.ndjson", b"{no", "not valid JSON"),
    "lists nested deeply": ("a.ndjson", b"[" * 100_000, "nested more than 200 levels deep"),
    "objects nested deeply": (
        "a.ndjson",
        deep(300, dict, text="a").encode(),
        "nested more than 200 levels deep",
    ),
    "number of 5,000 digits": ("a.ndjson", b'{"text": ' + b"9" * 5_000 + b"}", "not usable JSON"),
    "control characters": ("a.ndjson", b"\x00\x01", "not valid JSON"),
    "id of 10,000 characters": ("a.ndjson", line(id="x" * 10_000, text="a"), "longer than 512"),
}


# --- the command line: arguments, exit code, what the error says ----------------------------------

COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "unknown command": (["nonsense"], 2, "No such command 'nonsense'"),
    "unknown option": (["index", "--nonsense"], 2, "No such option: --nonsense"),
    "no path": (["index"], 2, "Missing argument 'PATH'"),
    "missing file": (["index", "/no/such"], 2, "there is no such file or folder"),
    "missing file to check": (["check", "/no/such"], 2, "there is no such file or folder"),
    "missing list to fold": (["fold", "/no/such"], 2, "name a file with a list"),
    "missing page to look for": (["copies", "/no/such"], 2, "there is no such file or folder"),
    "workers that are no number": (["index", "--workers", "x", "a"], 2, "'--workers'"),
    "fewer than no workers": (["index", "--workers", "-1", "a"], 2, "greater than or equal to 0"),
    "setting without value": (["index", "NEWS", "--set", "batch"], 2, "form name=value"),
    "unknown setting": (["index", "NEWS", "--set", "no_such=1"], 2, "no_such"),
    "setting of another type": (["index", "NEWS", "--set", "batch=many"], 2, "batch is 'many'"),
    "setting out of range": (["index", "NEWS", "--set", "batch=0"], 2, "at least 1"),
    "infinite setting": (["index", "NEWS", "--set", "batch=1e999"], 2, "batch is '1e999'"),
    "unknown method": (["index", "NEWS", "--set", "methods=x"], 2, "known are: sketch"),
    "unknown preset": (["index", "NEWS", "--preset", "x"], 2, "unknown preset 'x'"),
    "store of no kind": (["index", "NEWS", "--store", "nonsense://x"], 4, "unknown store"),
    "store that is a text": (["stats", "--store", "TEXT"], 4, "file is not a database"),
    "store that is a folder": (["index", "NEWS", "--store", "FOLDER"], 4, "unable to open"),
    "store in a missing folder": (
        ["index", "NEWS", "--store", "/no/such/a.db"],
        4,
        "make it first",
    ),
    "store that is missing": (["search", "a", "--store", "/no.db"], 4, "`esdedup index` makes one"),
    "store without a server": (["stats", "--store", "http://"], 4, "names no server"),
    "search for nothing": (["search"], 2, "say what to look for"),
    "search since no date": (["search", "a", "--since", "someday"], 2, "'someday' is no date"),
    "search without a number": (["search", "a", "--limit", "x"], 2, "--limit"),
    "events since no date": (["events", "--since", "someday"], 2, "'someday' is no date"),
    "article that is missing": (["show", "none"], 1, "there is no article none"),
    "article without an id": (["show"], 2, "Missing argument 'ID'"),
    "article to explain that is missing": (["explain", "first", "none"], 1, "no article none"),
    "story that is missing": (["story", "none"], 1, "there is no article none"),
    "similar to a missing article": (["similar", "none"], 1, "there is no article none"),
    "delete of a missing article": (["delete", "none"], 1, "none"),
    "retention without a limit": (["expire"], 2, "--older-than"),
    "retention by no date": (["expire", "--older-than", "soon"], 2, "'soon' is no date"),
    "backfill of SQLite": (["backfill"], 4, "there is nothing to do"),
    "merge of one article": (["groups", "merge", "first"], 2, "name two articles or more"),
    "merge of an article with itself": (["groups", "merge", "first", "first"], 2, "different ids"),
    "merge with a missing article": (["groups", "merge", "first", "none"], 1, "no article none"),
    "pin of a missing article": (["groups", "pin", "none"], 1, "there is no article none"),
    "threshold that is unknown": (["rethreshold", "--set", "no_such=1"], 2, "no_such"),
    "labelled set that is missing": (["eval", "none"], 2, "there is no such folder"),
    "tuning on nothing": (["tune"], 2, "name a SET"),
    "statistics that are missing": (["words", "show", "/no/such"], 2, "cannot be read"),
    "gateway to nowhere": (["gateway"], 2, "--upstream"),
    "port out of range": (["serve", "--port", "99999"], 2, "less than or equal to 65535"),
    "key of nobody": (["keys", "revoke", "nobody"], 2, "there is no key nobody"),
}


# --- the service: method, path, body, status ------------------------------------------------------

SERVICE: dict[str, tuple[str, str, bytes | None, int]] = {
    "unknown path": ("GET", "/v1/nonsense", None, 404),
    "unknown method": ("PATCH", "/v1/articles", b"{}", 405),
    "article that is no JSON": ("POST", "/v1/articles", b"{no", 422),
    "article that is a list": ("POST", "/v1/articles", b"[]", 422),
    "article that is null": ("POST", "/v1/articles", b"null", 422),
    "article without text": ("POST", "/v1/articles", line(id="x"), 422),
    "article with a number as text": ("POST", "/v1/articles", line(text=5), 422),
    "article with a long id": ("POST", "/v1/articles", line(id="x" * 600, text="a"), 422),
    "article nested deeply": ("POST", "/v1/articles", deep(300, dict, text="a").encode(), 400),
    "article that is not UTF-8": ("POST", "/v1/articles", b'{"text": "\xff"}', 400),
    "article of too many values": ("POST", "/v1/articles", b"[" + b"1," * 300_000 + b"1]", 413),
    "check without a body": ("POST", "/v1/check", None, 422),
    "check of a number": ("POST", "/v1/check", b"5", 422),
    "fold without items": ("POST", "/v1/fold", b"{}", 422),
    "fold of no list": ("POST", "/v1/fold", line(items=5), 422),
    "article that is missing": ("GET", "/v1/articles?id=none", None, 404),
    "article without an id": ("GET", "/v1/articles", None, 422),
    "group that is missing": ("GET", "/v1/group?id=none", None, 404),
    "search with an unknown parameter": ("GET", "/v1/search?q=x", None, 400),
    "search with a parameter twice": ("GET", "/v1/search?words=a&words=b", None, 400),
    "search with no number": ("GET", "/v1/search?words=a&size=x", None, 422),
    "search with a negative number": ("GET", "/v1/search?words=a&size=-1", None, 422),
    "search folded in no way": ("GET", "/v1/search?words=a&by=x", None, 422),
    "search since no date": ("GET", "/v1/search?words=a&since=someday", None, 400),
    "search with a null character": ("GET", "/v1/search?words=a&filter=a%00%3Db", None, 400),
    "similar to a missing article": ("GET", "/v1/similar?id=none", None, 404),
    "explanation of missing articles": ("GET", "/v1/explain?id=none&other=none", None, 404),
}


# --- the gateway: bytes, status -------------------------------------------------------------------

HOST = "Host: a"
BULK = "POST /news/_bulk HTTP/1.1"
GATEWAY: dict[str, tuple[bytes, int]] = {
    "target that is no path": (request("GET http://a/ HTTP/1.1", HOST), 400),
    "target with a space": (request("GET /a b HTTP/1.1", HOST), 400),
    "target beyond ASCII": (request("GET /\xe9 HTTP/1.1", HOST), 400),
    "version that is none": (request("GET / HTTP/9.9", HOST), 400),
    "no host": (request("GET / HTTP/1.1"), 400),
    "two hosts": (request("GET / HTTP/1.1", HOST, HOST), 400),
    "two lengths": (request(BULK, HOST, "Content-Length: 4", "Content-Length: 5"), 400),
    "length and chunks": (
        request(BULK, HOST, "Content-Length: 4", "Transfer-Encoding: chunked"), 400,
    ),
    "negative length": (request(BULK, HOST, "Content-Length: -1"), 400),
    "unknown coding": (request(BULK, HOST, "Transfer-Encoding: gzip, chunked"), 400),
    "folded header": (request("GET / HTTP/1.1", HOST, "X: a", " b"), 400),
    "null character in a header": (request("GET / HTTP/1.1", HOST, "X: a\x00"), 400),
    "half a line end": (b"\r" + request("GET / HTTP/1.1", HOST), 400),
    "201 headers": (request("GET / HTTP/1.1", HOST, *["X: a"] * 201), 431),
    "head of 70 kB": (request("GET / HTTP/1.1", HOST, "X: " + "a" * 70_000), 431),
    "length beyond the limit": (request(BULK, HOST, "Content-Length: 999999999"), 413),
    "chunk that is none": (
        request(BULK, HOST, "Transfer-Encoding: chunked", body=b"zz\r\n"), 400,
    ),
    "gzip that is none": (
        request(BULK, HOST, "Content-Encoding: gzip", "Content-Length: 4", body=b"abcd"), 400,
    ),
    "connection that drops headers": (request("GET / HTTP/1.1", HOST, "Connection: x"), 400),
}  # fmt: skip


class Case(NamedTuple):
    door: str
    name: str


TABLES = {"file": [*FILES], "command": [*COMMANDS], "service": [*SERVICE], "gateway": [*GATEWAY]}
CASES = [Case(door, name) for door, names in TABLES.items() for name in names]


class Doors:
    """What bad input is given to."""

    def __init__(self, folder: Path, service: services.Running, gateway: gateways.Running) -> None:
        self._folder, self._service, self._gateway = folder, service, gateway
        self._cli = Cli(folder)
        write(folder / "text", b"no database at all, only a text. " * 40)
        news = self._cli.file("news.ndjson", ndjson(*ARTICLES))
        self._names = {"NEWS": news, "FOLDER": str(folder), "TEXT": str(folder / "text")}
        assert self._cli("index", news, "--workers", "1").exit_code == 0

    def file(self, name: str) -> None:
        kind, content, says = FILES[name]
        (item,) = read([write(self._folder / kind, content)])
        assert isinstance(item, Failure)
        assert says in item.reason

    def command(self, name: str) -> None:
        arguments, code, says = COMMANDS[name]
        result = self._cli(*(self._names.get(word, word) for word in arguments))
        assert isinstance(result.exception, SystemExit), "no traceback"
        assert result.exit_code == code, result.output
        assert says in result.output, result.output

    def service(self, name: str) -> None:
        method, path, body, code = SERVICE[name]
        headers = {"Content-Type": "application/json"}
        answer = self._service.client.request(method, path, content=body, headers=headers)
        assert answer.status_code == code, answer.text
        assert answer.json()["detail"], "a reason"
        assert self._service.client.get("/readyz").status_code == 200

    def gateway(self, name: str) -> None:
        raw, code = GATEWAY[name]
        answer = self._gateway.raw(raw)
        assert status(answer) == code, answer
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["reason"]
        assert self._gateway.http("GET", "/_esdedup/status").status == 200


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    folder = tmp_path_factory.mktemp("bad")
    config = ServiceConfig(store=str(folder / "service.db"), workers=1, readers=2)
    with (
        services.running(config) as service,
        Listener() as cluster,
        gateways.running(cluster.url, indices=("news",)) as gateway,
    ):
        service.post("/v1/articles", {"id": "a", "text": FERRY}).raise_for_status()
        yield Doors(folder, service, gateway)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.door}: {case.name}")
def test_bad_input_is_refused_with_a_reason(doors: Doors, case: Case) -> None:
    getattr(doors, case.door)(case.name)


def test_there_are_more_than_a_hundred_classes() -> None:
    assert len(CASES) > 100
