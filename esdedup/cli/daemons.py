"""Commands that go on until they are told to stop, and the moments they begin at."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import ParamSpec

import typer

from esdedup.cli.exit_codes import say
from esdedup.errors import StoreMissing, StoreUnavailable

P = ParamSpec("P")

# A daemon tells the same reason for waiting once in so many seconds.
_TOLD_SECONDS = 60.0
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def date_of(text: str | None, option: str) -> datetime | None:
    """A date, or a span before now: 90m, 1h, 7d."""
    from esdedup.ingest.readers.dates import moment

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


class Patience:
    """A daemon outlives a store that is away for a while, and waits for one yet to be made.

    Why it waits is told when that changes, and else once a minute: a night without a cluster must
    not fill a log.
    """

    def __init__(self) -> None:
        self._told = ""
        self._at = 0.0

    def done(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Whether the work could be done."""
        try:
            work(*args, **kwargs)
        except (StoreMissing, StoreUnavailable) as error:
            self._tell(str(error))
            return False
        self._told = ""
        return True

    def _tell(self, reason: str) -> None:
        now = time.monotonic()
        if reason != self._told or now - self._at >= _TOLD_SECONDS:
            say(f"waiting: {reason}")
            self._told, self._at = reason, now
