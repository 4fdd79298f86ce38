"""Callers as the gateway sees them: one connection each, and the requests that come on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from esdedup.gateway import http, routes
from esdedup.gateway.connection import TooLong, Wire
from esdedup.gateway.http import Head, Headers, HttpError

if TYPE_CHECKING:
    from esdedup.gateway.fast_path import Crossing
    from esdedup.gateway.server import Gateway

Job = Callable[[], Coroutine[Any, Any, None]]


class Client(Wire):
    """One connection of a caller, and the task for what takes more than handing bytes on."""

    task: asyncio.Task[None]

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway
        self.keeps_alive = True
        self.has_begun = False  # whether bytes of the answer went out
        self.began = 0.0
        self.what = "?"  # the latest request, for the log
        self.is_idle = True  # between two requests
        self.pending: Request | None = None  # one that passes, until its body is there
        self.crossing: Crossing | None = None  # one that passes without the task
        self.fields: http.Known[http.Fields] = http.Known()
        self.passing: http.Known[Request] = http.Known()  # by their heads, such as pass at once
        self.plain: http.Known[bytes] = http.Known()  # lines of reads
        self._reads = gateway.passing.reads(self)
        self._job: asyncio.Future[Job] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._job = self._loop.create_future()
        self.task = self._loop.create_task(self._gateway.serve(self))

    def data_received(self, data: bytes) -> None:
        if self.is_idle and not self.held and self._reads.begin(data):
            return
        Wire.data_received(self, data)
        if self.is_idle or self.pending is not None:
            self._gateway.consider(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the work for a client that goes away, as the engines themselves do."""
        super().connection_lost(exc)
        if self.crossing is not None:
            self.crossing.end()
        self.task.cancel()
        # They refer back to this client and have what its caller sent: nothing of it is to stay.
        for known in (self.fields, self.passing, self.plain):
            known.clear()
        del self._reads

    def expire(self) -> None:
        if self.is_idle:
            self.task.cancel()
        elif self.pending is not None:
            self.give(partial(raised, TimeoutError()))
        else:
            super().expire()

    def give(self, job: Job) -> None:
        """To the task; there is nothing else under way."""
        self.is_idle, self.pending, self.deadline = False, None, 0.0
        if self._job is not None and not self._job.done():
            self._job.set_result(job)

    async def job(self) -> Job:
        assert self._job is not None
        job = await self._job
        self._job = self._loop.create_future()
        return job


Handler = Callable[["Request"], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class Request:
    """A request whose head was read; its body is still with the client."""

    client: Client
    head: Head
    path: str
    query: str
    route: routes.Route
    fold: str | None  # as asked for by this request
    _sent: tuple[bytes, bytes] = (b"", b"")

    def head_for(self, host_line: bytes) -> bytes:
        """Its head as it is handed on; it may be sent more than once."""
        if self._sent[0] != host_line:
            lines = host_line + self.head.passed
            self._sent = host_line, http.request_head(self.head.method, self.target, lines)
        return self._sent[1]

    @property
    def takes_plain_answers(self) -> bool:
        """Whether an answer can go back as it is: nothing is said of the connection then."""
        head = self.head
        return head.version == 1 and head.keeps_alive and head.method != "HEAD"

    @property
    def what(self) -> str:
        """For the log: nothing that the caller wrote but the method."""
        return f"{self.head.method} {self.route.kind}"

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def headers(self) -> Headers:
        return http.to_cluster(self.head)


async def raised(error: Exception) -> None:
    raise error


def taken_head(client: Client) -> bytes | None:
    """The next head, None as long as it is not there."""
    try:
        raw = client.taken_until(b"\r\n\r\n", http.MAX_HEAD)
        if raw is not None and raw[:2] == b"\r\n":  # allowed before a request
            raw = raw[2:] if len(raw) > 4 else client.taken_until(b"\r\n\r\n", http.MAX_HEAD)
    except TooLong as error:
        raise HttpError(431, "the head of the request is too long") from error
    return raw


async def linger(client: Client) -> None:
    """Read on for a moment: a connection closed with bytes unread loses the answer."""
    with contextlib.suppress(TimeoutError, ConnectionError):
        if client.transport.can_write_eof():
            client.transport.write_eof()
        async with asyncio.timeout(1.0):
            while await client.read():
                pass
