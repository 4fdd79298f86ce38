"""Several writers on one store in memory, interleaved at every request by a seeded scheduler.

    interleaving = Interleaving(seed)
    interleaving.run({"a": job, "b": other_job})

Each job gets the hook for `MemoryStore(on_request=...)`. One job runs at a time: until its next
request, where the scheduler chooses who goes on. The same seed gives the same schedule.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any

Hook = Callable[[str], None]
Job = Callable[[Hook], object]


class Crash(BaseException):
    """The process of a job is killed."""


class Interleaving:
    def __init__(self, seed: object) -> None:
        self._chance = random.Random(repr(seed))
        self._paused = threading.Semaphore(0)
        self.trace: list[tuple[str, str]] = []

    def run(self, jobs: Mapping[str, Job], crash_at: Mapping[str, int] | None = None) -> None:
        """Run all jobs to their end; `crash_at` kills a job at that one of its requests."""
        actors = {
            name: _Actor(name, job, self._paused, self.trace, (crash_at or {}).get(name))
            for name, job in jobs.items()
        }
        for actor in actors.values():
            actor.thread.start()
        while alive := [a for a in actors.values() if a.thread.is_alive() and not a.is_done]:
            self._chance.choice(alive).resume.release()
            self._paused.acquire()
        for actor in actors.values():
            actor.thread.join()
        for actor in actors.values():
            if actor.error is not None:
                raise actor.error


class _Actor:
    def __init__(
        self,
        name: str,
        job: Job,
        paused: threading.Semaphore,
        trace: list[tuple[str, str]],
        crash_at: int | None,
    ) -> None:
        self.resume = threading.Semaphore(0)
        self.is_done = False
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._name, self._job, self._paused, self._trace = name, job, paused, trace
        self._requests, self._crash_at = 0, crash_at

    def _run(self) -> None:
        self.resume.acquire()
        try:
            self._job(self._on_request)
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001  (raised again by the scheduler)
            self.error = error
        finally:
            self.is_done = True
            self._paused.release()

    def _on_request(self, request: str) -> None:
        self._paused.release()
        self.resume.acquire()
        self._requests += 1
        if self._requests == self._crash_at:
            raise Crash
        self._trace.append((self._name, request))


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
    """Runs a job when its result is asked for: a write lands as late as it can."""

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
