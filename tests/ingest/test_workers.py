"""Workers: order, bounds, and one bad page that costs only itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from typing import TypeVar

import pytest

from esdedup.errors import DocumentError, ExtractionError
from esdedup.ingest.workers import PAGE_CHUNK, Workers, growing_sizes
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from tests.support.waiting import PATIENCE

T = TypeVar("T")
SETTINGS = Settings(page_seconds=600)  # on a busy machine a good page may take long, too


def lengths(documents: list[Document], settings: Settings) -> list[int]:
    return [len(document.text) for document in documents]


def pid(documents: list[Document], settings: Settings) -> list[int]:
    return [os.getpid() for _ in documents]


def obey(documents: list[Document], settings: Settings) -> list[str]:
    """Do what each page says."""
    return [_obey(document) for document in documents]


def _obey(document: Document) -> str:
    order = (document.html or b"").decode()
    if order == "never end":
        wait_for_ever()
    elif order == "late":
        os.kill(os.getpid(), signal.SIGALRM)  # as the system does at the time limit
    elif order == "die":
        os._exit(3)
    elif order == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif order == "memory":
        return str(len(bytearray(10**10)))
    elif order == "no text":
        raise ExtractionError("no article text was found in the page")
    elif order == "bad":
        raise DocumentError(document.id, "it is bad")
    elif order == "bug":
        raise KeyError("oops")
    return document.id


def wait_for_ever() -> None:
    """In one call into C, during which no handler of Python is run."""
    deque(repeat(None), maxlen=0)


def begin_and_never_end(documents: list[Document], settings: Settings) -> list[str]:
    """Each page names a file in which it is written down; then its time is over."""
    for document in documents:
        with Path((document.html or b"").decode()).open("a") as begun:
            begun.write(f"{document.id}\n")
        signal.raise_signal(signal.SIGALRM)
        wait_for_ever()
    return []


def handlers(documents: list[Document], settings: Settings) -> list[tuple[int, bool]]:
    alarm, end = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGTERM)
    is_armed = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    return [(sum(h is signal.SIG_DFL for h in (alarm, end)), is_armed)] * len(documents)


def wrong_number(documents: list[Document], settings: Settings) -> list[str]:
    return []


def texts(count: int) -> list[Document]:
    return [Document(id=str(i), text="x" * i) for i in range(count)]


def pages(orders: list[str]) -> list[Document | Failure]:
    return [
        Document(id=f"{i}", html=order.encode(), extra={"file": f"page{i}.html"})
        for i, order in enumerate(orders)
    ]


def flat(lists: Iterator[list[T]]) -> list[T]:
    return [item for one in lists for item in one]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_results_come_in_order_with_failures_in_place(count: int) -> None:
    failure = Failure("f", "a.ndjson:3", "not valid JSON", final=True)
    items: list[Document | Failure] = [*texts(40)]
    items[7:7] = [failure]
    with Workers(count, lengths, SETTINGS) as workers:
        out = list(workers.map(items, chunk=8))
    assert [len(part) for part in out] == [8, 8, 8, 8, 8, 1]
    assert [item for part in out for item in part] == [*range(7), failure, *range(7, 40)]


def named(document: Document, length: int) -> tuple[str, int]:
    return document.id, length


@pytest.mark.parametrize("count", [0, 2])
def test_results_are_joined_with_their_documents(count: int) -> None:
    failure = Failure("f", "a.ndjson:3", "not valid JSON", final=True)
    items: list[Document | Failure] = [*texts(2), failure, *texts(4)[2:]]
    with Workers(count, lengths, SETTINGS, named) as workers:
        out = flat(workers.map(items, chunk=8))
    assert out == [("0", 0), ("1", 1), failure, ("2", 2), ("3", 3)]


def test_a_failure_is_not_joined() -> None:
    with Workers(2, obey, SETTINGS, lambda document, result: f"{document.id} {result}") as workers:
        first, second = flat(workers.map(pages(["ok", "bad"])))
    assert first == "0 0"
    assert isinstance(second, Failure)
    assert second.reason == "it is bad"


def test_only_failures() -> None:
    failure = Failure("f", "a.ndjson:3", "not valid JSON", final=True)
    with Workers(2, lengths, SETTINGS) as workers:
        assert list(workers.map([failure, failure])) == [[failure, failure]]
        assert list(workers.map([])) == []


def test_no_process_without_need() -> None:
    with Workers(0, pid, SETTINGS) as workers:
        assert flat(workers.map(pages(["ok"]))) == [os.getpid()]
    with Workers(1, pid, SETTINGS) as workers:
        assert flat(workers.map(texts(2))) == [os.getpid()] * 2
        assert flat(workers.map(pages(["ok"]))) != [os.getpid()]


def test_the_first_texts_are_worked_on_here_while_the_workers_start() -> None:
    with Workers(2, pid, SETTINGS) as workers:
        at_once = list(workers.map(texts(14), 16, first=8))
        assert workers._pool is None, "so few need no workers"
        lists = list(workers.map(_until_started(workers, texts(60), 16), 16, first=4))
    assert at_once == [[os.getpid()] * 8, [os.getpid()] * 6]
    assert [len(part) for part in lists] == [4, 4, 8, 8, 16, 16, 4]
    assert {*lists[0], *lists[1]} == {os.getpid()}
    assert os.getpid() not in {process for part in lists[3:] for process in part}


def _until_started(
    workers: Workers[int], documents: list[Document], count: int
) -> Iterator[Document]:
    """The documents; after so many a worker is waited for, which the third chunk has started."""
    yield from documents[:count]
    assert workers._first_job is not None
    workers._first_job.result(PATIENCE)
    yield from documents[count:]


def test_a_page_is_worked_on_by_a_worker_from_the_first_on() -> None:
    with Workers(2, obey, SETTINGS) as workers:
        first, second = flat(workers.map(pages(["die", "ok"]), 16, first=8))
    assert isinstance(first, Failure)
    assert second == "1"


def test_pages_go_in_smaller_chunks_than_texts() -> None:
    with Workers(0, lengths, SETTINGS) as workers:
        assert [len(part) for part in workers.map(texts(300))] == [256, 44]
        assert [len(part) for part in workers.map(pages(["ok"] * 20))] == [PAGE_CHUNK] * 2 + [4]


def test_large_documents_go_in_smaller_chunks() -> None:
    large = [Document(id=str(i), text="x" * 5_000_000) for i in range(5)]
    with Workers(0, lengths, SETTINGS) as workers:
        assert [len(part) for part in workers.map(large)] == [2, 2, 1]


def test_input_is_taken_only_as_it_is_worked_off() -> None:
    taken = 0

    def endless() -> Iterator[Document]:
        nonlocal taken
        while True:
            taken += 1
            yield Document(id=str(taken), text="x")

    with Workers(2, lengths, SETTINGS) as workers:
        results = workers.map(endless(), chunk=4)
        for _ in range(20):
            next(results)
        assert taken <= (20 + 2 * 2 + 1) * 4
        results.close()  # type: ignore[attr-defined]  # it is a generator


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("late", "it took longer than 600 s (page_seconds)"),
        ("die", "its worker process died with exit code 3"),
        ("kill", "its worker process was killed by signal 9"),
        ("memory", "it needed more than 500 MB of memory (worker_megabytes)"),
        ("no text", "no article text was found in the page"),
        ("bug", "unexpected KeyError: 'oops'"),
    ],
)
def test_only_the_guilty_page_fails(order: str, reason: str) -> None:
    settings = replace(SETTINGS, worker_megabytes=500)
    given = pages(["ok"] * 3 + [order] + ["ok"] * 9)
    with Workers(2, obey, settings) as workers:
        out = flat(workers.map(given))
    assert out[3] == Failure("3", "page3.html", reason, final=False, document=given[3])  # type: ignore[arg-type]  # it is a document
    assert out[:3] + out[4:] == [str(i) for i in range(13) if i != 3]


@pytest.mark.parametrize("count", [1, 2])
def test_a_page_is_stopped_at_its_limit_and_never_tried_twice(count: int, tmp_path: Path) -> None:
    """Among others as well: the limit is for all the time that a page takes."""
    begun = tmp_path / "begun"
    given = [Document(id=f"page{i}", html=str(begun).encode()) for i in range(3)]
    with Workers(count, begin_and_never_end, Settings(page_seconds=600)) as workers:
        out = flat(workers.map(given))
    reason = "it took longer than 600 s (page_seconds)"
    assert out == [Failure(d.id, d.id, reason, final=False, document=d) for d in given]
    assert Counter(begun.read_text().split()) == {"page0": 1, "page1": 1, "page2": 1}


def test_the_system_ends_a_worker_not_a_handler() -> None:
    """A handler would wait for the end of a call into C."""
    with Workers(1, handlers, SETTINGS) as workers:
        assert flat(workers.map(pages(["ok"]))) == [(2, True)]


def test_texts_between_pages_are_worked_on_together() -> None:
    given = [*texts(3), *pages(["ok"] * 2), *texts(2)]
    with Workers(1, count_together, SETTINGS) as workers:
        assert flat(workers.map(given)) == [3, 3, 3, 1, 1, 2, 2]


def count_together(documents: list[Document], settings: Settings) -> list[int]:
    return [len(documents)] * len(documents)


def test_a_document_that_can_never_be_used_is_final() -> None:
    with Workers(0, obey, SETTINGS) as workers:
        (failure,) = flat(workers.map(pages(["bad"])))
    assert isinstance(failure, Failure)
    assert failure.final
    assert failure.reason == "it is bad"


def test_several_guilty_pages_in_several_chunks() -> None:
    orders = ["die", "ok", "ok", "late", "ok", "kill", "no text", "ok", "ok", "die", "bug", "ok"]
    with Workers(2, obey, SETTINGS) as workers:
        out = flat(workers.map(pages(orders)))
    assert [not isinstance(item, Failure) for item in out] == [order == "ok" for order in orders]


def test_memory_runs_out_without_workers() -> None:
    with Workers(0, _no_memory, SETTINGS) as workers:
        out = flat(workers.map(texts(3)))
    assert [isinstance(item, Failure) for item in out] == [False, True, False]


def _no_memory(documents: list[Document], settings: Settings) -> list[int]:
    if any(document.id == "1" for document in documents):
        raise MemoryError
    return lengths(documents, settings)


def test_a_function_that_loses_documents_is_a_bug_and_ends_the_run() -> None:
    with pytest.raises(AssertionError, match="3 documents gave 0 results"):  # noqa: SIM117 - two subjects
        with Workers(2, wrong_number, SETTINGS) as workers:
            list(workers.map(texts(3)))


def test_ctrl_c_stops_the_workers_quietly() -> None:
    """Though their pages would never end."""
    script = textwrap.dedent(
        """
        import sys
        from esdedup.settings import Settings
        from esdedup.ingest.workers import Workers
        from tests.ingest.test_workers import obey, pages

        if __name__ == "__main__":
            try:
                with Workers(2, obey, Settings(page_seconds=1e6)) as workers:
                    results = workers.map(pages(["ok"] * 32 + ["never end"] * 100))
                    next(results)
                    print("started", flush=True)
                    list(results)
            except KeyboardInterrupt:
                print("stopped", flush=True)
                sys.exit(130)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to all of them
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, err, process.returncode) == ("stopped\n", "", 130)


def blocked_signals(documents: list[Document], settings: Settings) -> list[list[int]]:
    return [sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))] * len(documents)


def test_a_worker_is_deaf_to_ctrl_c_from_its_first_moment() -> None:
    """Before it can set a handler, Ctrl-C would end it with a traceback."""
    script = textwrap.dedent(
        """
        from esdedup.ingest.workers import Workers
        from esdedup.settings import Settings
        from tests.ingest.test_workers import blocked_signals, pages

        if __name__ == "__main__":
            with Workers(1, blocked_signals, Settings()) as workers:
                print(*workers.map(pages(["ok"])))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{signal.SIGINT!r}" in done.stdout


def test_ctrl_c_while_workers_start_leaves_none_behind() -> None:
    """Interrupted between the fork and the answer with its number, a worker is known to nobody."""
    script = textwrap.dedent(
        """
        import os, signal
        from multiprocessing import popen_forkserver
        from esdedup.ingest.workers import Workers
        from esdedup.settings import Settings
        from tests.ingest.test_workers import obey, pages

        launch = popen_forkserver.Popen._launch
        read_number = popen_forkserver.forkserver.read_signed
        started = []

        def interrupt(pipe):
            popen_forkserver.forkserver.read_signed = read_number
            os.kill(os.getpid(), signal.SIGINT)
            return read_number(pipe)

        def launch_and_note(self, process):
            launch(self, process)
            started.append(process)

        popen_forkserver.forkserver.read_signed = interrupt
        popen_forkserver.Popen._launch = launch_and_note

        if __name__ == "__main__":
            try:
                with Workers(2, obey, Settings()) as workers:
                    list(workers.map(pages(["ok"] * 8)))
            except KeyboardInterrupt:
                print([process.is_alive() for process in started])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[False, False]\n", "")


def test_sizes_grow_to_the_last() -> None:
    assert list(islice(growing_sizes(125, 1000), 7)) == [125, 125, 250, 250, 500, 500, 1000]
    assert list(islice(growing_sizes(125, 50), 2)) == [50, 50]


@pytest.mark.parametrize("count", [0, 2])
def test_the_first_results_come_in_small_lists(count: int) -> None:
    documents = [Document(id=str(n), text=f"article number {n}") for n in range(40)]
    with Workers(count, lengths, SETTINGS) as workers:
        lists = list(workers.map(documents, 16, first=4))
    assert [len(part) for part in lists] == [4, 4, 8, 8, 16]
    assert [item for part in lists for item in part] == [len(d.text) for d in documents]
