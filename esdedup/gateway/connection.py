"""One connection, of a client or to the cluster: bytes that came and were not read yet, bounded.

In place of asyncio's streams, which need a timer for each deadline and do not tell when a client
goes away: deadlines are checked by one clock for all connections, which calls `expire`.
"""

from __future__ import annotations

import asyncio
import time
from asyncio import IncompleteReadError
from typing import cast

BUFFER = 256 * 1024


class TooLong(Exception):
    """The end of what is read did not come within its bound."""


class HttpConnection(asyncio.Protocol):
    """Read by one task at a time, and written by one."""

    transport: asyncio.Transport

    def __init__(self, write_seconds: float | None = None) -> None:
        """`write_seconds`: how long the other side may take nothing of what is written."""
        self._loop = asyncio.get_running_loop()
        # By the monotonic clock; 0 is none.
        self.read_deadline = 0.0
        self._write_deadline = 0.0
        self._write_seconds = write_seconds
        self._unread = bytearray()
        self._searched = 0  # bytes of `_unread` in which the mark is not
        self._is_paused = False
        self._is_full = False
        self._has_ended = False
        self._error: ConnectionError | None = None
        self._coming: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None

    # --- called by the loop ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one by its shape only

    def data_received(self, data: bytes) -> None:
        self._unread += data
        _wake(self._coming)
        if len(self._unread) > 2 * BUFFER and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        return False  # nobody is answered who does not listen any more

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        if exc is not None:
            self._error = ConnectionResetError(type(exc).__name__)
        _wake(self._coming)
        _wake(self._room)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        if not self.transport.is_closing():
            self._write_deadline = 0.0
        _wake(self._room)

    def expire(self, now: float) -> None:
        """Called every second: whoever waits to read gets a TimeoutError, a connection that takes
        nothing ends."""
        if self._write_deadline and now > self._write_deadline:
            self.abort()
        if self.read_deadline and now > self.read_deadline:
            self.read_deadline = 0.0
            if self._coming is not None and not self._coming.done():
                self._coming.set_exception(TimeoutError())

    # --- reading -----------------------------------------------------------------------------

    @property
    def has_unread(self) -> bool:
        return bool(self._unread)

    async def read_until(self, mark: bytes, most: int = BUFFER) -> bytes:
        """Up to and with the mark; TooLong where it is not among the first `most` bytes."""
        while (at := self._unread.find(mark, self._searched, most)) < 0:
            if len(self._unread) >= most:
                raise TooLong
            self._searched = max(0, len(self._unread) - len(mark) + 1)
            await self._wait_for_data()
        return self._take(at + len(mark))

    async def read(self, most: int = BUFFER) -> bytes:
        """What came, waiting for the first byte; nothing after the end."""
        while not self._unread:
            if self._has_ended and self._error is None:
                return b""
            await self._wait_for_data()
        return self._take(min(most, len(self._unread)))

    def _take(self, size: int) -> bytes:
        self._searched = 0
        out = bytes(memoryview(self._unread)[:size])
        del self._unread[:size]
        if self._is_paused and len(self._unread) <= BUFFER:
            self._is_paused = False
            self.transport.resume_reading()
        return out

    async def _wait_for_data(self) -> None:
        if self._error is not None:
            raise self._error
        if self._has_ended:
            raise IncompleteReadError(bytes(self._unread), None)
        self._coming = self._loop.create_future()
        try:
            await self._coming
        finally:
            self._coming = None

    # --- writing -----------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    async def drain(self) -> None:
        """Wait while the other side does not take what was written."""
        while self._is_full and not self._has_ended:
            self._limit_writing()
            self._room = self._loop.create_future()
            await self._room
        if self._has_ended:
            raise self._error or ConnectionResetError("the connection is closed")

    def _limit_writing(self) -> None:
        if self._write_seconds is not None:
            self._write_deadline = time.monotonic() + self._write_seconds

    @property
    def is_closing(self) -> bool:
        return self._has_ended or self.transport.is_closing()

    def close(self) -> None:
        """Send what was written, then close."""
        self._limit_writing()
        self.transport.close()

    def abort(self) -> None:
        """Close at once: nobody waits for what is left."""
        self.transport.abort()


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
