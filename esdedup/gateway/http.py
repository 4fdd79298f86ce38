"""HTTP/1.1 messages: httptools (llhttp) parses them, and what it leaves open is decided here.

The gateway and the cluster must see one request where the client sent one. So a message that two
programs could read in two ways is refused: by llhttp, which is strict about line ends, lengths and
folded headers, and here for other versions, transfer codings and targets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Container, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from httptools import (
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
    HttpResponseParser,
)

from esdedup.gateway.connection import BUFFER, HttpConnection

Header = tuple[str, str]
Headers = list[Header]
Framing = Literal["none", "length", "chunked", "until_close"]

MAX_HEAD = 64 * 1024
MAX_HEADERS = 200
# A chunk of one byte takes six and .5 µs: so much is parsed before other clients have a turn.
_CHUNKS_AT_ONCE = 16 * 1024

# Meant for one connection only; never forwarded.
HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
    }
)  # fmt: skip
_NAMED_IN_CONNECTION = HOP_BY_HOP | {"close"}
# Of a request, those that are meant for the gateway as well.
_NOT_FORWARDED = HOP_BY_HOP | {"host", "expect", "x-esdedup-fold"}


class HttpError(Exception):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status: int, reason: str, kind: str = "esdedup_gateway_exception") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.kind = kind


class UpstreamError(Exception):
    """The cluster cannot be reached, or does not speak HTTP."""


Kind = type[HttpRequestParser] | type[HttpResponseParser]
_NO_CALLBACKS = object()


def _check(raw: bytes, kind: Kind) -> None:
    """HttpError where llhttp refuses a head."""
    try:
        kind(_NO_CALLBACKS).feed_data(raw)
    except HttpParserUpgrade:
        pass  # offered, for example by `curl --http2`, and not taken
    except HttpParserError as error:
        raise HttpError(400, f"malformed HTTP: {error}") from error


class ChunkParser:
    """Reads a chunked body; `raw` is the head of its message."""

    def __init__(self, raw: bytes, kind: Kind) -> None:
        self._body = bytearray()
        self.is_complete = False
        self.is_followed = False  # bytes of another message came in the same piece
        self._native = kind(self)
        self.feed(raw)

    def feed(self, data: bytes) -> bytes:
        """The part of the body that a piece has; HttpError where llhttp refuses it."""
        try:
            self._native.feed_data(data)
        except HttpParserUpgrade:
            pass
        except HttpParserError as error:
            if not self.is_complete:
                raise HttpError(400, f"malformed HTTP: {error}") from error
            self.is_followed = True
        out = bytes(self._body)
        self._body.clear()
        return out

    # --- called by httptools -----------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.is_followed = self.is_complete

    def on_body(self, body: bytes) -> None:
        if not self.is_complete:
            self._body += body

    def on_message_complete(self) -> None:
        self.is_complete = True


@dataclass(slots=True)
class Head:
    """The first line and the headers of a request or an answer, and how its body is framed."""

    headers: Headers
    values: dict[str, str]  # by lower-case name, the last one
    keeps_alive: bool = True
    is_old: bool = False  # version 1.0: it knows no chunks and keeps no connection by default
    method: str = ""
    target: str = ""
    status: int = 0
    reason: str = ""
    framing: Framing = "none"
    length: int = 0
    chunks: ChunkParser | None = field(default=None, repr=False)

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def forwarded(self) -> Headers:
        """The headers of a request that go to the cluster."""
        return [(n, v) for n, v in self.headers if n.lower() not in _NOT_FORWARDED]


def parse_request(raw: bytes) -> Head:
    """HttpError where it is malformed, or could be read in two ways."""
    first, head = _parse_head(raw, HttpRequestParser)
    words = first.split(" ")
    if len(words) != 3:  # llhttp takes several spaces between method and target
        raise HttpError(400, "malformed request line")
    head.method, head.target, head.is_old = words[0], words[1], _is_old(words[2])
    if not head.target.startswith("/"):
        raise HttpError(400, "the target of a request must be a path")
    if "host" not in head.values and not head.is_old:
        raise HttpError(400, "one Host header is needed")
    if len(head.values) < len(head.headers) and len(_values(head.headers, "host")) > 1:
        raise HttpError(400, "one Host header is needed")
    named = _set_keeping(head)
    if not _NAMED_IN_CONNECTION.issuperset(named):
        # To have a header dropped that something in front of us relies on.
        raise HttpError(400, "the Connection header names headers that are to be forwarded")
    _set_framing(head, raw, HttpRequestParser)
    return head


def parse_answer(raw: bytes, method: str) -> Head:
    """UpstreamError where it is malformed; `method` is that of the request."""
    try:
        first, head = _parse_head(raw, HttpResponseParser)
        version, _, rest = first.partition(" ")
        head.is_old, head.status, head.reason = _is_old(version), int(rest[:3]), rest[4:]
        _set_keeping(head)
        _set_framing(head, raw, HttpResponseParser)
    except HttpError as error:
        raise UpstreamError(f"the cluster's answer is no HTTP: {error.reason}") from error
    if method == "HEAD" or head.status in (204, 304) or head.status < 200:
        head.framing, head.length, head.chunks = "none", 0, None  # whatever its headers say
    return head


def _is_old(version: str) -> bool:
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        raise HttpError(400, "malformed HTTP: neither version 1.0 nor 1.1")
    return version == "HTTP/1.0"


def _parse_head(raw: bytes, kind: Kind) -> tuple[str, Head]:
    """The first line, and the headers; split at the line ends that llhttp has checked."""
    _check(raw, kind)
    text = raw.decode("latin-1").removesuffix("\r\n\r\n")
    while text.startswith("\r\n"):  # empty lines are allowed before a message
        text = text[2:]
    if text[:1] in ("\r", "\n"):  # llhttp takes them for half an empty line
        raise HttpError(400, "malformed HTTP: half a line end before the message")
    first, *lines = text.split("\r\n")
    if len(lines) > MAX_HEADERS:
        raise HttpError(431, "too many headers")
    headers: Headers = []
    values: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.strip(" \t")
        headers.append((name, value))
        values[name.lower()] = value
    return first, Head(headers, values)


def _set_keeping(head: Head) -> list[str]:
    """Set whether the sender keeps the connection; returns what its Connection header names."""
    if "connection" not in head.values:
        head.keeps_alive = not head.is_old
        return []
    named = _tokens(",".join(_values(head.headers, "connection")))
    head.keeps_alive = "close" not in named and (not head.is_old or "keep-alive" in named)
    return named


def _set_framing(head: Head, raw: bytes, kind: Kind) -> None:
    """llhttp has refused two lengths, and a length beside a transfer coding."""
    if "transfer-encoding" in head.values:
        codings = _values(head.headers, "transfer-encoding")
        if len(codings) > 1 or codings[0].lower() != "chunked" or head.is_old:
            raise HttpError(400, "a Transfer-Encoding other than chunked")
        head.framing, head.chunks = "chunked", ChunkParser(raw, kind)
    elif length := head.get("content-length"):
        head.framing, head.length = "length", int(length)
    elif kind is HttpResponseParser:
        head.framing = "until_close"


def _values(headers: Headers, name: str) -> list[str]:
    return [value for given, value in headers if given.lower() == name]


def _tokens(value: str) -> list[str]:
    """The elements of a list, in lower case."""
    return [token for part in value.split(",") if (token := part.strip(" \t").lower())]


def encodings(value: str) -> list[str]:
    """The compressions that a Content-Encoding names."""
    return [name for name in _tokens(value) if name != "identity"]


# --- bodies -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Pace:
    """How slowly a body may come: a pause, and a rate it must reach after a while."""

    pause: float = 30.0
    grace: float = 30.0
    bytes_a_second: int = 1_000

    def deadline(self, began: float, received: int) -> float:
        slowest = began + self.grace + received / self.bytes_a_second
        return min(time.monotonic() + self.pause, slowest)


async def read_body(
    connection: HttpConnection, head: Head, pace: Pace | None = None
) -> AsyncIterator[bytes]:
    """The pieces of a body, without its framing; TimeoutError where they come slower than
    `pace` allows."""
    began, received = time.monotonic(), 0
    left = head.length
    unused = 0  # bytes of chunk headers or trailers since the last byte of the body
    try:
        while left if head.framing == "length" else head.framing != "none":
            if pace is not None:
                connection.read_deadline = pace.deadline(began, received)
            most = min(left, BUFFER) if head.framing == "length" else _CHUNKS_AT_ONCE
            piece = await connection.read(most)
            if not piece:
                if head.framing == "until_close":
                    return
                raise asyncio.IncompleteReadError(b"", left)
            if head.chunks is not None:
                taken = len(piece)
                piece = head.chunks.feed(piece)
                unused = 0 if piece else unused + taken
                if unused > MAX_HEAD:
                    raise HttpError(431, "too long a chunk header, or too many trailers")
            received += len(piece)
            left -= len(piece)
            if piece:
                yield piece
            if head.chunks is not None:
                if head.chunks.is_complete:
                    # Nobody sends on behind chunks; what came is not read.
                    head.keeps_alive &= not head.chunks.is_followed
                    return
                await asyncio.sleep(0)  # of many chunks at hand, each piece gives way to others
    finally:
        connection.read_deadline = 0.0


# --- writing ------------------------------------------------------------------------------------


def header_lines(headers: Iterable[Header]) -> bytes:
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")


def request_bytes(method: str, target: str, headers: Iterable[Header]) -> bytes:
    return f"{method} {target} HTTP/1.1\r\n".encode("latin-1") + header_lines(headers) + b"\r\n"


def answer_bytes(status: int, reason: str, headers: Iterable[Header]) -> bytes:
    first = f"HTTP/1.1 {status} {reason or _phrase(status)}\r\n".encode("latin-1")
    return first + header_lines(headers) + b"\r\n"


def end_to_end(headers: Iterable[Header], dropped: Container[str] = ()) -> Headers:
    """Headers to forward; `dropped` are further names, in lower case."""
    return [
        (name, value)
        for name, value in headers
        if (lower := name.lower()) not in HOP_BY_HOP and lower not in dropped
    ]


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


async def encode_chunks(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield chunk(piece)
    yield b"0\r\n\r\n"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
