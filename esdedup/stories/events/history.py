"""Events of a store: asked of its history, and told as articles come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from esdedup.features.topics import topics
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
LEAD_HOURS = 48
MANY = 500


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
        item = Item(id_, time_in(record, settings), decision.group, decision.story, _source(record))
        if by_topic:
            item = replace(item, topic=about[id_]) if id_ in about else item
        elif keys := record.signature.keys.get("simhash"):
            item = replace(item, fingerprint=simhash.value(keys, settings))
        items.append(item)
    return items


def clock_of(settings: Settings) -> Clock:
    return "first_seen" if settings.event_time == "arrival" else "moment"


def time_in(record: Record, settings: Settings) -> int:
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
    low = beginning(store, since, settings)
    if low is None:
        return []
    for records in store.in_order(clock_of(settings), low - LEAD_HOURS * HOUR):
        detector.add(items_of(records, settings))
    return [event for event in detector.events() if event.last_seen >= low]


def beginning(store: Store, since: datetime | None, settings: Settings) -> int | None:
    if since is not None:
        return microseconds(since)
    latest = store.latest(clock_of(settings))
    return None if latest is None else latest - DEFAULT_SPAN // timedelta(microseconds=1)


# --- as articles come --------------------------------------------------------------------------


def name_of(change: Change) -> str:
    event = change.event
    size = event.articles if change.kind == "grown" else 0
    return f"{event.id}:{change.kind}:{change.into or size}"


def line_of(name: str, change: Change) -> JSON:
    return {"notification": name, **change.to_json()}


def replayed(records: Iterable[Sequence[Record]], settings: Settings) -> Iterator[Change]:
    """What becomes of events, batch by batch of a stream, for a program's own loop."""
    detector = Detector(settings, keep_members=False)
    for batch in records:
        yield from detector.add(items_of(batch, settings))
    yield from detector.finish()


def to_line(change: Change) -> str:
    return json.dumps(line_of(name_of(change), change), ensure_ascii=False)
