"""An in-flight write: the sessions that hold it, the body to send, how a long bulk is split."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from esdedup.gateway.bulk import Bulk, Operation
from esdedup.model import JSON

if TYPE_CHECKING:
    from concurrent.futures import Future

    from esdedup.gateway.session import SessionWrite

# Documents that were sent without our fields: id -> index, and arrival in microseconds.
Unsigned = dict[str, tuple[str, int]]


@dataclass(slots=True)
class PatternWrite:
    """The operations of a request for one configured pattern, and the session that decides them.

    `note_unsigned` is told of documents that were sent without our fields; None where nobody can
    sign them later.
    """

    pattern: str
    operations: list[Operation]
    note_unsigned: Callable[[Unsigned], None] | None = None
    write: SessionWrite | None = None

    @property
    def documents(self) -> int:
        return sum(op.verb != "delete" for op in self.operations)


@dataclass(slots=True)
class WriteJob:
    """A context manager: at its end every session learns what became of its part."""

    body: bytes
    arrived: int  # when the request came, in microseconds
    bulk: Bulk | None = None  # what came, or a part of it
    split: list[Bulk] = field(default_factory=list)  # the parts in which it is sent
    is_part: bool = False
    is_changed: bool = False
    new_id: str | None = None
    prepared: list[PatternWrite] = field(default_factory=list)  # to be decided
    enriched: int = 0
    unenriched: int = 0
    unread_dates: int = 0
    _writes: list[SessionWrite] = field(default_factory=list)
    _results: Mapping[int, JSON] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def enter(self, write: SessionWrite) -> SessionWrite:
        """Begin the write of a session, which ends with this job."""
        self._writes.append(self._stack.enter_context(write))
        return write

    def leave_unsigned(self, part: PatternWrite, operations: Sequence[Operation]) -> None:
        """These are sent without our fields, and signed after the write."""
        if (note := part.note_unsigned) is not None:
            self._stack.callback(lambda: note(self._unsigned(operations)))

    def _unsigned(self, operations: Sequence[Operation]) -> Unsigned:
        """Ids that the cluster made are known from its answer. Arrival is in the order of lines."""
        out: Unsigned = {}
        for op in operations:
            result = self._results.get(op.action_line, {})
            id_ = op.id or result.get("_id")
            if id_ and op.verb != "delete" and not op.is_versioned:
                out[id_] = result.get("_index", op.index), self.arrived + op.action_line
        return out

    def confirm(self, results: Mapping[int, JSON]) -> None:
        """The cluster answered; `results` are those of actions, by their line."""
        self._results = results
        for write in self._writes:
            write.confirm(results)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> WriteJob:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


Step = Callable[[WriteJob], Coroutine[Any, Any, WriteJob]]


class SplitPipeline:
    """The parts of a bulk in their order: one is signed while the one before it is decided."""

    def __init__(self, split: Sequence[Bulk], arrived: int, sign: Step, decide: Step) -> None:
        self._waiting = deque(split)
        self._arrived = arrived
        self._sign = sign
        self._decide = decide
        self._signing: asyncio.Task[WriteJob] | None = None
        self._begin()

    def _begin(self) -> None:
        self._signing = None
        if self._waiting:
            job = WriteJob(b"", self._arrived, self._waiting.popleft(), is_part=True)
            self._signing = asyncio.create_task(self._sign(job))

    @property
    def has_more(self) -> bool:
        return self._signing is not None

    async def next(self) -> WriteJob:
        """The next part, ready to be sent."""
        signing = self._signing
        assert signing is not None
        try:
            job = await asyncio.shield(signing)
        except asyncio.CancelledError:
            signing.add_done_callback(abort)
            raise
        self._begin()
        return await self._decide(job)

    def abort(self) -> None:
        """Nobody will ask for the next part."""
        if self._signing is not None:
            self._signing.add_done_callback(abort)


def abort(made: Future[WriteJob] | asyncio.Task[WriteJob]) -> None:
    """End a job that is not sent, as soon as it is made."""
    if not made.cancelled() and made.exception() is None:
        made.result().close()
