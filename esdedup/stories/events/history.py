"""The events of a store, and the notifications of a watch on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from esdedup.features.topics import term_vectors
from esdedup.methods import simhash
from esdedup.model import JSON, NO_TERMS, microseconds, order_of
from esdedup.model.batching import batched
from esdedup.search.origins import source_of
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.topical import EVER, Clock
from esdedup.stories.events.detector import EventDetector
from esdedup.stories.events.items import HOUR, Event, EventChange, EventItem

# Searched where no beginning is given: the last days before the latest article.
_DEFAULT_SPAN = 7 * 24 * HOUR
# Read before the beginning, so that an event which was going on keeps its id. One that had been
# going on for longer gets another id.
LEAD_HOURS = 48
BATCH = 500


def items_of(records: Sequence[Record], settings: Settings) -> list[EventItem]:
    """What detection needs of stored articles; those that could not be processed are left out."""
    usable = [r for r in records if r.decision.role != "unprocessed"]
    by_topic = settings.event_count != "items"
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
                # Without a source an article is its own.
                source_of(record.document) or f"article {id_}",
                topics.get(id_, NO_TERMS),
                simhash.fingerprint_of(keys, settings) if keys else None,
            )
        )
    return items


def event_time(record: Record, settings: Settings) -> int:
    if settings.event_time == "arrival":
        return record.first_seen
    published = record.document.published
    time, _ = order_of(published, record.first_seen, record.document.id)
    return time


def find_events(
    store: Store, *, since: datetime | None = None, settings: Settings | None = None
) -> list[Event]:
    """The events of a store that had articles since then, in the order they were detected."""
    settings = settings or store.settings
    detector = EventDetector(settings)
    low, parts = read_history(store, since, settings)
    for items in parts:
        detector.add(items)
    return [event for event in detector.events() if event.last_seen >= low]


def read_history(
    store: Store, since: datetime | None, settings: Settings
) -> tuple[int, Iterable[Sequence[EventItem]]]:
    """Where the time in question begins, and the articles to examine in the order of time.

    A store that is ordered by arrival cannot read articles by publication. What was published since
    then arrived since then, so these articles are read and sorted; without `since`, all are.
    """
    is_sorted = settings.event_time == "arrival" or store.settings.keep != "arrival"
    clock: Clock = "first_seen" if settings.event_time == "arrival" else "moment"
    latest = store.documents.latest(clock)
    if latest is None:
        return 0, ()
    low = latest - _DEFAULT_SPAN if since is None else microseconds(since)
    start = low - LEAD_HOURS * HOUR if is_sorted or since is not None else -EVER
    scanned = (items_of(part, settings) for part in store.documents.scan_by_time(clock, start))
    if is_sorted:
        return low, scanned
    items = sorted((item for part in scanned for item in part), key=lambda i: (i.time, i.id))
    if since is None:
        low = items[-1].time - _DEFAULT_SPAN if items else low
    return low, batched([i for i in items if i.time >= low - LEAD_HOURS * HOUR], BATCH)


# --- as articles come --------------------------------------------------------------------------


def notification_id(change: EventChange) -> str:
    event = change.event
    size = event.articles if change.kind == "grown" else 0
    return f"{event.id}:{change.kind}:{change.into or size}"


def notification_json(name: str, change: EventChange) -> JSON:
    return {"notification": name, **change.to_json()}
