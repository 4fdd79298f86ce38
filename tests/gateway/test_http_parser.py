"""The parser of the gateway: it takes what h11 takes, however the bytes arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import http
from esdedup.gateway.connection import Wire
from esdedup.gateway.upstream import Link
from tests.gateway.running import HOST, POST, request, status
from tests.waiting import PATIENCE

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
    from esdedup.stores.cluster.connection import Target

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
        link.is_fresh = False
        gateway.upstream._idle.append(link)
        client, down = Client(gateway), Down()
        client.connection_made(down)
        client.data_received(request(f"{method} /x HTTP/1.1", HOST))
        await asyncio.wait([client.task], timeout=PATIENCE)
        gateway.threads.shutdown()
        return down.said

    answer = asyncio.run(play())
    assert status(answer) == 502
    assert told in answer
