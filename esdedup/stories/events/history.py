"""The events of a store, and the notifications of a watch on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from esdedup.features.topics import term_vectors
from esdedup.methods import simhash
from esdedup.model import JSON, NO_TERMS, microseconds
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.topical import Clock
from esdedup.stories.events.detector import EventDetector
from esdedup.stories.events.items import HOUR, Event, EventChange, EventItem

# Searched where no beginning is given: the last days before the latest article.
DEFAULT_SPAN = timedelta(days=7)
# Read before the beginning, so that an event which was going on keeps its id. One that had been
# going on for longer gets another id.
LEAD_HOURS = 48
BATCH = 500


def items_of(records: Sequence[Record], settings: Settings) -> list[EventItem]:
    """What detection needs of stored articles; those that could not be processed are left out."""
    usable = [r for r in records if r.decision.role != "unprocessed"]
    by_topic = settings.event_count == "stories"
    leaders = [r.document for r in usable if by_topic and r.decision.link.canonical]
    vectors = zip(leaders, term_vectors(leaders, settings), strict=True)
    topics = {document.id: vector for document, vector in vectors}
    items = []
    for record in usable:
        decision, id_ = record.decision, record.document.id
        keys = () if by_topic else record.signature.keys.get("simhash", ())
        items.append(
            EventItem(
                id_,
                event_time(record, settings),
                decision.group,
                decision.story,
                _source_of(record),
                topics.get(id_, NO_TERMS),
                simhash.fingerprint_of(keys, settings) if keys else None,
            )
        )
    return items


def clock_of(settings: Settings) -> Clock:
    return "first_seen" if settings.event_time == "arrival" else "moment"


def event_time(record: Record, settings: Settings) -> int:
    return record.first_seen if settings.event_time == "arrival" else record.order[0]


def _source_of(record: Record) -> str:
    """Named, or the site of its URL; without either an article is its own source."""
    document = record.document
    if document.source:
        return document.source
    host = urlsplit(document.url).hostname if document.url and "://" in document.url else None
    return (host or "").removeprefix("www.") or f"article {document.id}"


def find_events(
    store: Store, *, since: datetime | None = None, settings: Settings | None = None
) -> list[Event]:
    """The events of a store that had articles since then, in the order they were detected."""
    settings = settings or store.settings
    detector = EventDetector(settings)
    low = find_start(store, since, settings)
    if low is None:
        return []
    for records in store.documents.scan_by_time(clock_of(settings), low - LEAD_HOURS * HOUR):
        detector.add(items_of(records, settings))
    return [event for event in detector.events() if event.last_seen >= low]


def find_start(store: Store, since: datetime | None, settings: Settings) -> int | None:
    if since is not None:
        return microseconds(since)
    latest = store.documents.latest(clock_of(settings))
    return None if latest is None else latest - DEFAULT_SPAN // timedelta(microseconds=1)


# --- as articles come --------------------------------------------------------------------------


def notification_id(change: EventChange) -> str:
    event = change.event
    size = event.articles if change.kind == "grown" else 0
    return f"{event.id}:{change.kind}:{change.into or size}"


def notification_json(name: str, change: EventChange) -> JSON:
    return {"notification": name, **change.to_json()}
