"""Several writers in one process, interleaved at every request by a seeded scheduler.

    interleaving = Interleaving(seed)
    interleaving.run({"a": job, "b": other_job})

Each job gets a hook, which it calls at every request: there the scheduler chooses who goes on. A
job is a greenlet, so that nothing but the seed decides, and a switch costs a microsecond.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from greenlet import greenlet  # type: ignore[import-untyped]  # it has no types

Hook = Callable[[str], None]
Job = Callable[[Hook], object]


class Crash(BaseException):
    """The process of a job is killed."""


class Interleaving:
    def __init__(self, seed: object) -> None:
        self._chance = random.Random(repr(seed))
        self.trace: list[tuple[str, str]] = []

    def run(self, jobs: Mapping[str, Job], crash_at: Mapping[str, int] | None = None) -> None:
        """Run all jobs to their end; `crash_at` kills a job at that one of its requests."""
        actors = [
            greenlet(lambda name=name, job=job: self._run(name, job, (crash_at or {}).get(name)))
            for name, job in jobs.items()
        ]
        while alive := [actor for actor in actors if not actor.dead]:
            self._chance.choice(alive).switch()

    def _run(self, name: str, job: Job, crash_at: int | None) -> None:
        scheduler, requests = greenlet.getcurrent().parent, 0

        def hook(request: str) -> None:
            nonlocal requests
            scheduler.switch()
            requests += 1
            if requests == crash_at:
                raise Crash
            self.trace.append((name, request))

        with contextlib.suppress(Crash):
            job(hook)


class InlineExecutor(Executor):
    """Runs a job where it is submitted, so that a schedule has no other threads."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (raised again by `result`)
            done.set_exception(error)
        return done


class LazyExecutor(Executor):
    """Runs a job when its result is read: a write lands as late as possible."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return _LazyFuture(lambda: fn(*args, **kwargs))


class _LazyFuture(Future[Any]):
    def __init__(self, run: Callable[[], Any]) -> None:
        super().__init__()
        self._job = run

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            self.set_result(self._job())
        return super().result(timeout)
