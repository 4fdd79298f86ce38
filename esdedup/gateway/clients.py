"""Clients as the gateway sees them: one connection each, and the requests that come on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from esdedup.gateway import http, routes
from esdedup.gateway.connection import HttpConnection, TooLong
from esdedup.gateway.http import Head, HttpError

if TYPE_CHECKING:
    from esdedup.gateway.server import Gateway


class ClientConnection(HttpConnection):
    """One connection of a client, and the task that answers its requests."""

    task: asyncio.Task[None]

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(write_seconds=gateway.options.pace.pause)
        self._gateway = gateway
        self.is_idle = True  # between two requests
        self.has_begun = False  # whether bytes of the answer were written
        self.what = "?"  # the latest request, for the log

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._gateway.clients.add(self)
        self.task = self._loop.create_task(self._gateway.serve(self))

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the work for a client that goes away, as the engines themselves do."""
        super().connection_lost(exc)
        self._gateway.clients.discard(self)
        self.task.cancel()

    async def read_head(self) -> bytes:
        """The bytes of the next head."""
        try:
            raw = await self.read_until(b"\r\n\r\n", http.MAX_HEAD)
            while raw == b"\r\n\r\n":  # empty lines are allowed before a request
                raw = await self.read_until(b"\r\n\r\n", http.MAX_HEAD)
        except TooLong as error:
            raise HttpError(431, "the head of the request is too long") from error
        return raw

    async def read_rest(self) -> None:
        """Read on for a moment: a connection closed with bytes unread loses the answer."""
        with contextlib.suppress(TimeoutError, ConnectionError):
            if self.transport.can_write_eof():
                self.transport.write_eof()
            async with asyncio.timeout(1.0):
                while await self.read():
                    pass


@dataclass(slots=True)
class Request:
    """A request whose head was read; its body is still with the client."""

    client: ClientConnection
    head: Head
    path: str
    query: str
    route: routes.Route
    fold: str | None  # as asked for by this request

    @classmethod
    def of(cls, client: ClientConnection, head: Head) -> Request:
        path, query = routes.split_target(head.target)
        fold = head.values.get("x-esdedup-fold")
        if "esdedup_fold" in query or "%" in query:
            query, asked = routes.without_parameter(query, "esdedup_fold")
            fold = asked if asked is not None else fold
        return cls(client, head, path, query, routes.route_of(head.method, path), fold)

    @property
    def what(self) -> str:
        """For the log: nothing that the client wrote but the method."""
        return f"{self.head.method} {self.route.kind}"

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def is_repeatable(self) -> bool:
        """Whether the cluster may get it twice."""
        return self.head.method in ("GET", "HEAD") or self.route.kind in ("search", "msearch")


Handler = Callable[[Request], Coroutine[Any, Any, None]]
