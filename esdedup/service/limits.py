"""The outermost layer: limits of requests, security headers, logs and metrics of responses.

A body is counted and timed as it arrives, so that nothing larger or slower than allowed is held in
memory. Compressed bodies are refused: their size is unknown. HEAD is a GET whose response ends with
the headers; the routes know only GET.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from time import perf_counter
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from esdedup.service.config import LOOPBACK_NAMES
from esdedup.service.logs import log, request_id
from esdedup.service.problems import Problem, make_response
from esdedup.service.state import Service

_log = logging.getLogger("esdedup.service")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFE = ("GET", "HEAD", "OPTIONS")
# Bodies that are worked on as they come: no bound on the whole, one on each line and each pause.
STREAMED = ("/v1/articles/bulk",)
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Limits:
    """An ASGI application around the application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self._service.addresses)
        scope = exchange.scope
        token = request_id.set(exchange.id)
        self._under_way += 1
        try:
            try:
                self._refuse(scope, exchange.headers)
                await self._app(scope, self._bound(scope, receive), exchange.send)
            except Problem as problem:
                self._service.metrics.refused.labels(problem.code).inc()
                await exchange.answer(problem)
            except Exception:  # noqa: BLE001 - whatever it is, the client gets an answer
                _log.exception("unexpected error")
                detail = "something failed; the log of the service has the reason"
                await exchange.answer(Problem(500, "internal", detail))
        finally:
            self._under_way -= 1
            self._record(exchange)
            request_id.reset(token)

    def _refuse(self, scope: Scope, headers: Headers) -> None:
        """Refuse what the headers alone show to be wrong."""
        config, connections = self._service.config, len(self._service.connections)
        is_busy = self._under_way > config.requests or connections > config.connections
        if is_busy and scope["path"] != "/healthz":
            raise Problem(
                503,
                "busy",
                "too many requests at once; come again",
                retry_after=2,
                headers={"Connection": "close"},
            )
        self._refuse_other_sites(scope["method"], headers)
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise Problem(
                415, "content-encoding", "compressed bodies are not taken; send it as it is"
            )
        length = headers.get("content-length", "0")
        if scope["path"] not in STREAMED and int(length) > config.body_bytes:
            raise self._too_large()

    def _refuse_other_sites(self, method: str, headers: Headers) -> None:
        """Refuse requests that a browser sends for a page of another site."""
        host = headers.get("host", "")
        # Without keys being on this machine is the only proof there is: a name that somebody made
        # point here (DNS rebinding) is none.
        named = _split(f"//{host}")
        if self._service.keys is None and (not named or named.hostname not in LOOPBACK_NAMES):
            raise Problem(403, "host", "without keys the service answers to localhost alone")
        if method in _SAFE:
            return
        sent = headers.get("origin")
        origin = _split(sent) if sent is not None else None
        is_other = sent is not None and (origin is None or origin.netloc.lower() != host.lower())
        if is_other or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Problem(403, "origin", "requests from pages of other sites are not taken")

    def _too_large(self) -> Problem:
        most = self._service.config.body_bytes
        return Problem(413, "body-too-large", f"the body is larger than {most:,} bytes")

    def _bound(self, scope: Scope, receive: Receive) -> Receive:
        """Receive the body piece by piece, within the limits of size and time."""
        config, is_stream = self._service.config, scope["path"] in STREAMED
        loop = asyncio.get_running_loop()
        ends = loop.time() + config.body_seconds
        size, is_whole = 0, False

        async def receive_bounded() -> Message:
            nonlocal size, is_whole
            if is_whole:  # waiting for the client to go away has no limit
                return await receive()
            left = config.body_seconds if is_stream else max(0.0, ends - loop.time())
            try:
                message = await asyncio.wait_for(receive(), left)
            except TimeoutError:
                raise Problem(
                    408,
                    "body-too-slow",
                    f"the body did not come within {config.body_seconds:g} s; send it again",
                    headers={"Connection": "close"},
                ) from None
            size += len(message.get("body", b""))
            if not is_stream and size > config.body_bytes:
                raise self._too_large()
            is_whole = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        return receive_bounded

    def _record(self, exchange: _Exchange) -> None:
        seconds = perf_counter() - exchange.started
        route = exchange.route
        self._service.metrics.requests.labels(exchange.method, route, str(exchange.status)).inc()
        self._service.metrics.request_seconds.labels(route).observe(seconds)
        log(
            _log,
            "request",
            method=exchange.method,
            route=route,
            status=exchange.status,
            milliseconds=round(1000 * seconds, 1),
            **({"key": exchange.key} if exchange.key else {}),
        )


class _Exchange:
    """One request and its answer, as far as this layer looks at them."""

    def __init__(self, scope: Scope, send: Send, known: frozenset[str]) -> None:
        self._asked: str = scope["method"]
        if self._asked == "HEAD":  # a copy: the server looks into its own for how an answer ends
            scope = {**scope, "method": "GET", "esdedup.only_headers": True}
        self.scope = scope
        self._known = known
        self.headers = Headers(scope=scope)
        given = self.headers.get("x-request-id", "")
        self.id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope["esdedup.request_id"] = self.id
        self.started = perf_counter()
        self.status = 0
        self._send = send

    @property
    def method(self) -> str:
        """For labels: any word can be a method, and unknown ones are all `other`."""
        known = (*_SAFE, "POST", "PUT", "PATCH", "DELETE")
        return self._asked if self._asked in known else "other"

    @property
    def route(self) -> str:
        """For labels: a path of the description, or `(none)`, never one that a client made up."""
        path: str = self.scope["path"]
        if path.startswith("/static/"):
            return "/static"
        return path if path in self._known else "(none)"

    @property
    def key(self) -> str | None:
        """The name of the key, never the key."""
        found: str | None = self.scope.get("esdedup.key")
        return found

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if self.scope["path"].startswith("/v1/"):
                headers.setdefault("Cache-Control", "no-store")
            headers["X-Request-Id"] = self.id
        elif self._asked == "HEAD":
            message = {**message, "body": b""}
        await self._send(message)

    async def answer(self, problem: Problem) -> None:
        if self.status:  # the response has begun; the connection can only be cut off
            raise ConnectionAbortedError("the answer could not be finished")
        await make_response(problem, self.id)(self.scope, _receive_nothing, self.send)


async def _receive_nothing() -> Message:
    return {"type": "http.disconnect"}


def _split(address: str) -> SplitResult | None:
    """None for what is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return None
