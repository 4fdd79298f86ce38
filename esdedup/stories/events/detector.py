"""Breaking events in a stream of articles: a sliding window, fed article by article.

Paper 001, section 2.4.2: an article with more than 15 similar ones within 4 hours tells of an
event. What an event is, is a property of the set of articles, whatever their order of arrival:

    before(y)  = articles x before y, at most a window W earlier, similar to y
    core(y)    = before(y) has more than N stories (or, counting items, articles)
    an event   = cores joined by similarity within W, and every article that is similar to one of
                 them within W: with the earliest of them, where it is similar to several
    a copy     is where its original is, if at most W lies between them

A new core that is similar to cores of two events makes them one. An event is known by its first
core. Time is that of the articles, never of a clock, so that a replay at any speed gives the
same. Held in memory are the articles of W and of the lateness allowed; of older ones in an event
that still goes on, what its summary counts (and, with `keep_members`, their ids).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np

from esdedup.errors import SettingsError
from esdedup.settings import Settings
from esdedup.stories.events.indexes import Slots, index_for
from esdedup.stories.events.items import HOUR, Change, Event, Item
from esdedup.stories.events.nodes import NEVER, NONE, Nodes
from esdedup.stories.events.summary import Summary

# Slots of articles that left the window before all are moved together.
_SPARE = 1024
_NOBODY: Slots = np.zeros(0, np.int64)


class Detector:
    """Feed articles with `add`; it returns what became of events."""

    def __init__(self, settings: Settings, *, keep_members: bool = True) -> None:
        if settings.event_count == "items" and "simhash" not in settings.methods:
            raise SettingsError(
                "event_count = items counts articles that are similar by simhash, and that method "
                "is off: switch it on (`esdedup backfill --only simhash`), or count stories"
            )
        self._settings = settings
        self._window = round(settings.event_window * HOUR)
        self._reach = self._window + round(settings.event_lateness * HOUR)
        self._keep_members = keep_members
        self.latest = -NEVER
        self.late = 0  # articles that came too late to be counted
        self._summaries: dict[int, Summary] = {}  # of open events, by number
        self._into: dict[int, int] = {}  # event that was merged -> the one it is part of
        self._numbers = 0
        self._told: dict[str, Event] = {}  # open events as they were told of
        self._ended: list[Event] = []
        self._touched: set[int] = set()
        # While the window is rebuilt: article -> its event, which began before, and its owner.
        self._heirs: dict[str, tuple[int, int, int]] = {}
        self._clear()

    def _clear(self) -> None:
        self._index = index_for(self._settings)
        self._nodes = Nodes()
        self._slot: dict[str, int] = {}
        self._copies: dict[str, dict[str, Item]] = {}  # by group, by id
        self._copy: dict[str, Item] = {}
        self._leaving: list[tuple[int, str]] = []  # copies, a heap by time

    @property
    def held(self) -> int:
        """Articles in memory."""
        return len(self._slot) + len(self._copy)

    def add(self, items: Iterable[Item]) -> list[Change]:
        """Articles in any order; a known one that changed its place is moved."""
        fresh: dict[str, Item] = {}
        is_moved = False
        for item in items:
            known = fresh.get(item.id) or self._known(item.id)
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
        changes = self._changes()
        return [*changes, *self._seal()]

    def finish(self) -> list[Change]:
        """The stream ended, and with it every event."""
        self.latest = NEVER
        return self._seal()

    def events(self) -> list[Event]:
        """All events told of, ended ones among them, in the order they were detected."""
        return sorted([*self._ended, *self._told.values()], key=lambda e: (e.detected, e.id))

    # --- the window --------------------------------------------------------------------------

    def _known(self, id_: str) -> Item | None:
        if (slot := self._slot.get(id_)) is not None:
            return self._nodes.items[slot]
        return self._copy.get(id_)

    def _is_node(self, item: Item) -> bool:
        """Counting stories, copies only follow; counting items, everything counts."""
        return self._settings.event_count == "items" or not item.is_copy

    def _insert(self, items: Iterable[Item]) -> None:
        nodes = []
        for item in items:
            if self._is_node(item):
                nodes.append(item)
            else:
                self._copies.setdefault(item.group, {})[item.id] = item
                self._copy[item.id] = item
                heapq.heappush(self._leaving, (item.time, item.id))
                if (leader := self._slot.get(item.group)) is not None:
                    self._touch(leader)
        if not nodes:
            return
        nodes.sort(key=lambda item: item.time)  # in order, nothing has to be looked at again
        first = len(self._nodes.items)
        self._slot |= {item.id: first + n for n, item in enumerate(nodes)}
        self._nodes.add(nodes)
        self._index.add(first, nodes)
        self._inherit(first)
        for n, similar in enumerate(self._index.similar(nodes)):
            self._settle(first + n, self._near(first + n, similar))

    def _near(self, slot: int, similar: Slots) -> Slots:
        """Of those that are similar, the ones that count: other stories, near in time."""
        nodes = self._nodes
        if not len(similar) or (len(similar) == 1 and similar[0] == slot):
            return _NOBODY
        similar = similar[nodes.is_held[similar] & (similar != slot)]
        near = np.abs(nodes.time[similar] - nodes.time[slot]) <= self._window
        if self._settings.event_count == "stories":
            near &= nodes.story[similar] != nodes.story[slot]
        counted: Slots = similar[near]
        return counted

    def _settle(self, slot: int, near: Slots) -> None:
        """A new article: whether it is a core, and which later ones it makes one."""
        nodes = self._nodes
        near = near[nodes.is_settled[near]] if len(near) else near  # others have their turn yet
        nodes.is_settled[slot] = True
        if not len(near):
            return
        nodes.degree[slot] = len(near)
        nodes.degree[near] += 1
        self._touch_all(near)
        if self._makes_core(slot, near):
            self._become_core(slot, near)
        else:
            self._adopt(slot, near)
        later = near[nodes.are_after(slot, near) & ~nodes.is_core[near]]
        for other in later.tolist():
            (similar,) = self._index.similar([nodes.items[other]])
            around = self._near(other, similar)
            around = around[nodes.is_settled[around]]
            if self._makes_core(other, around):
                self._become_core(other, around)

    def _makes_core(self, slot: int, near: Slots) -> bool:
        before = near[~self._nodes.are_after(slot, near)]
        if len(before) <= self._settings.event_items:
            return False
        if self._settings.event_count == "items":
            return True
        return len(np.unique(self._nodes.story[before])) > self._settings.event_items

    def _become_core(self, slot: int, near: Slots) -> None:
        nodes = self._nodes
        self._touch(slot)
        is_core = nodes.is_core[near]
        joined = {self._root(e) for e in set(nodes.event[near[is_core]].tolist())}
        if (heir := self._heirs.get(nodes.items[slot].id)) is not None:
            joined.add(self._root(heir[0]))
        event = self._joined(joined, (*nodes.key(slot), nodes.items[slot].id))
        nodes.is_core[slot], nodes.event[slot] = True, event
        others = near[~is_core]
        taken = others[nodes.would_own(slot, others)]
        self._touch_all(taken)
        nodes.event[taken] = event
        nodes.owner_time[taken], nodes.owner_tie[taken] = nodes.key(slot)
        self._touched.add(event)

    def _adopt(self, slot: int, near: Slots) -> None:
        """An article that is no core belongs to the earliest core it is similar to."""
        nodes = self._nodes
        cores = near[nodes.is_core[near]]
        if not len(cores):
            return
        owner = int(cores[np.lexsort((nodes.tie[cores], nodes.time[cores]))[0]])
        if nodes.would_own(owner, np.array([slot]))[0]:
            nodes.event[slot] = nodes.event[owner]
            nodes.owner_time[slot], nodes.owner_tie[slot] = nodes.key(owner)
            self._touch(slot)

    # --- events that become one --------------------------------------------------------------

    def _root(self, event: int) -> int:
        while (into := self._into.get(event, event)) != event:
            event = into
        return event

    def _joined(self, events: set[int], core: tuple[int, int, str]) -> int:
        """One event of these, or a new one, with this core."""
        if not events:
            self._numbers += 1
            self._summaries[self._numbers] = Summary(core)
            return self._numbers
        root = min(events, key=lambda e: self._summaries[e].first_core)
        for event in events - {root}:
            self._summaries[root].take(self._summaries.pop(event))
            self._into[event] = root
        self._summaries[root].first_core = min(self._summaries[root].first_core, core)
        return root

    def _touch(self, slot: int) -> None:
        if (event := int(self._nodes.event[slot])) != NONE:
            self._touched.add(event)

    def _touch_all(self, slots: Slots) -> None:
        self._touched |= set(self._nodes.event[slots].tolist()) - {NONE}

    # --- articles that move or leave ---------------------------------------------------------

    def _remove(self, item: Item) -> None:
        if item.id in self._copy:
            del self._copy[item.id]
            del self._copies[item.group][item.id]
            if not self._copies[item.group]:
                del self._copies[item.group]
        else:
            self._nodes.is_held[self._slot.pop(item.id)] = False

    def _rebuild(self, fresh: Iterable[Item]) -> None:
        """All of the window once more: an article that moved may have made a core, or been one.

        Events that began before the window go on through the cores they have in it.
        """
        nodes = self._nodes
        items = [nodes.items[slot] for slot in self._slot.values()]
        self._heirs = {}
        horizon = self.latest - self._reach
        for id_, slot in self._slot.items():
            root, owner = self._root(int(nodes.event[slot])), int(nodes.owner_time[slot])
            is_heir = bool(nodes.is_core[slot]) or owner < horizon
            if is_heir and root in self._summaries and self._summaries[root].is_anchored:
                self._heirs[id_] = root, owner, int(nodes.owner_tie[slot])
        self._summaries = {e: s for e, s in self._summaries.items() if s.is_anchored}
        for summary in self._summaries.values():
            summary.first_core = summary.anchor or summary.first_core
        items += self._copy.values()
        self._into.clear()
        self._clear()
        self._insert([*items, *fresh])
        self._heirs = {}
        self._touched = set(self._summaries)

    def _inherit(self, first: int) -> None:
        nodes = self._nodes
        for slot in range(first, len(nodes.items)) if self._heirs else ():
            event, owner, tie = self._heirs.get(nodes.items[slot].id, (NONE, NEVER, 0))
            if owner != NEVER:
                nodes.event[slot], nodes.owner_time[slot], nodes.owner_tie[slot] = event, owner, tie

    def _seal(self) -> list[Change]:
        """Count what leaves the window into its event; an event that nothing joins has ended."""
        nodes, horizon = self._nodes, self.latest - self._reach
        for slot in np.flatnonzero(nodes.is_held & (nodes.time < horizon)).tolist():
            item = nodes.items[slot]
            if (event := int(nodes.event[slot])) != NONE:
                summary = self._summaries[self._root(event)]
                summary.count(item, int(nodes.degree[slot]), keep=self._keep_members)
                for copy in self._followers(item):
                    summary.count(copy, NONE, keep=self._keep_members)
                if nodes.is_core[slot]:
                    summary.anchored((*nodes.key(slot), item.id))
            # Far ones, too, that only waited for it: nothing else would let them go.
            passed = [c for c in self._copies.get(item.id, {}).values() if c.time < horizon]
            for copy in {c.id: c for c in (*self._followers(item), *passed)}.values():
                self._remove(copy)
            nodes.is_held[slot] = False
            del self._slot[item.id]
        while self._leaving and self._leaving[0][0] < horizon:
            _, id_ = heapq.heappop(self._leaving)
            left = self._copy.get(id_)
            if left is not None and left.group not in self._slot:
                self._remove(left)
        self._compact()
        return self._ends()

    def _followers(self, item: Item) -> list[Item]:
        """Copies of an article that are near it in time."""
        copies = self._copies.get(item.id, {}).values()
        return [c for c in copies if abs(c.time - item.time) <= self._window]

    def _compact(self) -> None:
        size = len(self._nodes.items)
        if size - len(self._slot) <= max(_SPARE, len(self._slot)) and self._slot:
            return
        kept = np.array(sorted(self._slot.values()), np.int64)
        self._nodes.keep(kept)
        self._index.keep(kept)
        self._slot = {item.id: n for n, item in enumerate(self._nodes.items)}

    # --- what is told ------------------------------------------------------------------------

    def _changes(self) -> list[Change]:
        """What differs from what was told before."""
        touched = {self._root(e) for e in self._touched} & set(self._summaries)
        self._touched.clear()
        changes, now = [], {s.id: e for e, s in self._summaries.items()}
        for id_, number in now.items():
            if number not in touched:
                continue
            event, before = self._snapshot(number), self._told.get(id_)
            if self._is_told(event):
                if before != event:
                    changes.append(Change("opened" if before is None else "grown", event))
            elif before is not None:
                changes.append(Change("withdrawn", self._told.pop(id_)))
        gone = {id_: e for id_, e in self._told.items() if id_ not in now}
        opened = {c.event.id for c in changes if c.kind == "opened"}
        for id_, event in gone.items():
            into = self._event_with(event)
            if into is None:
                changes.append(Change("withdrawn", event))
            else:
                changes.append(Change("renamed" if into in opened else "merged", event, into))
            del self._told[id_]
        self._told |= {c.event.id: c.event for c in changes if c.kind in ("opened", "grown")}
        return changes

    def _event_with(self, event: Event) -> str | None:
        """The event that the articles of one that is gone are in now."""
        for id_ in (event.representative, *event.members):
            slot = self._slot.get(id_)
            if slot is not None and (number := int(self._nodes.event[slot])) != NONE:
                return self._summaries[self._root(number)].id
        return None

    def _ends(self) -> list[Change]:
        held = self._nodes.event[self._nodes.is_held]
        alive = {self._root(e) for e in set(held.tolist()) - {NONE}}
        changes = []
        for number in [e for e in self._summaries if e not in alive]:
            summary = self._summaries.pop(number)
            event = summary.event((), ended=True)
            self._told.pop(event.id, None)
            if self._is_told(event):
                self._ended.append(event)
                changes.append(Change("ended", event))
        if not self._summaries:
            self._into.clear()
        return changes

    def _snapshot(self, number: int) -> Event:
        nodes = self._nodes
        inside = np.flatnonzero(nodes.is_held & (nodes.event != NONE))
        events = nodes.event[inside]
        own = [e for e in set(events.tolist()) if self._root(e) == number]
        held: list[tuple[Item, int]] = []
        for slot in inside[np.isin(events, own)].tolist():
            item = nodes.items[slot]
            held.append((item, int(nodes.degree[slot])))
            held += [(copy, NONE) for copy in self._followers(item)]
        return self._summaries[number].event(held, keep=self._keep_members)

    def _is_told(self, event: Event) -> bool:
        return len(event.sources) >= self._settings.event_sources


def replay(items: Sequence[Item], settings: Settings) -> list[Event]:
    """The events of a set of articles."""
    detector = Detector(settings)
    detector.add(sorted(items, key=lambda i: (i.time, i.id)))
    detector.finish()
    return detector.events()
