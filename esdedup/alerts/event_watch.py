"""A watch on events: each change of an event is reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from esdedup.alerts.checkpoint import Checkpoint
from esdedup.alerts.sinks import LineSink
from esdedup.alerts.watch import LookResult, Watch
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stories.events.detector import EventDetector
from esdedup.stories.events.history import (
    BATCH,
    event_time,
    items_of,
    notification_id,
    notification_json,
    read_history,
)
from esdedup.stories.events.items import EventChange


class EventWatch(Watch):
    """Reports events that open, grow and end. A restarted watch first reads the window again."""

    def __init__(
        self,
        store: Store,
        checkpoint: Checkpoint,
        sink: LineSink,
        *,
        settings: Settings | None = None,
        since: datetime | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(checkpoint, sink, clock)
        self._settings = settings or store.settings
        self._detector = EventDetector(self._settings, keep_members=False)
        self._read: list[Record] = []
        began = clock()
        self._read_window(store, since, silently=checkpoint.since is None and since is None)
        self._advance(began)

    def _read_window(self, store: Store, since: datetime | None, *, silently: bool) -> None:
        """Detect what the window holds. Changes between two runs are reported; those before the
        first run only when `since` was given."""
        store.concurrency.snapshot()
        last: dict[tuple[str, str], EventChange] = {}
        _, parts = read_history(store, since, self._settings)
        for items in parts:
            for change in self._detector.add(items):
                last[change.event.id, change.kind] = change  # of its growth, the last
        self._report_changes(last.values(), silently=silently)

    def _prepare(self, store: Store) -> None:
        self._read = []

    def _examine(self, records: Sequence[Record], result: LookResult) -> None:
        self._read += records

    def _finish(self, result: LookResult) -> None:
        """The detector takes articles in the order of time, whatever the order of their ids."""
        late = self._detector.late
        self._read.sort(key=lambda r: (event_time(r, self._settings), r.document.id))
        for start in range(0, len(self._read), BATCH):
            items = items_of(self._read[start : start + BATCH], self._settings)
            result.articles += len(items)
            result.reported += self._report_changes(self._detector.add(items))
        result.late = self._detector.late - late
        self._read = []

    def _report_changes(self, changes: Iterable[EventChange], *, silently: bool = False) -> int:
        """An event grows to a size only once, so that each change has a name of its own."""
        lines = {
            name: notification_json(name, change)
            for change in changes
            for name in [notification_id(change)]
        }
        return self._report(lines, silently=silently)
