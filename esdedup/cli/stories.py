"""Commands about stories: similar, events, story."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from esdedup.cli.daemons import parse_date_option
from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.feeds import (
    CheckpointFile,
    Every,
    Once,
    OutputFile,
    open_watch_files,
    run_watch,
)
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    StoreUrl,
    hide_credentials,
    load_settings,
    open_existing,
    parse_assignments,
)
from esdedup.cli.output import (
    STYLES,
    byline,
    change_text,
    count,
    date_text,
    join,
    origin_text,
    paint,
    plain,
    print_result,
    revision_text,
    say_failure,
    table,
    title_of,
)

if TYPE_CHECKING:
    from rich.text import Text

    from esdedup.cli.screen import Screen
    from esdedup.model.results import Mention
    from esdedup.settings import Settings
    from esdedup.stores import Store
    from esdedup.stories.events import Event
    from esdedup.stories.events.report import Report
    from esdedup.stories.outlets import Outlet
    from esdedup.stories.similar import Similar, SimilarNews
    from esdedup.stories.timeline import Story, StoryVersion

# Settings that only these commands read: others would need another store.
_OWN = ("similar_", "event_")
_SOURCES = 5
_BARS = " ▁▂▃▄▅▆▇█"

SetOwn = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of these commands (event_window=2, similar_topic=.25); may be repeated.",
    ),
]


# --- similar -----------------------------------------------------------------------------------


def similar(
    what: list[str] = Argument(
        ...,
        metavar="ID|FILE…",
        help="The id of an article, or of several (what somebody read), or a file as for index.",
    ),
    store: StoreUrl = DEFAULT_STORE,
    size: int = Option(10, "--size", "-n", min=1, max=100, help="How many."),
    days: float | None = Option(
        None, min=0, help="Only articles within this many days before or after."
    ),
    by: Literal["evidence", "simhash"] | None = Option(
        None, help="Rank by all stored evidence, or by simhash alone."
    ),
    explain: bool = Option(False, "--explain", help="Show shared words and entities."),
    set_: SetOwn = None,
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Show similar news: articles about the same thing that are not copies.

    Copies are folded: each group is shown by its original. For several ids, what is similar to
    more of them comes first.
    """
    from esdedup.ingest.readers import read
    from esdedup.model import Failure
    from esdedup.stories.similar import similar_to, similar_to_stored

    window = None if days is None else timedelta(days=days)
    options: dict[str, Any] = {"size": size, "window": window, "explain": explain}
    with open_existing(store) as opened:
        opened.settings = _own_settings(opened, store, set_, {"similar_by": by})
        if len(what) > 1 or opened.documents.get(what) or not Path(what[0]).exists():
            results = [similar_to_stored(what, opened, **options)]
        else:
            results = []
            for item in read(what, fields=parse_assignments(field, "--field")):
                found = item if isinstance(item, Failure) else similar_to(item, opened, **options)
                if isinstance(found, Failure):
                    say_failure(found)
                else:
                    results.append(found)
    for note in (note for one in results for note in one.notes):
        say(note)
    print_result(results, partial(_print_all_similar, explain=explain), as_json=json_)
    if not results:
        raise stop(ExitCode.QUARANTINED)
    if not any(one.found for one in results):
        if not json_:
            say("nothing similar that is no copy")
        raise stop(ExitCode.FOUND)


def _print_all_similar(out: Screen, results: Sequence[SimilarNews], *, explain: bool) -> None:
    for found in results:
        if len(results) > 1:
            out.print(paint(title_of(found.document), "bold"))
        for one in found.found:
            _print_similar(out, one, explain=explain)


def _print_similar(out: Screen, one: Similar, *, explain: bool) -> None:
    same = join(" · ", paint("same story", STYLES["update"])) if one.is_update else ""
    out.print(join(f"{one.score:.2f}  ", paint(title_of(one.document), "bold")))
    out.print(join("      ", byline(one.document), same))
    out.print_line(f"      {one.document.id}")
    if one.similar_to:
        out.print_line("      similar to: ", paint(", ".join(one.similar_to)))
    if not explain:
        return
    bits = "" if one.distance is None else f", {count(one.distance, 'bit')} apart"
    hours = one.apart / 3_600_000_000
    span = f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"
    out.print(
        f"      likeness {one.topic:.2f}, {one.overlap:.0%} word for word{bits}, {span} apart"
    )
    for name, words in (("names", one.entities), ("words", one.terms)):
        if words:
            out.print_line(f"      {name}: ", paint(", ".join(words)))


# --- events ------------------------------------------------------------------------------------


Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="SPAN|DATE",
        help="Events since then: 2024-03-01, 36h, 7d. Else the last 7 days before the latest "
        "article.",
    ),
]
Time = Annotated[
    Literal["arrival", "published"] | None,
    typer.Option("--time", help="Which time of an article counts; else as the settings say."),
]


def events(
    ctx: typer.Context,
    store: StoreUrl = DEFAULT_STORE,
    since: Since = None,
    time: Time = None,
    watch: bool = Option(False, "--watch", help="Report events as articles arrive, as NDJSON."),
    once: Once = False,
    every: Every = 10.0,
    checkpoint: CheckpointFile = Path("esdedup-events.db"),
    output: OutputFile = None,
    set_: SetOwn = None,
    json_: AsJson = False,
) -> None:
    """Show breaking events: many reports of one thing within a few hours."""
    if ctx.invoked_subcommand is not None:
        return
    start = parse_date_option(since, "--since")
    if watch:
        from esdedup.alerts.event_watch import EventWatch

        name = f"events of {hide_credentials(store)}"
        with open_watch_files(checkpoint, name, output) as (recorded, sink):
            with open_existing(store) as opened:
                chosen = _own_settings(opened, store, set_, {"event_time": time})
                running = EventWatch(opened, recorded, sink, settings=chosen, since=start)
            run_watch(running, store, None if once else every)
        return
    from esdedup.stories.events.history import find_events
    from esdedup.stories.events.report import report

    with open_existing(store) as opened:
        chosen = _own_settings(opened, store, set_, {"event_time": time})
        found = find_events(opened, since=start, settings=chosen)
        for event in found:
            print_result(report(event, opened), _print_event, as_json=json_)
    if not found:
        raise stop(
            ExitCode.FOUND,
            f"no event: nothing that more than {chosen.event_items} {chosen.event_count} report "
            f"within {chosen.event_window:g} hours",
        )


def show_event(
    id_: str = Argument(..., metavar="ID", help="The id of an event, or of an article in it."),
    store: StoreUrl = DEFAULT_STORE,
    since: Since = None,
    time: Time = None,
    set_: SetOwn = None,
    json_: AsJson = False,
) -> None:
    """Show the special report of an event: all of its articles, by sub-story."""
    from esdedup.stories.events.history import find_events
    from esdedup.stories.events.report import report

    with open_existing(store) as opened:
        chosen = _own_settings(opened, store, set_, {"event_time": time})
        found = find_events(opened, since=parse_date_option(since, "--since"), settings=chosen)
        with_article = (event for event in found if id_ in event.members)
        event = next((event for event in found if event.id == id_), next(with_article, None))
        if event is None:
            raise stop(
                ExitCode.FOUND,
                f"there is no event {id_} in {hide_credentials(store)}, nor one with such an "
                "article; `esdedup events` lists them, --since looks further back",
            )
        found_report = report(event, opened, stories=True)
    print_result(found_report, _print_report, as_json=json_)


def _print_event(out: Screen, report: Report) -> None:
    from esdedup.stories.events.items import datetime_of

    event = report.event
    title = title_of(report.representative) if report.representative else event.representative
    out.print(join(paint(event.id, "cyan"), "  ", paint(title, "bold")))
    first, last = datetime_of(event.first_seen), datetime_of(event.last_seen)
    out.print(
        f"    {date_text(first)} to {date_text(last)} · "
        f"{count(event.articles, 'article')} · {count(event.stories, 'story', 'stories')} · "
        f"{count(len(event.sources), 'source')}"
    )
    out.print(join("    ", _size(event), "  detected ", date_text(datetime_of(event.detected))))
    out.print_line("    why: ", event.why.says)
    for name, pairs in (("names", report.entities), ("words", report.terms)):
        if pairs:
            words = ", ".join(f"{word} {n}" for word, n in pairs)
            out.print_line(f"    {name}: ", paint(words))
    top = ", ".join(f"{plain(s)} {n}" for s, n in list(event.sources.items())[:_SOURCES])
    out.print(f"    sources: {top}{', …' if len(event.sources) > _SOURCES else ''}")


def _size(event: Event) -> str:
    """Articles by the hour, as a little picture of at most 48."""
    first, last = min(event.hours), max(event.hours)
    step = max(1, -(-(last - first + 1) // 48))
    sums = [
        sum(event.hours.get(hour + n, 0) for n in range(step))
        for hour in range(first, last + 1, step)
    ]
    most = max(sums)
    return "".join(_BARS[-(-n * (len(_BARS) - 1) // most)] for n in sums)


def _print_report(out: Screen, report: Report) -> None:
    _print_event(out, report)
    for sub in report.stories:
        out.print()
        for place, telling in enumerate(sub.tellings):
            copies = f" · {count(telling.copies, 'copy', 'copies')}" if telling.copies else ""
            mark = paint(telling.role, STYLES[telling.role]) if place else ""
            title = paint(title_of(telling.document), "" if place else "bold")
            out.print(join("  " if place else "", mark, " " if place else "", title))
            out.print(f"      {byline(telling.document)}{copies} · {plain(telling.document.id)}")


# --- story -------------------------------------------------------------------------------------


def story(
    id_: str = Argument(..., metavar="ID", help="The id of any article of the story."),
    store: StoreUrl = DEFAULT_STORE,
    json_: AsJson = False,
) -> None:
    """Show the time line of a story: origin, copies by source, updates, corrections, outlets."""
    from esdedup.stores import get_record
    from esdedup.stories.timeline import story_of

    with open_existing(store) as opened:
        found = story_of(get_record(opened, id_), opened)
    print_result(found, _print_story, as_json=json_)


def _print_story(out: Screen, found: Story) -> None:
    updates = len(found.versions) - 1
    sizes = f"  {count(found.articles, 'article')}, {count(updates, 'update')}"
    out.print(join(paint(found.id, "cyan"), sizes))
    out.print_line("  ", paint(origin_text(found.origin)))
    for counts in found.counts:
        out.print_line("  ", paint(str(counts), STYLES["update"]))
    for version in found.versions:
        _print_version(out, version)
    _print_outlets(out, found.outlets)
    if found.partial:
        out.print()
        out.print("parts of it elsewhere")
        for part in found.partial:
            shares = f"{part.of_story:.0%} of the story, {part.of_article:.0%} of the article"
            out.print_line("  ", _mention(part.article), f" · {shares}")


def _print_outlets(out: Screen, outlets: Sequence[Outlet]) -> None:
    if len(outlets) < 2:
        return
    out.print()
    rows = table("outlet", "articles", "added", numbers_from=1)
    for outlet in outlets[: 2 * _SOURCES]:
        added = "opened it" if outlet.added is None else f"{outlet.added:.0%}"
        name = outlet.name + (" (copies only)" if outlet.only_copied else "")
        rows.add_row(plain(name), str(outlet.articles), added)
    out.print(rows)
    if len(outlets) > 2 * _SOURCES:
        out.print(f"{len(outlets) - 2 * _SOURCES} more outlets; --json has them all")


def _print_version(out: Screen, version: StoryVersion) -> None:
    from esdedup.stories.events.items import datetime_of

    style = STYLES["original" if version.kind == "original" else "update"]
    out.print()
    title = paint(version.article.title or version.article.id, "bold")
    out.print(
        join(date_text(datetime_of(version.moment)), "  ", paint(version.kind, style), "  ", title)
    )
    out.print(f"    {plain(version.article.source or 'no source')} · {plain(version.article.id)}")
    for change in version.numbers:
        out.print_line("    ", paint(change_text(change), style))
    if version.sources:
        names = ", ".join(
            plain(name) + (f" {n}" if n > 1 else "")
            for name, n in list(version.sources.items())[: 2 * _SOURCES]
        )
        more = ", …" if len(version.sources) > 2 * _SOURCES else ""
        out.print_line(f"    {count(version.count, 'copy', 'copies')}: {names}{more}")
    for one in version.revisions:
        out.print_line("    ", revision_text(one))
    for mention in version.corrections:
        out.print_line("    correction: ", _mention(mention))


def _mention(mention: Mention) -> Text:
    source = plain(mention.source or "no source")
    return join(paint(mention.title or mention.id), f" · {source} · {plain(mention.id)}")


def _own_settings(
    store: Store, url: str, values: list[str] | None, flags: dict[str, Any]
) -> Settings:
    """The settings of the store with those of these commands as they are given here."""
    from esdedup.errors import SettingsError

    own = [f.name for f in fields(store.settings) if f.name.startswith(_OWN)]
    given = parse_assignments(values, "--set")
    for name in given:
        if name not in own:
            raise SettingsError(f"{name} cannot be set here; these commands read {', '.join(own)}")
    chosen = load_settings(url, flags={**given, **flags})
    return replace(store.settings, **{name: getattr(chosen, name) for name in own})


events_app = typer.Typer(
    invoke_without_command=True, no_args_is_help=False, callback=events, help=events.__doc__
)
events_app.command("show")(show_event)
