"""The gateway itself: requests in, each handled by its kind, answers out.

What is neither an enriched write nor a folded search is handed on in pieces as it comes, and its
answer back, with no byte of a body changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from esdedup.gateway import http, routes
from esdedup.gateway.callers import Cluster
from esdedup.gateway.folding import Fold
from esdedup.gateway.http import Head, Headers, HttpError, Pace, UpstreamError
from esdedup.gateway.newsroom import Newsroom
from esdedup.gateway.upstream import Link, Upstream, chunked
from esdedup.gateway.wire import BUFFER, TooLong, Wire
from esdedup.settings import Settings
from esdedup.stores.connection import Target

log = logging.getLogger("esdedup.gateway")

# How long a connection may say nothing, or not get to the end of a head.
_IDLE_SECONDS = 75.0
_MOST_CONNECTIONS = 2_000
_THREADS = 4
_STATUS = "/_esdedup/status"
# Of an answer that comes in chunks, what is waited for before the first byte is handed back.
_HELD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """What a gateway is told."""

    target: Target
    indices: tuple[str, ...] = ()
    folds: Mapping[str, Fold] = field(default_factory=dict)  # pattern -> default
    fields: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    settings: Settings | None = None
    fail_closed: bool = False
    max_body: int = 100 << 20  # what the engines take by default
    max_in_hand: int = 400 << 20  # of all bodies that are held whole
    workers: int = 1
    settle_seconds: float = 1.0
    pace: Pace = field(default_factory=Pace)


Job = Callable[[], Coroutine[Any, Any, None]]


class Client(Wire):
    """One connection of a caller, and the task for what takes more than handing bytes on."""

    task: asyncio.Task[None]

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway
        self.keeps_alive = True
        self.has_begun = False  # whether bytes of the answer went out
        self.began, self.what = 0.0, ""  # of the request, for the log
        self.is_idle = True  # between two requests, or in one whose body is not there yet
        self.pending: Request | None = None
        self.link: Link | None = None  # to the cluster, while a request passes without the task
        self._job: asyncio.Future[Job] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._job = self._loop.create_future()
        self.task = self._loop.create_task(self._gateway.serve(self))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_idle:
            self._gateway.consider(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the work for a client that goes away, as the engines themselves do."""
        super().connection_lost(exc)
        if self.link is not None:
            self.link.close()
        self.task.cancel()

    def expire(self) -> None:
        if not self.is_idle:
            super().expire()
        elif self.pending is None:
            self.task.cancel()
        else:
            self.give(partial(_raise, TimeoutError()))

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


@dataclass(slots=True)
class Request:
    """A request whose head was read; its body is still with the client."""

    client: Client
    head: Head
    path: str
    query: str
    route: routes.Route
    fold: str | None  # as asked for by this request

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def headers(self) -> Headers:
        return http.end_to_end(self.head.headers, "host", "expect", "x-esdedup-fold")


Handler = Callable[[Request], Coroutine[Any, Any, None]]


class Gateway:
    """Serves until it is closed."""

    def __init__(self, options: Options) -> None:
        from esdedup.gateway.reads import Reads
        from esdedup.gateway.writes import Writes

        self.options = options
        self.cluster = Cluster(options.target)
        self.upstream = Upstream(options.target.hosts, options.target.ca_certs)
        self.threads = ThreadPoolExecutor(_THREADS, "esdedup-enrich")
        self.newsroom = Newsroom(
            self.cluster,
            settings=options.settings,
            fields=options.fields,
            workers=options.workers,
            settle_seconds=options.settle_seconds,
        )
        self.counts: Counter[str] = Counter()
        self._writes = Writes(self)
        self._reads = Reads(self)
        self._in_hand = 0
        self._clients: set[Client] = set()
        self._busy: set[Client] = set()
        self._server: asyncio.Server | None = None
        self._is_stopping = False
        self._watchdog: asyncio.Task[None] | None = None

    # --- life --------------------------------------------------------------------------------

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
        for client in self._clients - self._busy:
            client.task.cancel()
        if self._busy:
            await asyncio.wait({client.task for client in self._busy}, timeout=seconds)
        left = {client.task for client in self._clients}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=1.0)
        await asyncio.to_thread(self.newsroom.close, seconds)
        self.threads.shutdown(wait=False)
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

    async def serve(self, client: Client) -> None:
        """What of a connection's requests does not pass at once."""
        self._clients.add(client)
        try:
            if len(self._clients) > _MOST_CONNECTIONS:
                await self._refuse(client, HttpError(503, "too many connections"))
                return
            self._begin(client)
            while True:
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
            self._busy.discard(client)
            client.close()

    # --- one request -------------------------------------------------------------------------

    def _begin(self, client: Client) -> None:
        """Ready for the next request, which may be there already."""
        self._busy.discard(client)
        client.has_begun, client.is_idle = False, True
        client.deadline = time.monotonic() + _IDLE_SECONDS
        if client.unread:
            self.consider(client)

    def consider(self, client: Client) -> None:
        """What can pass at once does, without a change of tasks; all else is given to the task."""
        try:
            if client.pending is None:
                raw = _taken_head(client)
                if raw is None:
                    return
                self._busy.add(client)
                self.counts["requests"] += 1
                client.began, client.what = time.perf_counter(), "?"
                client.pending = self._request(client, http.parse_request(raw))
                client.what = f"{client.pending.head.method} {client.pending.route.kind}"
                client.keeps_alive = client.pending.head.keeps_alive
                client.deadline = time.monotonic() + self.options.pace.pause
            request = client.pending
            handler = self._handler(request)
        except HttpError as error:
            client.give(partial(_raise, error))
            return
        head = request.head
        if handler != self.hand_on or not _is_small(head) or "expect" in head.lower:
            client.give(partial(handler, request))
        elif client.unread >= head.length:
            if (link := self.upstream.idle()) is None:
                client.give(partial(handler, request))
            else:
                self._pass(request, link)

    def _done(self, client: Client) -> None:
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s %.1f ms", client.what, 1000 * (time.perf_counter() - client.began))

    async def _one(self, client: Client, job: Job) -> None:
        try:
            await job()
            self._done(client)
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

    def _request(self, client: Client, head: Head) -> Request:
        path, query = routes.split_target(head.target)
        fold: str | None = head.lower.get("x-esdedup-fold")
        if "esdedup_fold" in query or "%" in query:
            query, told = routes.without_parameter(query, "esdedup_fold")
            fold = told if told is not None else fold
        return Request(client, head, path, query, routes.route_of(head.method, path), fold)

    def _handler(self, request: Request) -> Handler:
        kind = request.route.kind
        if kind == "other":
            return self._status if request.path == _STATUS else self.hand_on
        if kind in ("search", "msearch", "count"):
            return self._reads.handle if self._reads.wants(request) else self.hand_on
        return self._writes.handle if self._writes.wants(request) else self.hand_on

    async def _status(self, request: Request) -> None:
        """Numbers only: everybody may ask."""
        async for _ in http.body_of(request.client, request.head, self.options.pace):
            pass
        counts = {**self.counts, **self.newsroom.counts, "waiting": self.newsroom.waiting}
        body = json.dumps({"status": "ok", **counts}).encode() + b"\n"
        await self.answer(request, 200, "", [("content-type", "application/json")], body)

    # --- handing on --------------------------------------------------------------------------

    async def hand_on(self, request: Request) -> None:
        """As it came: a small body at once, a large one in pieces while the answer may come."""
        self.counts["passed"] += 1
        if _is_small(request.head):
            body = await self.small_body(request)
            await self._hand_on_whole(request, body)
        else:
            await self.continue_(request)
            await self._hand_on_stream(request, request.headers)

    def _pass(self, request: Request, link: Link) -> None:
        """With a link at hand. An answer that is not short and whole is left to the task."""
        client, head = request.client, request.head
        client.is_idle, client.pending, client.deadline, client.link = False, None, 0.0, link
        body = client.take(head.length)
        self.counts["passed"] += 1
        answer: Head | None = None

        def give(job: Job) -> None:
            link.on_change = client.link = None
            client.give(job)

        def go_on() -> None:
            nonlocal answer
            try:
                if answer is None and (answer := link.answer_head_at_hand(head.method)) is None:
                    if link.is_closing:
                        give(partial(self._hand_on_again, request, body))
                    return
                whole = _body_at_hand(link, answer)
            except UpstreamError as error:
                link.close()
                give(partial(_raise, error))
                return
            if whole is None:
                if link.is_closing or not _may_come_at_once(link, answer):
                    give(partial(self._hand_back, request, link, answer))
                return
            link.on_change = client.link = None
            self._hand_back_whole(request, answer, whole)
            self.upstream.give_back(link, answer)
            if client.is_full:
                client.give(client.drain)
                return
            self._done(client)
            if not client.keeps_alive or self._is_stopping:
                client.task.cancel()
            else:
                self._begin(client)

        link.on_change = go_on
        link.write(self._request_bytes(request, link) + body)

    def _request_bytes(self, request: Request, link: Link) -> bytes:
        headers = [("Host", link.host), *request.headers]
        return http.request_bytes(request.head.method, request.target, headers)

    def _hand_back_whole(self, request: Request, answer: Head, body: bytes) -> None:
        self.cluster.saw_product(answer.get("x-elastic-product"))
        headers = http.end_to_end(answer.headers)
        if answer.framing == "chunked":
            headers.append(("content-length", str(len(body))))
        self._write_head(request, answer.status, answer.reason, headers, body)

    async def _hand_on_again(self, request: Request, body: bytes) -> None:
        """The cluster closed a link that was idle, perhaps before it saw the request."""
        if not _is_repeatable(request):
            raise UpstreamError("the cluster closed the connection")
        await self._hand_on_whole(request, body)

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

    async def _hand_on_whole(self, request: Request, body: bytes) -> None:
        method = request.head.method
        repeatable = _is_repeatable(request)
        while True:
            link = await self.upstream.take()
            may_repeat = repeatable and not link.is_fresh
            try:
                link.write(self._request_bytes(request, link) + body)
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
        await self._hand_back(request, link, answer)

    async def _hand_on_stream(self, request: Request, headers: Headers) -> None:
        head = request.head
        link = await self.upstream.take(fresh=head.method not in ("GET", "HEAD"))
        is_chunked = head.framing == "chunked"
        if is_chunked:
            headers = [*headers, ("Transfer-Encoding", "chunked")]
        lines = http.request_bytes(head.method, request.target, [("Host", link.host), *headers])
        link.write(lines)
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
                request.client.keeps_alive = False
                answer.lower["connection"] = "close"
            await self._hand_back(request, link, answer)
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
        pieces = http.body_of(request.client, request.head, self.options.pace)
        async for piece in chunked(pieces) if is_chunked else pieces:
            link.write(piece)
            await link.drain()

    async def _hand_back(self, request: Request, link: Link, answer: Head) -> None:
        client = request.client
        try:
            self.cluster.saw_product(answer.get("x-elastic-product"))
            headers = http.end_to_end(answer.headers)
            if answer.framing == "length" and answer.length <= BUFFER:
                try:
                    body = await link.exactly(answer.length)
                except asyncio.IncompleteReadError as error:
                    raise UpstreamError("the cluster's answer ended too early") from error
                self._hand_back_whole(request, answer, body)
            elif answer.framing in ("none", "length"):
                self._write_head(request, answer.status, answer.reason, headers)
                async for piece in http.body_of(link, answer):
                    client.write(piece)
                    await client.drain()
            else:
                await self._hand_back_chunks(request, link, answer, headers)
        except BaseException:
            link.close()  # the client learns of it by the connection that ends too early
            client.keeps_alive = False
            raise
        self.upstream.give_back(link, answer)
        await client.drain()

    async def _hand_back_chunks(
        self, request: Request, link: Link, answer: Head, headers: Headers
    ) -> None:
        """A short one as a whole: every piece wakes another program up."""
        client, is_old = request.client, request.head.version == 0
        pieces, held, size = http.body_of(link, answer), [], 0
        try:
            async for piece in pieces:
                held.append(piece)
                size += len(piece)
                if size > _HELD:
                    break
            else:
                whole = b"".join(held)
                headers = [*headers, ("content-length", str(len(whole)))]
                self._write_head(request, answer.status, answer.reason, headers, whole)
                return
        except asyncio.IncompleteReadError as error:
            raise UpstreamError("the cluster's answer ended too early") from error
        if is_old:
            client.keeps_alive = False
        else:
            headers = [*headers, ("Transfer-Encoding", "chunked")]
        self._write_head(request, answer.status, answer.reason, headers)
        client.write(b"".join(held) if is_old else http.chunk(b"".join(held)))
        async for piece in pieces if is_old else chunked(pieces):
            client.write(piece)
            await client.drain()

    # --- answering ---------------------------------------------------------------------------

    async def answer(
        self, request: Request, status: int, reason: str, headers: Headers, body: bytes
    ) -> None:
        """A whole answer of our own, or one that was held."""
        kept = [(n, v) for n, v in headers if n.lower() not in ("content-length",)]
        self._write_head(request, status, reason, [*kept, ("content-length", str(len(body)))], body)
        await request.client.drain()

    def _write_head(
        self, request: Request, status: int, reason: str, headers: Headers, body: bytes = b""
    ) -> None:
        if not request.client.keeps_alive:
            headers = [*headers, ("Connection", "close")]
        elif request.head.version == 0:
            headers = [*headers, ("Connection", "keep-alive")]
        request.client.has_begun = True
        request.client.write(http.answer_bytes(status, reason, headers) + body)

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
            await _linger(client)

    # --- bodies held whole -------------------------------------------------------------------

    async def whole_body(self, request: Request) -> bytes:
        """Counted against what may be held at once; `release` gives it back."""
        limit, head = self.options.max_body, request.head
        if head.length > limit:
            raise http.too_large(limit)
        await self.continue_(request)
        pieces, size = [], 0
        try:
            async for piece in http.body_of(request.client, head, self.options.pace):
                size += len(piece)
                self._in_hand += len(piece)
                self._check_size(size)
                pieces.append(piece)
        except BaseException:
            self._in_hand -= size
            raise
        return b"".join(pieces)

    def _check_size(self, size: int) -> None:
        if size > self.options.max_body:
            raise http.too_large(self.options.max_body)
        if self._in_hand > self.options.max_in_hand:
            raise HttpError(
                429,
                "the gateway holds as many bytes as it may; send again",
                "es_rejected_execution_exception",
            )

    def release(self, size: int) -> None:
        self._in_hand -= size


async def _raise(error: Exception) -> None:
    raise error


def _is_small(head: Head) -> bool:
    return head.framing == "none" or (head.framing == "length" and head.length <= BUFFER)


def _is_repeatable(request: Request) -> bool:
    return request.head.method in ("GET", "HEAD") or request.route.kind in ("search", "msearch")


def _taken_head(client: Client) -> bytes | None:
    """The next head, None as long as it is not there."""
    try:
        raw = client.taken_until(b"\r\n\r\n", http.MAX_HEAD)
        if raw is not None and raw[:2] == b"\r\n":  # allowed before a request
            raw = raw[2:] if len(raw) > 4 else client.taken_until(b"\r\n\r\n", http.MAX_HEAD)
    except TooLong as error:
        raise HttpError(431, "the head of the request is too long") from error
    return raw


def _body_at_hand(link: Link, answer: Head) -> bytes | None:
    """The whole body if it came; None if not, or if it is too long to be held."""
    if answer.framing in ("none", "length"):
        return link.take(answer.length) if answer.length <= min(link.unread, BUFFER) else None
    if answer.framing != "chunked" or link.unread > _HELD or not link.ends_with(b"\r\n\r\n"):
        return None
    return link.whole_chunks()


def _may_come_at_once(link: Link, answer: Head) -> bool:
    if answer.framing == "length":
        return answer.length <= BUFFER
    return answer.framing == "chunked" and link.unread <= _HELD


async def _linger(client: Client) -> None:
    """Read on for a moment: a connection closed with bytes unread loses the answer."""
    with contextlib.suppress(TimeoutError, ConnectionError):
        if client.transport.can_write_eof():
            client.transport.write_eof()
        async with asyncio.timeout(1.0):
            while await client.read():
                pass
