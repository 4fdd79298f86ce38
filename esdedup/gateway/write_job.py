"""What a write is on its way: looked at by desks, sent, answered; and a long one in its parts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from esdedup.gateway.bulk import Bulk, Operation

if TYPE_CHECKING:
    from concurrent.futures import Future

    from esdedup.gateway.session import Desk, Prepared


@dataclass(slots=True)
class Share:
    """Of a request what one desk looks at, or would have."""

    pattern: str
    operations: list[Operation]
    desk: Desk | None = None
    prepared: Prepared | None = None

    @property
    def writes(self) -> int:
        return sum(op.verb != "delete" for op in self.operations)


@dataclass(slots=True)
class Work:
    """A request on its way: what is sent, and which desks wait for its answer."""

    body: bytes
    bulk: Bulk | None = None  # what came, or a part of it
    parts: list[Bulk] = field(default_factory=list)  # in which it is sent, if it is divided
    is_part: bool = False
    is_changed: bool = False
    new_id: str | None = None
    prepared: list[Share] = field(default_factory=list)  # to be decided
    desks: list[Desk] = field(default_factory=list)  # of those that are
    unsigned: list[Desk] = field(default_factory=list)  # of those that failed
    missing: list[str] = field(default_factory=list)  # patterns without an index
    enriched: int = 0
    unenriched: int = 0

    def release(self, operations: int | None) -> None:
        """Every desk is told once."""
        counted = operations if len(self.desks) == 1 else None
        while self.desks:
            self.desks.pop().written(counted)
        while self.prepared:
            if desk := self.prepared.pop().desk:
                desk.give_up()
        while self.unsigned:  # only now is there anything for settling to find
            self.unsigned.pop().note_unsigned()


Step = Callable[[Work], Coroutine[Any, Any, Work]]


class Ahead:
    """The parts of a bulk in their order: one is signed while the one before it is decided."""

    def __init__(self, divided: Sequence[Bulk], sign: Step, decide: Step) -> None:
        self._waiting = deque(divided)
        self._sign = sign
        self._decide = decide
        self._signing: asyncio.Task[Work] | None = None
        self._begin()

    def _begin(self) -> None:
        self._signing = None
        if self._waiting:
            work = Work(b"", self._waiting.popleft(), is_part=True)
            self._signing = asyncio.create_task(self._sign(work))

    @property
    def has_more(self) -> bool:
        return self._signing is not None

    async def next(self) -> Work:
        """The next part, ready to be sent."""
        signing = self._signing
        assert signing is not None
        try:
            work = await asyncio.shield(signing)
        except asyncio.CancelledError:
            signing.add_done_callback(let_go)
            raise
        self._begin()
        return await self._decide(work)

    def let_go(self) -> None:
        """Nobody will ask for the next part."""
        if self._signing is not None:
            self._signing.add_done_callback(let_go)


def let_go(job: Future[Work] | asyncio.Task[Work]) -> None:
    """No desk waits for what is not sent."""
    if not job.cancelled() and job.exception() is None:
        job.result().release(None)
