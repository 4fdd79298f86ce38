"""Groups, and a person's word on them: groups, groups merge, split, pin, forget, export, import,
reroot."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    StoreUrl,
    open_deduplicator,
    open_existing,
    open_to_change,
)
from esdedup.cli.output import console, count, joined, plain, print_json, styled
from esdedup.cli.searching import groups as list_groups

if TYPE_CHECKING:
    from esdedup.maintenance.change_canonical_rule import Rerooted
    from esdedup.maintenance.curation import Said
    from esdedup.settings import Settings

_SHOWN = 20  # changes that are named
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of articles.")]
By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so; kept with it.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; kept with it.")]


class KeepRule(StrEnum):
    """Which article of a group is its original."""

    earliest = "earliest"
    arrival = "arrival"
    ranking = "ranking"
    longest = "longest"


class _Listing(TyperGroup):
    """`esdedup groups` and `esdedup groups ID` list; a verb after it changes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


_LIST = "list"


def register(app: typer.Typer) -> None:
    groups = typer.Typer(
        cls=_Listing,
        help="List groups of copies, or correct them: a person's word goes before what is measured."
        "\n\n`esdedup groups` lists the largest, `esdedup groups ID` the members of one.",
        rich_markup_mode=None,
        add_completion=False,
    )
    groups.command(name=_LIST)(list_groups)
    for verb in (merge, split, pin, forget, export):
        groups.command()(verb)
    groups.command(name="import")(import_)
    groups.command()(reroot)
    app.add_typer(groups, name="groups")


def merge(
    ids: Ids,
    store: StoreUrl = DEFAULT_STORE,
    by: By = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """Always the same: these articles, and their copies, are one group."""
    from esdedup.maintenance import curation as curating

    with open_to_change(store) as deduplicator:
        _print(curating.merge(deduplicator, ids, by=by, note=note), as_json=json_)


def split(
    ids: Ids,
    store: StoreUrl = DEFAULT_STORE,
    by: By = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """Never the same: the first article is in no group with any of the others."""
    from esdedup.maintenance import curation as curating

    with open_to_change(store) as deduplicator:
        _print(curating.split(deduplicator, ids, by=by, note=note), as_json=json_)


def pin(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of an article.")],
    store: StoreUrl = DEFAULT_STORE,
    by: By = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """This one is the original: it comes before every article that is not pinned."""
    from esdedup.maintenance import curation as curating

    with open_to_change(store) as deduplicator:
        _print(curating.pin(deduplicator, id_, by=by, note=note), as_json=json_)


def forget(ids: Ids, store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """Take back what was said of an article, or of two with each other."""
    from esdedup.maintenance import curation as curating

    with open_to_change(store) as deduplicator:
        done = curating.forget(deduplicator, ids)
    _print(done, as_json=json_, taken_back=True)
    if not done.corrections:
        say(
            f"nothing was said of {' and '.join(plain(i) for i in ids)}; `groups export` tells what"
        )
        raise stop(ExitCode.FOUND)


def export(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Only what was said of these.")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
) -> None:
    """Print what was said, as NDJSON that `groups import` takes."""
    opened = open_existing(store)
    try:
        said = opened.corrections
    finally:
        opened.close()
    print_json(c.to_json() for c in (said.about(*ids) if ids else said.said))


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="NDJSON of `groups export`; - reads a pipe.")
    ],
    store: StoreUrl = DEFAULT_STORE,
    ahead: Annotated[
        bool,
        typer.Option("--ahead", help="Also of articles that the store does not have yet."),
    ] = False,
    json_: AsJson = False,
) -> None:
    """Say again what was exported; a line that cannot be taken is named, the others are taken."""
    from esdedup.maintenance import curation as curating

    lines = _lines(file)
    with open_to_change(store) as deduplicator:
        done = curating.import_lines(deduplicator, lines, ahead=ahead)
    _print(done, as_json=json_)
    for where, why in done.refused.items():
        say(f"{file}, {where}: {plain(why)}")
    if done.refused:
        raise stop(ExitCode.QUARANTINED)


def reroot(
    keep: Annotated[
        KeepRule, typer.Option("--keep", help="Which article of a group is its original.")
    ],
    sources: Annotated[
        Path | None,
        typer.Option(
            "--sources",
            metavar="FILE",
            help="For --keep ranking: sources in the order they are preferred, one a line.",
        ),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would change.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Change the keep rule: every group gets the original that it has under that rule.

    On a cluster nobody else should write meanwhile.
    """
    from esdedup.maintenance import change_canonical_rule as rerooting

    if (keep == KeepRule.ranking) != (sources is not None):
        raise typer.BadParameter(
            "--keep ranking and --sources FILE go together", param_hint="--sources"
        )
    open_existing(store).close()
    with open_deduplicator(store, mode="read" if dry_run else "write") as deduplicator:
        chosen = _with_rule(deduplicator.settings, keep, sources)
        done = rerooting.reroot(deduplicator, chosen, dry_run=dry_run)
    if json_:
        print_json([{**done.to_json(), "keep": keep.value, "dry_run": dry_run}])
    else:
        _print_rerooted(done, dry_run=dry_run)


def _with_rule(settings: Settings, keep: KeepRule, sources: Path | None) -> Settings:
    from dataclasses import replace

    from esdedup.settings.values import lines_of

    ranking = lines_of(sources, "--sources") if sources is not None else ()
    return replace(settings, keep=keep.value, keep_sources=ranking)


def _lines(file: str) -> list[str]:
    from esdedup.errors import InputError

    if file == "-":
        return sys.stdin.read().splitlines()
    try:
        return Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def _print(done: Said, *, as_json: bool, taken_back: bool = False) -> None:
    if as_json:
        print_json([done.to_json()])
        return
    out = console()
    for correction in done.corrections:
        mark = styled("forgotten" if taken_back else "said", "bold")
        note = f": {plain(correction.note)}" if correction.note else ""
        out.print(joined(mark, f"  {plain(correction.sentence)}{note}"), soft_wrap=True)
    for decision in list(done.changed.values())[:_SHOWN]:
        place = (
            decision.role
            if decision.link.canonical
            else f"{decision.role} in the group of {plain(decision.group)}"
        )
        out.print(f"    {plain(decision.id)} is now {place}", soft_wrap=True)
    out.print(f"{count(len(done.changed), 'article')} changed place")


def _print_rerooted(done: Rerooted, *, dry_run: bool) -> None:
    out = console()
    originals: Sequence[object] = done.originals
    for change in done.originals[:_SHOWN]:
        title = plain(change.record.document.title) or plain(change.decision.id)
        out.print(joined(styled("original", "bold"), f"  {title}"), soft_wrap=True)
    would = "would stand" if dry_run else "stand"
    out.print(
        f"{count(done.moved, 'article')} {would} elsewhere in the order, {len(originals):,} "
        f"{'would be' if dry_run else 'are'} originals that were not, "
        f"{count(len(done.changes), 'place')} {'would change' if dry_run else 'changed'}"
    )
