"""Waiting for a condition, on however slow or busy a machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

T = TypeVar("T")
# Seconds. Nothing takes so long on any machine: after that, the condition will not come true.
PATIENCE = 300.0


def wait_for_next_time() -> datetime:
    """Wait until the clock of a store, which counts milliseconds, shows another time; return it."""
    soon = datetime.now(UTC) + timedelta(milliseconds=1)
    wait_until(lambda: datetime.now(UTC) > soon)
    return datetime.now(UTC)


def is_still(number: Callable[[], float]) -> bool:
    """The number stays the same for half a second. A hint that somebody waits, not a proof."""
    before = number()
    time.sleep(0.5)
    return number() == before


def wait_until(
    condition: Callable[[], T],
    seen: Callable[[], object] | None = None,
    *,
    seconds: float = PATIENCE,
) -> T:
    """Return the value of the condition once it is true; fail with the last value after that."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            last = found if seen is None else seen()
            raise AssertionError(f"not within {seconds:g} s; seen last: {last!r}")
        time.sleep(0.01)
    return found
