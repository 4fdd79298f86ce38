"""Commands about stories: similar, events, story."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from esdedup.cli.daemons import Patience, date_of, until_signalled
from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    StoreUrl,
    assignments,
    open_existing,
    settings_of,
    shown_store,
)
from esdedup.cli.output import (
    STYLES,
    about,
    change_text,
    console,
    count,
    joined,
    plain,
    print_json,
    styled,
    title_of,
    when,
)
from esdedup.cli.searching import record_of

if TYPE_CHECKING:
    from rich.console import Console

    from esdedup.alerts.event_watch import EventWatch
    from esdedup.settings import Settings
    from esdedup.stores import Store
    from esdedup.stories.events import Event
    from esdedup.stories.events.report import Report
    from esdedup.stories.similar import Similar, SimilarNews
    from esdedup.stories.timeline import Mention, Story, Version

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


def register(app: typer.Typer) -> None:
    app.command()(similar)
    family = typer.Typer(invoke_without_command=True, no_args_is_help=False)
    family.callback()(events)
    family.command()(show)
    app.add_typer(family, name="events", help=events.__doc__)
    app.command()(story)


# --- similar -----------------------------------------------------------------------------------


def similar(
    what: Annotated[
        str, typer.Argument(metavar="ID|FILE", help="The id of an article, or a file as for index.")
    ],
    store: StoreUrl = DEFAULT_STORE,
    size: Annotated[int, typer.Option("--size", "-n", min=1, max=100, help="How many.")] = 10,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0, help="Only within so many days before or after."),
    ] = None,
    by: Annotated[
        Literal["evidence", "simhash"] | None,
        typer.Option("--by", help="Rank by everything that is stored, or by simhash alone."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Name the words and entities that both have.")
    ] = False,
    set_: SetOwn = None,
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Show similar news: articles about the same thing that are no copies.

    Copies are folded: each group is shown by its original.
    """
    from esdedup.stories.similar import similar_to_record

    window = None if days is None else timedelta(days=days)
    opened = open_existing(store)
    try:
        opened.adopt(_own_settings(opened, store, set_, {"similar_by": by}))
        record = opened.get_many([what]).get(what)
        if record is not None:
            found = similar_to_record(record, opened, size=size, window=window, explain=explain)
            _show_similar([found], json_=json_, explain=explain)
            return
        if not Path(what).exists():
            record_of(opened, what, store)  # says that there is no such article, and stops
        results = _of_file(what, opened, size, window, explain, assignments(field, "--field"))
        _show_similar(results, json_=json_, explain=explain)
    finally:
        opened.close()


def _of_file(
    path: str,
    store: Store,
    size: int,
    window: timedelta | None,
    explain: bool,
    names: dict[str, str],
) -> list[SimilarNews]:
    from esdedup.ingest.readers import read
    from esdedup.model import Failure
    from esdedup.stories.similar import similar_to

    results = []
    for item in read([path], fields=names):
        found: Any = item
        if not isinstance(item, Failure):
            found = similar_to(item, store, size=size, window=window, explain=explain)
        if isinstance(found, Failure):
            say(f"{plain(found.where)}: {plain(found.reason)}")
        else:
            results.append(found)
    if not results:
        raise stop(ExitCode.QUARANTINED)
    return results


def _show_similar(results: Sequence[SimilarNews], *, json_: bool, explain: bool) -> None:
    for found in results:
        for note in found.notes:
            say(note)
    if json_:
        print_json(found.to_json() for found in results)
    else:
        out = console()
        for found in results:
            if len(results) > 1:
                out.print(styled(title_of(found.document), "bold"))
            for one in found.found:
                _print_similar(out, one, explain=explain)
    if not any(found.found for found in results):
        if not json_:
            say("nothing similar that is no copy")
        raise stop(ExitCode.FOUND)


def _print_similar(out: Console, one: Similar, *, explain: bool) -> None:
    same = joined(" · ", styled("same story", STYLES["update"])) if one.is_update else ""
    out.print(joined(f"{one.score:.2f}  ", styled(title_of(one.document), "bold")))
    out.print(joined("      ", about(one.document), same))
    out.print(f"      {plain(one.document.id)}", soft_wrap=True)
    if not explain:
        return
    bits = "" if one.distance is None else f", {count(one.distance, 'bit')} apart"
    out.print(
        f"      likeness {one.topic:.2f}, {one.overlap:.0%} word for word{bits}, "
        f"{_span(one.apart)} apart"
    )
    for name, words in (("names", one.entities), ("words", one.terms)):
        if words:
            out.print(joined(f"      {name}: ", styled(", ".join(words))), soft_wrap=True)


def _span(microseconds: int) -> str:
    hours = microseconds / 3_600_000_000
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"


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
    watch: Annotated[
        bool, typer.Option("--watch", help="Tell of events as articles come, as NDJSON.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --watch: one look, from where the last one ended.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Pause between two looks.")
    ] = 10.0,
    checkpoint: Annotated[
        Path, typer.Option("--checkpoint", metavar="FILE", help="Remembers what was told.")
    ] = Path("esdedup-events.db"),
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Append notifications here, not to stdout."),
    ] = None,
    set_: SetOwn = None,
    json_: AsJson = False,
) -> None:
    """Show breaking events: many stories about one thing within a few hours."""
    if ctx.invoked_subcommand is not None:
        return
    if watch:
        _watch(store, since, time, checkpoint, output, None if once else every, set_)
        return
    from esdedup.stories.events.history import events as found_in
    from esdedup.stories.events.report import report

    opened = open_existing(store)
    try:
        chosen = _own_settings(opened, store, set_, {"event_time": time})
        found = found_in(opened, since=date_of(since, "--since"), settings=chosen)
        out = console()
        for event in found:
            told = report(event, opened)
            if json_:
                print_json([told.to_json()])
            else:
                _print_event(out, told)
    finally:
        opened.close()
    if not found:
        say(
            f"no event: nothing that more than {chosen.event_items} {chosen.event_count} tell "
            f"within {chosen.event_window:g} hours"
        )
        raise stop(ExitCode.FOUND)


def show(
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="The id of an event, or of an article in it.")
    ],
    store: StoreUrl = DEFAULT_STORE,
    since: Since = None,
    time: Time = None,
    set_: SetOwn = None,
    json_: AsJson = False,
) -> None:
    """Show the special report of an event: all of its articles, by sub-story."""
    from esdedup.stories.events.history import events as found_in
    from esdedup.stories.events.report import report

    opened = open_existing(store)
    try:
        chosen = _own_settings(opened, store, set_, {"event_time": time})
        found = found_in(opened, since=date_of(since, "--since"), settings=chosen)
        event = _event(found, id_)
        if event is None:
            say(
                f"there is no event {plain(id_)} in {shown_store(store)}, nor one with such an "
                "article; `esdedup events` lists them, --since looks further back"
            )
            raise stop(ExitCode.FOUND)
        told = report(event, opened, stories=True)
    finally:
        opened.close()
    if json_:
        print_json([told.to_json()])
    else:
        _print_report(console(), told)


def _event(found: Sequence[Event], id_: str) -> Event | None:
    by_id = next((event for event in found if event.id == id_), None)
    return by_id or next((event for event in found if id_ in event.members), None)


def _print_event(out: Console, told: Report) -> None:
    from esdedup.stories.events.items import moment_of

    event = told.event
    title = title_of(told.representative) if told.representative else event.representative
    out.print(joined(styled(event.id, "cyan"), "  ", styled(title, "bold")))
    out.print(
        f"    {when(moment_of(event.first_seen))} to {when(moment_of(event.last_seen))} · "
        f"{count(event.articles, 'article')} · {count(event.stories, 'story', 'stories')} · "
        f"{count(len(event.sources), 'source')}"
    )
    out.print(joined("    ", _size(event), "  detected ", when(moment_of(event.detected))))
    for name, pairs in (("names", told.entities), ("words", told.terms)):
        if pairs:
            words = ", ".join(f"{word} {n}" for word, n in pairs)
            out.print(joined(f"    {name}: ", styled(words)), soft_wrap=True)
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


def _print_report(out: Console, told: Report) -> None:
    _print_event(out, told)
    for sub in told.stories:
        out.print()
        for place, telling in enumerate(sub.tellings):
            copies = f" · {count(telling.copies, 'copy', 'copies')}" if telling.copies else ""
            mark = styled(telling.role, STYLES[telling.role]) if place else ""
            title = styled(title_of(telling.document), "" if place else "bold")
            out.print(joined("  " if place else "", mark, " " if place else "", title))
            out.print(f"      {about(telling.document)}{copies} · {plain(telling.document.id)}")


def _watch(
    store: str,
    since: str | None,
    time: str | None,
    checkpoint: Path,
    output: Path | None,
    every: float | None,
    set_: list[str] | None,
) -> None:
    from esdedup.alerts.checkpoint import Checkpoint, Output
    from esdedup.alerts.event_watch import EventWatch

    kept = Checkpoint(str(checkpoint), f"events of {shown_store(store)}")
    try:
        opened = open_existing(store)
        try:
            watch = EventWatch(
                opened,
                kept,
                Output(output, None if output else sys.stdout.buffer),
                settings=_own_settings(opened, store, set_, {"event_time": time}),
                since=date_of(since, "--since"),
            )
        finally:
            opened.close()
        patience = Patience()
        with until_signalled(True) as stopped:
            patience.done(_look, watch, store, stopped)
            while every is not None and not stopped.wait(every):
                patience.done(_look, watch, store, stopped)
    finally:
        kept.close()


def _look(watch: EventWatch, store: str, stopped: threading.Event) -> None:
    opened = open_existing(store)
    try:
        looked = watch.look(opened, stopped.is_set)
    finally:
        opened.close()
    late = f", {looked.late} too late to count (event_lateness)" if looked.late else ""
    if looked.told or looked.late:
        say(f"{count(looked.told, 'notification')}{late}")


# --- story -------------------------------------------------------------------------------------


def story(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of any article of the story.")],
    store: StoreUrl = DEFAULT_STORE,
    json_: AsJson = False,
) -> None:
    """Show the time line of a story: original, copies by source, updates, corrections."""
    from esdedup.stories.timeline import story_of

    opened = open_existing(store)
    try:
        found = story_of(record_of(opened, id_, store), opened)
    finally:
        opened.close()
    if json_:
        print_json([found.to_json()])
    else:
        _print_story(console(), found)


def _print_story(out: Console, found: Story) -> None:
    updates = len(found.versions) - 1
    out.print(
        joined(
            styled(plain(found.id), "cyan"),
            f"  {count(found.articles, 'article')}, {count(updates, 'update')}",
        )
    )
    for counts in found.counts:
        out.print(joined("  ", styled(str(counts), STYLES["update"])), soft_wrap=True)
    for version in found.versions:
        _print_version(out, version)
    if found.partial:
        out.print()
        out.print("parts of it elsewhere")
        for part in found.partial:
            shares = f"{part.of_story:.0%} of the story, {part.of_article:.0%} of the article"
            out.print(joined("  ", _mention(part.article), f" · {shares}"), soft_wrap=True)


def _print_version(out: Console, version: Version) -> None:
    from esdedup.stories.events.items import moment_of

    style = STYLES["original" if version.kind == "original" else "update"]
    out.print()
    title = styled(version.article.title or version.article.id, "bold")
    out.print(
        joined(when(moment_of(version.moment)), "  ", styled(version.kind, style), "  ", title)
    )
    out.print(f"    {plain(version.article.source or 'no source')} · {plain(version.article.id)}")
    for change in version.numbers:
        out.print(joined("    ", styled(change_text(change), style)), soft_wrap=True)
    if version.sources:
        names = ", ".join(
            plain(name) + (f" {n}" if n > 1 else "")
            for name, n in list(version.sources.items())[: 2 * _SOURCES]
        )
        more = ", …" if len(version.sources) > 2 * _SOURCES else ""
        out.print(f"    {count(version.count, 'copy', 'copies')}: {names}{more}", soft_wrap=True)
    for mention in version.corrections:
        out.print(joined("    correction: ", _mention(mention)), soft_wrap=True)


def _mention(mention: Mention) -> Any:
    source = plain(mention.source or "no source")
    return joined(styled(mention.title or mention.id), f" · {source} · {plain(mention.id)}")


def _own_settings(
    store: Store, url: str, values: list[str] | None, flags: dict[str, Any]
) -> Settings:
    """The settings of the store with those of these commands as they are given here."""
    from esdedup.errors import SettingsError

    given = assignments(values, "--set")
    for name in given:
        if not name.startswith(_OWN):
            raise SettingsError(
                f"{name} cannot be set here; these commands read {', '.join(_own_names())}"
            )
    chosen = settings_of(url, flags={**given, **flags})
    own = {name: getattr(chosen, name) for name in _own_names()}
    return replace(store.settings, **own)


def _own_names() -> list[str]:
    from esdedup.settings import Settings

    return [f.name for f in fields(Settings) if f.name.startswith(_OWN)]
