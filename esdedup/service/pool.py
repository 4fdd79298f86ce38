"""Pools: threads that share a few costly things, each used by one thread at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R", bound=AbstractContextManager[Any])


class ResourcePool(Generic[R]):
    """Runs jobs in `count` threads, each with a resource to itself.

    A resource is made when a job needs one and none is idle. An error of the kind `broken_by`
    closes it: a later job makes another.
    """

    def __init__(
        self,
        make: Callable[[], R],
        count: int,
        name: str,
        broken_by: tuple[type[Exception], ...] = (),
    ) -> None:
        self._make, self._broken_by = make, broken_by
        self._threads = ThreadPoolExecutor(count, name)
        self._idle: list[R] = []

    async def run(self, job: Callable[[R], T]) -> T:
        """Run a job in a thread; it is finished even if the caller is cancelled."""
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._threads, self._run, job))

    def _run(self, job: Callable[[R], T]) -> T:
        try:
            resource = self._idle.pop()
        except IndexError:
            resource = self._make()
        try:
            done = job(resource)
        except self._broken_by as error:
            resource.__exit__(type(error), error, error.__traceback__)
            raise
        except BaseException:
            self._idle.append(resource)
            raise
        self._idle.append(resource)
        return done

    def close(self) -> None:
        """Close all resources, after the jobs that were given."""
        self._threads.shutdown(wait=True)
        for resource in self._idle:
            resource.__exit__(None, None, None)
