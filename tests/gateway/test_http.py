"""What goes over the wire: bytes in and out, and requests that try to be two things at once."""

from __future__ import annotations

import asyncio
import gzip
import logging
import re
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import http
from esdedup.gateway.upstream import Link
from esdedup.gateway.wire import Wire
from tests.gateway.running import QUICK, Listener, Running, running


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as made:
        yield made


@pytest.fixture
def wire(listener: Listener) -> Iterator[Running]:
    """A gateway before a listener that is no cluster.

    Both anew for each test: what a broken request leaves under way reaches its own listener only.
    """
    options = {"indices": ("news-*",), "max_body": 1 << 20, "pace": QUICK}
    with running(f"elasticsearch+{listener.url}", **options) as made:
        yield made


def request(first: str, *headers: str, body: bytes = b"") -> bytes:
    lines = "".join(f"{line}\r\n" for line in (first, *headers))
    return f"{lines}\r\n".encode("latin-1") + body


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    assert found, answer
    return int(found[1])


# --- one request stays one request ----------------------------------------------------------------

POST, HOST = "POST /other/x HTTP/1.1", "Host: a"
SMUGGLED = b"0\r\n\r\nGET /secret HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 4"],
        ["Content-Length: 4", "Content-Length: 40"],
        ["Content-Length: 4", "Content-Length: 4"],
        ["Content-Length: 4, 4"],
        ["Content-Length: +4"],
        ["Content-Length: -1"],
        ["Content-Length: 0x4"],
        ["Content-Length: 4 4"],
        ["Content-Length:"],
        ["Content-Length : 4"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: identity"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: xchunked"],
        ["Transfer-Encoding:\x0bchunked"],
        ["Transfer-Encoding\t: chunked"],
        [" Transfer-Encoding: chunked"],
        ["X: a\nTransfer-Encoding: chunked"],
        ["X: a\rTransfer-Encoding: chunked"],
        ["X: a\x00b"],
        ["X\x00: a"],
        ["X", "Content-Length: 4"],
        [": empty"],
        ["X: a", " folded"],
        ["Host: b"],
        ["Connection: Authorization"],
        ["Connection: close, X-Proxy-User"],
    ],
)
def test_ambiguous_requests_are_refused(
    wire: Running, listener: Listener, headers: list[str]
) -> None:
    answer = wire.raw(request(POST, HOST, *headers, body=SMUGGLED))
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1") == 1
    assert listener.everything == b""


@pytest.mark.parametrize(
    "first",
    [
        "GET http://evil.example/ HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1", "GET * HTTP/1.1",
        "GET / HTTP/1.1 ", "GET  / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x0b HTTP/1.1", "GET /",
        "GET / HTTP/2.0", "GET / HTTP/1.12", "G\x00T / HTTP/1.1", "GET\t/ HTTP/1.1",
        "PRI * HTTP/2.0", "OPTIONS * HTTP/1.1",
    ],
)  # fmt: skip
def test_request_lines_that_are_none(wire: Running, listener: Listener, first: str) -> None:
    assert status(wire.raw(request(first, HOST))) == 400
    assert listener.everything == b""


@pytest.mark.parametrize(
    "body", [b"5\r\nhello0\r\n\r\n", b"z\r\n\r\n", b"-1\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n",
             b"5\nhello\r\n0\r\n\r\n", b"5;a\nb\r\nhello\r\n0\r\n\r\n"]
)  # fmt: skip
def test_malformed_chunks(wire: Running, listener: Listener, body: bytes) -> None:
    answer = wire.raw(request(POST, HOST, "Transfer-Encoding: chunked", body=body))
    assert answer == b"" or status(answer) in (400, 408, 502)
    assert b"0\r\n\r\n" not in listener.everything, "the cluster never sees a whole request"


def test_headers_between_two_programs_are_not_handed_on(wire: Running, listener: Listener) -> None:
    wire.raw(
        request(
            "GET /x HTTP/1.1", HOST, "Connection: keep-alive, close, Upgrade", "Keep-Alive: 5",
            "Proxy-Authorization: Basic c2VjcmV0", "TE: trailers", "Trailer: X", "Upgrade: h2c",
            "HTTP2-Settings: AAA", "Proxy-Connection: keep-alive", "X-Mine: kept",
            "Authorization: ApiKey abc", "X-Esdedup-Fold: off",
        )
    )  # fmt: skip
    sent = listener.everything.decode().lower()
    for gone in (
        "connection:",
        "keep-alive",
        "proxy-",
        "te:",
        "trailer",
        "upgrade",
        "http2",
        "fold",
    ):
        assert gone not in sent, gone
    assert "x-mine: kept\r\n" in sent
    assert "authorization: apikey abc\r\n" in sent
    assert sent.count("host:") == 1


def test_bytes_pass_unchanged(wire: Running, listener: Listener) -> None:
    """Path, query, names of headers in their case and order, and every byte of a body."""
    body = bytes(range(256)) * 8
    target = "/a%2Fb/..%2f/%00?x=%20+y&y&&=z"
    wire.raw(request(f"POST {target} HTTP/1.1", HOST, "X-oDD: a  b", "x-odd: \xe9",
                     f"Content-Length: {len(body)}", "Connection: close", body=body))  # fmt: skip
    sent = listener.everything
    assert sent.startswith(f"POST {target} HTTP/1.1\r\n".encode())
    assert b"X-oDD: a  b\r\nx-odd: \xe9\r\n" in sent
    assert sent.endswith(b"\r\n\r\n" + body)


def test_keep_alive_pipelining_and_old_clients(wire: Running, listener: Listener) -> None:
    one = request("GET /a HTTP/1.1", HOST)
    last = request("GET /b HTTP/1.1", HOST, "Connection: close")
    answer = wire.raw(b"\r\n" + one + one + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    old = wire.raw(request("GET /a HTTP/1.0"))
    assert status(old) == 200
    assert b"Connection: close" in old


def test_answers_that_could_be_two(listener: Listener, wire: Running) -> None:
    good = listener.answer
    for bad in (
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nx: a\nset-cookie: b\r\ncontent-length: 2\r\n\r\n{}",
        b"hello\r\n\r\n",
    ):
        listener.answer = bad
        answer = wire.raw(request("GET /a HTTP/1.1", HOST, "Connection: close"))
        listener.answer = good
        assert status(answer) == 502, bad


@pytest.mark.parametrize("size", [3, 70_000])
def test_an_answer_that_ends_with_its_connection(
    listener: Listener, wire: Running, size: int
) -> None:
    """The client's connection stays: what comes next must not be a part of this answer."""
    listener.answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + size * b"x"
    listener.closes = True
    one = request("GET /a HTTP/1.1", HOST)
    answers = wire.raw(one + request("GET /b HTTP/1.1", HOST, "Connection: close"))
    judge = h11.Connection(h11.CLIENT)
    bodies = []
    for last in (False, True):
        headers = [("Host", "a"), *([("Connection", "close")] if last else [])]
        judge.send(h11.Request(method="GET", target="/", headers=headers))
        judge.send(h11.EndOfMessage())
        judge.receive_data(b"" if last else answers)
        body = b""
        while not isinstance(event := judge.next_event(), h11.EndOfMessage):
            body += bytes(event.data) if isinstance(event, h11.Data) else b""
        bodies.append(body)
        if not last:
            judge.start_next_cycle()
    assert bodies == [size * b"x"] * 2
    assert listener.connections == 2


def test_early_hints_and_streams(listener: Listener, wire: Running) -> None:
    good = listener.answer
    listener.answer = (
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
        b"Connection: keep-alive, x-secret\r\n\r\n3\r\nabc\r\n2;e=1\r\nde\r\n0\r\nT: 1\r\n\r\n"
    )
    new = wire.raw(request("GET /a HTTP/1.1", HOST, "Connection: close"))
    old = wire.raw(request("GET /a HTTP/1.0", HOST))
    listener.answer = good
    assert new.endswith(b"\r\n\r\nabcde")
    assert old.endswith(b"\r\n\r\nabcde")
    assert b"content-length: 5\r\n" in new
    big = b"x" * 70_000
    listener.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    listener.answer += http.chunk(big) + http.chunk(b"end") + b"0\r\n\r\n"
    new = wire.raw(request("GET /a HTTP/1.1", HOST, "Connection: close"))
    old = wire.raw(request("GET /a HTTP/1.0", HOST))
    listener.answer = good
    judge = h11.Connection(h11.CLIENT)
    judge.send(h11.Request(method="GET", target="/a", headers=[("Host", "a")]))
    judge.send(h11.EndOfMessage())
    judge.receive_data(new)
    body = b""
    while not isinstance(event := judge.next_event(), h11.EndOfMessage):
        body += bytes(event.data) if isinstance(event, h11.Data) else b""
    assert body == big + b"end"
    assert old.endswith(b"\r\n\r\n" + big + b"end")


def test_continue_is_said_before_the_body(wire: Running, listener: Listener) -> None:
    with socket.create_connection(("127.0.0.1", wire.port), timeout=5) as line:
        line.sendall(request(POST, HOST, "Expect: 100-continue", "Content-Length: 2"))
        assert line.recv(1_000).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        line.sendall(b"{}")
        assert status(line.recv(1_000)) == 200
    assert b"expect" not in listener.everything.lower()


# --- too large, too slow --------------------------------------------------------------------------

BULK = "POST /news-1/_bulk HTTP/1.1"
NDJSON = "Content-Type: application/x-ndjson"


def test_bodies_that_are_too_large(wire: Running, listener: Listener) -> None:
    assert status(wire.raw(request(BULK, HOST, NDJSON, f"Content-Length: {2 << 20}"))) == 413
    pieces = b"".join(http.chunk(b"x" * 65_536) for _ in range(20)) + b"0\r\n\r\n"
    answer = wire.raw(request(BULK, HOST, NDJSON, "Transfer-Encoding: chunked", body=pieces))
    assert status(answer) == 413
    assert b"content_too_long_exception" in answer
    assert listener.everything == b""


def test_gzip_bombs(wire: Running, listener: Listener) -> None:
    bomb = gzip.compress(b"\n" * (64 << 20))
    assert len(bomb) < 1 << 17
    for packed in (bomb, gzip.compress(b"\n" * (1 << 19)) * 4, zlib.compress(b"\n" * (8 << 20))):
        answer = wire.raw(request(BULK, HOST, NDJSON, "Content-Encoding: gzip",
                                  f"Content-Length: {len(packed)}", body=packed))  # fmt: skip
        assert status(answer) == 413
    broken = wire.raw(request(BULK, HOST, NDJSON, "Content-Encoding: gzip", "Content-Length: 3",
                              body=b"abc"))  # fmt: skip
    assert status(broken) == 400
    assert listener.everything == b""


def test_heads_that_are_too_large(wire: Running, listener: Listener) -> None:
    long = wire.raw(request("GET / HTTP/1.1", HOST, "X: " + "a" * 70_000))
    many = wire.raw(request("GET / HTTP/1.1", HOST, *["X: a"] * 300))
    assert (status(long), status(many)) == (431, 431)
    assert listener.everything == b""


def test_slow_bodies(wire: Running, listener: Listener) -> None:
    """A pause that is too long, and a drip that never pauses."""
    begin = time.monotonic()
    assert status(wire.raw(request(BULK, HOST, NDJSON, "Content-Length: 10", body=b"{"))) == 408
    assert time.monotonic() - begin < 5
    # One that passes, and of which nothing is sent before it is whole.
    assert status(wire.raw(request(POST, HOST, "Content-Length: 10", body=b"{"))) == 408
    assert listener.everything == b""
    good, listener.answer = listener.answer, b""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=5) as line:
        line.sendall(request("POST /o/x HTTP/1.1", HOST, "Transfer-Encoding: chunked"))
        answer, begin = b"", time.monotonic()
        line.settimeout(0.2)
        while not answer and time.monotonic() - begin < 10:
            try:
                line.sendall(b"1\r\nx\r\n")
                answer = line.recv(1_000)
            except TimeoutError:
                continue
            except ConnectionError:
                break
        listener.answer = good
        assert time.monotonic() - begin < 6
        assert not answer or status(answer) == 408


def test_a_client_that_goes_away_frees_the_cluster(listener: Listener, wire: Running) -> None:
    good, listener.answer = listener.answer, b""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=5) as line:
        line.sendall(request("GET /slow HTTP/1.1", HOST))
        time.sleep(0.3)
    deadline = time.monotonic() + 5
    while wire.gateway._busy and time.monotonic() < deadline:
        time.sleep(0.05)
    listener.answer = good
    assert not wire.gateway._busy


# --- secrets --------------------------------------------------------------------------------------


def test_secrets_are_in_no_log_and_no_answer(
    wire: Running, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    good = listener.answer
    with caplog.at_level(logging.DEBUG):
        for answer in (good, b"HTTP/1.1 500 X\r\ncontent-length: 3\r\n\r\nno!", b"broken\r\n\r\n"):
            listener.answer = answer
            for first, body in (
                ("POST /news-1/_bulk HTTP/1.1", b'{"index":{}}\n{"text":"s3cret words"}\n'),
                ("GET /news-1/_search?q=s3cret&esdedup_fold=group HTTP/1.1", b""),
                ("GET /x?token=s3cret HTTP/1.1", b""),
            ):
                said = wire.raw(
                    request(first, HOST, "Authorization: Basic s3cret", "Cookie: sid=s3cret",
                            NDJSON, f"Content-Length: {len(body)}", "Connection: close", body=body)
                )  # fmt: skip
                assert b"s3cret" not in said
    listener.answer = good
    assert "s3cret" not in caplog.text
    assert repr(wire.gateway.options.target).count("s3cret") == 0


def test_our_own_requests_carry_the_callers_credentials(wire: Running, listener: Listener) -> None:
    body = b'{"index":{}}\n{"text":"words"}\n'
    wire.raw(request(BULK, HOST, NDJSON, "Authorization: ApiKey one", "X-Proxy-User: bob",
                     "es-security-runas-user: carol", f"Content-Length: {len(body)}",
                     "Connection: close", body=body))  # fmt: skip
    heads = listener.everything.lower().split(b"http/1.1\r\n")[1:]
    mine = [head for head in heads if b"authorization: apikey one" in head]
    assert len(mine) >= 2, "one of ours, and the write itself"
    assert all(b"x-proxy-user: bob" in h and b"runas-user: carol" in h for h in mine)


# --- the parser against another one ---------------------------------------------------------------

NAMES = st.sampled_from(
    ["Content-Length", "Transfer-Encoding", "X", "Host", "x y", "", "Connection"]
)
TEXTS = st.sampled_from(
    ["", "0", "5", "chunked", "gzip", "a\nb", "a\rb", "\x00", " 5 ", "5,5", "close"]
)


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=4))
def test_what_we_take_h11_takes_alike(headers: list[tuple[str, str]]) -> None:
    raw = request(POST, *(f"{n}: {v}" for n, v in headers))
    try:
        ours = http.parse_request(raw)
    except http.HttpError:
        return  # stricter is fine
    judge = h11.Connection(h11.SERVER)
    judge.receive_data(raw)
    event = judge.next_event()
    assert isinstance(event, h11.Request)
    theirs = dict(event.headers)
    is_chunked = theirs.get(b"transfer-encoding", b"").lower() == b"chunked"
    assert (ours.framing == "chunked") == is_chunked
    assert ours.length == int(theirs.get(b"content-length", b"0"))


@given(
    st.sampled_from(["200 OK", "204 No Content", "304 Not Modified", "404 ", "500"]),
    st.sampled_from(["GET", "HEAD"]),
    st.lists(st.tuples(NAMES, TEXTS), max_size=4),
)
def test_answers_that_we_take_h11_takes_alike(
    first: str, method: str, headers: list[tuple[str, str]]
) -> None:
    raw = request(f"HTTP/1.1 {first}", *(f"{n}: {v}" for n, v in headers))
    try:
        ours = http.parse_answer(raw, method)
    except http.UpstreamError:
        return  # stricter is fine
    judge = h11.Connection(h11.CLIENT)
    judge.send(h11.Request(method=method, target="/", headers=[("Host", "a")]))
    judge.send(h11.EndOfMessage())
    judge.receive_data(raw)
    event = judge.next_event()
    assert isinstance(event, h11.Response)
    assert event.status_code == ours.status
    theirs = dict(event.headers)
    if method == "HEAD" or ours.status in (204, 304):
        assert ours.framing == "none"
        assert isinstance(judge.next_event(), h11.EndOfMessage)
    else:
        is_chunked = theirs.get(b"transfer-encoding", b"").lower() == b"chunked"
        assert (ours.framing == "chunked") == is_chunked
        assert (ours.framing == "length") == (b"content-length" in theirs)
        assert ours.length == int(theirs.get(b"content-length", b"0"))


HEADS = st.lists(st.lists(st.tuples(NAMES, TEXTS), max_size=3), min_size=1, max_size=6)


@given(HEADS, st.sampled_from([POST, "GET /x HTTP/1.0", "HTTP/1.1 200 OK", "no"]))
def test_what_a_connection_knows_changes_nothing(
    heads: list[list[tuple[str, str]]], first: str
) -> None:
    """A head is read as if it were the first, whatever came before it."""
    requests: http.Known[http.Fields] = http.Known()
    answers: http.Known[http.Fields] = http.Known()

    def told(parse: Callable[[], http.Head]) -> object:
        try:
            return parse()
        except (http.HttpError, http.UpstreamError) as error:
            return str(error)

    for headers in heads:
        raw = request(first, HOST, *(f"{n}: {v}" for n, v in headers))
        alone, known = http.parse_request, partial(http.parse_request, known=requests)
        assert told(partial(known, raw)) == told(partial(alone, raw))
        read, reading = http.parse_answer, partial(http.parse_answer, known=answers)
        assert told(partial(reading, raw, "GET")) == told(partial(read, raw, "GET"))


def test_what_a_connection_knows_is_bounded() -> None:
    known: http.Known[http.Fields] = http.Known()
    for number in range(500):
        http.parse_request(request("GET / HTTP/1.1", HOST, f"X: {number}"), known)
    assert len(known) <= known.most


# --- however the bytes arrive ---------------------------------------------------------------------


class Still(asyncio.Transport):
    """A transport that only keeps what is written."""

    def write(self, data: bytes | bytearray | memoryview) -> None: ...
    def close(self) -> None: ...
    def is_closing(self) -> bool:
        return False


BODIES = st.lists(
    st.tuples(st.binary(max_size=40), st.sampled_from([None, 1, 7, 40])), min_size=1, max_size=4
)
CUTS = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=8)


def framed(body: bytes, size: int | None) -> bytes:
    """An answer with a length, or in chunks of this size with a trailer."""
    if size is None:
        return request("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", body=body)
    chunks = b"".join(http.chunk(body[at : at + size]) for at in range(0, len(body), size))
    return request("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + chunks + b"0\r\nT: 1\r\n\r\n"


def arriving(wire: Wire, raw: bytes, cuts: list[int]) -> Iterator[None]:
    at, number = 0, 0
    while at < len(raw):
        size = cuts[number % len(cuts)]
        wire.data_received(raw[at : at + size])
        at, number = at + size, number + 1
        yield


@given(BODIES, CUTS)
def test_any_split_gives_the_same_messages(
    bodies: list[tuple[bytes, int | None]], cuts: list[int]
) -> None:
    raw = b"".join(framed(*body) for body in bodies)

    async def read() -> list[bytes]:
        link = Link("a")
        link.connection_made(Still())
        coming, out = arriving(link, raw, cuts), []

        async def feed() -> None:
            for _ in coming:
                await asyncio.sleep(0)
            link.connection_lost(None)

        feeding = asyncio.create_task(feed())
        for _ in bodies:
            head = await link.answer_head("GET")
            out.append(b"".join([piece async for piece in http.body_of(link, head)]))
        await feeding
        assert not link.unread
        return out

    assert asyncio.run(read()) == [body for body, _ in bodies]


@given(BODIES, CUTS)
def test_chunks_at_hand_are_those_that_are_waited_for(
    bodies: list[tuple[bytes, int | None]], cuts: list[int]
) -> None:
    """The short way waits exactly until the last byte, and leaves what follows."""
    for body, size in bodies:
        raw = framed(body, size or 3).partition(b"\r\n\r\n")[2]
        for end in range(len(raw)):
            with pytest.raises(IndexError):
                http.whole_chunks(raw[:end])
        assert http.whole_chunks(raw + b"HTTP") == (body, len(raw))


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=4), CUTS)
def test_any_split_gives_the_same_requests(bodies: list[bytes], cuts: list[int]) -> None:
    """Through the gateway's own way of taking them, a link at hand; pipelined."""
    from esdedup.gateway.clients import Client
    from esdedup.gateway.server import Gateway, Options
    from esdedup.stores.connection import Target

    raw = b"".join(
        request(f"POST /other/{n} HTTP/1.1", HOST, f"Content-Length: {len(body)}", body=body)
        for n, body in enumerate(bodies)
    )

    class Echo(Still):
        """A cluster that answers every request at once."""

        def __init__(self, sent: list[bytes]) -> None:
            super().__init__()
            self.sent = sent
            self.link: Link | None = None

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.sent.append(bytes(data))
            if self.link is not None:
                answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
                asyncio.get_running_loop().call_soon(self.link.data_received, answer)

    async def play() -> tuple[list[bytes], list[bytes]]:
        gateway = Gateway(Options(target=Target.parse("elasticsearch+http://127.0.0.1:1")))
        up, down = Echo([]), Echo([])
        up.link = link = Link("up")
        link.connection_made(up)
        link.idle_since = time.monotonic()
        gateway.upstream._idle.append(link)
        client = Client(gateway)
        client.connection_made(down)
        await asyncio.sleep(0)
        for _ in arriving(client, raw, cuts):
            await asyncio.sleep(0)
        for _ in range(3 * len(bodies)):
            await asyncio.sleep(0)
        client.task.cancel()
        await asyncio.wait([client.task])
        gateway.threads.shutdown()
        return up.sent, down.sent

    sent, answers = asyncio.run(play())
    assert [one.partition(b"\r\n\r\n")[2] for one in sent] == bodies
    assert all(one.startswith(b"POST /other/%d " % n) for n, one in enumerate(sent))
    assert len(answers) == len(bodies)


@pytest.mark.parametrize(("method", "told"), [("GET", b"cannot be reached"), ("POST", b"closed")])
def test_only_what_may_be_repeated_is_sent_again(method: str, told: bytes) -> None:
    """The cluster closes a link just when it is used: it may have done what it was asked."""
    from esdedup.gateway.clients import Client
    from esdedup.gateway.server import Gateway, Options
    from esdedup.stores.connection import Target

    class Closing(Still):
        def __init__(self, link: Link) -> None:
            super().__init__()
            self.link = link

        def write(self, data: bytes | bytearray | memoryview) -> None:
            asyncio.get_running_loop().call_soon(self.link.connection_lost, None)

    class Down(Still):
        said = b""

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.said += data

        def can_write_eof(self) -> bool:
            return False

    async def play() -> bytes:
        gateway = Gateway(Options(target=Target.parse("elasticsearch+http://127.0.0.1:1")))
        link = Link("up")
        link.connection_made(Closing(link))
        link.idle_since, link.is_fresh = time.monotonic(), False
        gateway.upstream._idle.append(link)
        client, down = Client(gateway), Down()
        client.connection_made(down)
        client.data_received(request(f"{method} /x HTTP/1.1", HOST))
        await asyncio.wait([client.task], timeout=10)
        gateway.threads.shutdown()
        return down.said

    answer = asyncio.run(play())
    assert status(answer) == 502
    assert told in answer
