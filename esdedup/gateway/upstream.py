"""Connections to the cluster: kept alive, taken in turn, one exchange at a time on each."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from esdedup.gateway import http
from esdedup.gateway.connection import HttpConnection, TooLong
from esdedup.gateway.http import Head, Headers, HttpError, UpstreamError

# A server may close what was idle for long just when it is used again.
_IDLE_SECONDS = 50.0
_CONNECT_SECONDS = 10.0
_MOST_IDLE = 128


class UpstreamConnection(HttpConnection):
    """One connection to a node of the cluster."""

    def __init__(self, host: str) -> None:
        super().__init__()
        self.host = host
        self.may_be_kept = True  # not after a request that was not sent to its end
        self.is_fresh = True
        self.is_idle = False
        self.idle_since = 0.0  # by the clock of all connections; 0 until it looked

    def data_received(self, data: bytes) -> None:
        if self.is_idle:  # nobody asked: it would be taken for the answer to the next request
            self.abort()
        else:
            super().data_received(data)

    def write_request(self, method: str, target: str, headers: Headers, body: bytes = b"") -> None:
        self.write(http.request_bytes(method, target, [("Host", self.host), *headers]) + body)

    async def read_head(self, method: str) -> Head:
        """The head of the final answer; those of interim answers are dropped."""
        while True:
            try:
                raw = await self.read_until(b"\r\n\r\n")
            except TooLong as error:
                raise UpstreamError("the head of the cluster's answer is too long") from error
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                raise UpstreamClosed("the cluster closed the connection") from error
            head = http.parse_answer(raw, method)
            if head.status >= 200:
                return head

    async def read_body(self, head: Head) -> AsyncIterator[bytes]:
        try:
            async for piece in http.read_body(self, head):
                yield piece
        except HttpError as error:
            raise UpstreamError(f"the cluster's answer is no HTTP: {error.reason}") from error
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise UpstreamError("the cluster's answer ended too early") from error


class UpstreamClosed(UpstreamError):
    """The connection ended before the answer began."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    head: Head
    body: bytes


class Upstream:
    """A pool of connections to one or several nodes of a cluster."""

    def __init__(self, hosts: tuple[str, ...], ca_certs: str | None) -> None:
        self._hosts = [_address(host) for host in hosts]
        secure = any(host.is_secure for host in self._hosts)
        self._tls = ssl.create_default_context(cafile=ca_certs) if secure else None
        self._idle: list[UpstreamConnection] = []
        self._next = 0

    async def acquire(self, *, fresh: bool = False) -> UpstreamConnection:
        while self._idle and not fresh:
            connection = self._idle.pop()
            if not connection.is_closing:
                connection.is_idle = False
                return connection
        return await self._connect()

    def release(self, connection: UpstreamConnection, head: Head) -> None:
        """Keep it for the next request, or close it where it cannot be."""
        is_kept = connection.may_be_kept and head.keeps_alive and head.framing != "until_close"
        if not is_kept or connection.has_unread or len(self._idle) >= _MOST_IDLE:
            connection.abort()
            return
        connection.is_fresh, connection.is_idle, connection.idle_since = False, True, 0.0
        self._idle.append(connection)

    def close_old(self, now: float) -> None:
        """Close those that the cluster may be about to close; called every second or so."""
        for connection in self._idle:
            connection.idle_since = connection.idle_since or now
            if now - connection.idle_since > _IDLE_SECONDS:
                connection.abort()
        self._idle = [connection for connection in self._idle if not connection.is_closing]

    async def send(
        self, method: str, target: str, headers: Headers, body: bytes, *, repeatable: bool
    ) -> tuple[UpstreamConnection, Head]:
        """Send a request that is at hand as a whole; returns where its answer comes, and its head.

        A kept connection may be closed by the server just when it is used. Only a `repeatable`
        request is sent again then: the cluster may have done what it was asked.
        """
        while True:
            connection = await self.acquire()
            try:
                connection.write_request(method, target, headers, body)
                return connection, await connection.read_head(method)
            except UpstreamClosed:
                connection.abort()
                if not repeatable or connection.is_fresh:
                    raise
            except BaseException:
                connection.abort()
                raise

    async def exchange(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes,
        *,
        repeatable: bool,
        count: Callable[[int], None],
    ) -> Answer:
        """Send a request and read the whole answer; `count` is told of each piece of it."""
        headers = with_length(headers, body, method)
        connection, head = await self.send(method, target, headers, body, repeatable=repeatable)
        pieces = []
        try:
            async for piece in connection.read_body(head):
                count(len(piece))
                pieces.append(piece)
        except BaseException:
            connection.abort()
            raise
        self.release(connection, head)
        return Answer(head, b"".join(pieces))

    async def _connect(self) -> UpstreamConnection:
        problem: Exception | None = None
        for _ in self._hosts:
            host = self._hosts[self._next % len(self._hosts)]
            self._next += 1
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    _, connection = await asyncio.get_running_loop().create_connection(
                        partial(UpstreamConnection, host.authority),
                        host.name,
                        host.port,
                        ssl=self._tls if host.is_secure else None,
                    )
            except (OSError, TimeoutError, ssl.SSLError) as error:
                problem = error
                continue
            return connection
        raise UpstreamError(f"the cluster cannot be reached ({type(problem).__name__})")

    def close(self) -> None:
        for connection in self._idle:
            connection.abort()
        self._idle.clear()


def with_length(headers: Headers, body: bytes, method: str) -> Headers:
    kept = [(n, v) for n, v in headers if n.lower() != "content-length"]
    if body or method in ("POST", "PUT"):
        kept.append(("Content-Length", str(len(body))))
    return kept


@dataclass(frozen=True, slots=True)
class _Address:
    name: str
    port: int
    authority: str
    is_secure: bool


def _address(url: str) -> _Address:
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 9200)
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    return _Address(name, port, f"{shown}:{port}", is_secure)
