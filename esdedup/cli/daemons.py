"""The loop of commands that run until they are stopped, and dates and spans as options."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import ParamSpec

from esdedup.cli.exit_codes import ExitCode, refuse, say, stop
from esdedup.errors import StoreMissing, StoreUnavailable

P = ParamSpec("P")

# A daemon repeats the reason why it waits once in so many seconds.
_REPEAT_SECONDS = 60.0
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_span(text: str) -> timedelta | None:
    """Parse a span of time, as 90m, 1h or 7d; None for other text."""
    found = re.fullmatch(r"(\d+)\s*([smhdw])", text.strip())
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def parse_date_option(text: str | None, option: str) -> datetime | None:
    """Parse a date, or a span before now."""
    from esdedup.ingest.readers.dates import parse_date

    if text is None:
        return None
    if (span := parse_span(text)) is not None:
        return datetime.now(UTC) - span
    found = parse_date(text)
    if found is None:
        raise refuse(
            option, f"{text!r} is no date; write 2024-03-01, 2024-03-01T12:00 or 90m, 1h, 7d"
        )
    return found


def repeat_until_stopped(look: Callable[[Callable[[], bool]], None], every: float | None) -> None:
    """Call `look(stopped)` once if `every` is None, otherwise repeatedly with that pause.

    After SIGTERM or Ctrl-C `stopped()` is true, and a look ends between two batches. A command
    with a pause waits for a store that is unavailable or does not exist yet.
    """
    with _stop_signals() as stopped:
        if every is None:
            look(stopped.is_set)
            if stopped.is_set():
                raise stop(ExitCode.INTERRUPTED, "stopped; run the same command again to go on")
            return
        patience = Patience()
        while not stopped.is_set():
            patience.attempt(look, stopped.is_set)
            stopped.wait(every)


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set; the second of them ends the command at once."""
    stopped = threading.Event()

    def handle(*_: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {kind: signal.signal(kind, handle) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


class Patience:
    """Tries again later if the store is missing or unavailable.

    The reason is printed when it changes, otherwise once a minute: a night without a cluster must
    not fill a log.
    """

    def __init__(self) -> None:
        self._reason = ""
        self._printed_at = 0.0

    def attempt(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> bool:
        """Do the work; False if the store is missing or unavailable."""
        try:
            work(*args, **kwargs)
        except (StoreMissing, StoreUnavailable) as error:
            self._print(str(error))
            return False
        self._reason = ""
        return True

    def _print(self, reason: str) -> None:
        now = time.monotonic()
        if reason != self._reason or now - self._printed_at >= _REPEAT_SECONDS:
            say(f"waiting: {reason}")
            self._reason, self._printed_at = reason, now
