"""The articles of a window as columns: what is asked of many of them at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from esdedup.stories.events.indexes import Slots
from esdedup.stories.events.items import Item

NONE = -1
NEVER = 1 << 62

_COLUMNS = (
    ("time", np.int64, 0),
    ("tie", np.int64, 0),
    ("story", np.int64, 0),
    ("event", np.int64, NONE),
    ("owner_time", np.int64, NEVER),
    ("owner_tie", np.int64, 0),
    ("degree", np.int64, 0),
    ("is_core", np.bool_, False),
    ("is_settled", np.bool_, False),
    ("is_held", np.bool_, True),
)


class Nodes:
    """Slots are rows. Order is by time, then by a hash of the id: the same everywhere."""

    time: NDArray[np.int64]
    tie: NDArray[np.int64]
    story: NDArray[np.int64]
    event: NDArray[np.int64]  # the event it is in, by number
    owner_time: NDArray[np.int64]  # of one that is no core: the core it belongs to
    owner_tie: NDArray[np.int64]
    degree: NDArray[np.int64]  # how many it is similar to, before and after
    is_core: NDArray[np.bool_]
    is_settled: NDArray[np.bool_]
    is_held: NDArray[np.bool_]

    def __init__(self) -> None:
        self.items: list[Item] = []
        for name, kind, _ in _COLUMNS:
            setattr(self, name, np.zeros(0, kind))

    def add(self, items: Sequence[Item]) -> None:
        given = {
            "time": [item.time for item in items],
            "tie": [number_of(item.id) for item in items],
            "story": [number_of(item.story) for item in items],
        }
        self.items += items
        for name, kind, default in _COLUMNS:
            values = np.array(given.get(name, [default] * len(items)), kind)
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def keep(self, slots: Slots) -> None:
        self.items = [self.items[slot] for slot in slots.tolist()]
        for name, _, _ in _COLUMNS:
            setattr(self, name, getattr(self, name)[slots])

    def key(self, slot: int) -> tuple[int, int]:
        return int(self.time[slot]), int(self.tie[slot])

    def are_after(self, slot: int, others: Slots) -> NDArray[np.bool_]:
        """Which of the others come after the article in this slot."""
        time, tie = self.key(slot)
        times = self.time[others]
        after: NDArray[np.bool_] = (times > time) | ((times == time) & (self.tie[others] > tie))
        return after

    def would_own(self, slot: int, others: Slots) -> NDArray[np.bool_]:
        """Which of the others have no core before this one."""
        time, tie = self.key(slot)
        owners = self.owner_time[others]
        ties = self.owner_tie[others]
        free: NDArray[np.bool_] = (owners > time) | ((owners == time) & (ties > tie))
        return free


def number_of(text: str) -> int:
    """63 bits of a hash of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
