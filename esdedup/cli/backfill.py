"""Commands for an archive that is full already, or filled by others: backfill, sweep."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.cluster import CLUSTER_SCHEMES
from esdedup.cli.daemons import Patience, date_of, until_signalled
from esdedup.cli.exit_codes import ExitCode, say, stop
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
    assignments,
    open_deduplicator,
    open_existing,
    open_to_change,
    settings_of,
)
from esdedup.cli.output import console, count, plain, print_json, print_unread_dates

if TYPE_CHECKING:
    from esdedup.maintenance.backfill import Backfill, Plan, Preview, Progress
    from esdedup.maintenance.enable_method import SwitchOn
    from esdedup.stores.cluster.foreign_index import Part

Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only articles published from then on."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="Only articles published before.")
]


def register(app: typer.Typer) -> None:
    for command in (backfill, sweep):
        app.command()(command)


# --- backfill --------------------------------------------------------------------------------


def backfill(
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="[INDEX|URL]", help="The store, or an index on the cluster in --store."
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    field: FieldNames = None,
    slice_: Annotated[
        str,
        typer.Option("--slice", metavar="I/N", help="Only the I-th of N parts, for N machines."),
    ] = "1/1",
    since: Since = None,
    until: Until = None,
    throttle: Annotated[
        float, typer.Option("--throttle", metavar="N", min=0, help="At most N articles a second.")
    ] = 0.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count, read a sample, write nothing.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Sign again what is signed already.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="METHOD",
            help="Switch this method on: add its keys to articles that are signed, then relink.",
        ),
    ] = None,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    strict: Strict = False,
    json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add signatures and groups to an index that is full of articles, in place.

    Only the `dedup` object is written. Run it again after it was stopped: it goes on. With --only
    it works on an SQLite store as well.
    """
    from esdedup.maintenance.backfill import Backfill, Plan

    store = _named(url, store)
    if only is not None:
        if slice_ != "1/1" or since is not None or until is not None:
            raise typer.BadParameter(
                "a method is on for all articles or for none: leave --slice, --since and --until "
                "out",
                param_hint="--only",
            )
        names = assignments(field, "--field")
        switching = _switching(store, only, names, throttle, restart, preset, settings, set_)
        _switch_on(switching, only, dry_run=dry_run, strict=strict, as_json=json_, quiet=quiet)
        return
    plan = Plan(
        fields=assignments(field, "--field"),
        part=_slice(slice_),
        since=date_of(since, "--since"),
        until=date_of(until, "--until"),
        restart=restart,
        throttle=throttle,
    )
    open_existing(store).close()
    chosen = settings_of(store, preset, settings, set_)
    with open_deduplicator(store, chosen, mode="read" if dry_run else "write") as deduplicator:
        job = Backfill(deduplicator, plan)
        if dry_run:
            _print_preview(job.preview(), as_json=json_)
            return
        progress = _follow(job, quiet=quiet)
    _print_backfilled(progress, plan, as_json=json_, quiet=quiet)
    if strict and (progress.failures or progress.roles["unprocessed"]):
        raise stop(ExitCode.QUARANTINED)


def _switching(
    store: str,
    method: str,
    names: dict[str, str],
    throttle: float,
    restart: bool,
    preset: str | None,
    file: Path | None,
    values: list[str] | None,
) -> SwitchOn:
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.maintenance.enable_method import SwitchOn, with_method
    from esdedup.stores import open_store

    open_existing(store).close()
    chosen = settings_of(store, preset, file, values)
    opened = open_store(store)  # with the settings it has
    try:
        wanted = with_method(opened.settings, method, chosen)
        return SwitchOn(
            Deduplicator(opened), method, wanted, names=names, throttle=throttle, restart=restart
        )
    except BaseException:
        opened.close()
        raise


def _switch_on(
    job: SwitchOn, method: str, *, dry_run: bool, strict: bool, as_json: bool, quiet: bool
) -> None:
    with job:
        if dry_run:
            waiting = job.count()
            if as_json:
                print_json([{"to_do": waiting}])
            else:
                console().print(f"{count(waiting, 'article')} without keys of {plain(method)}")
                console().print("nothing was written")
            return
        progress = _follow(job, quiet=quiet)
    if as_json:
        print_json([{**progress.to_json(), "method": method}])
    elif not quiet:
        console().print(
            f"{plain(method)} is on: {count(progress.done, 'article')} got its keys, "
            f"{progress.relinked:,} relinked"
        )
    _say_failures(progress)
    if strict and progress.failures:
        raise stop(ExitCode.QUARANTINED)


def _follow(job: Backfill | SwitchOn, *, quiet: bool) -> Progress:
    """Work through the batches with a bar; after Ctrl-C say what is safe."""
    from esdedup.maintenance.backfill import Progress

    progress = Progress()
    try:
        with _bar(quiet=quiet) as show_progress:
            for progress in job.run():
                show_progress(progress)
    except KeyboardInterrupt:
        say(
            f"stopped: {count(progress.done, 'article')} are signed; run the same command again "
            "to go on"
        )
        raise stop(ExitCode.INTERRUPTED) from None
    return progress


@contextmanager
def _bar(*, quiet: bool) -> Iterator[Any]:
    """A bar with rate and remaining time on a terminal; nothing anywhere else."""
    out = console(stderr=True)
    if quiet or not out.is_terminal:
        yield lambda progress: None
        return
    from rich import progress as bars

    columns = (
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TextColumn("left:"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("", total=None, rate="")

        def show_progress(progress: Progress) -> None:
            speed = bar.tasks[0].speed or 0.0
            bar.update(
                task, completed=progress.done, total=progress.total, rate=f"{speed:,.0f} articles/s"
            )

        yield show_progress


def _named(name: str | None, store: str) -> str:
    """A name alone is an index on the cluster that --store or the environment tells."""
    if name is None or "://" in name or not store.startswith(CLUSTER_SCHEMES):
        return name or store
    scheme, _, rest = store.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}"


def _slice(text: str) -> Part:
    from esdedup.stores.cluster.foreign_index import Part

    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise typer.BadParameter(f"{text!r} is not of the form 2/8", param_hint="--slice")
    return Part(int(found[1]), int(found[2]))


def _print_preview(preview: Preview, *, as_json: bool) -> None:
    if as_json:
        print_json([preview.to_json()])
        return
    out = console()
    out.print(f"{count(preview.documents, 'article')}, {preview.unsigned:,} to do")
    names = ", ".join(f"{ours} from {theirs}" for ours, theirs in preview.fields.items())
    out.print(f"fields: {plain(names) or 'none of the usual names; say --field text=NAME'}")
    order = preview.time_field or "no field with the time: in the order of the index"
    out.print(f"in the order of: {plain(order)}")
    out.print(
        f"of {count(preview.sampled, 'article')} looked at {preview.without_text:,} have no text, "
        f"{preview.without_date:,} no date"
    )
    print_unread_dates(preview.unread_dates, out)
    _print_arrival_order(preview.arrival_order)
    if preview.example:
        out.print(f"    {plain(preview.example)}", soft_wrap=True)
    out.print("nothing was written")


def _print_backfilled(progress: Progress, plan: Plan, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json([progress.to_json()])
    elif not quiet:
        part = f" of part {plan.part.number}/{plan.part.of}" if plan.part.of > 1 else ""
        console().print(f"{count(progress.done, 'article')}{part} signed{_told(progress)}")
        print_unread_dates(progress.unread_dates, console())
        _print_arrival_order(progress.arrival_order)
    _say_failures(progress)


def _told(progress: Progress) -> str:
    roles = ", ".join(f"{number:,} {role}" for role, number in progress.roles.items())
    more = f"; {progress.relinked:,} others relinked" if progress.relinked else ""
    return f": {roles}{more}" if roles else more


def _print_arrival_order(indices: dict[str, str]) -> None:
    for index, reason in indices.items():
        console().print(
            f"{plain(index)} was read in the order of arrival: {plain(reason)}", soft_wrap=True
        )


def _say_failures(progress: Progress) -> None:
    for id_, reason in progress.failures.items():
        say(f"{plain(id_)} was refused: {plain(reason)}")


# --- sweep -----------------------------------------------------------------------------------


def sweep(
    store: StoreUrl = DEFAULT_STORE,
    since: Annotated[
        str,
        typer.Option(
            "--since",
            metavar="SPAN|DATE",
            help="Look again at links written since then: 90m, 1h, 7d, 2024-03-01.",
        ),
    ] = "1h",
    field: FieldNames = None,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch", metavar="SECONDS", min=0.1, help="Go on for ever, with such pauses."
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Sign articles that came in by another route; mend what a crash left half done.

    With --watch it runs until SIGTERM or Ctrl-C, and ends between two batches.
    """
    fields = assignments(field, "--field")
    start = date_of(since, "--since") or datetime.now(UTC)
    with until_signalled(watch is not None) as stopped:
        if watch is None:
            _sweep_once(store, start, fields, stopped, json_, silent=False)
            return
        patience = Patience()
        while not stopped.is_set():
            began = datetime.now(UTC)
            if patience.done(_sweep_once, store, start, fields, stopped, json_, silent=True):
                start = began  # the overlap for other clocks is added where links are looked at
            stopped.wait(watch)


def _sweep_once(
    store: str,
    since: datetime,
    fields: dict[str, str],
    stopped: threading.Event,
    as_json: bool,
    *,
    silent: bool,
) -> None:
    from esdedup.maintenance.backfill import sweep as sweep_store

    with open_to_change(store) as deduplicator:
        progress = sweep_store(deduplicator, since, fields=fields, stopped=stopped.is_set)
    _print_swept(progress, as_json=as_json, silent=silent)


def _print_swept(progress: Progress, *, as_json: bool, silent: bool) -> None:
    """A daemon speaks only when it did something."""
    if silent and not (progress.done or progress.relinked or progress.failures):
        return
    if as_json:
        print_json([progress.to_json()])
    else:
        console().print(f"{count(progress.done, 'article')} signed{_told(progress)}")
        print_unread_dates(progress.unread_dates, console())
        _print_arrival_order(progress.arrival_order)
    _say_failures(progress)
