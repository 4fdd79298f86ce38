"""Events by their definition: every pair of articles is looked at. Slow, and the judge."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from esdedup.methods import simhash
from esdedup.settings import Settings
from esdedup.stories.events import EventItem
from esdedup.stories.events.items import HOUR


def number_of(text: str) -> int:
    """What breaks ties of time: the first 63 bits of a hash of the id."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return int(digest, 16) // 2


def similar(a: EventItem, b: EventItem, settings: Settings) -> bool:
    if settings.event_count == "items":
        if a.fingerprint is None or b.fingerprint is None:
            return False
        return simhash.is_similar((a.fingerprint ^ b.fingerprint).bit_count(), settings)
    whole = [
        dict(zip(t.terms.tolist(), np.rint(t.weights * 4096).astype(int).tolist(), strict=True))
        for t in (a.topic, b.topic)
    ]
    product = sum(weight * whole[1].get(term, 0) for term, weight in whole[0].items())
    return bool(product >= round(settings.similar_topic * 4096 * 4096))


def events(items: Sequence[EventItem], settings: Settings) -> list[tuple[str, tuple[str, ...]]]:
    """(first core, members in order) of each event, in order."""
    window = settings.event_window * HOUR
    by_items = settings.event_count == "items"

    def order(item: EventItem) -> tuple[int, int]:
        return item.time, number_of(item.id)

    def unit(item: EventItem) -> str:
        names = {"stories": item.story, "groups": item.group, "sources": item.source}
        return names.get(settings.event_count, item.id)

    nodes = sorted((i for i in items if by_items or not i.is_copy), key=order)
    near = {
        a.id: [
            b
            for b in nodes
            if b.id != a.id
            and abs(a.time - b.time) <= window
            and unit(a) != unit(b)
            and similar(a, b, settings)
        ]
        for a in nodes
    }
    cores = []
    for item in nodes:
        before = [b for b in near[item.id] if order(b) < order(item)]
        if len({unit(b) for b in before}) > settings.event_items:
            cores.append(item)
    core_ids = {c.id for c in cores}
    event_of: dict[str, str] = {}
    for core in cores:  # in order: the first core of each component names it
        todo = [core] if core.id not in event_of else []
        while todo:
            item = todo.pop()
            event_of[item.id] = core.id
            todo += [b for b in near[item.id] if b.id in core_ids and b.id not in event_of]
    for item in nodes:
        owners = [b for b in near[item.id] if b.id in core_ids]
        if item.id not in core_ids and owners:
            event_of[item.id] = event_of[min(owners, key=order).id]
    if not by_items:
        leaders = {item.id: item for item in nodes}
        for item in items:
            leader = leaders.get(item.group) if item.is_copy else None
            if leader and leader.id in event_of and abs(item.time - leader.time) <= window:
                event_of[item.id] = event_of[leader.id]
    found = []
    for core in cores:
        members = sorted(
            (i for i in items if event_of.get(i.id) == core.id), key=lambda i: (i.time, i.id)
        )
        if members and len({i.source for i in members}) >= settings.event_sources:
            found.append((core.id, tuple(i.id for i in members)))
    return found
