"""Waiting, in tests, for what comes in the end, however slow or busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
# Seconds. Nothing here takes so long on any machine: whoever waits longer waits in vain.
PATIENCE = 300.0


def wait_until(condition: Callable[[], T], seen: Callable[[], object] | None = None) -> T:
    """What the condition gives once it is true; else a failure that tells what was seen last."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        if time.monotonic() > end:
            last = found if seen is None else seen()
            raise AssertionError(f"not within {PATIENCE:g} s; seen last: {last!r}")
        time.sleep(0.01)
    return found
