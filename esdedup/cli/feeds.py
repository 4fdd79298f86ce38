"""Options of commands that tell what they find, and how the telling ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esdedup.cli.daemons import date_of
from esdedup.cli.exit_codes import say
from esdedup.cli.output import count

if TYPE_CHECKING:
    from esdedup.alerts.sinks import Notifier
    from esdedup.clustering.outcomes import Outcome
    from esdedup.stores import Store

UNDELIVERED = Path("esdedup-undelivered.ndjson")
Notify = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar="FILE|-|URL",
        help="Tell of new stories and updates: NDJSON in a file or on standard output, or a POST "
        "to this address for each.",
    ),
]
NotifySince = Annotated[
    str | None,
    typer.Option(
        "--notify-since",
        metavar="DATE",
        help="Tell first of what was written since then (1h), as after a run that was killed.",
    ),
]
Undelivered = Annotated[
    Path,
    typer.Option(
        "--undelivered",
        metavar="FILE",
        help="Where notifications that an address did not take wait for the next run.",
    ),
]


class Feed:
    """Notifications of one run; nothing where none were asked for."""

    def __init__(
        self, name: str | None, since: str | None, undelivered: Path, *, as_json: bool
    ) -> None:
        if name == "-" and as_json:
            raise typer.BadParameter(
                "--json has standard output for itself; name a file", param_hint="--notify"
            )
        if since is not None and name is None:
            raise typer.BadParameter("say where to with --notify", param_hint="--notify-since")
        self._name = name
        self._since = date_of(since, "--notify-since")
        self._undelivered = undelivered
        self._notifier: Notifier | None = None
        self._store: Store | None = None

    @contextmanager
    def open(self, store: Store) -> Iterator[None]:
        if self._name is None:
            yield
            return
        from esdedup.alerts.sinks import Notifier, sink_for, told_since

        self._store, self._notifier = store, Notifier(sink_for(self._name, self._undelivered))
        try:
            if self._since is not None:
                for found in told_since(store, self._since):
                    self._notifier.tell(found)
            yield
        finally:
            self._end(self._notifier)

    def told(self, batches: Iterable[list[Outcome]]) -> Iterator[list[Outcome]]:
        """The same batches, each told of once it is stored."""
        for batch in batches:
            if self._notifier is not None and self._store is not None:
                from esdedup.alerts.sinks import notifications

                self._notifier.tell(notifications(batch, self._store))
            yield batch

    def _end(self, notifier: Notifier) -> None:
        done = notifier.close()
        if done.kept:
            say(
                f"{count(done.kept, 'notification')} not delivered ({done.reason}); kept in "
                f"{done.file}, which the same command sends first the next time"
            )
