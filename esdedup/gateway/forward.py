"""Handing on what is neither enriched nor folded: in pieces as it comes, and the answer back.

No byte of a body is changed. A short request whose answer is short crosses in the callbacks of the
two connections (`crossing`); all else is done by the task of the client.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from esdedup.gateway import http
from esdedup.gateway.clients import Client, Request
from esdedup.gateway.connection import BUFFER
from esdedup.gateway.fast_path import MOST_HELD, CrossingRead, CrossingRequest
from esdedup.gateway.http import Head, UpstreamError
from esdedup.gateway.upstream import Link, chunked

if TYPE_CHECKING:
    from esdedup.gateway.server import Gateway

_CHUNKED = b"Transfer-Encoding: chunked\r\n"


class Passing:
    """See above: `hand_on` by a task, `cross` without one."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._upstream = gateway.upstream

    async def hand_on(self, request: Request) -> None:
        """As it came: a small body at once, a large one in pieces while the answer may come."""
        self._gateway.counts["passed"] += 1
        if is_small(request.head):
            body = await self._gateway.small_body(request)
            await self._hand_on_whole(request, body)
        else:
            await self._gateway.continue_(request)
            await self._hand_on_stream(request)

    def cross(self, request: Request, link: Link) -> None:
        """With a link at hand, and the body with the client."""
        client = request.client
        client.deadline = 0.0
        body = client.take(request.head.length)
        link.write(request.head_for(link.host_line) + body)
        self._gateway.counts["passed"] += 1
        CrossingRequest(self._gateway, request, body).follow(link)

    def crossed(self, request: Request, link: Link, answer: Head, body: bytes) -> None:
        """The whole answer came, before anything was handed back."""
        self._hand_back_whole(request, answer, body)
        self._upstream.give_back(link, answer)
        self._gateway.finish(request.client)

    def reads(self, client: Client) -> CrossingRead:
        return CrossingRead(self._gateway, client)

    def _hand_back_whole(self, request: Request, answer: Head, body: bytes) -> None:
        self._gateway.cluster.saw_product(answer.get("x-elastic-product"))
        start = answer.start
        if answer.framing in ("chunked", "until_close"):
            start += b"content-length: %d\r\n" % len(body)
        self._gateway.write_answer(request, start, body)

    async def hand_on_again(self, request: Request, body: bytes) -> None:
        """The cluster closed a link that was idle, perhaps before it saw the request."""
        if not _is_repeatable(request):
            raise UpstreamError("the cluster closed the connection")
        await self._hand_on_whole(request, body)

    async def _hand_on_whole(self, request: Request, body: bytes) -> None:
        method = request.head.method
        repeatable = _is_repeatable(request)
        while True:
            link = await self._upstream.take()
            may_repeat = repeatable and not link.is_fresh
            try:
                link.write(request.head_for(link.host_line) + body)
                answer = await link.answer_head(method)
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                link.close()
                if may_repeat:
                    continue
                raise UpstreamError("the cluster closed the connection") from error
            except BaseException:
                link.close()
                raise
            break
        await self.hand_back(request, link, answer)

    async def _hand_on_stream(self, request: Request) -> None:
        head = request.head
        link = await self._upstream.take(fresh=head.method not in ("GET", "HEAD"))
        is_chunked = head.framing == "chunked"
        lines = link.host_line + head.passed + (_CHUNKED if is_chunked else b"")
        link.write(http.request_head(head.method, request.target, lines))
        sending = asyncio.create_task(self._send_body(request, link, is_chunked))
        answering = asyncio.create_task(link.answer_head(head.method))
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and sending.exception() is not None:
                self._raise_sending(sending.exception(), answering)
            try:
                answer = await answering
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                raise UpstreamError("the cluster closed the connection") from error
            if not sending.done():  # refused before it was read: nothing more can be sent
                request.client.keeps_alive = link.may_be_kept = False
            await self.hand_back(request, link, answer)
        except BaseException:
            link.close()
            raise
        finally:
            for task in (sending, answering):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    def _raise_sending(self, error: BaseException | None, answering: asyncio.Task[Head]) -> None:
        """The client's fault is told to the client; of the cluster's the answer may still come."""
        if isinstance(error, ConnectionError) and not answering.done():
            return
        if error is not None and not isinstance(error, ConnectionError):
            raise error

    async def _send_body(self, request: Request, link: Link, is_chunked: bool) -> None:
        pieces = http.body_of(request.client, request.head, self._gateway.options.pace)
        async for piece in chunked(pieces) if is_chunked else pieces:
            link.write(piece)
            await link.drain()

    async def hand_back(self, request: Request, link: Link, answer: Head) -> None:
        client = request.client
        try:
            self._gateway.cluster.saw_product(answer.get("x-elastic-product"))
            if answer.framing == "length" and answer.length <= BUFFER:
                try:
                    body = await link.exactly(answer.length)
                except asyncio.IncompleteReadError as error:
                    raise UpstreamError("the cluster's answer ended too early") from error
                self._hand_back_whole(request, answer, body)
            elif answer.framing in ("none", "length"):
                self._gateway.write_answer(request, answer.start)
                async for piece in http.body_of(link, answer):
                    client.write(piece)
                    await client.drain()
            else:
                await self._hand_back_chunks(request, link, answer)
        except BaseException:
            link.close()  # the client learns of it by the connection that ends too early
            client.keeps_alive = False
            raise
        self._upstream.give_back(link, answer)
        await client.drain()

    async def _hand_back_chunks(self, request: Request, link: Link, answer: Head) -> None:
        """A short one as a whole: every piece wakes another program up."""
        client, is_old = request.client, request.head.version == 0
        pieces, held, size = http.body_of(link, answer), [], 0
        try:
            async for piece in pieces:
                held.append(piece)
                size += len(piece)
                if size > MOST_HELD:
                    break
            else:
                whole = b"".join(held)
                self._hand_back_whole(request, answer, whole)
                return
        except asyncio.IncompleteReadError as error:
            raise UpstreamError("the cluster's answer ended too early") from error
        if is_old:
            client.keeps_alive = False
        self._gateway.write_answer(request, answer.start + (b"" if is_old else _CHUNKED))
        client.write(b"".join(held) if is_old else http.chunk(b"".join(held)))
        async for piece in pieces if is_old else chunked(pieces):
            client.write(piece)
            await client.drain()


def is_small(head: Head) -> bool:
    return head.framing == "none" or (head.framing == "length" and head.length <= BUFFER)


def _is_repeatable(request: Request) -> bool:
    return request.head.method in ("GET", "HEAD") or request.route.kind in ("search", "msearch")
