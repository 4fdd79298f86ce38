"""A pool of worker processes: documents go out, results come back in order.

Each page is a job of its own. A page that exceeds its time or memory limit, or whose worker dies,
becomes a `Failure` that can be retried; it is never run twice in one pass, and the other pages are
not affected. Texts are sent in groups; if a group fails, its texts are run again one by one.

Workers are forked from a fork server, a process without threads that has imported the packages
once. A replacement for a worker that died therefore starts in milliseconds, and no worker inherits
a lock that a thread of the caller held.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

from esdedup.errors import EsdedupError
from esdedup.ingest.failures import document_failure, failure_from_error
from esdedup.model import Document, Failure
from esdedup.settings import Settings

R = TypeVar("R")
S = TypeVar("S")
Function = Callable[[list[Document], Settings], list[R]]
# Results as the function returns them, before `join`.
_Results = list[Any]

# Extracting a page takes about 30 ms, signing a text 0.5 ms. Either chunk is a quarter of a second
# of work: long compared with the cost of sending it, short compared with the time limit. Sending
# each page alone costs half a millisecond.
TEXT_CHUNK = 256
PAGE_CHUNK = 8
# The first chunks of texts need no workers. The following ones are processed here as well until a
# worker is ready, which takes about a second: the fork server loads packages and tables.
_WITHOUT_WORKERS = 2
# A chunk is closed early at this size, to bound the memory of what is under way.
_CHUNK_BYTES = 8 * 1024 * 1024
# Exit code of a worker that ran out of memory; any number the system does not use itself.
_OUT_OF_MEMORY = 77
# After so many broken pools without one finished job the run is given up.
_MAX_BREAKS = 3
# A pool that returns nothing for this long beyond the time limits is stuck.
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True)
class _Share:
    """Documents of one job. Without a future they are processed here when it is their turn."""

    documents: list[Document]
    future: Future[_Results] | None = None


@dataclass(slots=True)
class _Chunk:
    """Items in their order; only the documents among them are processed."""

    items: list[Document | Failure] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    shares: list[_Share] = field(default_factory=list)
    has_pages: bool = False
    weight: int = 0
    size: int = 0

    def add(self, item: Document | Failure, page_weight: int) -> None:
        self.items.append(item)
        document = item.document if isinstance(item, Failure) else item
        if document is not None:
            self.size += len(document.text) + len(document.html or b"")
        if isinstance(item, Failure):
            self.weight += 1
            return
        self.documents.append(item)
        self.has_pages |= item.html is not None
        self.weight += 1 if item.html is None else page_weight

    @property
    def futures(self) -> list[Future[_Results]]:
        return [share.future for share in self.shares if share.future is not None]

    def merge(
        self, results: Iterable[S | Failure], join: Callable[[Document, S], R]
    ) -> list[R | Failure]:
        """Results in the places of their documents, failures where they were."""
        done = (
            result if isinstance(result, Failure) else join(document, result)
            for document, result in zip(self.documents, results, strict=True)
        )
        return [item if isinstance(item, Failure) else next(done) for item in self.items]


class Workers(Generic[R]):
    """Applies `function` to a stream of documents in `count` processes.

    With `count` 0, or with 1 for texts, everything runs in this process without limits of time and
    memory. `function` must be defined at the top level of a module and return results that can be
    pickled. `join` adds the document to a result, so that it need not be sent back.
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
        self._first_job: Future[_Results] | None = None  # of no documents

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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

        With `first`, the lists grow from that size on, and the first texts are processed here while
        the workers start. At most two chunks per worker are under way, however long the input.
        """
        under_way: deque[_Chunk] = deque()
        # Chunks that keep the workers busy while the caller uses a result. Single documents
        # (chunk 1) are returned as soon as they are done instead.
        ahead = self._count if chunk >= PAGE_CHUNK else 0
        try:
            for number, part in enumerate(_chunks(items, growing_sizes(first or chunk, chunk))):
                is_early = first is not None and (
                    number < _WITHOUT_WORKERS or self._are_workers_starting(part)
                )
                self._begin(part, is_early=is_early)
                under_way.append(part)
                while under_way and self._is_due(under_way, ahead):
                    yield self._finish(under_way.popleft())
            while under_way:
                yield self._finish(under_way.popleft())
        finally:
            for part in under_way:
                for future in part.futures:
                    future.cancel()

    def _are_workers_starting(self, part: _Chunk) -> bool:
        """Whether no worker is ready yet. The first call starts them; pages do that themselves."""
        if part.has_pages or self._count < 2:
            return False
        if self._first_job is None:
            self._first_job = self._schedule([])
        return not self._first_job.done()

    def _begin(self, part: _Chunk, *, is_early: bool) -> None:
        if not part.documents:
            return
        if self._count == 0 or (not part.has_pages and (self._count == 1 or is_early)):
            part.shares = [_Share(part.documents)]
            return
        self._has_pages |= part.has_pages
        part.shares = [
            _Share(documents, self._schedule(documents)) for documents in _split(part.documents)
        ]

    def _is_due(self, under_way: deque[_Chunk], ahead: int) -> bool:
        futures = under_way[0].futures
        if not futures and self._count <= 1:
            return True
        is_done = all(future.done() for future in futures)
        return len(under_way) >= 2 * self._count or (is_done and len(under_way) > ahead)

    def _finish(self, part: _Chunk) -> list[R | Failure]:
        results = [result for share in part.shares for result in self._wait_for(share)]
        return part.merge(results, self._join)

    def _wait_for(self, share: _Share) -> _Results:
        documents, future = share.documents, share.future
        if future is None:
            return _run(self._function, documents, self._settings)
        while (results := self._result(future, documents)) is None:
            if len(documents) > 1:  # each alone, to find the one that breaks its worker
                alone = ([document] for document in documents)
                return [
                    r for one in alone for r in self._wait_for(_Share(one, self._schedule(one)))
                ]
            future = self._schedule(documents)  # the pool broke, not because of this document
        return results

    def _schedule(self, documents: list[Document]) -> Future[_Results]:
        if self._pool is not None and not self._pool.active:
            self._replace_pool()
        with _hold_interrupt():  # the first job starts the workers
            if self._pool is None:
                self._pool = _start_pool(
                    self._count, self._function, self._settings, self._has_pages
                )
            future: Future[_Results] = self._pool.schedule(_work, args=(documents,))
        return future

    def _result(self, future: Future[_Results], documents: list[Document]) -> _Results | None:
        """The results; a failure if a single document broke its worker; None to run it again."""
        from pebble import ProcessExpired

        # Longer than everything before a job can take: every page of two chunks a worker.
        patience = (self._settings.page_seconds + 1) * (2 * PAGE_CHUNK + 2) + _PATIENCE_SECONDS
        try:
            results = future.result(timeout=patience)
        except TimeoutError:
            self._replace_pool(is_stuck=True)
            return None
        except ProcessExpired as error:
            reason = _reason_of_exit(error.exitcode, self._settings)
            return [document_failure(documents[0], reason)] if len(documents) == 1 else None
        except (BrokenProcessPool, CancelledError):  # cancelled with the pool it was given to
            self._replace_pool()
            return None
        self._breaks = 0
        return results

    def _replace_pool(self, *, is_stuck: bool = False) -> None:
        """Drop a broken pool. The next job starts another; jobs of the old one are run again."""
        self._breaks += 1
        if self._breaks > _MAX_BREAKS * (2 * self._count + 1):  # each job under way reports it
            raise EsdedupError(
                "the worker processes die as soon as they start; put what your script does under "
                "if __name__ == '__main__', look for a limit on memory or processes (ulimit -a), "
                "or run without workers"
            )
        if self._pool is not None and (is_stuck or not self._pool.active):
            self._pool.stop()
            self._pool.join(timeout=_PATIENCE_SECONDS)
            self._pool = None


def growing_sizes(first: int, last: int) -> Iterator[int]:
    """Sizes that double from `first` to `last`: the first results come soon, the others in bulk.

    Each size comes twice, so that two workers begin with chunks of the same size.
    """
    size = min(first, last)
    while True:
        yield size
        yield size
        size = min(2 * size, last)


def _chunks(items: Iterable[Document | Failure], sizes: Iterator[int]) -> Iterator[_Chunk]:
    """Chunks of so many texts, of at most `PAGE_CHUNK` pages, or of a mixture of that weight."""
    part, size = _Chunk(), next(sizes)
    for item in items:
        part.add(item, -(-size // PAGE_CHUNK))
        if part.weight >= size or part.size >= _CHUNK_BYTES:
            yield part
            part, size = _Chunk(), next(sizes)
    if part.items:
        yield part


def _split(documents: list[Document]) -> Iterator[list[Document]]:
    """Each page alone, for a limit of its own; consecutive texts together."""
    for is_page, run in groupby(documents, lambda document: document.html is not None):
        if is_page:
            yield from ([page] for page in run)
        else:
            yield list(run)


def _start_pool(count: int, function: Function[R], settings: Settings, pages: bool) -> Any:
    """A pool whose workers are forked from a server that has loaded what they need."""
    from pebble import ProcessPool

    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if context.get_start_method() == "forkserver":
        heavy = ["trafilatura", "trafilatura.metadata", "esdedup.ingest.html"] if pages else []
        # Preload modules are imported in this order.
        loaded = [__name__, function.__module__, "esdedup.ingest.warm_up", *heavy]
        context.set_forkserver_preload(loaded)
        _start_fork_server()
    return ProcessPool(
        max_workers=count,
        initializer=_set_up_worker,
        initargs=(function, settings),
        context=context,
    )


@contextmanager
def _hold_interrupt() -> Iterator[None]:
    """Deliver Ctrl-C at the end of the block.

    The pool does not know a worker whose start was interrupted and cannot stop it; that worker
    would print a traceback once the semaphores of the pool are gone.
    """
    if threading.current_thread() is not threading.main_thread():  # it gets no signals
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)


def _start_fork_server() -> None:
    """Start it with SIGINT blocked, as it then is in the workers: the parent handles Ctrl-C."""
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
    """What a worker does; sent to it once, at its start."""

    function: Function[Any]
    settings: Settings
    memory: int | None  # bytes of address space


_job: _Job | None = None


def _set_up_worker(function: Function[Any], settings: Settings) -> None:
    global _job  # noqa: PLW0603 - set once per worker process
    # The system ends the worker: a handler in Python would wait for the end of a call into C.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    collect_less_often()
    own = _address_space()
    allowed = settings.worker_megabytes * 1_000_000
    _job = _Job(function, settings, own + allowed if own is not None and allowed else None)


def collect_less_often() -> None:
    """For processes that create many small objects and no cycles: a third of their time went there.

    Python looks for cycles after every 700 new objects; signing an article makes hundreds.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def _work(documents: list[Document]) -> _Results:
    """Process one share under the limits of time and memory."""
    if _job is None:
        raise RuntimeError("the worker was not prepared")
    with _limits(_job.settings.page_seconds, _job.memory):
        return _run(_job.function, documents, _job.settings)


def _address_space() -> int | None:
    """Bytes of address space of this process; None on systems without /proc."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return None
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _limits(seconds: float, memory: int | None) -> Iterator[None]:
    """Past the time limit SIGALRM ends the worker, whatever it does.

    Memory is limited only while the function runs: receiving and sending must not fail for it.
    """
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    if memory is not None:
        allowed = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
        resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


# --- in both ---------------------------------------------------------------------------------


def _run(function: Function[R], documents: list[Document], settings: Settings) -> list[R | Failure]:
    """All documents at once; if that fails, one by one. A document that fails alone is a failure.

    A worker that runs out of memory exits: what it holds may stay allocated and fail the next page.
    """
    try:
        results = function(documents, settings)
    except Exception as error:  # noqa: BLE001 - whatever a page provokes must not end the run
        if isinstance(error, MemoryError) and _job is not None:
            os._exit(_OUT_OF_MEMORY)
        if len(documents) == 1:
            return [failure_from_error(documents[0], error)]
        return [result for one in documents for result in _run(function, [one], settings)]
    if len(results) != len(documents):
        raise AssertionError(f"{len(documents)} documents gave {len(results)} results")
    return list(results)


def _reason_of_exit(exit_code: int, settings: Settings) -> str:
    if exit_code == _OUT_OF_MEMORY:
        return f"it needed more than {settings.worker_megabytes} MB of memory (worker_megabytes)"
    if exit_code == -signal.SIGALRM:
        return f"it took longer than {settings.page_seconds:g} s (page_seconds)"
    if exit_code < 0:
        return f"its worker process was killed by signal {-exit_code}"
    return f"its worker process died with exit code {exit_code}"
