"""A watch: looks at what a store got since the last look, and reports each finding once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.alerts.checkpoint import Checkpoint
from esdedup.alerts.sinks import LineSink
from esdedup.maintenance.backfill import OVERLAP
from esdedup.model import JSON
from esdedup.model.batching import batched
from esdedup.stores import Record, Store

# Articles read from the store at once.
BATCH = 200


@dataclass(slots=True)
class LookResult:
    """What one look at the store came to."""

    articles: int = 0
    reported: int = 0
    late: int = 0  # too old for their event to be counted


class Watch(ABC):
    """Reads what was written since the last look, in batches.

    The ids of reported notifications are in the checkpoint and, where the sink is a file, in its
    lines: nothing is reported twice, also after a crash between a line and the checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        sink: LineSink,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._checkpoint = checkpoint
        self._sink = sink
        self._clock = clock
        self._since = checkpoint.since or clock()
        with checkpoint.transaction():
            checkpoint.mark_reported(sink.reported_ids())

    @property
    def since(self) -> datetime:
        """The next look reads articles written from then on, and slightly earlier ones in case
        clocks differ."""
        return self._since

    def look(self, store: Store, stopped: Callable[[], bool] = lambda: False) -> LookResult:
        """Look once. When stopped between two batches, the next look starts at the same place."""
        began, result = self._clock(), LookResult()
        store.concurrency.snapshot()
        self._prepare(store)
        for part in batched(sorted(store.documents.changed_ids(self._since - OVERLAP)), BATCH):
            if stopped():
                return result
            self._examine(list(store.documents.get(part).values()), result)
        self._finish(result)
        self._advance(began)
        return result

    @abstractmethod
    def _prepare(self, store: Store) -> None:
        """Called before the first batch of a look."""

    @abstractmethod
    def _examine(self, records: Sequence[Record], result: LookResult) -> None:
        """Called for each batch."""

    def _finish(self, result: LookResult) -> None:  # noqa: B027 - optional: nothing is left to do
        """Called after the last batch of a look."""

    def _advance(self, moment: datetime) -> None:
        self._checkpoint.advance(moment)
        self._since = moment

    def _report(
        self, lines: Mapping[str, JSON], *, seen: Iterable[Record] = (), silently: bool = False
    ) -> int:
        """Write the lines whose ids were not reported before; returns how many.

        `silently` marks them as reported without writing them.
        """
        new = {id_: line for id_, line in lines.items() if not self._checkpoint.is_reported(id_)}
        with self._checkpoint.transaction():
            self._checkpoint.mark_reported(new)
            self._checkpoint.mark_seen(seen, self._clock())
            if new and not silently:
                self._sink.write(list(new.values()))
        return 0 if silently else len(new)
