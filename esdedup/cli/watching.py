"""`copies --watch`: notifications of newly indexed articles that contain protected ones."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from esdedup.cli.daemons import Patience, date_of, until_signalled
from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import open_existing, shown_store
from esdedup.cli.output import count, plain, when

if TYPE_CHECKING:
    from esdedup.alerts.protected_texts import Protection, Watch

# Ids of short texts that are named; a large set may have many.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Watched:
    """What is protected, as it was typed."""

    path: str | None = None
    ids: Path | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    least: float = 0.2
    poster: Sequence[str] = ()
    author: Sequence[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)

    def protection(self) -> Protection:
        from esdedup.alerts.protected_texts import AUTHOR_FIELDS, POSTER_FIELDS, Protection

        return Protection(
            ids=frozenset(_lines(self.ids)) if self.ids else frozenset(),
            where=self.where,
            poster=self.poster or POSTER_FIELDS,
            author=self.author or AUTHOR_FIELDS,
            least=self.least,
        )


def run_watch(
    watched: Watched,
    store: str,
    *,
    checkpoint: Path,
    output: Path | None,
    since: str | None,
    every: float | None,
) -> None:
    """One look where `every` is None, else looks until SIGTERM or Ctrl-C."""
    from esdedup.alerts.checkpoint import Checkpoint, Output
    from esdedup.alerts.protected_texts import Watch

    protection = watched.protection()
    if watched.path is None and not protection.in_store:
        raise typer.BadParameter(
            "say what is protected: a file or folder, --ids FILE or --where FIELD=VALUE",
            param_hint="--watch",
        )
    start = date_of(since, "--since")
    kept = Checkpoint(str(checkpoint), shown_store(store))
    stream = None if output else sys.stdout.buffer
    try:
        is_new = kept.since is None
        with Watch(protection, kept, Output(output, stream), start=start) as watch:
            _read_protected(watch, watched)
            if is_new:
                say(f"looking at articles indexed since {when(watch.since)} (--since)")
            _look(watch, store, every)
    finally:
        kept.close()


def _look(watch: Watch, store: str, every: float | None) -> None:
    with until_signalled(True) as stopped:
        if every is None:
            _look_once(watch, store, stopped, silent=False)
            if stopped.is_set():
                say("stopped; run the same command again to go on")
                raise stop(ExitCode.INTERRUPTED)
            return
        patience = Patience()
        while not stopped.is_set():
            patience.done(_look_once, watch, store, stopped, silent=True)
            stopped.wait(every)


def _look_once(watch: Watch, store: str, stopped: threading.Event, *, silent: bool) -> None:
    opened = open_existing(store)
    try:
        passed = watch.look(opened, stopped.is_set)
    finally:
        opened.close()
    if not silent or passed.told:
        articles = count(passed.articles, "article")
        say(f"{articles} looked at, {count(passed.told, 'notification')}")


def _read_protected(watch: Watch, watched: Watched) -> None:
    """Texts from files; what cannot be used is named, and the others are protected."""
    from esdedup.ingest.readers import read
    from esdedup.model import Failure

    if watched.path is None:
        return
    short = []
    for item in watch.protected.add(read([watched.path], fields=watched.fields)):
        if isinstance(item, Failure):
            say(f"{plain(item.where)}: {plain(item.reason)}")
        else:
            short.append(plain(item))
    if short:
        named = ", ".join(short[:_NAMED]) + (", …" if len(short) > _NAMED else "")
        say(
            f"{count(len(short), 'protected text')} of fewer than 4 sentences: found only where an "
            f"article is alike as a whole ({named})"
        )
    if not len(watch.protected) and not watch.protection.in_store:
        say(f"{watched.path}: there is nothing to protect")
        raise stop(ExitCode.QUARANTINED)


def _lines(file: Path) -> list[str]:
    from esdedup.errors import InputError

    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: the ids cannot be read ({error})") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
