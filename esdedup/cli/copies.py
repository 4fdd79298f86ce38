"""Commands about passages: copies, links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from esdedup.cli.exits import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    FieldNames,
    StoreUrl,
    assignments,
    open_existing,
)
from esdedup.cli.output import about, console, count, joined, plain, print_json, styled, title_of

if TYPE_CHECKING:
    from rich.console import Console

    from esdedup.copies import Checked, Copy, Edge
    from esdedup.settings import Settings

# Words shown at each end of a passage.
_SHOWN = 8


def register(app: typer.Typer) -> None:
    for command in (copies, links):
        app.command()(command)


def copies(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="A file as for `index`: a text, a page, NDJSON, …")
    ],
    store: StoreUrl = DEFAULT_STORE,
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Check a text against the archive: who copied what, how much, where."""
    from esdedup.copies import copies as found_in
    from esdedup.model import Failure
    from esdedup.readers import read

    opened = open_existing(store)
    found = failed = False
    try:
        _say_without_windows(opened.settings, store)
        for item in read([path], fields=assignments(field, "--field")):
            checked = item if isinstance(item, Failure) else found_in(item, opened)
            if isinstance(checked, Failure):
                failed = True
                say(f"{plain(checked.where)}: {plain(checked.reason)}")
                continue
            found |= bool(checked.copies)
            _say_short(checked, opened.settings)
            print_json([checked.to_json()]) if json_ else _print(console(), checked)
    finally:
        opened.close()
    if failed:
        raise stop(ExitCode.QUARANTINED)
    if not found:
        raise stop(ExitCode.FOUND)


def links(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """List which articles share passages: from the later one to the earlier one."""
    from esdedup.copies import links as all_links

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
            f"{store} has no windows of sentence lengths: only articles that are alike as wholes "
            "are found, no short one inside a long one; index with --set methods=sketch,lengths"
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
