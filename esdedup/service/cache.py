"""A cache of results that expire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


class TimedCache(Generic[T]):
    """Results of the last `seconds`, by key. All callers that want a key while it is computed wait
    for the same result."""

    def __init__(self, seconds: float, most: int = 8) -> None:
        self._seconds, self._most = seconds, most
        self._entries: dict[Hashable, tuple[float, asyncio.Future[T]]] = {}

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the cached result, or compute it; a failure is not cached."""
        at, result = self._entries.get(key, (0.0, None))
        if result is None or (result.done() and monotonic() - at > self._seconds):
            result = asyncio.ensure_future(compute())
            self._entries.pop(key, None)
            self._entries[key] = monotonic(), result
            while len(self._entries) > self._most:
                del self._entries[next(iter(self._entries))]
        try:
            return await asyncio.shield(result)
        except Exception:
            self._entries.pop(key, None)
            raise

    def clear(self) -> None:
        self._entries.clear()
