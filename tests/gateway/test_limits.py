"""What a caller can make the gateway do before anybody asks who it is: how much, and where."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.errors import QueryError
from esdedup.gateway import bulk, folding, http, jsontext, limits, reads
from esdedup.gateway.http import HttpError
from tests.gateway.running import (
    HOST,
    Answered,
    Listener,
    Running,
    commanded,
    request,
    running,
)
from tests.support.waiting import PATIENCE, wait_until

PACKED = {"content-type": "application/x-ndjson", "content-encoding": "gzip"}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as made:
        yield made


@contextmanager
def gateway(listener: Listener, **options: Any) -> Iterator[Running]:
    options = {"indices": ("news-*",), "folds": {"news-*": "group"}, **options}
    with running(f"opensearch+{listener.url}", **options) as made:
        yield made


def told(said: Answered, status: int) -> str:
    """The reason of an error in the form of the engines."""
    assert said.status == status, said.body[:300]
    error = said.json()["error"]
    assert error["root_cause"] == [{"type": error["type"], "reason": error["reason"]}]
    return str(error["reason"])


# --- unpacking ------------------------------------------------------------------------------------


class Counting:
    """`zlib` as it is, and the bytes it was given."""

    error = zlib.error

    def __init__(self) -> None:
        self.fed = 0

    def decompressobj(self, window: int) -> Any:
        counting, unpacker = self, zlib.decompressobj(window)

        class Counted:
            def decompress(self, data: bytes, most: int = 0) -> bytes:
                counting.fed += len(data)
                return unpacker.decompress(data, most)

            def __getattr__(self, name: str) -> Any:
                return getattr(unpacker, name)

        return Counted()


@pytest.mark.parametrize("count", [1_000, 20_000])
def test_many_members_are_unpacked_in_one_pass(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    counting = Counting()
    monkeypatch.setattr(limits, "zlib", counting)
    body = gzip.compress(b"") * count
    assert limits.unpack(body, "gzip", 1 << 20) == b""
    assert counting.fed < 20 * len(body), "the same factor, however many they are"


PIECES = st.lists(
    st.binary(max_size=300) | st.integers(0, 3 << 20).map(lambda size: b"a" * size), max_size=4
)


@given(PIECES, st.sampled_from(["gzip", "deflate", "x-gzip, identity"]))
def test_members_are_put_together(pieces: list[bytes], encoding: str) -> None:
    pack = zlib.compress if encoding == "deflate" else gzip.compress
    body, plain = b"".join(map(pack, pieces)), b"".join(pieces)
    steps: list[int] = []
    assert limits.unpack(body, encoding, len(plain), steps.append) == plain
    assert sum(steps) == len(plain)
    assert max(steps, default=0) <= 1 << 20
    if plain:
        with pytest.raises(limits.TooMuch, match="--max-body"):
            limits.unpack(body, encoding, len(plain) - 1)
    if pieces:
        with pytest.raises(HttpError, match=r"ends too early|broken"):
            limits.unpack(body[:-1], encoding, len(plain))


def test_unpacking_ends_with_the_memory() -> None:
    """A body that grows a thousandfold is not unpacked to its end."""
    memory = limits.Memory(3 << 20)
    bomb = gzip.compress(b"a" * (16 << 20))
    with memory.share() as share, pytest.raises(limits.TooMuch, match="--max-memory"):
        limits.unpack(bomb, "gzip", 100 << 20, share.add)
    assert memory.used == 0


# --- where it is done -----------------------------------------------------------------------------


class Held:
    """A function that waits until it is let go."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.entered, self.is_open = threading.Event(), threading.Event()

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.entered.set()
        assert self.is_open.wait(PATIENCE)
        return self._function(*given, **named)


def msearch(count: int) -> bytes:
    return b"{}\n{}\n" * count


def bulk_of(count: int) -> bytes:
    return b'{"index":{}}\n{}\n' * count


# Long also when it is packed.
LONG = json.dumps({"query": {"t": Random(1).randbytes(50_000).hex()}}).encode()


@pytest.mark.parametrize(
    ("path", "body", "owner", "name"),
    [
        ("_msearch", msearch(2_000), folding, "parse_msearch"),
        ("_msearch", msearch(2_000), reads, "_dumps"),
        ("_search", LONG, zlib, "decompressobj"),
        ("_search", LONG, folding, "parse_search"),
        ("_bulk", bulk_of(2_000), bulk, "parse"),
        ("_bulk", b'{"index":{}}\n%b\n' % LONG, zlib, "decompressobj"),
    ],
)
def test_others_are_answered_meanwhile(
    listener: Listener,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: bytes,
    owner: Any,
    name: str,
) -> None:
    with gateway(listener) as made, ThreadPoolExecutor(1) as attacker:
        held = Held(getattr(owner, name))
        monkeypatch.setattr(owner, name, held)
        packed = gzip.compress(body)
        attack = attacker.submit(made.http, "POST", f"/news-1/{path}", packed, PACKED)
        try:
            assert held.entered.wait(PATIENCE)
            assert made.http("GET", "/other/_doc/1").status == 200
            assert not attack.done()
        finally:
            held.is_open.set()
        assert attack.result(PATIENCE).status == 200


def test_a_long_answer_is_set_right_meanwhile(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = '{"doc_count":1,"stories":{"value":1},"ungrouped":{"doc_count":0}}'
    hits = f'{{"hits":{{"total":1,"hits":["{"a" * 100_000}"]}}'
    answer = f'{hits},"aggregations":{{"esdedup_fold":{counts}}}}}'.encode()
    listener.answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer
    for owner, name in ((folding, "restore"), (gzip, "compress")):
        with (
            monkeypatch.context() as patch,
            gateway(listener) as made,
            ThreadPoolExecutor(1) as pool,
        ):
            held = Held(getattr(owner, name))
            patch.setattr(owner, name, held)
            wants = {"accept-encoding": "gzip"}
            asked = pool.submit(made.http, "POST", "/news-1/_search", "{}", wants)
            try:
                assert held.entered.wait(PATIENCE)
                assert made.http("GET", "/other/_doc/1").status == 200
                assert not asked.done()
            finally:
                held.is_open.set()
            said = asked.result(PATIENCE)
            assert said.headers["x-esdedup-fold"] == "group"
            assert b"aggregations" not in gzip.decompress(said.body)


def test_short_requests_do_not_change_threads(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def parse_search(*given: Any) -> folding.SearchCall:
        seen.append(threading.current_thread().name)
        return genuine(*given)

    genuine = folding.parse_search
    monkeypatch.setattr(folding, "parse_search", parse_search)
    with gateway(listener) as made:
        made.http("POST", "/news-1/_search", "{}")
        made.http("POST", "/news-1/_search", gzip.compress(b"{}"), PACKED)
    assert len(seen) == 2
    assert not any(name.startswith("esdedup-read") for name in seen)


@pytest.mark.parametrize("path", ["_msearch", "_bulk"])
def test_what_a_client_left_is_counted_until_its_end(
    listener: Listener, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    owner, name = (folding, "parse_msearch") if path == "_msearch" else (bulk, "parse")
    held = Held(getattr(owner, name))
    monkeypatch.setattr(owner, name, held)
    body = msearch(2_000) if path == "_msearch" else bulk_of(2_000)
    with gateway(listener) as made:
        with socket.create_connection(("127.0.0.1", made.port), timeout=PATIENCE) as line:
            line.sendall(request(f"POST /news-1/{path} HTTP/1.1", HOST,
                                 "Content-Type: application/x-ndjson",
                                 f"Content-Length: {len(body)}", body=body))  # fmt: skip
            assert held.entered.wait(PATIENCE)
        made.http("GET", "/other/_doc/1")
        assert made.gateway.memory.used > len(body)
        held.is_open.set()
        wait_until(lambda: made.gateway.memory.used == 0)


# --- turns of the loop ----------------------------------------------------------------------------


def longest_run(made: Running, count: Callable[[], int], attack: Callable[[], Any]) -> int:
    """How far a count goes at most between two turns of the gateway's event loop."""
    done = threading.Event()

    async def watch() -> int:
        longest, before = 0, count()
        while not done.is_set():
            await asyncio.sleep(0)
            longest, before = max(longest, count() - before), count()
        return longest

    watching = asyncio.run_coroutine_threadsafe(watch(), made.loop)
    try:
        attack()
    finally:
        done.set()
    return watching.result(PATIENCE)


def test_many_requests_at_once_give_way(listener: Listener) -> None:
    flood = request("GET /_esdedup/status HTTP/1.1", HOST) * 500
    last = request("GET /_esdedup/status HTTP/1.1", HOST, "Connection: close")
    with gateway(listener) as made:
        longest = longest_run(
            made, lambda: made.gateway.counts["requests"], lambda: made.raw(flood + last)
        )
        assert made.gateway.counts["requests"] >= 501
    assert longest < 10


def test_many_chunks_give_way(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, take = [0], http.ChunkParser.on_body

    def counted(self: http.ChunkParser, body: bytes) -> None:
        taken[0] += 1
        take(self, body)

    monkeypatch.setattr(http.ChunkParser, "on_body", counted)
    flood = request("POST /news-1/_search HTTP/1.1", HOST, "Transfer-Encoding: chunked",
                    "Connection: close", body=b"1\r\n \r\n" * 15_000 + b"0\r\n\r\n")  # fmt: skip
    with gateway(listener) as made:
        longest = longest_run(made, lambda: taken[0], lambda: made.raw(flood))
    assert taken[0] >= 15_000
    assert longest < 5_000


# --- how much -------------------------------------------------------------------------------------


def test_searches_of_an_msearch(listener: Listener) -> None:
    with gateway(listener, max_searches=3) as made:
        assert made.http("POST", "/news-1/_msearch", msearch(3)).headers["x-esdedup-fold"] == (
            "group"
        )
        listener.received.clear()
        for body in (msearch(4), b"\n" + msearch(4), msearch(400)):
            said = made.http("POST", "/news-1/_msearch", body)  # a default breaks no search
            assert (said.status, said.headers["x-esdedup-fold"]) == (200, "off")
            assert listener.everything.endswith(body)
            listener.received.clear()
            asked = made.http("POST", "/news-1/_msearch?esdedup_fold=group", body)
            assert "--max-searches" in told(asked, 413)
        assert listener.everything == b""


def test_actions_of_a_bulk(listener: Listener) -> None:
    deletes = b'{"delete":{"_id":"a"}}\n'
    with gateway(listener, max_actions=3) as made:
        for body in (bulk_of(3), 3 * deletes):
            assert made.http("POST", "/news-1/_bulk", body).status == 200
        listener.received.clear()
        for body in (bulk_of(4), 4 * deletes, bulk_of(400)):
            assert "--max-actions" in told(made.http("POST", "/news-1/_bulk", body), 413)
        assert listener.everything == b""


def test_limits_are_options_of_the_command(listener: Listener) -> None:
    limited = ("--max-actions", "3", "--max-searches", "3", "--max-memory", "1")
    with commanded("--upstream", listener.url, "--index", "news-*", *limited) as made:
        assert "--max-actions" in told(made.http("POST", "/news-1/_bulk", bulk_of(4)), 413)
        path = "/news-1/_msearch?esdedup_fold=group"
        assert "--max-searches" in told(made.http("POST", path, msearch(4)), 413)
        assert "--max-memory" in told(made.http("POST", "/news-1/_bulk", b" " * (1 << 20)), 413)


def test_a_search_that_unpacks_to_too_much(listener: Listener) -> None:
    body = gzip.compress(json.dumps({"query": {"t": "a" * (2 << 20)}}).encode())
    with gateway(listener, max_body=1 << 20) as made:
        said = made.http("POST", "/news-1/_search", body, PACKED)
        assert (said.status, said.headers["x-esdedup-fold"]) == (200, "off")
        assert listener.everything.endswith(body)
        asked = made.http("POST", "/news-1/_search?esdedup_fold=group", body, PACKED)
        assert "--max-body" in told(asked, 413)
        assert "--max-body" in told(made.http("POST", "/news-1/_bulk", body, PACKED), 413)
        wait_until(lambda: made.gateway.memory.used == 0)


def test_what_is_unpacked_and_read_is_counted(listener: Listener) -> None:
    body = gzip.compress(bulk_of(2_000))
    needed = limits.read_size(bulk_of(2_000))
    assert needed > 5 * len(bulk_of(2_000)) > 100 * len(body)
    with gateway(listener, max_memory=needed) as made:
        memory = made.gateway.memory
        assert "--max-memory" in told(made.http("POST", "/news-1/_bulk", body, PACKED), 413)
        memory.most = 2 * needed
        assert made.http("POST", "/news-1/_bulk", body, PACKED).status == 200
        wait_until(lambda: memory.used == 0)  # it is given back once the answer is sent
        assert memory.add(needed)  # another one
        said = made.http("POST", "/news-1/_bulk", body, PACKED)
        assert "--max-memory" in told(said, 429)
        assert said.headers["retry-after"]
        memory.give_back(needed)
        assert made.http("POST", "/news-1/_bulk", body, PACKED).status == 200
        wait_until(lambda: memory.used == 0)


WIDE = b'{"a":[' + b"[]," * 100_000 + b"0]}"


def test_one_text_of_many_values_is_not_read() -> None:
    """Reading it is one step, during which nobody else is served."""
    assert bulk.sent_object(b'{"a":[' + b"[]," * 60_000 + b"0]}") is not None
    assert bulk.sent_object(WIDE) is None
    first, second = bulk.parse(b'{"index":{}}\n%b\n' % WIDE + bulk_of(1), "news", {}).operations
    assert (first.source, second.source) == (None, {})
    with pytest.raises(bulk.Malformed):
        bulk.parse(b'{"index":%b}\n{}\n' % WIDE, "news", {})
    with pytest.raises(QueryError, match="more than 200,000 values"):
        folding.parse_search(WIDE, ())


def nested(levels: int) -> bytes:
    return b'{"query":' + b'{"a":' * levels + b"{}" + b"}" * levels + b"}"


@pytest.mark.parametrize("levels", [300, 600, 900, 960, 980, 100_000])
def test_searches_that_are_nested_deeply_are_answered(listener: Listener, levels: int) -> None:
    with gateway(listener) as made:
        for path in ("_search", "_count", "_msearch"):
            body = (b"{}\n%b\n" if path == "_msearch" else b"%b") % nested(levels)
            assert made.http("POST", f"/news-1/{path}", body).status == 200
            said = made.http("POST", f"/news-1/{path}?esdedup_fold=group", body)
            assert said.status in (200, 400)
        inner = b'{"index":%b}\n{}\n' % (b"[" * levels + b"]" * levels)
        assert made.http("POST", "/_msearch", inner).status == 200


@pytest.mark.parametrize("levels", [1, 900, 980])
def test_an_id_that_is_no_text_is_left_to_the_cluster(listener: Listener, levels: int) -> None:
    body = b'{"index":{"_id":%b}}\n{}\n' % (b"[" * levels + b"]" * levels)
    with gateway(listener) as made:
        assert made.http("POST", "/news-1/_bulk", body).status == 200
    assert listener.everything.endswith(body)


def test_a_count_with_a_score_that_is_no_number(listener: Listener) -> None:
    with gateway(listener) as made:
        assert made.http("GET", "/news-1/_count?min_score=x").status == 200
        said = made.http("GET", "/news-1/_count?min_score=x&esdedup_fold=group")
        assert "min_score" in told(said, 400)


def test_names_that_are_no_index_are_not_kept(listener: Listener) -> None:
    names = ["x" * 10_000, "a,b", "UPPER"]
    body = b"".join(b'{"index":{"_index":"%b"}}\n{}\n' % name.encode() for name in names)
    with gateway(listener) as made:
        made.http("POST", "/_bulk", body + b'{"index":{"_index":"news-1"}}\n{}\n')
        assert made.gateway._writes._pattern_of_index.cache_info().currsize == 1


def test_our_object_is_taken_out_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, members = [], jsontext.members

    def counted(text: str) -> list[jsontext.JsonMember]:
        calls.append(text)
        return members(text)

    monkeypatch.setattr(jsontext, "members", counted)
    many = ",".join(['"dedup":{"a":1}', '"b":2'] * 500)
    text = f'{{{many},"dedup":3}}'.encode()
    out = bulk.with_dedup(text, json.loads(text), b"{}")
    assert out == b"{" + b'"b":2,' * 500 + b'"dedup":{}}'
    assert len(calls) == 1


# --- answers of the cluster -----------------------------------------------------------------------


def answer_of(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def test_answers_are_counted(listener: Listener) -> None:
    body = json.dumps({"hits": {"hits": ["a" * 600_000]}}).encode()
    listener.answer = answer_of(body)
    with gateway(listener, max_memory=1 << 20) as made:
        asked = made.http("POST", "/news-1/_search?esdedup_fold=group", "{}")
        assert "--max-memory" in told(asked, 413)
        said = made.http("POST", "/news-1/_search", "{}")  # a default breaks no search
        assert (said.status, said.headers["x-esdedup-fold"]) == (200, "off")
        assert said.body == body
        wait_until(lambda: made.gateway.memory.used == 0)


def test_the_answer_to_a_write_is_counted_and_not_refused(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done: sent again, it would be done twice."""
    listener.answer = answer_of(json.dumps({"took": 1, "items": ["a" * 2_000_000]}).encode())
    held = Held(bulk.parse_answer)
    monkeypatch.setattr(bulk, "parse_answer", held)
    with gateway(listener, max_memory=1 << 20) as made, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(made.http, "POST", "/news-1/_bulk", bulk_of(1))
        try:
            assert held.entered.wait(PATIENCE)
            assert made.gateway.memory.used > 6_000_000
            assert made.http("GET", "/other/_doc/1").status == 200, "parsed off the event loop"
            said = made.http("POST", "/news-1/_bulk", bulk_of(1))
            assert "--max-memory" in told(said, 429)
        finally:
            held.is_open.set()
        assert writing.result(PATIENCE).status == 200
        wait_until(lambda: made.gateway.memory.used == 0)


def test_hits_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding a whole answer is one step, during which nobody else is served."""
    longest = 0

    class Decoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            nonlocal longest
            value, end = super().raw_decode(s, idx)
            longest = max(longest, end - idx)
            return value, end

    monkeypatch.setattr(jsontext, "_decoder", Decoder())
    hits = [{"_id": str(n), "_source": {"text": "words " * 20}} for n in range(200)]
    count = {"doc_count": 9, "stories": {"value": 4}, "ungrouped": {"doc_count": 0}}
    one = {"hits": {"total": 9, "hits": hits}, "aggregations": {"esdedup_fold": count}}
    assert json.loads(folding.restore(json.dumps(one))[1])["hits"] == {"total": 4, "hits": hits}
    answers = folding.read_answers(json.dumps({"responses": [one, one]}), wants_total=True)
    assert [answer.count for answer in answers] == [folding.StoryCount(4, 0)] * 2
    items = [{"index": {"_id": str(n), "_seq_no": n}} for n in range(200)]
    assert bulk.parse_answer(json.dumps({"items": items}).encode()) == {"items": items}
    assert longest < 300
