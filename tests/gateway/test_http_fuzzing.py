"""Mutated requests, read by the gateway, by llhttp and by h11: whatever the gateway takes for a
request, both of the others read as the same request, with the same body and the same end.

A message that the gateway refuses may be anything: being stricter is fine. The mutations are drawn
from a seed, so a run is the same everywhere.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
import httptools
import pytest

from esdedup.gateway import http
from esdedup.gateway.connection import HttpConnection
from tests.gateway.test_http_parser import Still

# (method, target, body) of each request on a connection
Requests = list[tuple[bytes, bytes, bytes]]
CASES = 4_000

GOOD = [
    b"GET /news/_doc/1 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /_bulk HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
    b"PUT /news/_doc/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nT: 1\r\n\r\n",
    b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nAccept: */*\r\n\r\n",
    b"POST /x HTTP/1.0\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc",
    b"DELETE /a?b=%2F HTTP/1.1\r\nhost: a\r\nContent-length: 0\r\n\r\n",
]
PIECES = [
    b"\r\n", b"\n", b"\r", b"\x00", b" ", b"\t", b":", b",", b";", b"\x0b", b"\xa0", b"\xff",
    b"0\r\n\r\n", b"Content-Length: 5\r\n", b"Content-Length: +5\r\n", b"Content-Length: 5, 5\r\n",
    b"Content-Length: 0x5\r\n", b"Content-Length:\r\n", b"Content-Length : 5\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked, identity\r\n",
    b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding: chunked\xa0\r\n", b"Transfer-Encoding:\x0bchunked\r\n",
    b"Transfer-Encoding: identity\r\n", b" folded\r\n", b"Connection: close\r\n",
    b"Connection: content-length\r\n", b"Host: b\r\n", b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\n", b"GET / HTTP/1.1\r\n", b"HTTP/1.1", b"HTTP/2.0", b"HTTP/0.9",
    b"ffffffffffffffff\r\n", b"-1\r\n", b"5 \r\n", b"5\n", b"0_5\r\n", b"http://a/", b"*",
]  # fmt: skip


def mutated(seed: int) -> bytes:
    """One to three requests with up to four changes."""
    chance = random.Random(seed)
    raw = bytearray(b"".join(chance.choices(GOOD, k=chance.randrange(1, 4))))
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(raw))
        match chance.randrange(5):
            case 0:
                raw[at:at] = chance.choice(PIECES)
            case 1:  # at the beginning of a line
                start = raw.rfind(b"\n", 0, at) + 1
                raw[start:start] = chance.choice(PIECES)
            case 2:
                del raw[at : at + chance.randrange(1, 4)]
            case 3:
                raw[at] = chance.randrange(256)
            case 4:
                end = at + chance.randrange(1, 20)
                raw[at:at] = raw[at:end]
    return bytes(raw)


def read_by_gateway(raw: bytes) -> Requests:
    async def read() -> Requests:
        connection, found = HttpConnection(), []
        connection.connection_made(Still())
        connection.data_received(raw)
        connection.connection_lost(None)
        try:
            while True:
                head = http.parse_request(await connection.read_until(b"\r\n\r\n", http.MAX_HEAD))
                body = b"".join([piece async for piece in http.read_body(connection, head)])
                found.append((head.method.encode(), head.target.encode("latin-1"), body))
                if not head.keeps_alive:
                    return found
        except (http.HttpError, asyncio.IncompleteReadError):
            return found

    return asyncio.run(read())


class _Llhttp:
    def __init__(self) -> None:
        self.found: Requests = []
        self.parser: Any = httptools.HttpRequestParser(self)
        self._target = self._body = b""

    def on_message_begin(self) -> None:
        self._target = self._body = b""

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.found.append((self.parser.get_method(), self._target, self._body))


def read_by_llhttp(raw: bytes) -> Requests:
    reader = _Llhttp()
    try:
        reader.parser.feed_data(raw)
    except httptools.HttpParserUpgrade as upgrade:  # offered, and not taken
        return reader.found + read_by_llhttp(raw[upgrade.args[0] :])
    except httptools.HttpParserError:
        pass
    return reader.found


def read_by_h11(raw: bytes) -> Requests:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=http.MAX_HEAD)
    connection.receive_data(raw)
    found: Requests = []
    body = b""
    request: h11.Request | None = None
    try:
        while True:
            match connection.next_event():
                case h11.Request() as request:
                    body = b""
                case h11.Data() as data:
                    body += bytes(data.data)
                case h11.EndOfMessage() if request is not None:
                    found.append((bytes(request.method), bytes(request.target), body))
                    connection.send(h11.Response(status_code=200, headers=[]))
                    connection.send(h11.EndOfMessage())
                    if connection.our_state is h11.MUST_CLOSE:  # it keeps none of version 1.0
                        return found + read_by_h11(connection.trailing_data[0])
                    connection.start_next_cycle()
                case _:
                    return found
    except h11.ProtocolError as error:
        if "no request line" in str(error):  # an empty line, which RFC 9112 lets a server skip
            return found + read_by_h11(connection.trailing_data[0])
        return found


@pytest.mark.parametrize("read", [read_by_llhttp, read_by_h11])
def test_what_the_gateway_takes_others_read_alike(read: Callable[[bytes], Requests]) -> None:
    taken: Counter[int] = Counter()
    for seed in range(CASES):
        raw = mutated(seed)
        ours = read_by_gateway(raw)
        assert read(raw)[: len(ours)] == ours, (seed, raw)
        taken[len(ours)] += 1
    # Enough of both: requests that are taken, and connections that end with a refusal at once.
    assert taken[0] > CASES // 10
    assert sum(taken.values()) - taken[0] > CASES // 4
