"""Commands about passages: copies, links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    StoreUrl,
    assignments,
    open_existing,
    shown_store,
)
from esdedup.cli.output import about, console, count, joined, plain, print_json, styled, title_of

if TYPE_CHECKING:
    from rich.console import Console

    from esdedup.settings import Settings
    from esdedup.stories.text_reuse import Checked, Copy, Edge

# Words shown at each end of a passage.
_SHOWN = 8


def register(app: typer.Typer) -> None:
    for command in (copies, links):
        app.command()(command)


Archive = Annotated[
    str,
    typer.Option(
        "--store",
        "--archive",
        envvar="ESDEDUP_STORE",
        metavar="URL",
        help="The store: sqlite:///news.db, or a file name.",
    ),
]


def copies(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A file as for `index`: a text, a page, NDJSON, …; with --watch, or a folder, "
            "what is protected.",
        ),
    ] = None,
    store: Archive = DEFAULT_STORE,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Tell of newly indexed articles that contain protected ones."),
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --watch: one look, from where the last one ended.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Pause between two looks.")
    ] = 10.0,
    ids: Annotated[
        Path | None,
        typer.Option(
            "--ids", metavar="FILE", help="Protected articles of the store: an id a line."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="FIELD=VALUE",
            help="Articles of the store with this value are protected (protected=true).",
        ),
    ] = None,
    least: Annotated[
        float,
        typer.Option("--least", min=0, max=1, help="Share of a protected text that is told of."),
    ] = 0.2,
    poster: Annotated[
        list[str] | None,
        typer.Option("--poster", metavar="FIELD", help="Where an article names who posted it."),
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option("--author", metavar="FIELD", help="Where a protected one names its author."),
    ] = None,
    checkpoint: Annotated[
        Path, typer.Option("--checkpoint", metavar="FILE", help="Remembers what was told.")
    ] = Path("esdedup-watch.db"),
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Append notifications here, not to stdout."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="SPAN|DATE", help="Where the first look begins, if not now: 7d."
        ),
    ] = None,
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Check a text against the archive: who copied what, how much, where.

    With --watch the other way round: FILE, --ids and --where say what is protected, and every
    newly indexed article that contains some of it becomes a line of JSON, addressed to whoever
    posted the one and wrote the other. Each pair is told of once, also after a restart.
    """
    if watch or once:
        from esdedup.cli.watching import Watched, run_watch

        run_watch(
            Watched(
                path=path,
                ids=ids,
                where=assignments(where, "--where"),
                least=least,
                poster=tuple(poster or ()),
                author=tuple(author or ()),
                fields=assignments(field, "--field"),
            ),
            store,
            checkpoint=checkpoint,
            output=output,
            since=since,
            every=None if once else every,
        )
        return
    if path is None:
        raise typer.BadParameter("name a file to check, or say --watch", param_hint="FILE")
    _check_file(path, store, assignments(field, "--field"), as_json=json_)


def _check_file(path: str, store: str, fields: dict[str, str], *, as_json: bool) -> None:
    from esdedup.ingest.readers import read
    from esdedup.model import Failure
    from esdedup.stories.text_reuse import copies as found_in

    opened = open_existing(store)
    found = failed = False
    try:
        _say_without_windows(opened.settings, store)
        for item in read([path], fields=fields):
            checked = item if isinstance(item, Failure) else found_in(item, opened)
            if isinstance(checked, Failure):
                failed = True
                say(f"{plain(checked.where)}: {plain(checked.reason)}")
                continue
            found |= bool(checked.copies)
            _say_short(checked, opened.settings)
            print_json([checked.to_json()]) if as_json else _print(console(), checked)
    finally:
        opened.close()
    if failed:
        raise stop(ExitCode.QUARANTINED)
    if not found:
        raise stop(ExitCode.FOUND)


def links(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """List which articles share passages: from the later one to the earlier one."""
    from esdedup.stories.text_reuse import links as all_links

    opened = open_existing(store)
    found = False
    try:
        _say_without_windows(opened.settings, store)
        for edge in all_links(opened):
            found = True
            print_json([edge.to_json()]) if json_ else typer.echo(_edge_text(edge))
    finally:
        opened.close()
    if not found:
        raise stop(ExitCode.FOUND)


def _say_without_windows(settings: Settings, store: str) -> None:
    if "lengths" not in settings.methods:
        say(
            f"{shown_store(store)} has no windows of sentence lengths: only articles that are "
            "alike as wholes are found, no short one inside a long one; `esdedup backfill --only "
            "lengths` adds them"
        )


def _say_short(checked: Checked, settings: Settings) -> None:
    from esdedup.methods.lengths import shortest

    if "lengths" in settings.methods and checked.sentences < shortest(settings):
        say(
            f"{plain(checked.document.id)} has {count(checked.sentences, 'sentence')}, fewer than "
            f"{shortest(settings)}: no windows, so only articles alike as wholes are found"
        )


def _print(out: Console, checked: Checked) -> None:
    out.print(styled(title_of(checked.document), "bold"))
    for copy in checked.copies:
        out.print()
        _print_copy(out, checked, copy)
    words = sum(copy.shared.words for copy in checked.copies)
    out.print()
    out.print(f"{count(len(checked.copies), 'article')} with {count(words, 'shared word')}")


def _print_copy(out: Console, checked: Checked, copy: Copy) -> None:
    shared = copy.shared
    out.print(joined("  ", styled(title_of(copy.document), "bold")))
    out.print(joined("  ", about(copy.document), " · ", plain(copy.document.id)), soft_wrap=True)
    out.print(
        f"  {count(shared.words, 'word')}: {shared.of_here:.0%} of this text, "
        f"{shared.of_there:.0%} of that one"
    )
    for passage in shared.passages:
        (start, end), (there, _) = passage.here, passage.there
        text = _shortened(checked.document.text[start:end])
        place = f"    at {start:,} (there {there:,}), {count(passage.words, 'word')}: "
        out.print(joined(place, styled(text, "dim")), soft_wrap=True)


def _shortened(text: str) -> str:
    words = plain(text).split()
    if len(words) <= 3 * _SHOWN:
        return " ".join(words)
    return " ".join([*words[:_SHOWN], "…", *words[-_SHOWN:]])


def _edge_text(edge: Edge) -> str:
    both = edge.shared
    return (
        f"{plain(edge.source)} -> {plain(edge.target)}: {count(both.words, 'word')}, "
        f"{both.of_here:.0%} of the first, {both.of_there:.0%} of the second"
    )
