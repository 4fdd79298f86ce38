"""Requests that are forwarded, over the wire: what the cluster sees, and what comes back."""

from __future__ import annotations

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

from tests.gateway.running import HOST, QUICK, Running, read_all, request, running, status
from tests.support.waiting import PATIENCE, wait_until

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


@pytest.fixture(params=["asyncio", "uvloop"])
def wire(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[Running]:
    loops = pytest.importorskip(request.param)
    options = {"indices": ("news-*",), "new_loop": loops.new_event_loop}
    with running(f"elasticsearch+{cluster.url}", **options) as made:
        yield made


GET = request("GET /a HTTP/1.1", HOST)


def exchanged(line: socket.socket, sent: bytes, size: int) -> bytes:
    """This many bytes of what comes back."""
    line.sendall(sent)
    out = bytearray()
    while len(out) < size and (piece := line.recv(1 << 20)):
        out += piece
    return bytes(out)


@contextlib.contextmanager
def connected(wire: Running, *, ready: bool = True) -> Iterator[socket.socket]:
    """A connection on which a request was answered, with a connection to the cluster at hand."""
    with socket.create_connection(("127.0.0.1", wire.port), timeout=PATIENCE) as line:
        if ready:
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
        yield line


def test_a_connection_to_the_cluster_is_kept(wire: Running, cluster: Cluster) -> None:
    with connected(wire) as line:
        for number in range(5):
            path = f"/a/_doc/{10**number}"
            answer = ok(path.encode())
            sent = request(f"GET {path} HTTP/1.1", HOST)
            assert exchanged(line, sent, len(answer)) == answer
    assert wire.gateway.counts["requests"] == wire.gateway.counts["passed"] == 6
    assert cluster.connections == 1
    host = cluster.url.removeprefix("http://").encode()
    assert {head.split(b"\r\n", 1)[1] for head in cluster.heads} == {b"Host: %b\r\n" % host}


def test_each_caller_goes_with_its_own_credentials(wire: Running, cluster: Cluster) -> None:
    """Though all of them share a link."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connected(wire, ready=False)) for _ in range(3)]
        for turn in range(3):
            for name, line in zip("xyz", lines, strict=True):
                mine = request(f"GET /{name} HTTP/1.1", HOST, f"Authorization: {name}")
                body = f"/{name}".encode()
                assert exchanged(line, mine, len(ok(body))) == ok(body), turn
    assert cluster.connections == 1
    for head in cluster.heads:
        found = re.fullmatch(rb"GET /(\w) HTTP/1.1\r\nHost: .*\r\nAuthorization: (\w)\r\n", head)
        assert found is not None
        assert found[1] == found[2]


def test_pipelined_reads_are_answered_in_turn(wire: Running) -> None:
    paths = [f"/{n}".encode() for n in range(20)]
    sent = b"".join(request(f"GET {path.decode()} HTTP/1.1", HOST) for path in paths)
    wanted = b"".join(map(ok, paths))
    with connected(wire) as line:
        assert exchanged(line, sent, len(wanted)) == wanted
        # The first comes alone, the others while it is under way.
        line.sendall(GET)
        assert exchanged(line, sent, len(ok(b"/a") + wanted)) == ok(b"/a") + wanted
    assert wire.gateway.counts["passed"] == 42


def test_a_read_that_comes_in_pieces(wire: Running) -> None:
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
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx: a\r\n\r\none",
        ),
    ],
)
def test_answers_of_another_kind(
    wire: Running, cluster: Cluster, answer: list[bytes], wanted: bytes
) -> None:
    """Each of them twice, between others: nothing of it is taken for the next answer."""
    usual = cluster.answering
    cluster.answering = lambda head: answer if b"/other" in head else usual(head)
    other = request("GET /other HTTP/1.1", HOST)
    with connected(wire) as line:
        for _ in range(2):
            assert exchanged(line, other, len(wanted)) == wanted
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")


def test_a_head_is_asked_for_between_reads(wire: Running, cluster: Cluster) -> None:
    """Its answer has the head of a body that does not come."""
    usual = cluster.answering
    cluster.answering = lambda head: [ok(b"/a")[:-2]] if head[:4] == b"HEAD" else usual(head)
    with connected(wire) as line:
        for _ in range(2):
            sent = request("HEAD /a HTTP/1.1", HOST)
            assert exchanged(line, sent, len(ok(b"/a")) - 2) == ok(b"/a")[:-2]
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")


def test_bodies_and_continue_between_reads(wire: Running, cluster: Cluster) -> None:
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


def test_refusals_after_a_read(wire: Running, cluster: Cluster) -> None:
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
    wire: Running, cluster: Cluster, pieces: list[bytes]
) -> None:
    """Just when it is used again: a read is sent once more, on a new one."""
    usual, closing = cluster.answering, [pieces]
    cluster.answering = lambda head: closing.pop() if b"/late" in head and closing else usual(head)
    with connected(wire) as line:
        sent = request("GET /late HTTP/1.1", HOST)
        assert exchanged(line, sent, len(ok(b"/late"))) == ok(b"/late")
    assert [head.split(b" ")[1] for head in cluster.heads] == [b"/a", b"/late", b"/late"]
    assert cluster.connections == 2


def test_a_link_that_was_closed_between_two_reads(wire: Running, cluster: Cluster) -> None:
    usual = cluster.answering
    cluster.answering = lambda head: [*usual(head), b""]
    with connected(wire) as line:
        for _ in range(3):
            wait_until(lambda: all(link.is_closing for link in wire.gateway.upstream._idle))
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert cluster.connections == 4
    assert len(cluster.heads) == 4


def test_an_answer_that_nobody_asked_for_ends_a_connection(wire: Running, cluster: Cluster) -> None:
    """At once, not when the connection is used again."""
    usual = cluster.answering
    cluster.answering = lambda head: [*usual(head), ok(b"poison")]
    with connected(wire) as line:
        for _ in range(3):
            wait_until(lambda: cluster.ended == cluster.connections)
            assert exchanged(line, GET, len(ok(b"/a"))) == ok(b"/a")
    assert cluster.connections == 4


def test_links_that_are_idle_for_long_are_closed(wire: Running) -> None:
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


def test_a_caller_that_goes_away_ends_its_link(wire: Running, cluster: Cluster) -> None:
    usual = cluster.answering
    cluster.answering = lambda head: [] if b"/slow" in head else usual(head)
    with connected(wire) as line:
        line.sendall(request("GET /slow HTTP/1.1", HOST))
        wait_until(lambda: len(cluster.heads) == 2)
    wait_until(lambda: cluster.ended == 1)
    wait_until(lambda: not wire.gateway.clients)
    assert not wire.gateway.upstream._idle


def test_nothing_of_a_caller_stays_when_it_is_gone(wire: Running, cluster: Cluster) -> None:
    mine = request("GET /a HTTP/1.1", HOST, "Authorization: s3cret")
    gc.collect()
    gc.disable()
    try:
        with connected(wire, ready=False) as line:
            for _ in range(2):
                assert exchanged(line, mine, len(ok(b"/a"))) == ok(b"/a")
            (client,) = wire.gateway.clients
            gone = weakref.ref(client)
            del client
        wait_until(lambda: gone() is None)
    finally:
        gc.enable()


def test_a_caller_that_reads_slowly_is_waited_for(wire: Running, cluster: Cluster) -> None:
    """Answers that are held as a whole, and one that is not; more than sockets hold."""
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


def test_a_caller_that_never_reads_is_given_up(cluster: Cluster) -> None:
    cluster.answering = lambda head: [ok(b"l" * 30_000_000)]
    with (
        running(f"elasticsearch+{cluster.url}", pace=QUICK) as made,
        connected(made, ready=False) as line,
    ):
        line.sendall(GET)
        wait_until(lambda: cluster.connections == 1)
        wait_until(lambda: cluster.ended == 1)
        wait_until(lambda: not made.gateway.clients)


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
            wait_until(lambda: len(wire.gateway.clients) == 2)
            threading.Timer(0.3, is_stopping.set).start()
        assert read_all(line) == ok(b"/slow")
        assert read_all(idle) == b""
