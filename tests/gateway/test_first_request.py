"""A connection's first request, of which bytes come before the connection's task takes a step."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from esdedup.gateway.clients import ClientConnection
from esdedup.gateway.server import Gateway, Options
from esdedup.stores.cluster.connection import Target

BODY = b"x" * 300_000


class Caller:
    """Keeps what is written to it."""

    def __init__(self) -> None:
        self.told = b""

    def write(self, data: bytes) -> None:
        self.told += data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...


async def turn() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_body_is_not_taken_for_the_next_head() -> None:
    async def run() -> bytes:
        gateway = Gateway(Options(Target.parse("http://127.0.0.1:9/news", {})))
        caller = Caller()
        client = ClientConnection(gateway)
        client.connection_made(cast(Any, caller))
        client.data_received(b"POST /_esdedup/status HTTP/1.1\r\nHost: a\r\n")
        client.data_received(b"Content-Length: %d\r\n\r\n" % len(BODY))
        await turn()
        client.data_received(BODY[:200_000])
        await turn()
        client.data_received(BODY[200_000:])
        await turn()
        client.data_received(b"GET /_esdedup/status HTTP/1.1\r\nHost: a\r\n\r\n")
        await turn()
        client.connection_lost(None)
        await turn()
        return caller.told

    told = asyncio.run(run())
    assert told.count(b"HTTP/1.1 200 OK") == 2
    assert told.count(b"HTTP/1.1") == 2
