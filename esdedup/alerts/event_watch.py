"""A watch on events: each change of an event is reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.alerts.checkpoint import Checkpoint, Output
from esdedup.maintenance.backfill import OVERLAP
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stories.events.detector import Detector
from esdedup.stories.events.history import (
    LEAD_HOURS,
    MANY,
    beginning,
    clock_of,
    items_of,
    line_of,
    name_of,
    time_in,
)
from esdedup.stories.events.items import HOUR, Change


@dataclass(slots=True)
class Looked:
    """What one look at the store came to."""

    articles: int = 0
    told: int = 0
    late: int = 0


class EventWatch:
    """Looks at what was indexed since the last time, and tells what became of events.

    The checkpoint knows what was told; where a watch goes on, the window is read again first.
    """

    def __init__(
        self,
        store: Store,
        checkpoint: Checkpoint,
        output: Output,
        *,
        settings: Settings | None = None,
        since: datetime | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._settings = settings or store.settings
        self._checkpoint = checkpoint
        self._output = output
        self._clock = clock
        self._detector = Detector(self._settings, keep_members=False)
        with checkpoint.transaction():
            checkpoint.tell(output.told_before())
        is_first = checkpoint.since is None
        began = clock()
        self._start(store, since, tell_all=is_first and since is not None)
        self._since = began
        checkpoint.reached(began)

    def _start(self, store: Store, since: datetime | None, *, tell_all: bool) -> None:
        """Read what the window holds; what happened before is told only where it was asked for.

        What came between two runs of a watch is told in any case.
        """
        store.begin()
        first = self._checkpoint.since is None
        low = beginning(store, since, self._settings)
        if low is None:
            return
        told: dict[tuple[str, str], Change] = {}
        for records in store.in_order(clock_of(self._settings), low - LEAD_HOURS * HOUR):
            for change in self._detector.add(items_of(records, self._settings)):
                told[change.event.id, change.kind] = change  # of its growth, the last
        self._tell(told.values(), silently=first and not tell_all)

    @property
    def since(self) -> datetime:
        return self._since

    def look(self, store: Store, stopped: Callable[[], bool] = lambda: False) -> Looked:
        """One pass over what was written, or got another place, since the last one."""
        began, looked, late = self._clock(), Looked(), self._detector.late
        store.begin()
        ids = sorted(store.changed_since(self._since - OVERLAP))
        records: list[Record] = []
        for start in range(0, len(ids), MANY):
            if stopped():
                return looked
            records += store.get_many(ids[start : start + MANY]).values()
        records.sort(key=lambda r: (time_in(r, self._settings), r.document.id))
        for start in range(0, len(records), MANY):
            part = items_of(records[start : start + MANY], self._settings)
            looked.articles += len(part)
            looked.told += self._tell(self._detector.add(part))
        looked.late = self._detector.late - late
        self._checkpoint.reached(began)
        self._since = began
        return looked

    def _tell(self, changes: Iterable[Change], *, silently: bool = False) -> int:
        """Each change once: an event grows to a size only once."""
        lines = {name_of(change): change for change in changes}
        new = {n: c for n, c in lines.items() if not self._checkpoint.is_told(n)}
        with self._checkpoint.transaction():
            self._checkpoint.tell(new)
            if new and not silently:
                self._output.write([line_of(name, change) for name, change in new.items()])
        return 0 if silently else len(new)
