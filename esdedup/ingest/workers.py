"""Worker processes: documents out, results back in order, and one bad page costs only itself.

A page is a job of its own: one that overruns its time limit, or whose worker dies or runs out of
memory, becomes a `Failure` that can be retried, and is not tried twice. Texts are worked on
together; where that goes wrong they are run again one by one. The others go on.

Workers come from a fork server: a clean process without threads that has loaded the packages
once, so that a worker starts in milliseconds, again after each one that had to be stopped, and
never inherits a lock some thread of the caller held.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from esdedup.errors import EsdedupError
from esdedup.ingest.failures import failed, failure
from esdedup.model import Document, Failure
from esdedup.settings import Settings

R = TypeVar("R")
S = TypeVar("S")
Function = Callable[[list[Document], Settings], list[R]]
# Results before they are joined with their documents; the promise of them, with the documents;
# and either, or nothing yet: to be worked out here when it is their turn.
_Results = list[Any]
_Shares = tuple[tuple[list[Document], Future[_Results]], ...]
_Running = _Results | _Shares | None

# A page takes about 30 ms and a ready text 0.5 ms: either chunk is a quarter of a second of work,
# long against the cost of handing it on, short against the time limit. Texts are sent together, a
# page alone, which costs it half a millisecond.
TEXT_CHUNK = 256
PAGE_CHUNK = 8
# Small chunks of texts at the beginning that are worked on here: the workers, for which the fork
# server loads its packages, take a third of a second to start.
_WHILE_STARTING = 2
# A chunk is closed early at this size, so that what is under way stays small in memory too.
_CHUNK_BYTES = 8 * 1024 * 1024
# Exit code of a worker that ran out of memory; any number the system does not use itself.
_OUT_OF_MEMORY = 77
# A pool that breaks this often without finishing anything cannot be helped.
_MAX_BREAKS = 3
# Beyond the time limits themselves, a pool that says nothing for so long is stuck.
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class _Chunk:
    """Items in their order; only the documents among them are worked on."""

    items: list[Document | Failure] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    has_pages: bool = False
    weight: int = 0
    size: int = 0

    def add(self, item: Document | Failure, page_weight: int) -> None:
        self.items.append(item)
        if isinstance(item, Failure):
            self.weight += 1
            self.size += _size(item.document) if item.document is not None else 0
            return
        self.documents.append(item)
        self.has_pages |= item.html is not None
        self.weight += 1 if item.html is None else page_weight
        self.size += _size(item)

    def merged(
        self, results: Iterable[S | Failure], join: Callable[[Document, S], R]
    ) -> list[R | Failure]:
        """Results in the places of their documents, failures where they were."""
        done = (
            result if isinstance(result, Failure) else join(document, result)
            for document, result in zip(self.documents, results, strict=True)
        )
        return [item if isinstance(item, Failure) else next(done) for item in self.items]


class Workers(Generic[R]):
    """`function` over a stream of documents, in `count` processes.

    Without processes (`count` 0), or with one where no page has to be extracted, everything runs
    in this process, and time and memory are not limited. `function` lives at the top of a module,
    and its results can be pickled; what need not be sent back with them, `join` adds from the
    document.
    """

    @overload
    def __init__(
        self: Workers[R], count: int, function: Function[R], settings: Settings
    ) -> None: ...
    @overload
    def __init__(
        self: Workers[R],
        count: int,
        function: Function[S],
        settings: Settings,
        join: Callable[[Document, S], R],
    ) -> None: ...
    def __init__(
        self,
        count: int,
        function: Function[Any],
        settings: Settings,
        join: Callable[[Document, Any], Any] = lambda _, result: result,
    ) -> None:
        self._count = count
        self._function = function
        self._settings = settings
        self._join = join
        self._pool: Any = None
        self._has_pages = False  # what workers load at their start
        self._breaks = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let the workers finish; after an error, Ctrl-C included, stop them at once."""
        if self._pool is not None:
            self._pool.close() if kind is None else self._pool.stop()
            self._pool.join()
            self._pool = None

    def map(
        self,
        items: Iterable[Document | Failure],
        chunk: int = TEXT_CHUNK,
        *,
        first: int | None = None,
    ) -> Iterator[list[R | Failure]]:
        """Results in the order of `items`, in lists of at most `chunk`; fewer for pages.

        The lists grow from `first` on, if that is given, and the first ones of texts are made here
        while the workers start. At most two chunks a worker are under way, however long the input.
        """
        under_way: deque[tuple[_Chunk, _Running]] = deque()
        # What keeps the workers busy while the caller works on a result; a trickle of single
        # documents (chunk 1) is handed on at once instead.
        ahead = self._count if chunk >= PAGE_CHUNK else 0
        try:
            for number, part in enumerate(_chunks(items, growing(first or chunk, chunk))):
                is_early = first is not None and number < _WHILE_STARTING and self._count > 1
                job = None if is_early and not part.has_pages else self._begin(part)
                under_way.append((part, job))
                while under_way and self._due(len(under_way), under_way[0][1], ahead):
                    yield self._finish(*under_way.popleft())
            while under_way:
                yield self._finish(*under_way.popleft())
        finally:
            for _, running in under_way:
                for _, promised in running if isinstance(running, tuple) else ():
                    promised.cancel()

    def _due(self, under_way: int, first: _Running, ahead: int) -> bool:
        if first is None:
            return under_way > ahead
        if not isinstance(first, tuple):
            return True
        is_done = all(job.done() for _, job in first)
        return under_way >= 2 * self._count or (is_done and under_way > ahead)

    def _begin(self, part: _Chunk) -> _Running:
        documents = part.documents
        if not documents:
            return []
        if self._count == 0 or (self._count == 1 and not part.has_pages):
            return _run_here(self._function, documents, self._settings)
        self._has_pages |= part.has_pages
        return tuple((share, self._schedule(share)) for share in _shares(documents))

    def _schedule(self, documents: list[Document]) -> Future[_Results]:
        if self._pool is not None and not self._pool.active:
            self._replace_pool()
        if self._pool is None:
            self._pool = _start_pool(self._count, self._function, self._settings, self._has_pages)
        future: Future[_Results] = self._pool.schedule(_work, args=(documents,))
        return future

    def _finish(self, part: _Chunk, running: _Running) -> list[R | Failure]:
        if running is None:
            running = _run_here(self._function, part.documents, self._settings)
        if isinstance(running, tuple):
            running = [done for share in running for done in self._finish_share(*share)]
        return part.merged(running, self._join)

    def _finish_share(self, documents: list[Document], job: Future[_Results]) -> _Results:
        done = self._result(job, documents)
        return self._one_by_one(documents) if done is None else done

    def _one_by_one(self, documents: list[Document]) -> _Results:
        """Each document alone, so that the guilty one is found; a few at a time."""
        out: _Results = []
        rest = iter(documents)
        while group := list(islice(rest, 2 * self._count)):
            jobs = [self._schedule([document]) for document in group]
            for document, job in zip(group, jobs, strict=True):
                done = self._result(job, [document])
                while done is None:  # the pool broke, which is not this document's doing
                    done = self._result(self._schedule([document]), [document])
                out += done
        return out

    def _result(self, job: Future[_Results], documents: list[Document]) -> _Results | None:
        """What the job gave, a failure if one document broke it; None if it is to be run again."""
        from pebble import ProcessExpired

        try:
            done = job.result(timeout=self._patience())
        except TimeoutError:
            self._replace_pool(stuck=True)
            return None
        except ProcessExpired as error:
            reason = _death(error.exitcode, self._settings)
        except (BrokenProcessPool, CancelledError):  # cancelled with the pool it was given to
            self._replace_pool()
            return None
        else:
            self._breaks = 0
            return done
        return [failure(documents[0], reason)] if len(documents) == 1 else None

    def _patience(self) -> float:
        """Longer than everything before a job can take: every page of two chunks a worker."""
        return (self._settings.page_seconds + 1) * (2 * PAGE_CHUNK + 2) + _PATIENCE_SECONDS

    def _replace_pool(self, *, stuck: bool = False) -> None:
        """Drop a broken pool; the next job starts another, jobs of the old one are run again."""
        self._breaks += 1
        if self._breaks > _MAX_BREAKS * (2 * self._count + 1):  # each job under way reports it
            raise EsdedupError(
                "the worker processes die as soon as they start; put what your script does under "
                "if __name__ == '__main__', look for a limit on memory or processes (ulimit -a), "
                "or run without workers"
            )
        if self._pool is not None and (stuck or not self._pool.active):
            self._pool.stop()
            self._pool.join(timeout=_PATIENCE_SECONDS)
            self._pool = None


def growing(first: int, last: int) -> Iterator[int]:
    """Sizes that double from the first on: the first results come soon, the others in bulk.

    Each twice, or what two workers begin with would be long in coming behind it.
    """
    size = min(first, last)
    while True:
        yield size
        yield size
        size = min(2 * size, last)


def _chunks(items: Iterable[Document | Failure], sizes: Iterator[int]) -> Iterator[_Chunk]:
    """Parts of so many texts or at most `PAGE_CHUNK` pages, or a mixture of that weight."""
    part, size = _Chunk(), next(sizes)
    for item in items:
        part.add(item, -(-size // PAGE_CHUNK))
        if part.weight >= size or part.size >= _CHUNK_BYTES:
            yield part
            part, size = _Chunk(), next(sizes)
    if part.items:
        yield part


def _shares(documents: list[Document]) -> Iterator[list[Document]]:
    """Each page alone, for a limit of its own; the texts between two pages together."""
    for is_page, run in groupby(documents, lambda document: document.html is not None):
        if is_page:
            yield from ([page] for page in run)
        else:
            yield list(run)


def _size(document: Document) -> int:
    return len(document.text) + len(document.html or b"")


def _start_pool(count: int, function: Function[R], settings: Settings, pages: bool) -> Any:
    """A pool whose workers are forked from a server that has loaded what they need."""
    from pebble import ProcessPool

    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        heavy = ["trafilatura", "trafilatura.metadata", "esdedup.ingest.html"] if pages else []
        context.set_forkserver_preload([__name__, function.__module__, *heavy])
        _start_fork_server()
    return ProcessPool(
        max_workers=count,
        initializer=_prepare,
        initargs=(function, settings),
        context=context,
    )


def _start_fork_server() -> None:
    """Start it deaf to Ctrl-C, which is the parent's to handle; so are the workers it forks."""
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # first: starting it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the worker ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Job:
    """What a worker does, given to it once at its start."""

    function: Function[Any]
    settings: Settings
    memory: int | None  # bytes of address space


_job: _Job | None = None


def _prepare(function: Function[Any], settings: Settings) -> None:
    global _job  # noqa: PLW0603 - a worker process is told once what it is for
    # The system ends the worker. A handler in Python would wait for the end of a call into C.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    collect_less_often()
    has = _address_space()
    allowed = settings.worker_megabytes * 1_000_000
    _job = _Job(function, settings, has + allowed if has is not None and allowed else None)


def collect_less_often() -> None:
    """For processes that make many small objects and no cycles: a third of the time went there.

    Python looks for cycles after every 700 new objects; signing an article makes hundreds.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def _work(documents: list[Document]) -> list[Any]:
    """One share under the limits of time and memory.

    Out of memory, the worker leaves: what it holds may stay allocated and fail the next page.
    """
    if _job is None:
        raise RuntimeError("the worker was not prepared")
    try:
        with _time_limit(_job.settings.page_seconds), _memory_limit(_job.memory):
            return _run(_job.function, documents, _job.settings)
    except MemoryError:
        os._exit(_OUT_OF_MEMORY)


def _address_space() -> int | None:
    """Bytes of address space of this process; None where the system does not tell."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return None
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Past it, the worker ends by SIGALRM, whatever it is at."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def _memory_limit(limit: int | None) -> Iterator[None]:
    """Only while the function runs: receiving and sending must never fail for memory."""
    if limit is None:
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    allowed = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


# --- in both ---------------------------------------------------------------------------------


def _run(function: Function[R], documents: list[Document], settings: Settings) -> list[R | Failure]:
    """All at once; where that fails, one by one, and what fails alone is a failure."""
    try:
        results = function(documents, settings)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a page provokes must not end the run
        if len(documents) == 1:
            return [failed(documents[0], error)]
        return [done for one in documents for done in _run(function, [one], settings)]
    if len(results) != len(documents):
        raise AssertionError(f"{len(documents)} documents gave {len(results)} results")
    return list(results)


def _run_here(
    function: Function[R], documents: list[Document], settings: Settings
) -> list[R | Failure]:
    """Without a worker: out of memory, one by one, and what still does not fit is a failure."""
    try:
        return _run(function, documents, settings)
    except MemoryError:
        if len(documents) == 1:
            return [failure(documents[0], "the memory did not suffice")]
        return [done for one in documents for done in _run_here(function, [one], settings)]


def _death(exit_code: int, settings: Settings) -> str:
    if exit_code == _OUT_OF_MEMORY:
        return f"it needed more than {settings.worker_megabytes} MB of memory (worker_megabytes)"
    if exit_code == -signal.SIGALRM:
        return f"it took longer than {settings.page_seconds:g} s (page_seconds)"
    if exit_code < 0:
        return f"its worker process was killed by signal {-exit_code}"
    return f"its worker process died with exit code {exit_code}"
