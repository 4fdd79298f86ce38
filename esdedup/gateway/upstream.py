"""Connections to the cluster: kept alive, taken in turn, one exchange at a time on each."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

from esdedup.gateway import header_cache as plain
from esdedup.gateway import http
from esdedup.gateway.connection import TooLong, Wire
from esdedup.gateway.http import Head, Headers, UpstreamError

# A server may close what was idle for long just when it is used again.
_IDLE_SECONDS = 50.0
_CONNECT_SECONDS = 10.0
_MOST_IDLE = 128


class Waiting(Protocol):
    """Whoever waits for an answer without a task."""

    def take(self, data: bytes) -> bool:
        """Whether these first bytes were the whole answer, and nothing is left to do."""

    def go_on(self) -> None:
        """More of the answer came, or the connection was lost."""


class Link(Wire):
    """One connection."""

    def __init__(self, host: str) -> None:
        super().__init__()
        self.host = host
        self.host_line = f"Host: {host}\r\n".encode("latin-1")
        self.end_and_host = b"\r\n" + self.host_line
        self._fields: http.Known[http.Fields] = http.Known()
        self._heads: http.Known[Head] = http.Known()
        self.plain: http.Known[bool] = http.Known()  # answers, see `plain`
        self.may_be_kept = True  # not after a request that was not sent to its end
        self.is_fresh = True
        self.idle_since = 0.0  # as the clock of all connections saw it; 0 until it did
        self.waiting: Waiting | None = None

    def close(self) -> None:
        """At once: nobody waits for what is left, nor for the end of a TLS connection."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        waiting = self.waiting
        if waiting is not None and not self.held and waiting.take(data):
            return
        Wire.data_received(self, data)
        if waiting is not None:
            waiting.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.waiting is not None:
            self.waiting.go_on()

    async def answer_head(self, method: str) -> Head:
        """The final one: what comes before it is between the cluster and us."""
        while (head := self.answer_head_at_hand(method)) is None:
            await self.more()
        return head

    def answer_head_at_hand(self, method: str) -> Head | None:
        try:
            while (raw := self.taken_until(b"\r\n\r\n")) is not None:
                if (known := self._heads.get(raw)) is not None and method != "HEAD":
                    return known
                head = http.parse_answer(raw, method, self._fields)
                if head.status >= 200:
                    if method != "HEAD":  # of its answer nothing follows, whatever the head says
                        self._heads.add(raw, head)
                        plain.learn_answer(raw, head, self.plain)
                    return head
        except TooLong as error:
            raise UpstreamError("the head of the cluster's answer is too long") from error
        return None

    def whole_chunks(self) -> bytes | None:
        """A body in chunks, if all of it came."""
        try:
            body, end = http.whole_chunks(self.held)
        except IndexError:
            return None
        except http.HttpError as error:
            raise UpstreamError(f"the cluster's answer is no HTTP: {error.reason}") from error
        self.skip(end)
        return body


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    head: Head
    body: bytes


class Upstream:
    """A pool of links to one or several nodes of a cluster."""

    def __init__(self, hosts: tuple[str, ...], ca_certs: str | None) -> None:
        self._hosts = [_address(host) for host in hosts]
        secure = any(host.is_secure for host in self._hosts)
        self._tls = ssl.create_default_context(cafile=ca_certs) if secure else None
        self._idle: list[Link] = []
        self._next = 0

    async def take(self, *, fresh: bool = False) -> Link:
        return (None if fresh else self.idle()) or await self._connect()

    def idle(self) -> Link | None:
        """One that is open already."""
        while self._idle:
            link = self._idle.pop()
            # Bytes that nobody asked for would be taken for the next answer.
            if not (link.held or link.transport.is_closing()):
                return link
            link.close()
        return None

    def close_old(self, now: float) -> None:
        """Those that the cluster may be about to close; called every second or so."""
        for link in self._idle:
            link.idle_since = link.idle_since or now
        old = [link for link in self._idle if now - link.idle_since > _IDLE_SECONDS]
        for link in old:
            self._idle.remove(link)
            link.close()

    def give_back(self, link: Link, head: Head) -> None:
        stays = link.may_be_kept and head.framing != "until_close" and head.keeps_alive
        if stays and not link.held:
            self.keep(link)
        else:
            link.close()

    def keep(self, link: Link) -> None:
        """For the next request: all of the answer came, and the cluster leaves it open."""
        if len(self._idle) >= _MOST_IDLE:
            link.close()
            return
        link.is_fresh, link.idle_since = False, 0.0
        self._idle.append(link)

    async def _connect(self) -> Link:
        problem: Exception | None = None
        for _ in self._hosts:
            host = self._hosts[self._next % len(self._hosts)]
            self._next += 1
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    _, link = await asyncio.get_running_loop().create_connection(
                        partial(Link, host.authority),
                        host.name,
                        host.port,
                        ssl=self._tls if host.is_secure else None,
                    )
            except (OSError, TimeoutError, ssl.SSLError) as error:
                problem = error
                continue
            return link
        raise UpstreamError(f"the cluster cannot be reached ({type(problem).__name__})")

    async def exchange(
        self, method: str, target: str, headers: Headers, body: bytes, *, repeatable: bool
    ) -> Answer:
        """A request that is at hand as a whole, and its whole answer."""
        while True:
            link = await self.take()
            may_repeat = repeatable and not link.is_fresh
            try:
                sent = with_length([("Host", link.host), *headers], body, method)
                link.write(http.request_bytes(method, target, sent) + body)
                await link.drain()
                head = await link.answer_head(method)
                pieces = [piece async for piece in http.body_of(link, head)]
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                link.close()
                if may_repeat:
                    continue  # closed by the server while it was idle
                raise UpstreamError("the cluster closed the connection") from error
            except BaseException:
                link.close()
                raise
            self.give_back(link, head)
            return Answer(head, b"".join(pieces))

    def close(self) -> None:
        for link in self._idle:
            link.close()
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


async def chunked(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        if piece:
            yield http.chunk(piece)
    yield b"0\r\n\r\n"
