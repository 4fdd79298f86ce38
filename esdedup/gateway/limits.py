"""What requests may cost: limits of one body, and the memory of all requests in hand together.

All of it holds before anybody is asked who the caller is. Compressed bodies grow a thousandfold
when they are unpacked, and JSON thirtyfold when it is read, so both are counted as they grow.
"""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Callable
from types import TracebackType

from esdedup.gateway.http import HttpError, encodings

# Work on fewer bytes, as read, is done on the event loop: a change of threads costs .1 ms.
INLINE = 64 * 1024
# Of a compressed body: an empty gzip member has 20 bytes and costs 15 µs.
INLINE_PACKED = 4 * 1024
# What is fed to the unpacker first, and at most; what it gives at most. A new member copies what
# is left of a piece, so a piece grows only while a member goes on.
_FIRST_PIECE, _LARGEST_PIECE, _LARGEST_STEP = 256, 64 * 1024, 1 << 20


class TooMuch(HttpError):
    """A request beyond a limit: 413, and the option that raises the limit."""

    def __init__(self, reason: str, option: str) -> None:
        super().__init__(
            413, f"{reason}: the limit is that of {option}", "content_too_long_exception"
        )


class Memory:
    """The bytes that all requests in hand may take together; used from any thread."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0
        self._lock = threading.Lock()

    def share(self) -> MemoryShare:
        return MemoryShare(self)

    def add(self, size: int) -> bool:
        """Whether there is room; then it is taken."""
        with self._lock:
            if self.used + size > self.most:
                return False
            self.used += size
            return True

    def charge(self, size: int) -> None:
        """Take it, whether there is room or not."""
        with self._lock:
            self.used += size

    def give_back(self, size: int) -> None:
        with self._lock:
            self.used -= size


class MemoryShare:
    """What one request takes of the memory, until the end of the block."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.size = 0

    def add(self, size: int) -> None:
        """HttpError where there is no room: 413 for a request that never fits, else 429."""
        if self._memory.add(size):
            self.size += size
            return
        most = self._memory.most
        if self.size + size > most:
            raise TooMuch(
                f"the request takes more than {most:,} bytes, unpacked and read", "--max-memory"
            )
        raise HttpError(
            429,
            f"the requests in hand take {most:,} bytes, the limit of --max-memory; send again",
            "es_rejected_execution_exception",
        )

    def charge(self, size: int) -> None:
        """Count what cannot be refused, as the answer to a write that is done; until the end of
        this request others are refused instead."""
        self._memory.charge(size)
        self.size += size

    def __enter__(self) -> MemoryShare:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._memory.give_back(self.size)
        self.size = 0


def check_body(size: int, limit: int) -> None:
    if size > limit:
        raise TooMuch(f"the body has more than {limit:,} bytes", "--max-body")


def unpack(
    body: bytes, encoding: str, limit: int, count: Callable[[int], None] = lambda size: None
) -> bytes | None:
    """The body without its compression; None where the compression is not known here.

    `count` gets the size of every step before it is stored. HttpError where the body is broken, or
    unpacks to more than the limit.
    """
    names = encodings(encoding)
    if not names:
        return body
    if names not in (["gzip"], ["x-gzip"], ["deflate"]):
        return None
    return _inflate(memoryview(body), limit, count)


def _inflate(body: memoryview, limit: int, count: Callable[[int], None]) -> bytes:
    """In one pass, whatever the number of members."""
    out = io.BytesIO()
    at = 0
    while at < len(body):
        at = _inflate_member(body, at, out, limit, count)
    return out.getvalue()


def _inflate_member(
    body: memoryview, at: int, out: io.BytesIO, limit: int, count: Callable[[int], None]
) -> int:
    """Writes one gzip member or zlib stream to `out`; returns where the next one begins."""
    unpacker = zlib.decompressobj(47)  # 32 + 15: the first bytes tell whether gzip or zlib
    size, given = _FIRST_PIECE, 0
    while not unpacker.eof:
        piece: bytes | memoryview = unpacker.unconsumed_tail
        if not piece:
            piece = body[at : at + size]
            at, size = at + len(piece), min(2 * size, _LARGEST_PIECE)
            if not piece and given < _LARGEST_STEP:
                raise HttpError(400, "the compressed body ends too early")
        try:
            step = unpacker.decompress(piece, _LARGEST_STEP)
        except zlib.error as error:
            raise HttpError(400, "the compressed body is broken") from error
        given = len(step)
        check_body(out.tell() + given, limit)
        count(given)
        out.write(step)
    return at - len(unpacker.unused_data)


def lines_of(body: bytes, most: int, what: str, option: str) -> list[bytes]:
    """Its lines; TooMuch of more than so many `what` take, two lines each. They are counted first:
    splitting a body keeps all other threads waiting."""
    if body.count(b"\n") > 2 * most + 1:
        raise TooMuch(f"the body has more lines than {most:,} {what}", option)
    return body.split(b"\n")


def read_size(text: bytes) -> int:
    """About the memory that JSON takes when it is read: as measured, within a third."""
    brackets = text.count(b"{") + text.count(b"[")
    return 2 * len(text) + 128 * brackets + 64 * (text.count(b",") + text.count(b"\n"))
