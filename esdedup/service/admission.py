"""Back-pressure: how many writes and bytes may be in progress, and when to retry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from esdedup.service.problems import Problem


class Admission:
    """Counts writes, and the bytes in them, from their arrival to their end. Lives in one loop."""

    def __init__(self, jobs: int, size: int) -> None:
        self.most_jobs, self.most_bytes = jobs, size
        self.jobs, self.bytes = 0, 0
        self._changed = asyncio.Condition()
        self._mean_seconds = 0.1

    def refuse_if_full(self, size: int = 0) -> None:
        """429 before anything is read or done."""
        if not self._fits(size):
            raise Problem(
                429,
                "queue-full",
                f"{self.jobs} writes wait already; come again in a moment",
                retry_after=min(60.0, self._mean_seconds * self.jobs),
            )

    @asynccontextmanager
    async def admit(self, size: int, *, wait: bool = False) -> AsyncIterator[None]:
        """Inside, the work counts. With `wait` it waits for room, as a stream does, whose reader
        then stops reading; without, it is refused."""
        if wait:
            async with self._changed:
                await self._changed.wait_for(lambda: self._fits(size))
                self._enter(size)
        else:
            self.refuse_if_full(size)
            self._enter(size)
        started = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self.jobs -= 1
            self.bytes -= size
            seconds = asyncio.get_running_loop().time() - started
            self._mean_seconds = 0.8 * self._mean_seconds + 0.2 * seconds / (self.jobs + 1)
            async with self._changed:
                self._changed.notify_all()

    def _fits(self, size: int) -> bool:
        # One that is larger than all the room is let in alone.
        return self.jobs == 0 or (
            self.jobs < self.most_jobs and self.bytes + size <= self.most_bytes
        )

    def _enter(self, size: int) -> None:
        self.jobs += 1
        self.bytes += size
