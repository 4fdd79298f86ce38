"""The parser of the gateway: it takes what h11 takes, however the bytes arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import http
from esdedup.gateway.connection import HttpConnection
from esdedup.gateway.upstream import UpstreamConnection
from tests.gateway.running import HOST, POST, request, status
from tests.support.waiting import PATIENCE

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


# --- however the bytes arrive ---------------------------------------------------------------------


class Still(asyncio.Transport):
    """A transport that only keeps what is written."""

    def write(self, data: bytes | bytearray | memoryview) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...
    def is_closing(self) -> bool:
        return False


CUTS = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=8)


def framed(body: bytes, size: int | None) -> bytes:
    """An answer with a length, or in chunks of this size with a trailer."""
    if size is None:
        return request("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", body=body)
    chunks = b"".join(http.chunk(body[at : at + size]) for at in range(0, len(body), size))
    return request("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + chunks + b"0\r\nT: 1\r\n\r\n"


def arriving(wire: HttpConnection, raw: bytes, cuts: list[int]) -> Iterator[None]:
    at, number = 0, 0
    while at < len(raw):
        size = cuts[number % len(cuts)]
        wire.data_received(raw[at : at + size])
        at, number = at + size, number + 1
        yield


@given(st.binary(max_size=40), st.sampled_from([None, 1, 7, 40]), CUTS)
def test_any_split_gives_the_same_answer(body: bytes, size: int | None, cuts: list[int]) -> None:
    raw = framed(body, size)

    async def read() -> bytes:
        connection = UpstreamConnection("a")
        connection.connection_made(Still())

        async def feed() -> None:
            for _ in arriving(connection, raw, cuts):
                await asyncio.sleep(0)

        feeding = asyncio.create_task(feed())
        head = await connection.read_head("GET")
        out = b"".join([piece async for piece in connection.read_body(head)])
        await feeding
        assert not connection.has_unread
        assert head.keeps_alive
        return out

    assert asyncio.run(read()) == body


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\n", b"x", b"\x00"])
def test_a_connection_ends_with_an_answer_that_is_followed_by_more(more: bytes) -> None:
    async def read() -> tuple[bytes, bool]:
        connection = UpstreamConnection("a")
        connection.connection_made(Still())
        connection.data_received(framed(b"abc", 2) + more)
        head = await connection.read_head("GET")
        out = b"".join([piece async for piece in connection.read_body(head)])
        return out, head.keeps_alive

    assert asyncio.run(read()) == (b"abc", False)


def test_trailers_are_bounded() -> None:
    async def read() -> None:
        connection = UpstreamConnection("a")
        connection.connection_made(Still())
        connection.data_received(framed(b"", 2)[:-5] + b"T: " + b"x" * 200_000)
        head = await connection.read_head("GET")
        with pytest.raises(http.UpstreamError, match="too many trailers"):
            async for _ in connection.read_body(head):
                pass

    asyncio.run(read())


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=4), CUTS)
def test_any_split_gives_the_same_requests(bodies: list[bytes], cuts: list[int]) -> None:
    """Through the gateway's own way of taking them, a link at hand; pipelined."""
    from esdedup.gateway.clients import ClientConnection
    from esdedup.gateway.server import Gateway, Options
    from esdedup.stores.cluster.connection import Target

    raw = b"".join(
        request(f"POST /other/{n} HTTP/1.1", HOST, f"Content-Length: {len(body)}", body=body)
        for n, body in enumerate(bodies)
    )

    class Echo(Still):
        """A cluster that answers every request at once."""

        def __init__(self, sent: list[bytes]) -> None:
            super().__init__()
            self.sent = sent
            self.link: UpstreamConnection | None = None

        def write(self, data: bytes | bytearray | memoryview) -> None:
            self.sent.append(bytes(data))
            if self.link is not None:
                answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
                asyncio.get_running_loop().call_soon(self.link.data_received, answer)

    async def play() -> tuple[list[bytes], list[bytes]]:
        gateway = Gateway(Options(target=Target.parse("elasticsearch+http://127.0.0.1:1")))
        up, down = Echo([]), Echo([])
        up.link = link = UpstreamConnection("up")
        link.connection_made(up)
        link.is_idle = True
        gateway.upstream._idle.append(link)
        client = ClientConnection(gateway)
        client.connection_made(down)
        await asyncio.sleep(0)
        for _ in arriving(client, raw, cuts):
            await asyncio.sleep(0)
        for _ in range(20 * len(bodies)):
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
    from esdedup.gateway.clients import ClientConnection
    from esdedup.gateway.server import Gateway, Options
    from esdedup.stores.cluster.connection import Target

    class Closing(Still):
        def __init__(self, link: UpstreamConnection) -> None:
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
        link = UpstreamConnection("up")
        link.connection_made(Closing(link))
        link.is_fresh = False
        link.is_idle = True
        gateway.upstream._idle.append(link)
        client, down = ClientConnection(gateway), Down()
        client.connection_made(down)
        client.data_received(request(f"{method} /x HTTP/1.1", HOST))
        await asyncio.wait([client.task], timeout=PATIENCE)
        gateway.threads.shutdown()
        return down.said

    answer = asyncio.run(play())
    assert status(answer) == 502
    assert told in answer
