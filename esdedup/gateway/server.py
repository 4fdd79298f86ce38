"""The gateway itself: it listens, gives each request to what handles its kind, and answers."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import ssl
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from esdedup.gateway import header_cache as plain
from esdedup.gateway import http, limits, routes
from esdedup.gateway.clients import Client, Handler, Job, Request, linger, raised, taken_head
from esdedup.gateway.folding import Fold
from esdedup.gateway.forward import Passing, is_small
from esdedup.gateway.http import Head, Headers, HttpError, Pace, UpstreamError
from esdedup.gateway.session_manager import Newsroom
from esdedup.gateway.tenants import Caller, Cluster
from esdedup.gateway.upstream import Upstream
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Target

log = logging.getLogger("esdedup.gateway")

# How long a connection may say nothing, or not get to the end of a head.
_IDLE_SECONDS = 75.0
_MOST_CONNECTIONS = 2_000
# At the start, for the version of the cluster; one that is slower is asked later.
_CHECK_SECONDS = 3.0
_THREADS = 4
# For reading JSON: more of them would only take turns with the event loop.
_READING_THREADS = 2
_STATUS = "/_esdedup/status"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What a gateway is told."""

    target: Target
    indices: tuple[str, ...] = ()
    folds: Mapping[str, Fold] = field(default_factory=dict)  # pattern -> default
    fields: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    settings: Settings | None = None
    fail_closed: bool = False
    max_body: int = 100 << 20  # what the engines take by default; compressed, and unpacked
    max_actions: int = 100_000  # of a bulk
    max_searches: int = 10_000  # of an _msearch
    max_memory: int = 1_000 << 20  # of all bodies that are held, unpacked and read
    workers: int = 1
    settle_seconds: float = 1.0
    pace: Pace = field(default_factory=Pace)


class Gateway:
    """Serves until it is closed."""

    def __init__(self, options: Options) -> None:
        from esdedup.gateway.reads import Reads
        from esdedup.gateway.writes import Writes

        self.options = options
        self.cluster = Cluster(options.target)
        self.upstream = Upstream(options.target.hosts, options.target.ca_certs)
        self.threads = ThreadPoolExecutor(_THREADS, "esdedup-enrich")
        self._reading_threads = ThreadPoolExecutor(_READING_THREADS, "esdedup-read")
        self.memory = limits.Memory(options.max_memory)
        self.newsroom = Newsroom(
            self.cluster,
            settings=options.settings,
            fields=options.fields,
            workers=options.workers,
            settle_seconds=options.settle_seconds,
        )
        self.counts: Counter[str] = Counter()
        self.passing = Passing(self)
        self._writes = Writes(self)
        self._reads = Reads(self)
        self._clients: set[Client] = set()
        self.logs_requests = log.isEnabledFor(logging.DEBUG)
        self._server: asyncio.Server | None = None
        self._is_stopping = False
        self._watchdog: asyncio.Task[None] | None = None

    # --- life --------------------------------------------------------------------------------

    async def check_version(self) -> None:
        """UnsupportedVersion where a cluster that answers is too old; one that is not there, or
        asks who we are, is looked at with its first caller."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                await asyncio.to_thread(self.cluster.check, Caller.of([]))

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listens; returns the port."""
        self.newsroom.start()
        self._watchdog = asyncio.create_task(self._watch())
        self._server = await asyncio.get_running_loop().create_server(
            partial(Client, self), host, port, ssl=tls, backlog=512
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self, seconds: float = 30.0) -> None:
        """Finish the requests in hand, settle what waits, end."""
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        if self._watchdog is not None:
            self._watchdog.cancel()
        busy = {client.task for client in self._clients if not client.is_idle}
        for client in self._clients:
            if client.is_idle:
                client.task.cancel()
        if busy:
            await asyncio.wait(busy, timeout=seconds)
        left = {client.task for client in self._clients}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        await asyncio.to_thread(self.newsroom.close, seconds)
        self.threads.shutdown(wait=False)
        self._reading_threads.shutdown(wait=False)
        self.upstream.close()
        self.cluster.close()
        await asyncio.sleep(0.05)  # connections of clients are closed by the loop itself

    async def _watch(self) -> None:
        """One clock for all connections: a timer for each request would cost a tenth of it."""
        while True:
            await asyncio.sleep(1.0)
            now = time.monotonic()
            for client in self._clients:
                if client.deadline and now > client.deadline:
                    client.expire()
                elif client.is_idle and not client.deadline:
                    client.deadline = now + _IDLE_SECONDS
            self.upstream.close_old(now)

    async def serve(self, client: Client) -> None:
        """What of a connection's requests does not pass at once."""
        self._clients.add(client)
        try:
            if len(self._clients) > _MOST_CONNECTIONS:
                client.is_idle = False
                await self._refuse(client, HttpError(503, "too many connections"))
                return
            while True:  # the first request may have been given to this task before its first step
                await self._one(client, await client.job())
                if not client.keeps_alive or self._is_stopping:
                    return
                self._begin(client)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client went away, or was too slow to be told
        except asyncio.CancelledError:
            pass  # the client went away, or the gateway stops
        finally:
            self._clients.discard(client)
            client.close()

    # --- one request -------------------------------------------------------------------------

    def _begin(self, client: Client) -> None:
        """Ready for the next request, which may be there already."""
        client.has_begun, client.is_idle, client.deadline = False, True, 0.0
        if client.held:
            self.consider(client)

    def consider(self, client: Client) -> None:
        """What can pass at once does, without a change of tasks; all else is given to the task."""
        request = client.pending
        if request is None:
            try:
                request = self._taken(client)
            except HttpError as error:
                client.give(partial(raised, error))
                return
            if request is None:
                return
        if client.unread < request.head.length:
            client.pending = request
        elif (link := self.upstream.idle()) is None:
            client.give(partial(self.passing.hand_on, request))
        else:
            client.pending = None
            self.passing.cross(request, link)

    def _taken(self, client: Client) -> Request | None:
        """The next request, if its head is there and it is one that passes at once."""
        raw = taken_head(client)
        if raw is None:
            return None
        self.counts["requests"] += 1
        now = time.monotonic()
        client.is_idle, client.began, client.deadline = False, now, now + self.options.pace.pause
        request = client.passing.get(raw)
        if request is None:
            head = http.parse_request(raw, client.fields)
            client.keeps_alive = head.keeps_alive
            request = self._request(client, head)
            client.what = request.what
            handler = self._handler(request)
            if handler != self.passing.hand_on or _is_for_the_task(head):
                client.give(partial(handler, request))
                return None
            client.passing.add(raw, request)
            plain.learn_read(raw, head, client.plain)
        client.what, client.keeps_alive = request.what, request.head.keeps_alive
        return request

    def began_read(self, client: Client) -> None:
        """A plain one, that was handed on as it came."""
        self.counts["requests"] += 1
        self.counts["passed"] += 1
        client.is_idle, client.keeps_alive, client.deadline = False, True, 0.0
        client.what = "GET other"
        if self.logs_requests:
            client.began = time.monotonic()

    def finish(self, client: Client) -> None:
        """After an answer that was written without the task."""
        if client.is_full:
            client.give(client.drain)
            return
        if self.logs_requests:
            self._log(client)
        if not client.keeps_alive or self._is_stopping:
            client.task.cancel()
        else:
            self._begin(client)

    def _log(self, client: Client) -> None:
        log.debug("%s %.1f ms", client.what, 1000 * (time.monotonic() - client.began))

    async def _one(self, client: Client, job: Job) -> None:
        try:
            await job()
            if self.logs_requests:
                self._log(client)
        except HttpError as error:
            client.keeps_alive = False  # what is left of the body is not read
            await self._refuse(client, error)
        except UpstreamError as error:
            client.keeps_alive = False
            log.warning("%s: %s", client.what, error)
            await self._refuse(client, HttpError(502, str(error)))
        except TimeoutError:
            client.keeps_alive = False
            await self._refuse(client, HttpError(408, "the request came too slowly"))

    def request_of(self, client: Client, raw: bytes) -> Request:
        """One that was handed on without being read."""
        request = client.passing.get(raw)
        if request is None:
            request = self._request(client, http.parse_request(raw, client.fields))
            client.passing.add(raw, request)
        return request

    def _request(self, client: Client, head: Head) -> Request:
        path, query = routes.split_target(head.target)
        fold: str | None = head.fields.lower.get("x-esdedup-fold")
        if "esdedup_fold" in query or "%" in query:
            query, told = routes.without_parameter(query, "esdedup_fold")
            fold = told if told is not None else fold
        return Request(client, head, path, query, routes.route_of(head.method, path), fold)

    def _handler(self, request: Request) -> Handler:
        kind = request.route.kind
        if kind == "other":
            return self._status if request.path == _STATUS else self.passing.hand_on
        if kind in ("search", "msearch", "count"):
            return self._reads.handle if self._reads.wants(request) else self.passing.hand_on
        return self._writes.handle if self._writes.wants(request) else self.passing.hand_on

    async def _status(self, request: Request) -> None:
        """Numbers only: everybody may ask."""
        async for _ in http.body_of(request.client, request.head, self.options.pace):
            pass
        await asyncio.sleep(0)  # of many requests sent at once, each gives way to other clients
        counts = {**self.counts, **self.newsroom.counts, "waiting": self.newsroom.waiting}
        body = json.dumps({"status": "ok", **counts}).encode() + b"\n"
        await self.answer(request, 200, "", [("content-type", "application/json")], body)

    # --- answering ---------------------------------------------------------------------------

    async def answer(
        self, request: Request, status: int, reason: str, headers: Headers, body: bytes
    ) -> None:
        """A whole answer of our own, or one that was held."""
        kept = [(n, v) for n, v in headers if n.lower() not in ("content-length",)]
        lines = http.lines_of([*kept, ("content-length", str(len(body)))])
        self.write_answer(request, http.answer_start(status, reason) + lines, body)
        await request.client.drain()

    def write_answer(self, request: Request, start: bytes, body: bytes = b"") -> None:
        """`start` are its first line and those of its headers."""
        client = request.client
        if not client.keeps_alive:
            start += b"Connection: close\r\n"
        elif request.head.version == 0:
            start += b"Connection: keep-alive\r\n"
        client.has_begun = True
        client.write(b"".join((start, b"\r\n", body)))

    async def _refuse(self, client: Client, error: HttpError) -> None:
        """An error in the form that clients of the engines read."""
        if client.has_begun or client.is_closing:
            return
        self.counts["refused"] += 1
        told = {"type": error.kind, "reason": error.reason}
        body = json.dumps({"error": {"root_cause": [told], **told}, "status": error.status})
        data = body.encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(data))),
            ("Connection", "close"),
        ]
        if error.status in (429, 503):
            headers.append(("Retry-After", "1"))
        client.write(http.answer_bytes(error.status, "", headers) + data)
        with contextlib.suppress(ConnectionError):
            await client.drain()
            await linger(client)

    # --- bodies ------------------------------------------------------------------------------

    async def small_body(self, request: Request) -> bytes:
        head = request.head
        if not head.length:
            return b""
        await self.continue_(request)
        client = request.client
        client.deadline = time.monotonic() + self.options.pace.pause
        try:
            return await client.exactly(head.length)
        finally:
            client.deadline = 0.0

    async def continue_(self, request: Request) -> None:
        if request.head.get("expect").lower() == "100-continue" and request.head.version == 1:
            request.client.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def whole_body(self, request: Request, share: limits.Share) -> bytes:
        """Counted in the share of the request."""
        limit, head = self.options.max_body, request.head
        limits.check_body(head.length, limit)
        await self.continue_(request)
        out = io.BytesIO()  # not a list: a chunk of two bytes would take forty
        async for piece in http.body_of(request.client, head, self.options.pace):
            limits.check_body(out.tell() + len(piece), limit)
            share.add(len(piece))
            out.write(piece)
        return out.getvalue()

    async def apart(self, size: int, function: Callable[[], T]) -> T:
        """The function's result; beyond a few bytes it runs in a thread, and other requests go on.

        A client that goes away is waited for: what the thread holds is counted until it ends.
        """
        if size <= limits.INLINE:
            return function()
        job = self._reading_threads.submit(function)
        waiting = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            if not job.cancel():
                await asyncio.wait((waiting,))
            raise


def _is_for_the_task(head: Head) -> bool:
    """What comes in pieces, or has to be asked for."""
    return not is_small(head) or "expect" in head.fields.lower
