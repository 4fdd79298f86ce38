"""What goes over the wire: bytes in and out, and requests that try to be two things at once."""

from __future__ import annotations

import gzip
import logging
import socket
import zlib
from collections.abc import Iterator

import h11
import pytest

from esdedup.gateway import http
from tests.gateway.running import (
    HOST,
    POST,
    QUICK,
    Listener,
    Running,
    request,
    running,
    status,
)
from tests.support.waiting import PATIENCE, wait_until


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as made:
        yield made


@pytest.fixture
def wire(listener: Listener) -> Iterator[Running]:
    """A gateway before a listener that is no cluster.

    Both anew for each test: what a broken request leaves under way reaches its own listener only.
    """
    with running(f"elasticsearch+{listener.url}", indices=("news-*",), max_body=1 << 20) as made:
        yield made


@pytest.fixture
def hurried(listener: Listener) -> Iterator[Running]:
    """One that waits for a body only shortly."""
    with running(f"elasticsearch+{listener.url}", indices=("news-*",), pace=QUICK) as made:
        yield made


# --- one request stays one request ----------------------------------------------------------------

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
        ["Transfer-Encoding: chunked\xa0"],
        ["Transfer-Encoding: chunked,"],
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
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENCE) as line:
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


def test_slow_bodies(hurried: Running, listener: Listener) -> None:
    """A pause that is too long, and a drip that never pauses."""
    assert status(hurried.raw(request(BULK, HOST, NDJSON, "Content-Length: 10", body=b"{"))) == 408
    # One that passes, and of which nothing is sent before it is whole.
    assert status(hurried.raw(request(POST, HOST, "Content-Length: 10", body=b"{"))) == 408
    assert listener.everything == b""
    good, listener.answer = listener.answer, b""
    with socket.create_connection(("127.0.0.1", hurried.port), timeout=PATIENCE) as line:
        line.sendall(request("POST /o/x HTTP/1.1", HOST, "Transfer-Encoding: chunked"))
        line.settimeout(0.2)
        for _ in range(1_000):
            try:
                line.sendall(b"1\r\nx\r\n")
                answer = line.recv(1_000)
            except TimeoutError:
                continue
            except ConnectionError:
                answer = b""
            break
        else:
            pytest.fail("the drip was never ended")
        listener.answer = good
        assert not answer or status(answer) == 408


def test_a_client_that_goes_away_frees_the_cluster(listener: Listener, wire: Running) -> None:
    good, listener.answer = listener.answer, b""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENCE) as line:
        line.sendall(request("GET /slow HTTP/1.1", HOST))
        wait_until(lambda: b"/slow" in listener.everything)
    wait_until(lambda: not wire.gateway.clients)
    listener.answer = good


# --- secrets --------------------------------------------------------------------------------------


def test_secrets_are_in_no_log_and_no_answer(
    wire: Running, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    good = listener.answer
    wire.gateway.logs_requests = True
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
    assert "GET other" in caplog.text
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
