"""Options of commands that send notifications (--notify, --watch), and how these are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esdedup.cli.daemons import repeat_until_stopped
from esdedup.cli.exit_codes import refuse, say
from esdedup.cli.options import open_existing
from esdedup.cli.output import count

if TYPE_CHECKING:
    from esdedup.alerts.checkpoint import Checkpoint
    from esdedup.alerts.sinks import NdjsonSink
    from esdedup.alerts.watch import Watch
    from esdedup.clustering.outcomes import Outcome
    from esdedup.stores import Store

UNDELIVERED = Path("esdedup-undelivered.ndjson")
Notify = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar="FILE|-|URL",
        help="Report new stories, updates and revisions: NDJSON to a file or standard output, or"
        " one POST per notification to this URL.",
    ),
]
NotifySince = Annotated[
    str | None,
    typer.Option(
        "--notify-since",
        metavar="DATE",
        help="First report what was written since then (1h), for example after a crash.",
    ),
]
Undelivered = Annotated[
    Path,
    typer.Option(
        "--undelivered",
        metavar="FILE",
        help="File for undelivered notifications; the next run sends them first.",
    ),
]


Once = Annotated[
    bool, typer.Option("--once", help="With --watch: poll once, from the last checkpoint.")
]
Every = Annotated[
    float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Pause between two polls.")
]
CheckpointFile = Annotated[
    Path,
    typer.Option("--checkpoint", metavar="FILE", help="Checkpoint: records what was reported."),
]
OutputFile = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Append notifications here, not to stdout."),
]


def check_notify(name: str | None, since: str | None, *, as_json: bool) -> None:
    """Refuse combinations of options that make no sense, before anything is opened."""
    if name == "-" and as_json:
        raise refuse("--notify", "--json has standard output for itself; name a file")
    if since is not None and name is None:
        raise refuse("--notify-since", "say where to with --notify")


@contextmanager
def open_feed(
    store: Store, name: str | None, since: datetime | None, undelivered: Path
) -> Iterator[Callable[[list[Outcome]], None]]:
    """A function that sends notifications of a stored batch; a no-op without --notify."""
    if name is None:
        yield lambda batch: None
        return
    from esdedup.alerts.sinks import (
        Notification,
        make_notifications,
        open_sink,
        replay_notifications,
    )

    sink = open_sink(name, undelivered)

    def send(found: Iterable[Notification]) -> None:
        if lines := [notification.to_json() for notification in found]:
            sink.write(lines)

    try:
        if since is not None:
            for found in replay_notifications(store, since):
                send(found)
        yield lambda batch: send(make_notifications(batch, store))
    finally:
        done = sink.close()
        if done.undelivered:
            say(
                f"{count(done.undelivered, 'notification')} not delivered ({done.reason}); the "
                f"next run sends them first, from {done.file}"
            )


@contextmanager
def open_watch_files(
    checkpoint: Path, name: str, output: Path | None
) -> Iterator[tuple[Checkpoint, NdjsonSink]]:
    """The checkpoint of a watch on `name`, and the sink of its notifications."""
    from esdedup.alerts.checkpoint import Checkpoint
    from esdedup.alerts.sinks import NdjsonSink

    with Checkpoint(str(checkpoint), name) as opened:
        yield opened, NdjsonSink(output)


def run_watch(watch: Watch, store: str, every: float | None) -> None:
    """Look once if `every` is None, otherwise until SIGTERM or Ctrl-C. A repeated look that
    reports nothing prints nothing."""

    def look(stopped: Callable[[], bool]) -> None:
        with open_existing(store) as opened:
            result = watch.look(opened, stopped)
        late = f", {result.late} too late to count (event_lateness)" if result.late else ""
        reported = f"{count(result.reported, 'notification')}{late}"
        if every is None:
            say(f"{count(result.articles, 'article')} looked at, {reported}")
        elif result.reported or result.late:
            say(reported)

    repeat_until_stopped(look, every)
