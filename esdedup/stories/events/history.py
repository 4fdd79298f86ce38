"""Events of a store: asked of its history, and told as articles come."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from esdedup.alerts.checkpoint import Checkpoint, Output
from esdedup.features.topics import topics
from esdedup.maintenance.backfill import OVERLAP
from esdedup.methods import simhash
from esdedup.model import JSON, microseconds
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.topical import Clock
from esdedup.stories.events.detector import Detector
from esdedup.stories.events.items import HOUR, Change, Event, Item

# Asked for without a beginning: the last days before the latest article.
DEFAULT_SPAN = timedelta(days=7)
# Read before the beginning, so that an event that was going on has the id it always had; one that
# had been going on for longer gets another.
_LEAD_HOURS = 48
_MANY = 500


def items_of(records: Sequence[Record], settings: Settings) -> list[Item]:
    """What detection needs of stored articles; those that could not be processed are left out."""
    usable = [r for r in records if r.decision.role != "unprocessed"]
    by_topic = settings.event_count == "stories"
    leaders = [r for r in usable if r.decision.link.canonical] if by_topic else []
    about = dict(
        zip(
            (r.document.id for r in leaders),
            topics([r.document for r in leaders], settings),
            strict=True,
        )
    )
    items = []
    for record in usable:
        decision, id_ = record.decision, record.document.id
        item = Item(id_, _time(record, settings), decision.group, decision.story, _source(record))
        if by_topic:
            item = replace(item, topic=about[id_]) if id_ in about else item
        elif keys := record.signature.keys.get("simhash"):
            item = replace(item, fingerprint=simhash.value(keys, settings))
        items.append(item)
    return items


def clock_of(settings: Settings) -> Clock:
    return "first_seen" if settings.event_time == "arrival" else "moment"


def _time(record: Record, settings: Settings) -> int:
    return record.first_seen if settings.event_time == "arrival" else record.order[0]


def _source(record: Record) -> str:
    """Named, or the site of its URL; without either an article is its own source."""
    document = record.document
    if document.source:
        return document.source
    host = urlsplit(document.url).hostname if document.url and "://" in document.url else None
    return (host or "").removeprefix("www.") or f"article {document.id}"


def events(
    store: Store, *, since: datetime | None = None, settings: Settings | None = None
) -> list[Event]:
    """The events of a store that had articles since then, in the order they were detected."""
    settings = settings or store.settings
    detector = Detector(settings)
    low = _beginning(store, since, settings)
    if low is None:
        return []
    for records in store.in_order(clock_of(settings), low - _LEAD_HOURS * HOUR):
        detector.add(items_of(records, settings))
    return [event for event in detector.events() if event.last_seen >= low]


def _beginning(store: Store, since: datetime | None, settings: Settings) -> int | None:
    if since is not None:
        return microseconds(since)
    latest = store.latest(clock_of(settings))
    return None if latest is None else latest - DEFAULT_SPAN // timedelta(microseconds=1)


# --- as articles come --------------------------------------------------------------------------


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
        low = _beginning(store, since, self._settings)
        if low is None:
            return
        told: dict[tuple[str, str], Change] = {}
        for records in store.in_order(clock_of(self._settings), low - _LEAD_HOURS * HOUR):
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
        for start in range(0, len(ids), _MANY):
            if stopped():
                return looked
            records += store.get_many(ids[start : start + _MANY]).values()
        records.sort(key=lambda r: (_time(r, self._settings), r.document.id))
        for start in range(0, len(records), _MANY):
            part = items_of(records[start : start + _MANY], self._settings)
            looked.articles += len(part)
            looked.told += self._tell(self._detector.add(part))
        looked.late = self._detector.late - late
        self._checkpoint.reached(began)
        self._since = began
        return looked

    def _tell(self, changes: Iterable[Change], *, silently: bool = False) -> int:
        """Each change once: an event grows to a size only once."""
        lines = {_name(change): change for change in changes}
        new = {n: c for n, c in lines.items() if not self._checkpoint.is_told(n)}
        with self._checkpoint.transaction():
            self._checkpoint.tell(new)
            if new and not silently:
                self._output.write([_line(name, change) for name, change in new.items()])
        return 0 if silently else len(new)


def _name(change: Change) -> str:
    event = change.event
    size = event.articles if change.kind == "grown" else 0
    return f"{event.id}:{change.kind}:{change.into or size}"


def _line(name: str, change: Change) -> JSON:
    return {"notification": name, **change.to_json()}


def replayed(records: Iterable[Sequence[Record]], settings: Settings) -> Iterator[Change]:
    """What becomes of events, batch by batch of a stream, for a program's own loop."""
    detector = Detector(settings, keep_members=False)
    for batch in records:
        yield from detector.add(items_of(batch, settings))
    yield from detector.finish()


def to_line(change: Change) -> str:
    return json.dumps(_line(_name(change), change), ensure_ascii=False)
