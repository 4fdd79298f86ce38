"""The articles of a window as columns, so that one operation examines all that are similar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esdedup.settings.table import EventCount
from esdedup.stories.events.indexes import Slots
from esdedup.stories.events.items import NEVER, NO_EVENT, EventItem, number_of

Flags = NDArray[np.bool_]

_COLUMNS = (
    ("time", np.int64, 0),
    ("tie", np.int64, 0),
    ("unit", np.int64, 0),
    ("event", np.int64, NO_EVENT),
    ("owner_time", np.int64, NEVER),
    ("owner_tie", np.int64, 0),
    ("degree", np.int64, 0),
    ("is_core", np.bool_, False),
    ("is_affected", np.bool_, False),
    ("is_held", np.bool_, True),
)


class Nodes:
    """Slots are rows. Articles are ordered by time, then by a hash of the id: the same everywhere.

    Objects with lists of their neighbours take four times as long, and 540 MB more, with 6,000
    articles in one event (`python -m tests.bench stories`).
    """

    time: NDArray[np.int64]
    tie: NDArray[np.int64]
    unit: NDArray[np.int64]  # what the article counts as
    event: NDArray[np.int64]  # by number
    owner_time: NDArray[np.int64]  # the core that an article which is no core belongs to
    owner_tie: NDArray[np.int64]
    degree: NDArray[np.int64]  # similar articles, before and after it
    is_core: Flags
    is_affected: Flags  # has a new similar article since the last report
    is_held: Flags

    def __init__(self, counted: EventCount) -> None:
        self._counted = counted
        self.items: list[EventItem] = []
        for name, kind, _ in _COLUMNS:
            setattr(self, name, np.zeros(0, kind))

    def add(self, items: Sequence[EventItem]) -> None:
        given = {
            "time": [item.time for item in items],
            "tie": [number_of(item.id) for item in items],
            "unit": [number_of(item.unit(self._counted)) for item in items],
        }
        self.items += items
        for name, kind, default in _COLUMNS:
            values = np.array(given.get(name, [default] * len(items)), kind)
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def keep(self, slots: Slots) -> None:
        """Forget all but these; they are 0, 1, … from now on."""
        self.items = [self.items[slot] for slot in slots.tolist()]
        for name, _, _ in _COLUMNS:
            setattr(self, name, getattr(self, name)[slots])

    def key(self, slot: int) -> tuple[int, int]:
        return int(self.time[slot]), int(self.tie[slot])

    def are_after(self, slot: int, others: Slots) -> Flags:
        """Which of the others come after the article in this slot."""
        return _are_greater(self.time[others], self.tie[others], self.key(slot))

    def would_own(self, slot: int, others: Slots) -> Flags:
        """Which of the others have no core before this one."""
        return _are_greater(self.owner_time[others], self.owner_tie[others], self.key(slot))

    def set_owner(self, slots: Slots | int, owner: int) -> None:
        self.event[slots] = self.event[owner]
        self.owner_time[slots], self.owner_tie[slots] = self.key(owner)


def _are_greater(times: NDArray[np.int64], ties: NDArray[np.int64], key: tuple[int, int]) -> Flags:
    time, tie = key
    greater: Flags = (times > time) | ((times == time) & (ties > tie))
    return greater


def distinct_events(numbers: NDArray[np.int64]) -> set[int]:
    return set(np.unique(numbers[numbers != NO_EVENT]).tolist())
