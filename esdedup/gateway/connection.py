"""One connection, of a caller or to the cluster: what came and was not read yet, within bounds.

In place of asyncio's streams: a timer and several objects for each read cost more than the rest of
a request that only passes. What is there already is read without waiting, and deadlines are kept
by one clock for all connections, which calls `expire`.
"""

from __future__ import annotations

import asyncio
from asyncio import IncompleteReadError
from typing import cast

BUFFER = 256 * 1024


class TooLong(Exception):
    """What was read for did not come within its bound."""


class Wire(asyncio.Protocol):
    """Read and written by one task at a time each."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.deadline = 0.0  # for whoever waits to read, by the monotonic clock; 0 is none
        # What came in one piece stays that piece as long as all of it is taken at once.
        self.held: bytes | bytearray = b""
        self._searched = 0  # of what is held, by the search that goes on
        self._is_paused = False
        self.is_full = False
        self._has_ended = False
        self._error: ConnectionError | None = None
        self._coming: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None

    # --- called by the loop ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one by its shape only

    def data_received(self, data: bytes) -> None:
        if not self.held:
            self.held = data
        elif isinstance(self.held, bytearray):
            self.held += data
        else:
            self.held = bytearray(self.held) + data
        if self._coming is not None:
            _wake(self._coming)
        if len(self.held) > 2 * BUFFER and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        return False  # nobody is talked to who does not listen any more

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        if exc is not None:
            self._error = ConnectionResetError(type(exc).__name__)
        _wake(self._coming)
        _wake(self._room)

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        _wake(self._room)

    # --- reading -----------------------------------------------------------------------------

    @property
    def unread(self) -> int:
        return len(self.held)

    def ends_with(self, mark: bytes) -> bool:
        return self.held.endswith(mark)

    def taken_until(self, mark: bytes, most: int = BUFFER) -> bytes | None:
        """Up to and with the mark, None as long as it is not there; see `until`."""
        at = self.held.find(mark, self._searched, most)
        if at >= 0:
            return self.take(at + len(mark))
        if len(self.held) >= most:
            raise TooLong
        self._searched = max(0, len(self.held) - len(mark) + 1)
        return None

    def expire(self) -> None:
        """Whoever waits to read gets a TimeoutError."""
        if self._coming is not None and not self._coming.done():
            self._coming.set_exception(TimeoutError())

    async def until(self, mark: bytes, most: int = BUFFER) -> bytes:
        """Up to and with the mark; TooLong where it is not among the first `most` bytes."""
        while (found := self.taken_until(mark, most)) is None:
            await self.more()
        return found

    async def exactly(self, size: int) -> bytes:
        """At most BUFFER, which is what is held."""
        while len(self.held) < size:
            await self.more()
        return self.take(size)

    async def read(self, most: int = BUFFER) -> bytes:
        """What is there, waiting for the first byte; nothing after the end."""
        while not self.held:
            if self._has_ended and self._error is None:
                return b""
            await self.more()
        return self.take(min(most, len(self.held)))

    def take(self, size: int) -> bytes:
        held = self.held
        out = bytes(held) if size == len(held) else bytes(memoryview(held)[:size])
        self.skip(size)
        return out

    def skip(self, size: int) -> None:
        """As if it had been taken."""
        self._searched = 0
        if size == len(self.held):
            self.held = b""
        elif isinstance(self.held, bytearray):
            del self.held[:size]
        else:
            self.held = bytearray(memoryview(self.held)[size:])
        if self._is_paused and len(self.held) <= BUFFER:
            self._is_paused = False
            self.transport.resume_reading()

    async def more(self) -> None:
        if self._error is not None:
            raise self._error
        if self._has_ended:
            raise IncompleteReadError(bytes(self.held), None)
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
        while self.is_full and not self._has_ended:
            self._room = self._loop.create_future()
            await self._room
        if self._has_ended:
            raise self._error or ConnectionResetError("the connection is closed")

    @property
    def is_closing(self) -> bool:
        return self._has_ended or self.transport.is_closing()

    def close(self) -> None:
        self.transport.close()


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)
