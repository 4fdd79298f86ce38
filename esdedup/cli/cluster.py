"""Commands for search clusters: templates, backfill, sweep."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exits import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    Preset,
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
from esdedup.cli.output import console, count, plain, print_json

if TYPE_CHECKING:
    from esdedup.backfill import Backfill, Plan, Preview, Progress
    from esdedup.settings import Settings
    from esdedup.stores.connection import Connection
    from esdedup.stores.existing import Part

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="DATE", help="Only articles published from then on."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="DATE", help="Only articles published before.")
]
TemplateName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of both templates on the cluster.")
]


class TemplatePart(StrEnum):
    """What `templates show` can print."""

    COMPONENT = "component"
    INDEX = "index"
    MAPPING = "mapping"
    ELASTICSEARCH_ROLE = "elasticsearch-role"
    OPENSEARCH_ROLES = "opensearch-roles"


def register(app: typer.Typer) -> None:
    for command in (backfill, sweep):
        app.command()(command)
    templates = typer.Typer(
        help="Install, show or compare the templates for a search cluster.",
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
    )
    for verb in (install, show, diff):
        templates.command()(verb)
    app.add_typer(templates, name="templates")


# --- templates -------------------------------------------------------------------------------


def install(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    mapping_only: Annotated[
        bool,
        typer.Option(
            "--mapping-only", help="Only add our fields to the index that is there; no templates."
        ),
    ] = False,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Put our templates on the cluster, or our fields into an index."""
    from esdedup.stores import templates

    templates.refuse_files(store)
    chosen = settings_of(store, preset, settings, set_)
    if mapping_only:
        open_to_change(store, chosen).close()
        console().print("our fields are in the index; no other field was touched")
        return
    with _connected(store) as connection:
        index = connection.target.index
        templates.install(connection, chosen, store=index, name=name)
        unready = [
            found
            for found, mapping in templates.mappings_of(connection, index).items()
            if templates.mapping_changes(mapping, chosen)
        ]
    shown = ", ".join(templates.patterns(index))
    console().print(f"templates {plain(name)} are installed, for new indices {shown}")
    if unready:
        say(
            f"{', '.join(unready)} is there already, and templates change no index: add our "
            "fields with --mapping-only"
        )


def show(
    part: Annotated[
        TemplatePart, typer.Argument(metavar="PART", help="What to print.", show_default=True)
    ] = TemplatePart.COMPONENT,
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Print a template, the mapping or a role as JSON; nothing is asked of a cluster.

    PART is component, index, mapping, elasticsearch-role or opensearch-roles.
    """
    from esdedup.settings import Settings

    chosen = Settings.load(preset=preset, file=settings, flags=assignments(set_, "--set"))
    typer.echo(json.dumps(_part(part, store, name, chosen), indent=2, ensure_ascii=False))


def diff(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    json_: AsJson = False,
) -> None:
    """Compare the cluster's templates and mappings with ours; the exit code tells of any."""
    from esdedup.stores import templates

    templates.refuse_files(store)
    chosen = settings_of(store, preset, settings, set_)
    with _connected(store) as connection:
        found = templates.differences(connection, chosen, store=connection.target.index, name=name)
    if json_:
        print_json([{"differences": found}])
    else:
        for line in found:
            console().print(plain(line), soft_wrap=True)
        if not found:
            console().print("no difference")
    if found:
        raise stop(ExitCode.FOUND)


def _part(part: TemplatePart, store: str, name: str, settings: Settings) -> Any:
    from esdedup.stores import bodies, templates
    from esdedup.stores.connection import Target

    index = Target.parse(store).index if store.startswith(_CLUSTER_SCHEMES) else "news"
    if part is TemplatePart.COMPONENT:
        return templates.component(settings)
    if part is TemplatePart.INDEX:
        return templates.index(settings, store=index, name=name)
    if part is TemplatePart.MAPPING:
        return {"properties": bodies.properties()}
    if part is TemplatePart.ELASTICSEARCH_ROLE:
        return templates.elasticsearch_role(index)
    return templates.opensearch_roles(index)


_CLUSTER_SCHEMES = ("http", "elasticsearch+", "opensearch+", "es+", "os+")


@contextmanager
def _connected(store: str) -> Iterator[Connection]:
    """To the cluster itself: the index need not be there."""
    from esdedup.stores.connection import Target, connect

    connection = connect(Target.parse(store))
    try:
        yield connection
    finally:
        connection.close()


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
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    strict: Strict = False,
    json_: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar and no summary.")] = False,
) -> None:
    """Add signatures and groups to an index that is full of articles, in place.

    Only the `dedup` object is written. Run it again after it was stopped: it goes on.
    """
    from esdedup.backfill import Backfill, Plan

    store = _named(url, store)
    plan = Plan(
        fields=assignments(field, "--field"),
        part=_slice(slice_),
        since=_date(since, "--since"),
        until=_date(until, "--until"),
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
        progress = _follow(job, as_json=json_, quiet=quiet)
    _print_backfilled(progress, plan, as_json=json_, quiet=quiet)
    if strict and (progress.failures or progress.roles["unprocessed"]):
        raise stop(ExitCode.QUARANTINED)


def _follow(job: Backfill, *, as_json: bool, quiet: bool) -> Progress:
    """Work through the batches with a bar; after Ctrl-C say what is safe."""
    from esdedup.backfill import Progress

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
    if name is None or "://" in name or not store.startswith(_CLUSTER_SCHEMES):
        return name or store
    scheme, _, rest = store.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/{name}"


def _slice(text: str) -> Part:
    from esdedup.stores.existing import Part

    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise typer.BadParameter(f"{text!r} is not of the form 2/8", param_hint="--slice")
    return Part(int(found[1]), int(found[2]))


def _date(text: str | None, option: str) -> datetime | None:
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
    if preview.example:
        out.print(f"    {plain(preview.example)}", soft_wrap=True)
    out.print("nothing was written")


def _print_backfilled(progress: Progress, plan: Plan, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json([progress.to_json()])
    elif not quiet:
        part = f" of part {plan.part.number}/{plan.part.of}" if plan.part.of > 1 else ""
        console().print(f"{count(progress.done, 'article')}{part} signed{_told(progress)}")
    _say_failures(progress)


def _told(progress: Progress) -> str:
    roles = ", ".join(f"{number:,} {role}" for role, number in progress.roles.items())
    more = f"; {progress.relinked:,} others relinked" if progress.relinked else ""
    return f": {roles}{more}" if roles else more


def _say_failures(progress: Progress) -> None:
    for id_, reason in progress.failures.items():
        say(f"{plain(id_)} was refused by the cluster: {plain(reason)}")


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
    start = _date(since, "--since") or datetime.now(UTC)
    with _until_signalled(watch is not None) as stopped:
        if watch is None:
            _sweep_once(store, start, fields, stopped, json_, silent=False)
            return
        while not stopped.is_set():
            began = datetime.now(UTC)
            if _sweep_or_wait(store, start, fields, stopped, json_):
                start = began  # the overlap for other clocks is added where links are looked at
            stopped.wait(watch)


def _sweep_or_wait(
    store: str, since: datetime, fields: dict[str, str], stopped: threading.Event, as_json: bool
) -> bool:
    """A daemon outlives a cluster that restarts, and waits for an index that is not there yet."""
    from esdedup.errors import StoreMissing, StoreUnavailable

    try:
        _sweep_once(store, since, fields, stopped, as_json, silent=True)
    except (StoreMissing, StoreUnavailable) as error:
        say(f"waiting: {error}")
        return False
    return True


def _sweep_once(
    store: str,
    since: datetime,
    fields: dict[str, str],
    stopped: threading.Event,
    as_json: bool,
    *,
    silent: bool,
) -> None:
    from esdedup.backfill import sweep as sweep_store

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
    _say_failures(progress)


@contextmanager
def _until_signalled(watching: bool) -> Iterator[threading.Event]:
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
