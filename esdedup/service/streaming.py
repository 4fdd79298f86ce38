"""Articles as NDJSON in, decisions as NDJSON out, both as they come.

Many clients send all they have before they read anything: an answer that waited for them to read
would wait for ever. So what is answered goes to a file of its own first, and reading goes on, up to
a size at which the stream ends. Nothing else grows: a batch of lines is in memory, and while the
writer is busy nothing is read.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from esdedup.clustering.outcomes import Outcome, id_of
from esdedup.errors import EsdedupError
from esdedup.ingest.readers.dates import UnreadDates
from esdedup.ingest.readers.records import record_failure
from esdedup.ingest.readers.streams import LineSplitter, OversizedLine
from esdedup.ingest.sign import Signed
from esdedup.model import JSON, Document, Failure
from esdedup.model.encoding import parse_json
from esdedup.service.problems import Problem, problem_of
from esdedup.service.responses import encode_line
from esdedup.service.schemas import read_document
from esdedup.service.state import Service

_log = logging.getLogger("esdedup.service")
# A batch is closed early at this size, and when nothing came for so long.
_BATCH_BYTES = 4_000_000
_PAUSE_SECONDS = 0.5
_IN_MEMORY = 1_000_000
_PIECE = 65_536


class Spool:
    """Bytes that were written and not yet read; beyond a megabyte they wait on the disk."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._written, self._read, self._is_whole = 0, 0, False
        self._changed = asyncio.Event()

    @property
    def unread(self) -> int:
        return self._written - self._read

    def write(self, data: bytes) -> None:
        if not self.unread:  # or the file would grow for as long as the stream goes on
            self._file.seek(0)
            self._file.truncate()
            self._read = self._written = 0
        self._file.seek(self._written)
        self._file.write(data)
        self._written += len(data)
        self._changed.set()

    def end(self) -> None:
        self._is_whole = True
        self._changed.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            if self._read < self._written:
                self._file.seek(self._read)
                piece = self._file.read(min(_PIECE, self._written - self._read))
                self._read += len(piece)
                yield piece
            elif self._is_whole:
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    def close(self) -> None:
        self._file.close()


class Duplex(StreamingResponse):
    """A response that is sent while the request is still read. Starlette's own reads the request,
    too, to notice a disconnect, and would consume the body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.stream_response(send)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a stream of articles; None where it was longer than allowed."""

    number: int
    text: bytes | None


async def index_stream(
    service: Service, body: AsyncIterator[bytes], request: str
) -> AsyncIterator[bytes]:
    """The answer to a stream; ends early, saying where, when the service stops."""
    spool = Spool()
    run = _Run(service, spool, request)
    task = asyncio.ensure_future(run.follow(body))
    try:
        async for piece in spool.pieces():
            yield piece
        await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        spool.close()


class _Run:
    def __init__(self, service: Service, spool: Spool, request: str) -> None:
        self._service, self._spool, self._request = service, spool, request
        self._waiting: list[Line] = []
        self._size = 0
        self._number = 0  # of the last line that was read
        self._last = 0  # of the last line that was worked on
        self._roles: Counter[str] = Counter()
        self._statuses: Counter[str] = Counter()
        self._unread_dates = UnreadDates()

    async def follow(self, body: AsyncIterator[bytes]) -> None:
        try:
            self._spool.write(encode_line(self._summary(await self._work_through(body))))
        except ClientDisconnect:
            pass  # what was in hand is finished; nobody reads the rest
        finally:
            self._spool.end()

    async def _work_through(self, body: AsyncIterator[bytes]) -> Problem | None:
        """Index the whole body; returns the problem if one ended it early."""
        try:
            if await self._take(body):
                return None
        except Problem as problem:
            return problem
        except ClientDisconnect:
            raise
        except EsdedupError as error:
            _log.error("%s: %s", type(error).__name__, error)
            return problem_of(error)
        except Exception:  # noqa: BLE001 - the client must hear of it
            _log.exception("unexpected error in a stream")
            return Problem(500, "internal", "something failed; the log has the reason")
        return Problem(503, "stopping", "the service is shutting down")

    async def _take(self, body: AsyncIterator[bytes]) -> bool:
        """Whether the whole body was read; False where the service stops before its end."""
        lines = LineSplitter(self._service.config.body_bytes)
        stopping = asyncio.ensure_future(self._service.stopping.wait())
        coming: asyncio.Future[bytes] | None = None
        try:
            while not self._service.stopping.is_set():
                coming = coming or asyncio.ensure_future(anext(body))
                pause = _PAUSE_SECONDS if self._waiting else None
                events: set[asyncio.Future[Any]] = {coming, stopping}
                await asyncio.wait(events, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                if stopping.done():
                    return False
                if not coming.done():
                    await self._flush()
                    continue
                try:
                    found = lines.add(coming.result())
                except StopAsyncIteration:
                    await self._collect(lines.rest())
                    await self._flush()
                    return True
                coming = None
                await self._collect(found)
            return False
        finally:
            stopping.cancel()
            if coming is not None:
                coming.cancel()

    async def _collect(self, found: Iterable[bytes | OversizedLine]) -> None:
        most = self._service.settings.batch
        for line in found:
            self._number += 1
            text = None if isinstance(line, OversizedLine) else line
            if text is not None and not text.strip():
                continue
            self._waiting.append(Line(self._number, text))
            self._size += len(text or b"")
            if len(self._waiting) >= most or self._size >= _BATCH_BYTES:
                await self._flush()

    async def _flush(self) -> None:
        if not self._waiting:
            return
        batch, size = self._waiting, self._size
        self._waiting, self._size = [], 0
        most = self._service.config.body_bytes
        items, outcomes = await self._service.index(
            lambda: [_parse_line(one, self._request, most) for one in batch], size, wait=True
        )
        self._last = batch[-1].number
        for out in _number_outcomes(batch, items, outcomes):
            self._spool.write(encode_line(out))
        for outcome in outcomes:
            self._statuses[outcome.status] += 1
            if outcome.status != "relinked":
                self._roles[outcome.decision.role] += 1
                self._unread_dates.add(outcome.decision.id, outcome.unread_date)
        if self._spool.unread > self._service.config.answers_bytes:
            raise Problem(
                413, "answers-unread", "read the answers while you send, or send fewer articles"
            )

    def _summary(self, problem: Problem | None) -> JSON:
        summary: JSON = {
            "complete": problem is None,
            "articles": self._roles.total(),
            "roles": dict(self._roles),
            "statuses": dict(self._statuses),
        }
        if self._unread_dates.count:
            summary["unread_dates"] = self._unread_dates.to_json()
        if problem is not None:
            summary["problem"] = {"code": problem.code, "detail": problem.detail}
            summary["next_line"] = self._last + 1
        return {"summary": summary}


def _parse_line(line: Line, request: str, most: int) -> Document | Failure:
    where = f"request {request}, line {line.number}"
    if line.text is None:
        return record_failure(where, f"the line is longer than {most:,} bytes")
    try:
        return read_document(parse_json(line.text), where)
    except ValueError as error:
        return record_failure(where, f"the line is no JSON ({str(error)[:100]})")


def _number_outcomes(
    batch: Sequence[Line], items: Sequence[Signed | Failure], outcomes: Sequence[Outcome]
) -> list[JSON]:
    """Outcomes with the number of their line; relinked articles have none."""
    places: dict[str, deque[int]] = {}
    for one, item in zip(batch, items, strict=True):
        places.setdefault(id_of(item), deque()).append(one.number)
    out = []
    for outcome in outcomes:
        own = places.get(outcome.decision.id)
        if outcome.status != "relinked" and own:
            out.append({"line": own.popleft(), **outcome.to_json()})
        else:
            out.append(outcome.to_json())
    return out
