"""HTTP/1.1 as far as a gateway needs it: heads read strictly, bodies by their declared length.

What two programs could read in two ways (a length beside chunks, two lengths, a name with a space,
a line that ends in a bare newline) is refused: the gateway and the cluster must see one request
where the caller sent one.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal, TypeVar

from esdedup.gateway.connection import BUFFER, TooLong, Wire

Header = tuple[str, str]
Headers = list[Header]

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST = re.compile(rf"({_TOKEN}) ([\x21-\x7e\x80-\xff]+) HTTP/1\.([01])")
_STATUS = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
# All header lines at once: no part of it can match in two ways, so it takes one pass.
_HEADERS = re.compile(rf"(?:{_TOKEN}:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)*")
_LENGTH = re.compile(r"[0-9]{1,18}")
# As nearly everybody writes it: what else differs between the heads of a connection is little.
_LENGTH_LINE = re.compile(rb"\r\n(([Cc]ontent-[Ll]ength): ([0-9]{1,18})\r\n)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")

# Of chunks that are there already, before other clients have a turn: a chunk has two, and costs
# 25 µs.
_LINES_AT_ONCE = 200

MAX_HEAD = 64 * 1024
MAX_HEADERS = 200

# Between two programs only, never handed on.
HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
    }
)  # fmt: skip
_NAMED_IN_CONNECTION = HOP_BY_HOP | {"close"}
# Of a request, not for the cluster: where it went, and what was meant for us.
_NOT_SENT = ("host", "expect", "x-esdedup-fold")


class HttpError(Exception):
    """A request that is refused here, with the status it is told."""

    def __init__(self, status: int, reason: str, kind: str = "esdedup_gateway_exception") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.kind = kind


class UpstreamError(Exception):
    """The cluster cannot be reached, or does not speak HTTP."""


Framing = Literal["none", "length", "chunked", "until_close"]


@dataclass(frozen=True, slots=True)
class Fields:
    """The header lines of a message but for its length: many of a connection share the rest."""

    headers: tuple[Header, ...]
    lower: Mapping[str, str]  # last value of each name
    passed: bytes  # the lines that are handed on
    keeps_alive: tuple[bool, bool]  # in version 1.0 and in 1.1


V = TypeVar("V")


class Known(dict[bytes, V]):
    """What was read on one connection, by its bytes, and is not read again.

    It ends with the connection: heads hold credentials.
    """

    most = 64
    longest = 4_096  # bytes of a key: heads arrive before anybody is authenticated

    def add(self, key: bytes, value: V) -> None:
        if len(key) > self.longest:
            return
        if len(self) >= self.most:
            self.clear()
        self[key] = value


@dataclass(slots=True)
class Head:
    """The first lines of a request or an answer."""

    fields: Fields
    version: int  # 0 or 1
    method: str = ""
    target: str = ""
    status: int = 0
    reason: str = ""
    framing: Framing = "none"
    length: int = 0
    length_line: bytes = b""  # as it came, where it was not read with the other fields
    _start: bytes = b""

    @property
    def headers(self) -> Headers:
        name, _, value = self.length_line.decode("latin-1").partition(": ")
        own = [(name, value.rstrip("\r\n"))] if name else []
        return [*self.fields.headers, *own]

    @property
    def passed(self) -> bytes:
        """The lines that are handed on."""
        return self.fields.passed + self.length_line

    @property
    def start(self) -> bytes:
        """Of an answer as it is handed back: what comes before lines of ours and the empty one."""
        if not self._start:
            self._start = answer_start(self.status, self.reason) + self.passed
        return self._start

    def get(self, name: str) -> str:
        return self.fields.lower.get(name, "")

    @property
    def keeps_alive(self) -> bool:
        return self.fields.keeps_alive[self.version]


def _tokens(value: str) -> list[str]:
    return [token.strip().lower() for token in value.split(",") if token.strip()]


def parse_request(raw: bytes, known: Known[Fields] | None = None) -> Head:
    first, fields, length = _parse(raw, known, _NOT_SENT)
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise HttpError(400, "malformed request line")
    method, target, version = found[1], found[2], int(found[3])
    if not target.startswith("/"):
        raise HttpError(400, "only a path is taken as the target of a request")
    lower = fields.lower
    if "connection" in lower and not _NAMED_IN_CONNECTION.issuperset(_tokens(lower["connection"])):
        # To have a header dropped that something in front of us relies on.
        raise HttpError(400, "the Connection header names headers that are to be handed on")
    if version == 1 and "host" not in lower:
        raise HttpError(400, "one Host header is needed")
    head = Head(fields, version, method, target)
    _frame(head, length, default="none")
    return head


def parse_answer(raw: bytes, method: str, known: Known[Fields] | None = None) -> Head:
    try:
        first, fields, length = _parse(raw, known)
        found = _status(first)
        head = Head(fields, int(found[1]), status=int(found[2]), reason=found[3] or "")
        _frame(head, length, default="until_close")
        if method == "HEAD" or head.status in (204, 304) or head.status < 200:
            head.framing, head.length = "none", 0  # whatever was said of it
    except HttpError as error:
        raise UpstreamError(f"the cluster's answer is no HTTP: {error.reason}") from error
    return head


def _status(line: str) -> re.Match[str]:
    found = _STATUS.fullmatch(line)
    if found is None:
        raise HttpError(502, "malformed status line")
    return found


def _parse(
    raw: bytes, known: Known[Fields] | None, dropped: Iterable[str] = ()
) -> tuple[str, Fields, re.Match[bytes] | None]:
    """The first line, the others as `known` has them or as they are read, and the length."""
    end = raw.find(b"\r\n")
    length = _LENGTH_LINE.search(raw, end)
    if length is None:
        lines = raw[end + 2 : -2]
    else:
        lines = raw[end + 2 : length.start(1)] + raw[length.end(1) : -2]
    fields = known.get(lines) if known is not None else None
    if fields is None:
        fields = _fields(lines, dropped)
        if known is not None:
            known.add(lines, fields)
    return raw[:end].decode("latin-1"), fields, length


def _fields(raw: bytes, dropped: Iterable[str]) -> Fields:
    text = raw.decode("latin-1")
    if _HEADERS.fullmatch(text) is None:
        raise HttpError(400, "malformed header")
    lines = text.split("\r\n")[:-1]
    if len(lines) > MAX_HEADERS:
        raise HttpError(431, "too many headers")
    headers: Headers = []
    lower: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        value = value.strip(" \t")
        headers.append((name, value))
        key = name.lower()
        if key in lower:
            if key in ("content-length", "transfer-encoding", "connection"):
                value = f"{lower[key]},{value}"
            elif key == "host":
                raise HttpError(400, "one Host header is needed")
        lower[key] = value
    tokens = _tokens(lower.get("connection", ""))
    stays = "close" not in tokens
    return Fields(
        tuple(headers),
        lower,
        lines_of(end_to_end(headers, *dropped)),
        (stays and "keep-alive" in tokens, stays),
    )


def _frame(head: Head, length: re.Match[bytes] | None, default: Framing) -> None:
    lower = head.fields.lower
    encoding, other = lower.get("transfer-encoding"), lower.get("content-length")
    if encoding is not None:
        if length is not None or other is not None:
            raise HttpError(400, "both Transfer-Encoding and Content-Length")
        if encoding.strip().lower() != "chunked" or head.version == 0:
            raise HttpError(400, "a Transfer-Encoding other than chunked")
        head.framing = "chunked"
    elif length is not None:
        if other is not None:
            raise HttpError(400, "two lengths")
        head.framing, head.length, head.length_line = "length", int(length[3]), length[1]
    elif other is not None:
        if _LENGTH.fullmatch(other) is None:
            raise HttpError(400, "malformed Content-Length")
        head.framing, head.length = "length", int(other)
    else:
        head.framing = default


# --- bodies -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Pace:
    """How slowly a body may come: a pause, and a rate it must reach after a while."""

    pause: float = 30.0
    grace: float = 30.0
    bytes_a_second: int = 1_000

    def deadline(self, began: float, received: int) -> float:
        now = time.monotonic()
        slowest = began + self.grace + received / self.bytes_a_second
        return max(0.0, min(self.pause, slowest - now))


async def body_of(wire: Wire, head: Head, pace: Pace | None = None) -> AsyncIterator[bytes]:
    """The pieces of a body, without its framing; `pace` bounds how slowly they may come."""
    began, received, lines = time.monotonic(), 0, 0

    def set_deadline() -> None:
        if pace is not None:
            wire.deadline = time.monotonic() + pace.deadline(began, received)

    async def pieces(left: int) -> AsyncIterator[bytes]:
        nonlocal received
        while left:
            set_deadline()
            piece = await wire.read(min(left, BUFFER))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            received += len(piece)
            left -= len(piece)
            yield piece

    async def line() -> bytes:
        nonlocal lines
        lines += 1
        if lines % _LINES_AT_ONCE == 0:
            await asyncio.sleep(0)
        set_deadline()
        try:
            return await wire.until(b"\r\n", MAX_HEAD)
        except TooLong as error:
            raise HttpError(400, "malformed chunk") from error

    try:
        if head.framing == "length":
            async for piece in pieces(head.length):
                yield piece
        elif head.framing == "until_close":
            while piece := await wire.read():
                yield piece
        elif head.framing == "chunked":
            while size := _chunk_size(await line()):
                async for piece in pieces(size):
                    yield piece
                if await line() != b"\r\n":
                    raise HttpError(400, "malformed chunk")
            for _ in range(MAX_HEADERS):  # trailers are not handed on
                if await line() == b"\r\n":
                    return
            raise HttpError(431, "too many trailers")
    finally:
        wire.deadline = 0.0


def whole_chunks(raw: bytes | bytearray) -> tuple[bytes, int]:
    """A body in chunks that is there as a whole, and where it ends; IndexError where it is not."""
    pieces: list[bytes] = []
    line, at = _line(raw, 0)
    while size := _chunk_size(line):
        end = at + size
        if len(raw) < end + 2:
            raise IndexError
        pieces.append(bytes(memoryview(raw)[at:end]))
        if raw[end : end + 2] != b"\r\n":
            raise HttpError(400, "malformed chunk")
        line, at = _line(raw, end + 2)
    for _ in range(MAX_HEADERS):
        line, at = _line(raw, at)
        if line == b"\r\n":
            return b"".join(pieces), at
    raise HttpError(431, "too many trailers")


def _line(raw: bytes | bytearray, at: int) -> tuple[bytes | bytearray, int]:
    """With its end, and where the next one begins."""
    end = raw.find(b"\r\n", at) + 2
    if end == 1:
        raise IndexError
    return raw[at:end], end


def _chunk_size(line: bytes | bytearray) -> int:
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise HttpError(400, "malformed chunk")
    return int(found[1], 16)


def encodings(value: str) -> list[str]:
    """The compressions that a Content-Encoding names."""
    return [name for name in _tokens(value) if name != "identity"]


# --- writing ------------------------------------------------------------------------------------


def request_bytes(method: str, target: str, headers: Iterable[Header]) -> bytes:
    return request_head(method, target, lines_of(headers))


def request_head(method: str, target: str, lines: bytes) -> bytes:
    """`lines` as `lines_of` writes them."""
    first = f"{method} {target} HTTP/1.1\r\n".encode("latin-1")
    return b"".join((first, lines, b"\r\n"))


def answer_bytes(status: int, reason: str, headers: Iterable[Header]) -> bytes:
    return answer_start(status, reason) + lines_of(headers) + b"\r\n"


def answer_start(status: int, reason: str) -> bytes:
    return f"HTTP/1.1 {status} {reason or _phrase(status)}\r\n".encode("latin-1")


def lines_of(headers: Iterable[Header]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def to_cluster(head: Head) -> Headers:
    """Of a request's headers those that are handed on, to be changed."""
    return end_to_end(head.headers, *_NOT_SENT)


def end_to_end(headers: Iterable[Header], *dropped: str) -> Headers:
    """Headers to hand on; `dropped` are further names, in lower case."""
    return [
        (name, value)
        for name, value in headers
        if (lower := name.lower()) not in HOP_BY_HOP and lower not in dropped
    ]


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
