"""The command that lists the versions of an article: revisions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from typer import Argument, Option

from esdedup.cli.explain import passages_text
from esdedup.cli.options import DEFAULT_STORE, AsJson, StoreUrl, open_existing
from esdedup.cli.output import (
    STYLES,
    change_text,
    count,
    date_text,
    join,
    paint,
    print_result,
)

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.stories.revisions import ListedVersion, RevisionHistory


def revisions(
    id_: str = Argument(..., metavar="ID", help="The id of an article."),
    store: StoreUrl = DEFAULT_STORE,
    old: int | None = Option(
        None, "--old", min=1, metavar="N", help="Compare this version, with the next by default."
    ),
    new: int | None = Option(
        None, "--new", min=2, metavar="N", help="Compare this version, with the one before it."
    ),
    full: bool = Option(False, "--full", help="Do not shorten equal passages."),
    json_: AsJson = False,
) -> None:
    """List the versions of an article that was written again, and compare two of them.

    The setting `revisions` is the number of earlier versions that are kept. Without --old and
    --new the last two are compared.
    """
    from esdedup.stores import get_record
    from esdedup.stories.revisions import history_of

    with open_existing(store) as opened:
        history = history_of(get_record(opened, id_), opened, old=old, new=new)
    print_result(history, partial(_print, full=full), as_json=json_)


def _print(out: Screen, history: RevisionHistory, *, full: bool) -> None:
    for version in history.versions:
        _print_version(out, version)
    compared = history.comparison
    if compared is None:
        out.print("it has one version: its text has not changed since it was stored")
        return
    out.print()
    out.print(paint(f"version {compared.old} -> version {compared.new}", "bold"))
    spans, cut = compared.spans, compared.cut
    out.print(passages_text(spans, cut=cut, coloured=out.is_terminal, full=full))


def _print_version(out: Screen, version: ListedVersion) -> None:
    since = date_text(version.since) if version.since else "first kept"
    degree = paint(version.revision.degree, STYLES["update"]) if version.revision else ""
    title = paint(version.title, "bold")
    out.print(join(f"{version.number:>3}  {since:16}  ", title, "  ", degree))
    out.print(f"     {count(version.words, 'word')}")
    for change in version.revision.numbers if version.revision else ():
        out.print_line("     ", paint(change_text(change), STYLES["update"]))
    if version.note:
        out.print_line("     correction note: ", paint(version.note))
