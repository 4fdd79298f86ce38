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

from esdedup.gateway import http, limits
from esdedup.gateway.clients import ClientConnection, Handler, Request
from esdedup.gateway.folding import Fold
from esdedup.gateway.forward import Forwarder
from esdedup.gateway.http import Headers, HttpError, Pace, UpstreamError
from esdedup.gateway.session_manager import SessionManager
from esdedup.gateway.tenants import CREDENTIAL_HEADERS, Cluster, Tenant
from esdedup.gateway.upstream import Upstream
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Target

log = logging.getLogger("esdedup.gateway")

# How long a connection may be silent, or take to send a whole head.
_IDLE_SECONDS = 75.0
_MOST_CONNECTIONS = 2_000
# At the start, for the version of the cluster; a slower cluster is checked with its first tenant.
_CHECK_SECONDS = 3.0
_THREADS = 4
# For reading JSON: more of them would only take turns with the event loop.
_READING_THREADS = 2
_STATUS = "/_esdedup/status"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a gateway."""

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
    # Names of further headers that are credentials of a tenant.
    credential_headers: tuple[str, ...] = ()
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
        self.sessions = SessionManager(
            self.cluster,
            settings=options.settings,
            fields=options.fields,
            workers=options.workers,
            settle_seconds=options.settle_seconds,
        )
        self._credential_headers = CREDENTIAL_HEADERS.union(
            map(str.lower, options.credential_headers)
        )
        self.counts: Counter[str] = Counter()
        self.forwarder = Forwarder(self)
        self._writes = Writes(self)
        self._reads = Reads(self)
        self.clients: set[ClientConnection] = set()
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
                await asyncio.to_thread(self.cluster.check, Tenant.of([]))

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listens; returns the port."""
        self.sessions.start()
        self._watchdog = asyncio.create_task(self._watch())
        self._server = await asyncio.get_running_loop().create_server(
            partial(ClientConnection, self), host, port, ssl=tls, backlog=512
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self, seconds: float = 30.0) -> None:
        """Finish the requests in hand, reconcile what waits, end."""
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        if self._watchdog is not None:
            self._watchdog.cancel()
        busy = {client.task for client in self.clients if not client.is_idle}
        for client in self.clients:
            if client.is_idle:
                client.task.cancel()
        if busy:
            await asyncio.wait(busy, timeout=seconds)
        left = {client.task for client in self.clients}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        await asyncio.to_thread(self.sessions.close, seconds)
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
            for client in list(self.clients):
                client.expire(now)
            self.upstream.close_old(now)

    async def serve(self, client: ClientConnection) -> None:
        """Answer the requests of a connection, one after the other."""
        try:
            if len(self.clients) > _MOST_CONNECTIONS:
                client.is_idle = False
                await self._refuse(client, HttpError(503, "too many connections"))
                return
            keeps_alive = True
            while keeps_alive and not self._is_stopping:
                client.is_idle, client.has_begun = True, False
                client.read_deadline = time.monotonic() + _IDLE_SECONDS
                if client.has_unread:
                    await asyncio.sleep(0)  # many requests sent at once give way to other clients
                keeps_alive = await self._serve_one(client)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client went away, or was too slow to be answered
        except asyncio.CancelledError:
            pass  # the client went away, or the gateway stops
        finally:
            client.close()

    # --- one request -------------------------------------------------------------------------

    async def _serve_one(self, client: ClientConnection) -> bool:
        """Whether the connection is kept for the next request."""
        try:
            raw = await client.read_head()
            began, client.read_deadline, client.is_idle = time.monotonic(), 0.0, False
            self.counts["requests"] += 1
            head = http.parse_request(raw)
            request = Request.of(client, head)
            client.what = request.what
            await self._handler(request)(request)
            if self.logs_requests:
                log.debug("%s %.1f ms", client.what, 1000 * (time.monotonic() - began))
        except HttpError as error:
            await self._refuse(client, error)
        except UpstreamError as error:
            log.warning("%s: %s", client.what, error)
            await self._refuse(client, HttpError(502, str(error)))
        except TimeoutError:
            if client.is_idle:
                raise
            await self._refuse(client, HttpError(408, "the request came too slowly"))
        else:
            return head.keeps_alive
        return False  # what is left of the body is not read

    def _handler(self, request: Request) -> Handler:
        kind = request.route.kind
        if kind == "other":
            return self._status if request.path == _STATUS else self.forwarder.forward
        if kind in ("search", "msearch", "count"):
            return self._reads.handle if self._reads.wants(request) else self.forwarder.forward
        return self._writes.handle if self._writes.wants(request) else self.forwarder.forward

    async def _status(self, request: Request) -> None:
        """Numbers only: everybody may ask."""
        async for _ in http.read_body(request.client, request.head, self.options.pace):
            pass
        counts = {**self.counts, **self.sessions.counts, "waiting": self.sessions.waiting}
        body = json.dumps({"status": "ok", **counts}).encode() + b"\n"
        await self.answer(request, 200, "", [("content-type", "application/json")], body)

    def tenant_of(self, request: Request) -> Tenant:
        return Tenant.of(request.head.headers, self._credential_headers)

    # --- answering ---------------------------------------------------------------------------

    async def answer(
        self, request: Request, status: int, reason: str, headers: Headers, body: bytes
    ) -> None:
        """A whole answer of our own, or one that was held."""
        kept = [(n, v) for n, v in headers if n.lower() != "content-length"]
        kept.append(("content-length", str(len(body))))
        self.write_answer(request, status, reason, kept, body)
        await request.client.drain()

    def write_answer(
        self, request: Request, status: int, reason: str, headers: Headers, body: bytes
    ) -> None:
        """Write the head of an answer, and its body or the first piece of it."""
        if not request.head.keeps_alive:
            headers = [*headers, ("Connection", "close")]
        elif request.head.is_old:
            headers = [*headers, ("Connection", "keep-alive")]
        request.client.has_begun = True
        request.client.write(http.answer_bytes(status, reason, headers) + body)

    async def _refuse(self, client: ClientConnection, error: HttpError) -> None:
        """An error in the form that clients of the engines read."""
        if client.has_begun or client.is_closing:
            return
        self.counts["refused"] += 1
        cause = {"type": error.kind, "reason": error.reason}
        body = json.dumps({"error": {"root_cause": [cause], **cause}, "status": error.status})
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
            await client.read_rest()

    # --- bodies ------------------------------------------------------------------------------

    def allow_body(self, request: Request) -> None:
        """Send `100 Continue` to a client that waits for it."""
        if request.head.get("expect").lower() == "100-continue" and not request.head.is_old:
            request.client.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def read_whole_body(self, request: Request, share: limits.MemoryShare) -> bytes:
        """Counted in the share of the request."""
        limit, head = self.options.max_body, request.head
        limits.check_body(head.length, limit)
        self.allow_body(request)
        out = io.BytesIO()  # not a list: a chunk of two bytes would take forty
        async for piece in http.read_body(request.client, head, self.options.pace):
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
