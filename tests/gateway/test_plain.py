"""Reads that cross without being read: what they become, and what is not taken for one."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import header_cache as plain
from esdedup.gateway import http, routes
from esdedup.gateway.clients import Client
from esdedup.gateway.server import Gateway, Options
from esdedup.gateway.upstream import Link
from esdedup.stores.cluster.connection import Target
from tests.gateway.running import HOST, Running, read_all, request, running, status
from tests.waiting import PATIENCE, wait_until

# --- against the way that reads everything --------------------------------------------------------

LINES = st.lists(
    st.sampled_from(
        [
            "Accept: a", "Authorization: b", "Connection: keep-alive", "Connection: close",
            "Connection: Accept", "Content-Length: 0", "content-length:0", "Content-Length: 3",
            "Transfer-Encoding: chunked", "Expect: 100-continue", "X-Esdedup-Fold: group",
            "TE: trailers", "X: \xe9", "X : a", "Host: b", "X: a\nY: b",
        ]
    ),
    max_size=4,
)  # fmt: skip
FIRSTS = st.sampled_from(
    [
        "GET /a/_doc/1 HTTP/1.1", "GET / HTTP/1.1", "GET /a?x=y HTTP/1.1", "GET /a HTTP/1.0",
        "POST /a HTTP/1.1", "HEAD /a HTTP/1.1", "GET /a/_search HTTP/1.1", "GET a HTTP/1.1",
        "GET /a/_sear%63h HTTP/1.1", "GET /a/_doc/b%3A%2f%2Fc%C3%A9 HTTP/1.1",
        "GET /a/%5Fcount HTTP/1.1", "GET /a%2F_search HTTP/1.1",
        "GET /a/_count HTTP/1.1", "GET /_msearch HTTP/1.1",
        "GET /_esdedup/status HTTP/1.1", "GET /a?esdedup_fold=group HTTP/1.1",
        "GET /a?%65sdedup_fold=off HTTP/1.1", "GET  /a HTTP/1.1", "GET /a b HTTP/1.1",
        "GET /\x00 HTTP/1.1", "GET /a\n HTTP/1.1", "GET /a HTTP/1.1 ", "get /a HTTP/1.1",
        "GET /\xe9 HTTP/1.1", "GET /a\tb HTTP/1.1", f"GET /{'a' * 5_000} HTTP/1.1", "",
    ]
)  # fmt: skip
TAILS = st.sampled_from([b"", b"x", b"\r\n", b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n"])


@given(st.lists(st.tuples(FIRSTS, LINES), min_size=2, max_size=8), TAILS)
def test_a_plain_read_is_what_it_would_be_if_it_were_read(
    messages: list[tuple[str, list[str]]], tail: bytes
) -> None:
    known: http.Known[bytes] = http.Known()
    for first, lines in messages:
        raw = request(first, HOST, *lines)
        for cut in (raw[:-1], raw[:-2], raw + tail if tail else raw[:-3]):
            assert plain.read_of(cut, known) is None
        found = plain.read_of(raw, known)
        try:
            head = http.parse_request(raw)
        except http.HttpError:
            assert found is None
            continue
        if found is not None:
            path, query = routes.split_target(head.target)
            assert head.framing == "none"
            assert head.keeps_alive
            assert routes.route_of(head.method, path) == routes.OTHER
            assert routes.without_parameter(query, "esdedup_fold") == (query, None)
            sent = found[0] + b"\r\n" + found[1]
            assert sent == http.request_head(head.method, head.target, head.passed)
        plain.learn_read(raw, head, known)


def test_a_read_like_the_one_before_is_plain() -> None:
    known: http.Known[bytes] = http.Known()
    lines = HOST, "Connection: keep-alive", "Authorization: b"
    first = request("GET /a/_doc/1 HTTP/1.1", *lines)
    assert plain.read_of(first, known) is None
    plain.learn_read(first, http.parse_request(first), known)
    for line in ("GET /b/_doc/2?routing=c HTTP/1.1", "GET /b/_doc/c%3A%2F%2Fd%C3%A9 HTTP/1.1"):
        found = plain.read_of(request(line, *lines), known)
        assert found == (line.encode(), b"Authorization: b\r\n\r\n")


def test_no_head_is_longer_than_one_that_is_read() -> None:
    known: http.Known[bytes] = http.Known()
    lines = HOST, "X: " + "a" * (http.MAX_HEAD - 2_000)
    raw = request("GET /a HTTP/1.1", *lines)
    plain.learn_read(raw, http.parse_request(raw), known)
    assert plain.read_of(request(f"GET /{'a' * 3_000} HTTP/1.1", *lines), known) is None


ANSWERS = st.builds(
    lambda first, lines, body: request(first, *lines, body=body),
    st.sampled_from(
        ["HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 204 No Content", "HTTP/1.0 200 OK",
         "HTTP/1.1 304 Not Modified", "HTTP/1.1 103 Early Hints", "HTTP/1.1 200", "no"]
    ),
    st.lists(
        st.sampled_from(
            ["content-length: 0", "content-length: 2", "content-length: 02", "content-length: 12",
             "content-length: +2", "content-length: 2 ", "content-length:2", "Content-Length: 2",
             "x: a", "x:a", "x: 2", "connection: close", "connection: keep-alive",
             "transfer-encoding: chunked"]
        ),
        max_size=3,
    ),
    st.sampled_from([b"", b"{}", b"{}HTTP/1.1 200 OK\r\n\r\n", b"0\r\n\r\n", b"a b\r\n\r\n{} 12"]),
)  # fmt: skip


@given(st.lists(ANSWERS, min_size=2, max_size=8), st.integers(min_value=1, max_value=12))
def test_a_plain_answer_is_what_it_would_be_if_it_were_read(raws: list[bytes], cut: int) -> None:
    known: http.Known[bool] = http.Known()
    for raw in raws:
        end = raw.find(b"\r\n\r\n") + 4
        try:
            head = http.parse_answer(raw[:end], "GET")
        except http.UpstreamError:
            assert not plain.is_answer(raw, known)
            continue
        if plain.is_answer(raw, known):
            assert head.framing == "length"
            assert head.length == len(raw) - end
            assert head.keeps_alive
            assert head.start + b"\r\n" == raw[:end]
            assert not any(plain.is_answer(raw[:at], known) for at in range(len(raw)))
            assert not plain.is_answer(raw + cut * b"x", known)
        plain.learn_answer(raw[:end], head, known)


def test_a_length_that_is_cut_short_is_none() -> None:
    """What is there could be as long as the first digits of the length say."""
    known: http.Known[bool] = http.Known()
    head = request("HTTP/1.1 200 OK", "x: " + 80 * "a", "content-length: 2")
    plain.learn_answer(head, http.parse_answer(head, "GET"), known)
    assert plain.is_answer(head + b"{}", known)
    begin = head[:-5]
    for length in range(2_000):
        assert not plain.is_answer(begin + b"%d" % length, known)


# --- over the wire --------------------------------------------------------------------------------

Answering = Callable[[bytes], list[bytes]]
OK = b"HTTP/1.1 200 OK\r\ncontent-type: a\r\ncontent-length: %d\r\n\r\n%b"


def ok(body: bytes) -> bytes:
    return OK % (len(body), body)


@dataclass
class Cluster:
    """Answers each head by the pieces that `answering` gives; an empty one ends the connection."""

    answering: Answering = lambda head: [ok(head.split(b" ")[1])]
    heads: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    ended: int = 0
    _socket: socket.socket = field(default_factory=socket.socket)

    def __enter__(self) -> Cluster:
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._socket.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as coming, contextlib.suppress(OSError):
            while head := _head(coming):
                length = re.search(rb"(?i)content-length: ([0-9]+)", head)
                self.bodies.append(coming.read(int(length[1]) if length else 0))
                self.heads.append(head)
                for answer in self.answering(head):
                    if not answer:
                        return
                    line.sendall(answer)
                    time.sleep(0.01)
        self.ended += 1


def _head(coming: BinaryIO) -> bytes:
    """Without its empty line; nothing after the end."""
    out = b""
    while (one := coming.readline()) not in (b"", b"\r\n"):
        out += one
    return out


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@dataclass
class Crossings(Running):
    """A gateway that counts the reads it did not read."""

    reads: int = 0


@pytest.fixture(params=["asyncio", "uvloop"])
def wire(
    request: pytest.FixtureRequest, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Crossings]:
    loops = pytest.importorskip(request.param)
    options = {"indices": ("news-*",), "new_loop": loops.new_event_loop}
    with running(f"elasticsearch+{cluster.url}", **options) as made:
        found = Crossings(port=made.port, gateway=made.gateway, loop=made.loop)
        counted = made.gateway.began_read

        def began_read(client: Client) -> None:
            found.reads += 1
            counted(client)

        monkeypatch.setattr(made.gateway, "began_read", began_read)
        yield found


GET = request("GET /a HTTP/1.1", HOST)


class Kept(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def close(self) -> None: ...
    def is_closing(self) -> bool:
        return False


def exchanged(line: socket.socket, sent: bytes, size: int) -> bytes:
    """This many bytes of what comes back."""
    line.sendall(sent)
    out = bytearray()
    while len(out) < size and (piece := line.recv(1 << 20)):
        out += piece
    return bytes(out)


@contextlib.contextmanager
def connected(wire: Running, *, ready: bool = True) -> Iterator[socket.socket]:
    """A connection whose next read is plain if it is like `GET`, with a link at hand for it."""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENCE) as line:
        if ready:
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
        yield line


def test_reads_of_one_kind_cross_at_once(wire: Crossings, cluster: Cluster) -> None:
    with connected(wire) as line:
        for number in range(5):
            path = f"/a/_doc/{10**number}"
            answer = ok(path.encode())
            sent = request(f"GET {path} HTTP/1.1", HOST)
            assert exchanged(line, sent, len(answer)) == answer
    assert wire.reads == 5
    assert wire.gateway.counts["requests"] == wire.gateway.counts["passed"] == 6
    assert cluster.connections == 1
    host = cluster.url.removeprefix("http://").encode()
    assert {head.split(b"\r\n", 1)[1] for head in cluster.heads} == {b"Host: %b\r\n" % host}


def test_each_caller_goes_with_its_own_credentials(wire: Crossings, cluster: Cluster) -> None:
    """Though all of them share a link."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connected(wire, ready=False)) for _ in range(3)]
        for turn in range(3):
            for name, line in zip("xyz", lines, strict=True):
                mine = request(f"GET /{name} HTTP/1.1", HOST, f"Authorization: {name}")
                body = f"/{name}".encode()
                assert exchanged(line, mine, len(ok(body))) == ok(body), turn
    assert wire.reads == 6
    assert cluster.connections == 1
    for head in cluster.heads:
        found = re.fullmatch(rb"GET /(\w) HTTP/1.1\r\nHost: .*\r\nAuthorization: (\w)\r\n", head)
        assert found is not None
        assert found[1] == found[2]


def test_pipelined_reads_are_answered_in_turn(wire: Crossings) -> None:
    paths = [f"/{n}".encode() for n in range(20)]
    sent = b"".join(request(f"GET {path.decode()} HTTP/1.1", HOST) for path in paths)
    wanted = b"".join(map(ok, paths))
    with connected(wire) as line:
        assert exchanged(line, sent, len(wanted)) == wanted
        # The first comes alone and crosses, the others while it is under way.
        line.sendall(GET)
        wait_until(lambda: wire.reads == 1)
        assert exchanged(line, sent, len(ok(b"/a") + wanted)) == ok(b"/a") + wanted
    assert wire.gateway.counts["passed"] == 42


def test_a_read_that_comes_in_pieces(wire: Crossings) -> None:
    with connected(wire) as line:
        for at in range(1, len(GET)):
            line.sendall(GET[:at])
            time.sleep(0.002)
            assert exchanged(line, GET[at:], len(ok(b"/a"))) == ok(b"/a")


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ([b"HTTP/1.1 204 No Content\r\nx: a\r\n\r\n"], b"HTTP/1.1 204 No Content\r\nx: a\r\n\r\n"),
        (
            [b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n"],
            b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n",
        ),
        ([ok(b"one")[:9], ok(b"one")[9:]], ok(b"one")),
        ([ok(b"one")[:-2], ok(b"one")[-2:]], ok(b"one")),
        ([b"HTTP/1.1 100 Continue\r\n\r\n" + ok(b"one")], ok(b"one")),
        ([b"HTTP/1.1 103 Early Hints\r\n\r\n", ok(b"one")], ok(b"one")),
        (
            [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n", b"0\r\n\r\n"],
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none",
        ),
        (
            [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\none", b""],
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none",
        ),
        ([ok(b"one") + b"more"], ok(b"one")),
        (
            [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: a\r\n\r\none"],
            b"HTTP/1.1 200 OK\r\nx: a\r\ncontent-length: 3\r\n\r\none",
        ),
    ],
)
def test_answers_of_another_kind(
    wire: Crossings, cluster: Cluster, answer: list[bytes], wanted: bytes
) -> None:
    """Each of them twice, between others: nothing of it is taken for the next answer."""
    usual = cluster.answering
    cluster.answering = lambda head: answer if b"/other" in head else usual(head)
    other = request("GET /other HTTP/1.1", HOST)
    with connected(wire) as line:
        for _ in range(2):
            assert exchanged(line, other, len(wanted)) == wanted
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert wire.reads >= 2


def test_a_head_is_asked_for_between_reads(wire: Crossings, cluster: Cluster) -> None:
    """Its answer has the head of a body that does not come."""
    usual = cluster.answering
    cluster.answering = lambda head: [ok(b"/a")[:-2]] if head[:4] == b"HEAD" else usual(head)
    with connected(wire) as line:
        for _ in range(2):
            sent = request("HEAD /a HTTP/1.1", HOST)
            assert exchanged(line, sent, len(ok(b"/a")) - 2) == ok(b"/a")[:-2]
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert wire.reads == 2


def test_bodies_and_continue_between_reads(wire: Crossings, cluster: Cluster) -> None:
    body = GET  # never taken for a request itself
    post = request("POST /o/x HTTP/1.1", HOST, f"Content-Length: {len(body)}")
    asking = request("POST /o/x HTTP/1.1", HOST, "Expect: 100-continue", "Content-Length: 2")
    go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    with connected(wire) as line:
        line.sendall(post)
        time.sleep(0.05)
        assert exchanged(line, body, len(ok(b"/o/x"))) == ok(b"/o/x")
        assert exchanged(line, asking, len(go_on)) == go_on
        assert exchanged(line, b"{}", len(ok(b"/o/x"))) == ok(b"/o/x")
        assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert cluster.bodies == [b"", body, b"{}", b""]
    assert wire.reads == 1


def test_refusals_after_a_read(wire: Crossings, cluster: Cluster) -> None:
    for bad in (
        request("GET /a\x0b HTTP/1.1", HOST),
        request("GET http://b/ HTTP/1.1", HOST),
        request("GET /a HTTP/1.1", HOST, "Content-Length: 1", "Transfer-Encoding: chunked"),
        request("GET /a HTTP/1.1", HOST, "Connection: Host"),
    ):
        with connected(wire) as line:
            seen = len(cluster.heads)
            line.sendall(bad)
            assert status(read_all(line)) == 400
            assert len(cluster.heads) == seen


@pytest.mark.parametrize("pieces", [[b""], [b"HTTP/1.1 2", b""]])
def test_a_link_that_the_cluster_closes(
    wire: Crossings, cluster: Cluster, pieces: list[bytes]
) -> None:
    """Just when it is used again: a read is sent once more, on a new one."""
    usual, closing = cluster.answering, [pieces]
    cluster.answering = lambda head: closing.pop() if b"/late" in head and closing else usual(head)
    with connected(wire) as line:
        sent = request("GET /late HTTP/1.1", HOST)
        assert exchanged(line, sent, len(ok(b"/late"))) == ok(b"/late")
    assert [head.split(b" ")[1] for head in cluster.heads] == [b"/a", b"/late", b"/late"]
    assert cluster.connections == 2


def test_a_link_that_was_closed_between_two_reads(wire: Crossings, cluster: Cluster) -> None:
    usual = cluster.answering
    cluster.answering = lambda head: [*usual(head), b""]
    with connected(wire) as line:
        for _ in range(3):
            wait_until(lambda: all(link._has_ended for link in wire.gateway.upstream._idle))
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert cluster.connections == 4
    assert len(cluster.heads) == 4


def test_bytes_that_nobody_asked_for_end_a_link(wire: Crossings, cluster: Cluster) -> None:
    usual = cluster.answering
    cluster.answering = lambda head: [*usual(head), ok(b"poison")]

    def has_come() -> bool:
        """With the answer, which ends the link at once, or after it."""
        is_held = any(link.held for link in wire.gateway.upstream._idle)
        return is_held or cluster.ended == cluster.connections

    with connected(wire) as line:
        for _ in range(3):
            wait_until(has_come)
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert cluster.connections == 4


def test_links_that_are_idle_for_long_are_closed(wire: Crossings) -> None:
    upstream = wire.gateway.upstream
    with connected(wire):
        wait_until(lambda: upstream._idle)
        (link,) = upstream._idle
        for now, is_open in ((100.0, True), (149.0, True), (151.0, False)):
            link.idle_since = link.idle_since and 100.0
            wire.loop.call_soon_threadsafe(upstream.close_old, now)
            if is_open:
                wait_until(lambda: link.idle_since)
                assert upstream._idle == [link]
            else:
                wait_until(lambda: not upstream._idle)


def test_a_caller_that_goes_away_ends_its_link(wire: Crossings, cluster: Cluster) -> None:
    usual = cluster.answering
    cluster.answering = lambda head: [] if b"/slow" in head else usual(head)
    with connected(wire) as line:
        line.sendall(request("GET /slow HTTP/1.1", HOST))
        wait_until(lambda: wire.reads == 1)
    wait_until(lambda: cluster.ended == 1)
    wait_until(lambda: not wire.gateway._clients)
    assert not wire.gateway.upstream._idle


def test_nothing_of_a_caller_stays_when_it_is_gone(wire: Crossings, cluster: Cluster) -> None:
    mine = request("GET /a HTTP/1.1", HOST, "Authorization: s3cret")
    gc.collect()
    gc.disable()
    try:
        with connected(wire, ready=False) as line:
            for _ in range(2):
                assert exchanged(line, mine, len(ok(b"/a"))) == ok(b"/a")
            (client,) = wire.gateway._clients
            assert client.plain
            gone = weakref.ref(client)
            del client
        wait_until(lambda: gone() is None)
    finally:
        gc.enable()
    assert wire.reads == 1


def test_a_caller_that_reads_slowly_is_waited_for(wire: Crossings, cluster: Cluster) -> None:
    """Answers of a size that crosses at once, and one that does not; more than sockets hold."""
    short, long = b"s" * 60_000, b"l" * 8_000_000
    usual = cluster.answering
    cluster.answering = lambda head: (
        [ok(short)] if b"/short" in head else [ok(long)] if b"/long" in head else usual(head)
    )
    sent = [b"short"] * 50 + [b"long"] * 2 + [b"short"] * 50
    wanted = b"".join(ok(short if name == b"short" else long) for name in sent)
    with connected(wire) as line:
        for name in sent:
            line.sendall(b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % name)
        time.sleep(0.5)
        assert exchanged(line, b"", len(wanted)) == wanted
        assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")


def test_an_answer_that_is_not_taken_holds_back_the_next_request() -> None:
    """The socket of the caller is full: nothing more is asked of the cluster for it."""

    async def play() -> tuple[list[bytes], list[bytes]]:
        gateway = Gateway(Options(target=Target.parse("elasticsearch+http://127.0.0.1:1")))
        client, link = Client(gateway), Link("up")
        up, down = Kept(), Kept()
        link.connection_made(up)
        gateway.upstream.keep(link)
        client.connection_made(down)
        await asyncio.sleep(0)
        for _ in range(2):  # the second one is plain
            client.data_received(GET)
            link.data_received(ok(b"/a"))
        client.data_received(GET)
        client.pause_writing()
        link.data_received(ok(b"/a"))
        client.data_received(GET)
        await asyncio.sleep(0.01)
        assert len(up.written) == 3
        client.resume_writing()
        while len(up.written) < 4:
            await asyncio.sleep(0)
        client.task.cancel()
        await asyncio.wait([client.task])
        gateway.threads.shutdown()
        return up.written, down.written

    asked, answered = asyncio.run(play())
    assert len(asked) == 4
    assert answered == [ok(b"/a")] * 3


def test_a_gateway_that_stops_finishes_the_read_in_hand(cluster: Cluster) -> None:
    usual, is_stopping = cluster.answering, threading.Event()

    def answering(head: bytes) -> list[bytes]:
        if b"/slow" in head:
            is_stopping.wait(PATIENCE)
        return usual(head)

    cluster.answering = answering
    with contextlib.ExitStack() as stack:
        with running(f"elasticsearch+{cluster.url}") as wire:
            line = stack.enter_context(connected(wire))
            idle = stack.enter_context(connected(wire, ready=False))
            line.sendall(request("GET /slow HTTP/1.1", HOST))
            wait_until(lambda: wire.gateway.counts["passed"] == 2)
            wait_until(lambda: len(wire.gateway._clients) == 2)
            threading.Timer(0.3, is_stopping.set).start()
        assert read_all(line) == ok(b"/slow")
        assert read_all(idle) == b""


def test_long_heads_are_not_kept() -> None:
    """A connection may send them before anybody is authenticated."""
    known: http.Known[bool] = http.Known()
    known.add(b"x" * known.longest, True)
    known.add(b"y" * (known.longest + 1), True)
    assert set(known) == {b"x" * known.longest}
