"""Waiting, in tests, for what comes in the end, however slow or busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Seconds. Nothing here takes so long on any machine: whoever waits longer waits in vain.
PATIENCE = 300.0


def is_still(number: Callable[[], float]) -> bool:
    """Nothing is added to it for a while, as when somebody waits; no proof, so use it for more."""
    before = number()
    time.sleep(0.5)
    return number() == before


def wait_until(
    condition: Callable[[], T],
    seen: Callable[[], object] | None = None,
    *,
    seconds: float = PATIENCE,
) -> T:
    """What the condition gives once it is true; else a failure that tells what was seen last."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            last = found if seen is None else seen()
            raise AssertionError(f"not within {seconds:g} s; seen last: {last!r}")
        time.sleep(0.01)
    return found
