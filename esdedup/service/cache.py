"""Answers that are given again for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


class TimedCache(Generic[T]):
    """Answers of the last `seconds`, by question. Who asks while one is looked for waits for it."""

    def __init__(self, seconds: float, most: int = 8) -> None:
        self._seconds, self._most = seconds, most
        self._asked: dict[Hashable, tuple[float, asyncio.Future[T]]] = {}

    async def get(self, question: Hashable, answer: Callable[[], Awaitable[T]]) -> T:
        """Cached, or looked for anew; a failure is not cached."""
        at, looking = self._asked.get(question, (0.0, None))
        if looking is None or (looking.done() and monotonic() - at > self._seconds):
            looking = asyncio.ensure_future(answer())
            self._asked.pop(question, None)
            self._asked[question] = monotonic(), looking
            while len(self._asked) > self._most:
                del self._asked[next(iter(self._asked))]
        try:
            return await asyncio.shield(looking)
        except Exception:
            self._asked.pop(question, None)
            raise

    def clear(self) -> None:
        self._asked.clear()
