"""An in-flight write: the sessions that hold it, the body to send, how a long bulk is split."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from esdedup.gateway.bulk import Bulk, Operation

if TYPE_CHECKING:
    from concurrent.futures import Future

    from esdedup.gateway.session import SessionWrite, TenantSession


@dataclass(slots=True)
class PatternWrite:
    """The operations of a request for one configured pattern, and the session that decides them."""

    pattern: str
    operations: list[Operation]
    session: TenantSession | None = None
    write: SessionWrite | None = None

    @property
    def documents(self) -> int:
        return sum(op.verb != "delete" for op in self.operations)


@dataclass(slots=True)
class WriteJob:
    """A context manager: at its end every session learns what became of its part."""

    body: bytes
    bulk: Bulk | None = None  # what came, or a part of it
    split: list[Bulk] = field(default_factory=list)  # the parts in which it is sent
    is_part: bool = False
    is_changed: bool = False
    new_id: str | None = None
    prepared: list[PatternWrite] = field(default_factory=list)  # to be decided
    missing: list[str] = field(default_factory=list)  # patterns without an index
    enriched: int = 0
    unenriched: int = 0
    unread_dates: int = 0
    _writes: list[SessionWrite] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)

    def enter(self, write: SessionWrite) -> SessionWrite:
        """Begin the write of a session, which ends with this job."""
        self._writes.append(self._stack.enter_context(write))
        return write

    def leave_unsigned(self, session: TenantSession) -> None:
        """Documents of this session are sent without our fields: it signs them after the write."""
        self._stack.callback(session.note_unsigned)

    def confirm(self, done: Mapping[int, int] | None) -> None:
        """The cluster answered; `done` has the writes it did, by the line of their action."""
        for write in self._writes:
            write.confirm(done)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> WriteJob:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


Step = Callable[[WriteJob], Coroutine[Any, Any, WriteJob]]


class SplitPipeline:
    """The parts of a bulk in their order: one is signed while the one before it is decided."""

    def __init__(self, split: Sequence[Bulk], sign: Step, decide: Step) -> None:
        self._waiting = deque(split)
        self._sign = sign
        self._decide = decide
        self._signing: asyncio.Task[WriteJob] | None = None
        self._begin()

    def _begin(self) -> None:
        self._signing = None
        if self._waiting:
            job = WriteJob(b"", self._waiting.popleft(), is_part=True)
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
