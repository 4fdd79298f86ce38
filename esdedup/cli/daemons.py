"""Commands that go on until they are told to stop, and the moments they begin at."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import typer

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def date_of(text: str | None, option: str) -> datetime | None:
    """A date, or a span before now: 90m, 1h, 7d."""
    from esdedup.readers.records import moment

    if text is None:
        return None
    if span := re.fullmatch(r"(\d+)\s*([smhdw])", text.strip()):
        return datetime.now(UTC) - timedelta(**{_UNITS[span[2]]: int(span[1])})
    found = moment(text)
    if found is None:
        raise typer.BadParameter(
            f"{text!r} is no date; write 2024-03-01, 2024-03-01T12:00 or 90m, 1h, 7d",
            param_hint=option,
        )
    return found


@contextmanager
def until_signalled(watching: bool) -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set; without --watch they end the command as usual."""
    stopped = threading.Event()
    if not watching:
        yield stopped
        return
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = {kind: signal.signal(kind, lambda *_: stopped.set()) for kind in kinds}
    try:
        yield stopped
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
