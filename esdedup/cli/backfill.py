"""Commands for an index that others fill: backfill, sweep."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from esdedup.cli.cluster import CLUSTER_SCHEMES
from esdedup.cli.daemons import parse_date_option, repeat_until_stopped
from esdedup.cli.exit_codes import ExitCode, refuse, say, say_when_interrupted, stop
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
    check_store_exists,
    load_settings,
    open_deduplicator,
    open_existing,
    open_for_writing,
    parse_assignments,
)
from esdedup.cli.output import (
    console,
    count,
    live_line,
    print_json,
    print_result,
    print_unread_dates,
)

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.maintenance.backfill import Backfill, BackfillPlan, Preview, Progress
    from esdedup.maintenance.enable_method import MethodEnabling
    from esdedup.settings import Settings
    from esdedup.stores.cluster.foreign_index import Part

Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only articles published from then on."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="Only articles published before.")
]


# --- backfill --------------------------------------------------------------------------------


def backfill(
    url: str | None = Argument(
        None, metavar="[INDEX|URL]", help="The store, or an index on the cluster in --store."
    ),
    store: StoreUrl = DEFAULT_STORE,
    field: FieldNames = None,
    slice_: str = Option(
        "1/1", "--slice", metavar="I/N", help="Only the I-th of N parts, for N machines."
    ),
    since: Since = None,
    until: Until = None,
    throttle: float = Option(0.0, metavar="N", min=0, help="At most N articles a second."),
    dry_run: bool = Option(False, "--dry-run", help="Count, read a sample, write nothing."),
    restart: bool = Option(False, "--restart", help="Sign again what is signed already."),
    only: str | None = Option(
        None,
        metavar="METHOD",
        help="Add this method: add its keys to signed articles, then reconcile all links.",
    ),
    upgrade: bool = Option(
        False, "--upgrade", help="Bring a store of format 1 to format 2, in place."
    ),
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    strict: Strict = False,
    json_: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add signatures and groups to an index that already has articles.

    Only the `dedup` object is written. If it was stopped, run it again: it continues. With
    --only it works on an SQLite store as well.
    """
    from esdedup.maintenance.backfill import Backfill, BackfillPlan

    store = parse_store_url(url, store)
    if only is not None and (slice_ != "1/1" or since is not None or until is not None):
        raise refuse(
            "--only",
            "a method is on for all articles or for none: leave --slice, --since and --until out",
        )
    plan = BackfillPlan(
        fields=parse_assignments(field, "--field"),
        part=_parse_slice(slice_),
        since=parse_date_option(since, "--since"),
        until=parse_date_option(until, "--until"),
        restart=restart,
        throttle=throttle,
    )
    check_store_exists(store)
    if upgrade:
        _upgrade(store, throttle, dry_run=dry_run, as_json=json_, quiet=quiet)
        return
    chosen = load_settings(store, preset, settings, set_)
    if only is not None:
        printing = {"as_json": json_, "quiet": quiet}
        _enable_method(store, only, chosen, plan, dry_run=dry_run, strict=strict, **printing)
        return
    with open_deduplicator(store, chosen, mode="read" if dry_run else "write") as deduplicator:
        job = Backfill(deduplicator, plan)
        if dry_run:
            print_result(job.preview(), _print_preview, as_json=json_)
            return
        progress = _follow(job, quiet=quiet)
    part = f" of part {plan.part.number}/{plan.part.of}" if plan.part.of > 1 else ""
    _show_signed(progress, as_json=json_, quiet=quiet, part=part)
    if strict and (progress.failures or progress.roles["unprocessed"]):
        raise stop(ExitCode.QUARANTINED)


def _upgrade(store: str, throttle: float, *, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """With the settings that the store was made with."""
    from esdedup.maintenance.upgrade import Upgrade, UpgradeProgress

    def print_progress(out: Screen, progress: UpgradeProgress) -> None:
        verb = "would be upgraded" if dry_run else "upgraded"
        number = progress.total if dry_run else progress.done
        out.print(f"{count(number, 'article')} {verb}")
        if progress.bytes_before:
            out.print(
                f"our fields: {progress.bytes_before:,.0f} -> {progress.bytes_after:,.0f} bytes "
                "an article"
            )
        if progress.relinked:
            out.print(f"{count(progress.relinked, 'article')} in another group now")

    with open_deduplicator(store, None, mode="read" if dry_run else "write") as deduplicator:
        job = Upgrade(deduplicator, throttle=throttle)
        progress = job.preview()
        if not dry_run:
            stopped = "stopped: {:,} articles are upgraded; run the same command again to go on"
            with (
                say_when_interrupted(lambda: stopped.format(progress.done)),
                live_line(quiet=quiet) as line,
            ):
                for progress in job.run():
                    line.text = f"{progress.done:,} of {progress.total:,} articles"
    if not quiet or as_json:
        print_result(progress, print_progress, as_json=as_json)


def _enable_method(
    store: str,
    method: str,
    chosen: Settings,
    plan: BackfillPlan,
    *,
    dry_run: bool,
    strict: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.maintenance.enable_method import MethodEnabling, with_method

    with open_existing(store, mode="write") as opened:  # with the settings it has
        settings = with_method(opened.settings, method, chosen)
        job = MethodEnabling(Deduplicator(opened), method, settings, plan)
        if dry_run:
            waiting = job.count()
            if as_json:
                print_json([{"to_do": waiting}])
            else:
                console().print(f"{count(waiting, 'article')} without keys of {method}")
                console().print("nothing was written")
            return
        progress = _follow(job, quiet=quiet)
    if as_json:
        print_json([{**progress.to_json(), "method": method}])
    elif not quiet:
        console().print(
            f"{method} is on: {count(progress.done, 'article')} got its keys, "
            f"{progress.relinked:,} relinked"
        )
    _say_failures(progress)
    if strict and progress.failures:
        raise stop(ExitCode.QUARANTINED)


def _follow(job: Backfill | MethodEnabling, *, quiet: bool) -> Progress:
    """Work through the batches with a bar."""
    from esdedup.maintenance.backfill import Progress

    progress = Progress()
    with (
        say_when_interrupted(
            lambda: (
                f"stopped: {count(progress.done, 'article')} are signed; run the same command "
                "again to go on"
            )
        ),
        live_line(quiet=quiet) as line,
    ):
        for progress in job.run():
            line.update("articles", progress.done, progress.total)
    return progress


def parse_store_url(name: str | None, store: str) -> str:
    """A name alone is an index on the cluster that --store or the environment names."""
    if name is None or "://" in name or not store.startswith(CLUSTER_SCHEMES):
        return name or store
    scheme, _, rest = store.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}"


def _parse_slice(text: str) -> Part:
    from esdedup.stores.cluster.foreign_index import Part

    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise refuse("--slice", f"{text!r} is not of the form 2/8")
    return Part(int(found[1]), int(found[2]))


def _print_preview(out: Screen, preview: Preview) -> None:
    out.print(f"{count(preview.documents, 'article')}, {preview.unsigned:,} to do")
    names = ", ".join(f"{ours} from {theirs}" for ours, theirs in preview.fields.items())
    out.print(f"fields: {names or 'none of the usual names; say --field text=NAME'}")
    order = preview.time_field or "no field with the time: in the order of the index"
    out.print(f"in the order of: {order}")
    out.print(
        f"of {count(preview.sampled, 'article')} looked at {preview.without_text:,} have no text, "
        f"{preview.without_date:,} no date"
    )
    print_unread_dates(preview.unread_dates, out)
    _print_arrival_order(out, preview.arrival_order)
    if preview.example:
        out.print_line(f"    {preview.example}")
    out.print("nothing was written")


def _show_signed(progress: Progress, *, as_json: bool, quiet: bool, part: str = "") -> None:
    if as_json or not quiet:
        print_result(progress, partial(_print_signed, part=part), as_json=as_json)
    _say_failures(progress)


def _print_signed(out: Screen, progress: Progress, part: str) -> None:
    roles = ", ".join(f"{number:,} {role}" for role, number in progress.roles.items())
    more = f"; {progress.relinked:,} others relinked" if progress.relinked else ""
    outcome = f": {roles}{more}" if roles else more
    out.print(f"{count(progress.done, 'article')}{part} signed{outcome}")
    print_unread_dates(progress.unread_dates, out)
    _print_arrival_order(out, progress.arrival_order)


def _print_arrival_order(out: Screen, indices: dict[str, str]) -> None:
    for index, reason in indices.items():
        out.print_line(f"{index} was read in the order of arrival: {reason}")


def _say_failures(progress: Progress) -> None:
    for id_, reason in progress.failures.items():
        say(f"{id_} was refused: {reason}")


# --- sweep -----------------------------------------------------------------------------------


def sweep(
    store: StoreUrl = DEFAULT_STORE,
    since: str = Option(
        "1h",
        metavar="SPAN|DATE",
        help="Reconcile links written since then: 90m, 1h, 7d, 2024-03-01.",
    ),
    field: FieldNames = None,
    watch: float | None = Option(
        None, metavar="SECONDS", min=0.1, help="Repeat with this pause until stopped."
    ),
    json_: AsJson = False,
) -> None:
    """Sign articles that other programs wrote; reconcile what a crash left incomplete.

    With --watch it runs until SIGTERM or Ctrl-C, and ends between two batches.
    """
    from esdedup.maintenance.backfill import sweep as sweep_store

    fields = parse_assignments(field, "--field")
    start = parse_date_option(since, "--since") or datetime.now(UTC)

    def look(stopped: Callable[[], bool]) -> None:
        nonlocal start
        began = datetime.now(UTC)
        with open_for_writing(store) as deduplicator:
            progress = sweep_store(deduplicator, start, fields=fields, stopped=stopped)
        start = began  # the overlap for other clocks is added where links are looked at
        # A daemon speaks only when it did something.
        if watch is None or progress.done or progress.relinked or progress.failures:
            _show_signed(progress, as_json=json_, quiet=False)

    repeat_until_stopped(look, watch)
