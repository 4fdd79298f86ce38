"""Articles to signed articles: pages in worker processes with time and memory limits."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from esdedup.errors import EsdedupError
from esdedup.ingest.readers.records import FieldMap, record_failure, to_document
from esdedup.ingest.sign import Signed, check_settings, prepare
from esdedup.ingest.workers import Workers
from esdedup.model import Document, Failure
from esdedup.model.encoding import parse_json
from esdedup.service.metrics import Metrics
from esdedup.settings import Settings

_FIELDS = FieldMap()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a stream of articles; None where it was longer than allowed."""

    number: int
    text: bytes | None


def read_document(record: Any, where: str) -> Document | Failure:
    """An article as `esdedup index` reads it, under the usual names of its fields."""
    if not isinstance(record, dict):
        return record_failure(
            where, "is no object; an article is a JSON object with `text` or `html`"
        )
    return to_document(record, where, _FIELDS)


def parse_line(line: Line, request: str, most: int) -> Document | Failure:
    where = f"request {request}, line {line.number}"
    if line.text is None:
        return record_failure(where, f"the line is longer than {most:,} bytes")
    try:
        return read_document(parse_json(line.text), where)
    except ValueError as error:
        return record_failure(where, f"the line is no JSON ({str(error)[:100]})")


class SigningPool:
    """A few sets of workers, each used by one batch at a time.

    A text is signed in the thread that asks; a page goes to a process. One page that takes all its
    time holds up one set of workers and nobody else.
    """

    def __init__(self, settings: Settings, count: int, metrics: Metrics) -> None:
        check_settings(settings)
        self.settings = settings
        self._metrics = metrics
        self._free: queue.SimpleQueue[Workers[Signed | Failure]] = queue.SimpleQueue()
        for _ in range(count):
            self._free.put(self._workers())
        self._count = count
        self.threads = ThreadPoolExecutor(count, "esdedup-prepare")

    def _workers(self) -> Workers[Signed | Failure]:
        return Workers(1, prepare, self.settings)

    def prepare(self, documents: Sequence[Document | Failure]) -> list[Signed | Failure]:
        """In the order of the input; runs in one of `threads`."""
        workers = self._free.get()
        try:
            with self._metrics.stages.labels("prepare").time():
                chunks = workers.map(documents, self.settings.batch)
                return [item for chunk in chunks for item in chunk]
        except EsdedupError:
            workers.__exit__(EsdedupError, None, None)
            workers = self._workers()
            raise
        finally:
            self._free.put(workers)

    def close(self) -> None:
        self.threads.shutdown(wait=True)
        for _ in range(self._count):
            self._free.get().__exit__(None, None, None)
