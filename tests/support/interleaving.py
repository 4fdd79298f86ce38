"""Several writers in one process, interleaved at every request by a seeded scheduler.

    interleaving = Interleaving(seed)
    interleaving.run({"a": job, "b": other_job})

Each job gets a hook, which it calls at every request: there the scheduler chooses who goes on. A
job is a greenlet, so that nothing but the seed decides, and a switch costs a microsecond.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from greenlet import greenlet  # type: ignore[import-untyped]  # it has no types

Hook = Callable[[str], None]
Job = Callable[[Hook], object]


class Crash(BaseException):
    """The process of a job is killed."""


@dataclass
class _Process:
    """A job, and what it spawned: they are killed together."""

    crash_at: int | None
    requests: int = 0
    is_killed: bool = False


class Interleaving:
    def __init__(self, seed: object) -> None:
        self._chance = random.Random(repr(seed))
        self._actors: list[greenlet] = []
        self.trace: list[tuple[str, str]] = []

    def run(self, jobs: Mapping[str, Job], crash_at: Mapping[str, int] | None = None) -> None:
        """Run all jobs to their end; `crash_at` kills a job at that one of its requests."""
        for name, job in jobs.items():
            self.spawn(job, self._hook(name, _Process((crash_at or {}).get(name))))
        with _quiet_crashes():
            while alive := [actor for actor in self._actors if not actor.dead]:
                self._chance.choice(alive).switch()

    def spawn(self, job: Job, hook: Hook) -> greenlet:
        """Run a job beside the others; jobs with the same hook are threads of one process."""

        def run() -> None:
            with contextlib.suppress(Crash):
                job(hook)

        actor = greenlet(run)
        self._actors.append(actor)
        return actor

    def _hook(self, name: str, process: _Process) -> Hook:
        def hook(request: str) -> None:
            pause()
            process.requests += 1
            process.is_killed |= process.requests == process.crash_at
            if process.is_killed:
                raise Crash
            self.trace.append((name, request))

        return hook


@contextlib.contextmanager
def _quiet_crashes() -> Iterator[None]:
    """A generator that is closed by a crash sends a last request, which crashes again."""
    show = sys.unraisablehook
    sys.unraisablehook = lambda found: None if found.exc_type is Crash else show(found)
    try:
        yield
    finally:
        sys.unraisablehook = show


def pause() -> None:
    """Let others go on."""
    greenlet.getcurrent().parent.switch()


class CooperativeLock:
    """Stands in for `threading.Lock`: who waits lets others go on."""

    def __init__(self) -> None:
        self._is_held = False

    def __enter__(self) -> None:
        while self._is_held:
            pause()
        self._is_held = True

    def __exit__(self, *exception: object) -> None:
        self._is_held = False


class CooperativeCondition(CooperativeLock):
    """Stands in for `threading.Condition`. A timeout is a number of turns of others."""

    _TURNS = 200

    def wait_for(self, predicate: Callable[[], bool], timeout: float) -> bool:
        self.__exit__()
        for _ in range(self._TURNS):
            if predicate():
                break
            pause()
        self.__enter__()
        return predicate()

    def notify_all(self) -> None: ...


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
