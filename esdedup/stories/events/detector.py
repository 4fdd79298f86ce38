"""Breaking events in a stream of articles: a sliding window, fed article by article.

Paper 001, section 2.4.2: an article with more than 15 similar ones within 4 hours reports an
event. Events are a property of the set of articles, whatever their order of arrival:

    before(y)  = articles x before y, at most a window W earlier, similar to y, of another unit
    core(y)    = before(y) has more than N units: groups, stories, sources or articles
    an event   = cores joined by similarity within W, and every article that is similar to one of
                 them within W: with the earliest of them, where it is similar to several
    a copy     is where its original is, if at most W lies between them

A new core that is similar to cores of two events merges them. The id of an event is derived from
its first core. Time is that of the articles, never of a clock, so that a replay at any speed gives
the same events. The detector holds the articles of W and of the lateness allowed. Of older
articles in an event that goes on, it holds what the summary counts (and, with `keep_members`, their
ids).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np

from esdedup.errors import SettingsError
from esdedup.model.batching import batched
from esdedup.settings import Settings
from esdedup.stories.events.indexes import Slots, make_index
from esdedup.stories.events.items import (
    HOUR,
    NEVER,
    NO_DEGREE,
    NO_EVENT,
    Event,
    EventChange,
    EventItem,
)
from esdedup.stories.events.nodes import Nodes, distinct_events
from esdedup.stories.events.summary import Summary

# Slots of articles that left the window before all of them are dropped together.
_SPARE = 1024
# New articles inserted together: each is compared with the window and with those of its part only,
# so that most pairs of a large batch are compared once.
_INSERTED = 512


class EventDetector:
    """Detects events: `add` takes articles and returns the changes of events."""

    def __init__(self, settings: Settings, *, keep_members: bool = True) -> None:
        if settings.event_count == "items" and "simhash" not in settings.methods:
            raise SettingsError(
                "event_count = items counts articles that are similar by simhash, and that method "
                "is off: switch it on (`esdedup backfill --only simhash`), or count groups"
            )
        self._settings = settings
        self._counts_items = settings.event_count == "items"
        self._window = round(settings.event_window * HOUR)
        self._reach = self._window + round(settings.event_lateness * HOUR)
        self._keep_members = keep_members
        self.latest = -NEVER
        self.late = 0  # articles that came too late to be counted
        self._summaries: dict[int, Summary] = {}  # of open events, by number
        self._last_number = 0
        self._reported: dict[str, Event] = {}  # open events as last reported
        self._ended: list[Event] = []
        self._affected: set[int] = set()  # events, by number
        # While the window is rebuilt: article -> its event, which began before, and its owner.
        self._heirs: dict[str, tuple[int, int, int]] = {}
        self._clear()

    def _clear(self) -> None:
        self._index = make_index(self._settings)
        self._nodes = Nodes(self._settings.event_count)
        self._slots: dict[str, int] = {}  # by id, of the articles held
        self._copies: dict[str, dict[str, EventItem]] = {}  # by group, by id
        self._copy: dict[str, EventItem] = {}
        self._leaving: list[tuple[int, str]] = []  # copies, a heap by time

    @property
    def held(self) -> int:
        """Articles in memory."""
        return len(self._slots) + len(self._copy)

    def add(self, items: Iterable[EventItem]) -> list[EventChange]:
        """Take articles in any order. A known one with another group, story or time moves."""
        fresh: dict[str, EventItem] = {}
        is_moved = False
        for item in items:
            known = fresh.get(item.id) or self._get(item.id)
            if known is not None and known.place == item.place:
                continue
            if item.time < self.latest - self._reach:
                self.late += known is None
                continue
            if known is not None and item.id not in fresh:
                self._remove(known)
                is_moved = True
            fresh[item.id] = item
            self.latest = max(self.latest, item.time)
        if is_moved:
            self._rebuild(fresh.values())
        else:
            self._insert(fresh.values())
        changes = self._collect_changes()
        return [*changes, *self._seal()]

    def finish(self) -> list[EventChange]:
        """End the stream, and with it every event."""
        self.latest = NEVER
        return self._seal()

    def events(self) -> list[Event]:
        """All reported events, ended ones among them, in the order they were detected."""
        return sorted([*self._ended, *self._reported.values()], key=lambda e: (e.detected, e.id))

    # --- the window --------------------------------------------------------------------------

    def _get(self, id_: str) -> EventItem | None:
        slot = self._slots.get(id_)
        return self._nodes.items[slot] if slot is not None else self._copy.get(id_)

    def _insert(self, items: Iterable[EventItem]) -> None:
        new: list[EventItem] = []
        for item in items:
            # Counting items, everything counts; else copies only follow.
            if self._counts_items or not item.is_copy:
                new.append(item)
                continue
            self._copies.setdefault(item.group, {})[item.id] = item
            self._copy[item.id] = item
            heapq.heappush(self._leaving, (item.time, item.id))
            if (leader := self._slots.get(item.group)) is not None:
                self._nodes.is_affected[leader] = True
        new.sort(key=lambda item: item.time)  # in order, nothing has to be looked at again
        for part in batched(new, _INSERTED):
            first = len(self._nodes.items)
            self._slots |= {item.id: slot for slot, item in enumerate(part, first)}
            self._nodes.add(part)
            self._index.add(first, part)
            self._inherit(first)
            for slot, similar in enumerate(self._index.find_similar(part), first):
                # Articles in later slots are connected when it is their turn.
                self._connect(slot, self._select_near(slot, similar[similar < slot]))

    def _inherit(self, first: int) -> None:
        nodes = self._nodes
        for slot in range(first, len(nodes.items)) if self._heirs else ():
            event, time, tie = self._heirs.get(nodes.items[slot].id, (NO_EVENT, NEVER, 0))
            if time != NEVER:
                nodes.event[slot], nodes.owner_time[slot], nodes.owner_tie[slot] = event, time, tie

    def _select_near(self, slot: int, similar: Slots) -> Slots:
        """Similar articles that count: of other units, near in time."""
        nodes = self._nodes
        if not len(similar):
            return similar
        is_near = np.abs(nodes.time[similar] - nodes.time[slot]) <= self._window
        is_near &= nodes.is_held[similar] & (nodes.unit[similar] != nodes.unit[slot])
        counted: Slots = similar[is_near]
        return counted

    def _connect(self, slot: int, near: Slots) -> None:
        """A new article: whether it is a core, and which later ones it makes one."""
        if not len(near):
            return
        nodes = self._nodes
        nodes.degree[slot] = len(near)
        nodes.degree[near] += 1
        nodes.is_affected[near] = True
        is_after = nodes.are_after(slot, near)
        if self._makes_core(near[~is_after]):
            self._become_core(slot, near)
        else:
            self._adopt(slot, near)
        # A degree counts at least the articles before.
        may_be_core = ~nodes.is_core[near] & (nodes.degree[near] > self._settings.event_items)
        later = near[is_after & may_be_core].tolist()
        found = self._index.find_similar([nodes.items[other] for other in later])
        for other, similar in zip(later, found, strict=True):
            connected = similar[(similar <= slot) & (similar != other)]
            around = self._select_near(other, connected)
            if self._makes_core(around[~nodes.are_after(other, around)]):
                self._become_core(other, around)

    def _makes_core(self, before: Slots) -> bool:
        least = self._settings.event_items
        if len(before) <= least:
            return False
        # Few articles are enough in most cases, unless these are of few units.
        units = self._nodes.unit[before]
        return len(set(units[: 2 * least].tolist())) > least or len(np.unique(units)) > least

    def _become_core(self, slot: int, near: Slots) -> None:
        nodes = self._nodes
        nodes.is_affected[slot] = True
        is_core = nodes.is_core[near]
        events = distinct_events(nodes.event[near[is_core]])
        heir, _, _ = self._heirs.get(nodes.items[slot].id, (NO_EVENT, NEVER, 0))
        if heir != NO_EVENT:
            events.add(heir)
        self._affected |= distinct_events(nodes.event[[slot]])
        nodes.event[slot] = self._merge_events(events, (*nodes.key(slot), nodes.items[slot].id))
        nodes.is_core[slot] = True
        others = near[~is_core]
        taken = others[nodes.would_own(slot, others)]
        self._affected |= distinct_events(nodes.event[taken])
        nodes.set_owner(taken, slot)

    def _adopt(self, slot: int, near: Slots) -> None:
        """An article that is no core belongs to the earliest core it is similar to."""
        nodes = self._nodes
        cores = near[nodes.is_core[near]]
        if not len(cores):
            return
        owner = int(cores[np.lexsort((nodes.tie[cores], nodes.time[cores]))[0]])
        if nodes.would_own(owner, np.array([slot]))[0]:
            nodes.set_owner(slot, owner)
            nodes.is_affected[slot] = True

    def _merge_events(self, events: set[int], core: tuple[int, int, str]) -> int:
        """One event of these, or a new one, with this core."""
        if not events:
            self._last_number += 1
            self._summaries[self._last_number] = Summary(core)
            return self._last_number
        root = min(events, key=lambda e: self._summaries[e].first_core)
        for event in events - {root}:
            self._summaries[root].merge(self._summaries.pop(event))
            self._nodes.event[self._nodes.event == event] = root
            for id_, (number, *owner) in self._heirs.items():
                if number == event:
                    self._heirs[id_] = root, owner[0], owner[1]
        self._summaries[root].first_core = min(self._summaries[root].first_core, core)
        return root

    # --- articles that move or leave ---------------------------------------------------------

    def _remove(self, item: EventItem) -> None:
        if item.id in self._copy:
            del self._copy[item.id]
            del self._copies[item.group][item.id]
            if not self._copies[item.group]:
                del self._copies[item.group]
        else:
            self._nodes.is_held[self._slots.pop(item.id)] = False

    def _rebuild(self, fresh: Iterable[EventItem]) -> None:
        """Insert the whole window again: an article that moved may have made a core, or been one.

        Events that began before the window go on through the cores they have in it.
        """
        nodes, horizon = self._nodes, self.latest - self._reach
        items = [nodes.items[slot] for slot in self._slots.values()]
        self._heirs = {}
        for id_, slot in self._slots.items():
            event, owner = int(nodes.event[slot]), int(nodes.owner_time[slot])
            is_heir = bool(nodes.is_core[slot]) or owner < horizon
            if is_heir and event in self._summaries and self._summaries[event].is_anchored:
                self._heirs[id_] = event, owner, int(nodes.owner_tie[slot])
        self._summaries = {e: s for e, s in self._summaries.items() if s.is_anchored}
        for summary in self._summaries.values():
            summary.first_core = summary.anchor or summary.first_core
        items += self._copy.values()
        self._clear()
        self._insert([*items, *fresh])
        self._heirs = {}
        self._affected = set(self._summaries)

    def _seal(self) -> list[EventChange]:
        """Count what leaves the window into its event. An event that nothing joins has ended."""
        nodes, horizon = self._nodes, self.latest - self._reach
        for slot in np.flatnonzero(nodes.is_held & (nodes.time < horizon)).tolist():
            item = nodes.items[slot]
            copies = self._copies_near(item)
            if (event := int(nodes.event[slot])) != NO_EVENT:
                summary = self._summaries[event]
                summary.add(item, int(nodes.degree[slot]), keep=self._keep_members)
                for copy in copies:
                    summary.add(copy, NO_DEGREE, keep=self._keep_members)
                if nodes.is_core[slot]:
                    summary.anchor_at((*nodes.key(slot), item.id))
            # Copies far from it leave with it: nothing else removes them.
            passed = [c for c in self._copies.get(item.id, {}).values() if c.time < horizon]
            for copy in {c.id: c for c in (*copies, *passed)}.values():
                self._remove(copy)
            self._remove(item)
        while self._leaving and self._leaving[0][0] < horizon:
            _, id_ = heapq.heappop(self._leaving)
            left = self._copy.get(id_)
            if left is not None and left.group not in self._slots:
                self._remove(left)
        self._compact()
        return self._end_events()

    def _copies_near(self, item: EventItem) -> list[EventItem]:
        """Copies of an article that are near it in time."""
        copies = self._copies.get(item.id, {}).values()
        return [c for c in copies if abs(c.time - item.time) <= self._window]

    def _compact(self) -> None:
        gone = len(self._nodes.items) - len(self._slots)
        if gone > max(_SPARE, len(self._slots)) or not self._slots:
            held = np.flatnonzero(self._nodes.is_held)
            self._nodes.keep(held)
            self._index.keep(held)
            self._slots = {item.id: slot for slot, item in enumerate(self._nodes.items)}

    # --- reports -----------------------------------------------------------------------------

    def _collect_changes(self) -> list[EventChange]:
        """What differs from what was reported before."""
        nodes = self._nodes
        affected = self._affected | distinct_events(nodes.event[nodes.is_affected])
        self._affected = set()
        nodes.is_affected[:] = False
        changes, now = [], {s.id: e for e, s in self._summaries.items()}
        for id_, number in now.items():
            if number not in affected:
                continue
            event, before = self._snapshot(number), self._reported.get(id_)
            if self._has_enough_sources(event):
                if before != event:
                    changes.append(EventChange("opened" if before is None else "grown", event))
            elif before is not None:
                changes.append(EventChange("withdrawn", self._reported.pop(id_)))
        gone = {id_: e for id_, e in self._reported.items() if id_ not in now}
        opened = {c.event.id for c in changes if c.kind == "opened"}
        for id_, event in gone.items():
            into = self._find_event_with(event)
            if into is None:
                changes.append(EventChange("withdrawn", event))
            else:
                changes.append(EventChange("renamed" if into in opened else "merged", event, into))
            del self._reported[id_]
        self._reported |= {c.event.id: c.event for c in changes if c.kind in ("opened", "grown")}
        return changes

    def _find_event_with(self, event: Event) -> str | None:
        """The event that the articles of one that is gone are in now."""
        for id_ in (event.representative, *event.members):
            slot = self._slots.get(id_)
            if slot is not None and (number := int(self._nodes.event[slot])) != NO_EVENT:
                return self._summaries[number].id
        return None

    def _end_events(self) -> list[EventChange]:
        alive = distinct_events(self._nodes.event[self._nodes.is_held])
        changes = []
        for number in [e for e in self._summaries if e not in alive]:
            event = self._summaries.pop(number).to_event((), self._settings, ended=True)
            self._reported.pop(event.id, None)
            if self._has_enough_sources(event):
                self._ended.append(event)
                changes.append(EventChange("ended", event))
        return changes

    def _snapshot(self, number: int) -> Event:
        nodes = self._nodes
        held: list[tuple[EventItem, int]] = []
        for slot in np.flatnonzero(nodes.is_held & (nodes.event == number)).tolist():
            held.append((nodes.items[slot], int(nodes.degree[slot])))
            held += [(copy, NO_DEGREE) for copy in self._copies_near(nodes.items[slot])]
        return self._summaries[number].to_event(held, self._settings, keep=self._keep_members)

    def _has_enough_sources(self, event: Event) -> bool:
        return len(event.sources) >= self._settings.event_sources


def replay(items: Sequence[EventItem], settings: Settings) -> list[Event]:
    """The events of a set of articles."""
    detector = EventDetector(settings)
    detector.add(sorted(items, key=lambda i: (i.time, i.id)))
    detector.finish()
    return detector.events()
