"""Requests that are neither enriched nor folded: forwarded as they come, and the answers back.

No byte of a body is changed. A short message is held until it is whole, since every piece wakes
another program up; a long one goes on in pieces.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from esdedup.gateway import http
from esdedup.gateway.clients import Request
from esdedup.gateway.connection import BUFFER
from esdedup.gateway.http import Head, Header
from esdedup.gateway.upstream import UpstreamConnection, with_length

if TYPE_CHECKING:
    from esdedup.gateway.server import Gateway

_CHUNKED: Header = ("Transfer-Encoding", "chunked")
# Bytes of an answer that are waited for before the first one is sent back.
_MOST_HELD = 64 * 1024


class Forwarder:
    """See `forward`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._upstream = gateway.upstream

    async def forward(self, request: Request) -> None:
        """Forward a small body as a whole, a large one in pieces while the answer may come."""
        self._gateway.counts["passed"] += 1
        head = request.head
        if head.framing == "chunked" or head.length > BUFFER:
            await self._stream(request)
            return
        self._gateway.allow_body(request)
        pieces = http.read_body(request.client, head, self._gateway.options.pace)
        await self.send(request, b"".join([piece async for piece in pieces]))

    async def send(self, request: Request, body: bytes, *added: Header) -> None:
        """Send a request with its whole body; the answer goes back with the `added` headers."""
        head = request.head
        headers = head.forwarded
        if head.framing == "chunked":
            headers = with_length(headers, body, head.method)
        connection, answer = await self._upstream.send(
            head.method, request.target, headers, body, repeatable=request.is_repeatable
        )
        await self._send_back(request, connection, answer, *added)

    async def _stream(self, request: Request) -> None:
        head = request.head
        self._gateway.allow_body(request)
        connection = await self._upstream.acquire(fresh=head.method not in ("GET", "HEAD"))
        is_chunked = head.framing == "chunked"
        headers = [*head.forwarded, _CHUNKED] if is_chunked else head.forwarded
        connection.write_request(head.method, request.target, headers)
        sending = asyncio.create_task(self._send_body(request, connection, is_chunked))
        answering = asyncio.create_task(connection.read_head(head.method))
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending  # raises the client's error, which is its answer
            answer = await answering
            if not sending.done():  # refused before it was read: nothing more can be sent
                head.keeps_alive = connection.may_be_kept = False
            await self._send_back(request, connection, answer)
        except BaseException:
            connection.abort()
            raise
        finally:
            for task in (sending, answering):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def _send_body(
        self, request: Request, connection: UpstreamConnection, is_chunked: bool
    ) -> None:
        pieces = http.read_body(request.client, request.head, self._gateway.options.pace)
        async for piece in http.encode_chunks(pieces) if is_chunked else pieces:
            connection.write(piece)
            try:
                await connection.drain()
            except ConnectionError:
                return  # the answer may have come before

    async def _send_back(
        self, request: Request, connection: UpstreamConnection, answer: Head, *added: Header
    ) -> None:
        gateway, client = self._gateway, request.client
        try:
            gateway.cluster.note_product(answer.get("x-elastic-product"))
            pieces = connection.read_body(answer)
            held, is_whole = await _hold(pieces)
            headers = [*http.end_to_end(answer.headers), *added]
            is_chunked = False
            if answer.framing in ("chunked", "until_close"):
                if is_whole:
                    headers.append(("content-length", str(len(held))))
                elif request.head.is_old:
                    request.head.keeps_alive = False
                else:
                    is_chunked = True
                    headers.append(_CHUNKED)
            first = http.chunk(held) if is_chunked else held
            gateway.write_answer(request, answer.status, answer.reason, headers, first)
            if not is_whole:
                async for piece in http.encode_chunks(pieces) if is_chunked else pieces:
                    client.write(piece)
                    await client.drain()
        except BaseException:
            connection.abort()  # the client sees an answer that ends too early
            request.head.keeps_alive = False
            raise
        self._upstream.release(connection, answer)
        await client.drain()


async def _hold(pieces: AsyncIterator[bytes]) -> tuple[bytes, bool]:
    """The first bytes of an answer, and whether they are all."""
    held = bytearray()
    async for piece in pieces:
        held += piece
        if len(held) > _MOST_HELD:
            return bytes(held), False
    return bytes(held), True
