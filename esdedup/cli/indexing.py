"""Commands that take articles in: index, check, retry."""

from __future__ import annotations

import codecs
import os
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from esdedup.cli.daemons import parse_date_option
from esdedup.cli.exit_codes import ExitCode, say_when_interrupted, stop
from esdedup.cli.feeds import (
    UNDELIVERED,
    Notify,
    NotifySince,
    Undelivered,
    check_notify,
    open_feed,
)
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    Preset,
    Quiet,
    SettingsFile,
    SetValues,
    StoreUrl,
    Strict,
    hide_credentials,
    load_settings,
    open_deduplicator,
    open_for_writing,
    parse_assignments,
)
from esdedup.cli.output import (
    STYLES,
    console,
    count,
    decision_text,
    join,
    live_line,
    paint,
    print_json,
    print_unread_dates,
    table,
    title_of,
)

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.clustering.outcomes import Outcome
    from esdedup.ingest.readers.dates import UnreadDates
    from esdedup.model import Decision, Document, Failure

ROLES = ("original", "duplicate", "update", "unprocessed")
Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Files, folders or globs: HTML, text, NDJSON, JSON, CSV, WARC, Parquet, each also "
        "compressed; - reads NDJSON from standard input.",
    ),
]


def index(
    paths: Paths,
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    field: FieldNames = None,
    workers: int = Option(0, min=0, help="Worker processes; 0: one per core if the input is HTML."),
    on_duplicate: str | None = Option(
        None,
        metavar="link|drop",
        help="Store duplicates linked to their original, or count and drop them.",
    ),
    notify: Notify = None,
    notify_since: NotifySince = None,
    undelivered: Undelivered = UNDELIVERED,
    strict: Strict = False,
    json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Index articles; find and link copies and updates.

    Running the same input again changes nothing. With --json every decision is one line on
    standard output, written batch by batch (--set batch=1 for a slow stream).
    """
    from esdedup.ingest.readers import read
    from esdedup.ingest.workers import collect_less_often

    collect_less_often()
    documents = read(paths, fields=parse_assignments(field, "--field"))
    chosen = load_settings(store, preset, settings, set_, {"on_duplicate": on_duplicate})
    tally = Tally()
    check_notify(notify, notify_since, as_json=json_)
    since = parse_date_option(notify_since, "--notify-since")
    with (
        open_deduplicator(store, chosen) as deduplicator,
        open_feed(deduplicator.store, notify, since, undelivered) as send,
    ):
        if not workers:
            workers, documents = choose_workers(documents)
        batches = deduplicator.add_batches(tally.count(documents), workers=workers)
        _follow(batches, tally, send, as_json=json_, quiet=quiet)
    if not quiet:
        print_summary(tally, store, stderr=json_)
    # Failed articles are in the quarantine: an error with --strict, or if all failed.
    if tally.failures and (strict or tally.failures == tally.read):
        raise stop(ExitCode.QUARANTINED)


def check(
    path: str = Argument(
        ..., metavar="FILE", help="A file as for `index`; - reads a page, a text or (ND)JSON."
    ),
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Decide about articles without writing anything."""
    from esdedup.ingest.readers import read

    chosen = load_settings(store, preset, settings, set_)
    failed = False
    taken: deque[Document | Failure] = deque()  # until their decisions come
    with (
        _standard_input_as_file(path) as file,
        open_deduplicator(store, chosen, mode="read") as deduplicator,
    ):
        documents = read([file], fields=parse_assignments(field, "--field"))
        first = list(islice(documents, 2))
        workers, documents = 0, chain(first, documents)
        if len(first) > 1:  # for one, a process would start longer than it works
            workers, documents = choose_workers(documents)

        def remember() -> Iterator[Document | Failure]:
            for document in documents:
                taken.append(document)
                yield document

        for decision in deduplicator.check_many(remember(), workers=workers):
            failed |= decision.role == "unprocessed"
            _print_checked(taken.popleft(), decision, as_json=json_)
    if failed:
        raise stop(ExitCode.QUARANTINED)


def retry(
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    strict: Strict = False,
    json_: AsJson = False,
) -> None:
    """Try the articles in the quarantine again."""
    tally = Tally()
    with open_for_writing(store, load_settings(store, preset, settings, set_)) as deduplicator:
        batches = ([outcome] for outcome in deduplicator.retry())
        _follow(batches, tally, lambda batch: None, as_json=json_, quiet=False)
    out = console(stderr=json_)
    failed = tally.failures
    tried = f"{count(tally.read, 'article')} tried again"
    out.print(f"{tried}: {tally.read - failed} succeeded, {failed} failed")
    if strict and failed:
        raise stop(ExitCode.QUARANTINED)


def choose_workers(
    documents: Iterator[Document | Failure],
) -> tuple[int, Iterator[Document | Failure]]:
    """The number of worker processes, judged by the first article. HTML extraction is worth a
    process per core; plain text is signed faster than it can be pickled."""
    from esdedup.model import Document

    first = next(documents, None)
    if first is None:
        return 1, documents
    texts = isinstance(first, Document) and first.html is None
    return 1 if texts else os.cpu_count() or 1, chain([first], documents)


@contextmanager
def _standard_input_as_file(path: str) -> Iterator[str]:
    """Copy a pipe to a file whose suffix names its kind, which the first character shows."""
    if path != "-":
        yield path
        return
    data = sys.stdin.buffer.read()
    kinds = {b"<": "html", b"{": "ndjson", b"[": "json"}
    kind = kinds.get(data.removeprefix(codecs.BOM_UTF8).lstrip()[:1], "txt")
    with tempfile.TemporaryDirectory(prefix="esdedup-") as folder:
        file = Path(folder, f"stdin.{kind}")
        file.write_bytes(data)
        yield str(file)


# --- following a run -------------------------------------------------------------------------


def _unread_dates() -> UnreadDates:
    from esdedup.ingest.readers.dates import UnreadDates

    return UnreadDates()


@dataclass(slots=True)
class Tally:
    """Counts of a run: roles, statuses, unread dates."""

    roles: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=time.monotonic)
    taken: int = 0  # from the input; ahead of what is decided
    unread_dates: UnreadDates = field(default_factory=_unread_dates)

    def count(self, documents: Iterable[Document | Failure]) -> Iterator[Document | Failure]:
        for document in documents:
            self.taken += 1
            yield document

    def add(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            self.statuses[outcome.status] += 1
            if outcome.status != "relinked":
                self.roles[outcome.decision.role] += 1
            self.unread_dates.add(outcome.decision.id, outcome.unread_date)

    @property
    def read(self) -> int:
        return self.roles.total()

    @property
    def failures(self) -> int:
        return self.statuses["failed"]

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        return self.read / max(self.seconds, 1e-6)

    def describe(self) -> str:
        """The line of a running command."""
        ahead = f"{self.taken:,} read, " if self.taken > self.read else ""
        roles = ", ".join(f"{self.roles[role]:,} {role}" for role in ROLES if self.roles[role])
        done = f"{self.read:,} done ({self.rate:,.0f}/s)"
        return f"{ahead}{done}: {roles}" if roles else f"{ahead}{done}"


def _follow(
    batches: Generator[list[Outcome], None, None],
    tally: Tally,
    send: Callable[[list[Outcome]], None],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Work through the batches."""
    with (
        say_when_interrupted(
            lambda: (
                f"stopped: {count(tally.read, 'article')} are in the store, in whole batches; "
                "run the same command again to go on"
            )
        ),
        live_line(quiet=quiet) as line,
        closing(batches),
    ):
        line.text = tally.describe
        for batch in batches:
            send(batch)
            tally.add(batch)
            if as_json:
                print_json(batch)


def print_summary(tally: Tally, store: str, *, stderr: bool) -> None:
    rows = table("role", "articles", numbers_from=1)
    for role in ROLES:
        rows.add_row(paint(role, STYLES[role]), f"{tally.roles[role]:,}")
    out = console(stderr=stderr)
    read = f"{count(tally.read, 'article')} read into {hide_credentials(store)}"
    out.print_line(read, style="bold")
    out.print(rows)
    statuses = ("new", "unchanged", "changed", "dropped", "relinked", "failed")
    known = ", ".join(f"{tally.statuses[s]:,} {s}" for s in statuses if tally.statuses[s])
    out.print(f"{known or 'nothing to do'}; {tally.seconds:.1f} s, {tally.rate:,.0f} articles/s")
    print_unread_dates(tally.unread_dates, out)
    if tally.failures:
        out.print("`esdedup quarantine` lists what failed and why, `esdedup retry` tries again")


def _print_checked(item: Document | Failure, decision: Decision, *, as_json: bool) -> None:
    from esdedup.model import Failure

    # The date of a page may be found in the page itself.
    unread = None if isinstance(item, Failure) or item.html else item.unread_date
    if as_json:
        line = item.to_json() if isinstance(item, Failure) else decision.to_json()
        print_json([line if unread is None else {**line, "unread_date": unread}])
        return
    out = console()
    if isinstance(item, Failure):
        out.print(join(paint("unprocessed", STYLES["unprocessed"]), f": {item.where}"))
        out.print_line(f"    {item.reason}")
        return
    out.print(paint(title_of(item), "bold"))
    out.print_line("    ", decision_text(decision))
    if unread is not None:
        out.print_line(f"    its date cannot be read: {unread}")


def print_failures(out: Screen, failures: Sequence[Failure]) -> None:
    for failure in failures:
        fate = "cannot succeed" if failure.final or failure.document is None else "can be retried"
        out.print_line(paint(failure.where, "bold"), f"  ({fate})")
        out.print_line(f"    {failure.reason}")
