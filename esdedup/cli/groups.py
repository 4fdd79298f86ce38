"""Groups and the constraints that people set on them: groups, groups merge, split, pin, forget,
export, import, reroot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from esdedup.cli.exit_codes import ExitCode, refuse, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    DryRun,
    StoreUrl,
    check_store_exists,
    open_deduplicator,
    open_existing,
    open_for_writing,
    read_text_lines,
)
from esdedup.cli.output import (
    console,
    count,
    join,
    paint,
    plain,
    print_json,
    print_result,
    table,
    title_of,
)
from esdedup.cli.search_options import Number, read_source_ranking
from esdedup.cli.searching import print_members

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.maintenance.curation import CurationResult
    from esdedup.stores import Record

_SHOWN = 20  # changes that are listed
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of articles.")]
SetBy = Annotated[
    str, typer.Option("--by", metavar="NAME", help="Who sets the constraint; stored with it.")
]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why; stored with it.")]


# Which article of a group is its original.
CanonicalRule = Literal["earliest", "arrival", "ranking", "longest"]


class _Listing(TyperGroup):
    """`esdedup groups` and `esdedup groups ID` list; a verb after it changes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


_LIST = "list"


def list_groups(
    id_: str | None = Argument(None, metavar="ID", help="Any article of the group to show."),
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 20,
    json_: AsJson = False,
) -> None:
    """List the largest groups of copies, or the members of one."""
    from esdedup.model.results import Member
    from esdedup.stores import get_record

    with open_existing(store) as opened:
        if id_ is not None:
            leaders = [get_record(opened, id_).decision.group]
        else:
            leaders = [group for group, _ in opened.search.groups(size=number)]
        found = [opened.documents.members(group) for group in leaders]
    if json_:
        for group, records in zip(leaders, found, strict=True):
            members = [Member.of(r.document, r.decision) for r in records]
            print_json([{"group": group, "size": len(members), "members": members}])
    elif id_ is not None:
        print_members(console(), found[0])
    else:
        _print_groups(console(), found)
    if not found:
        raise stop(ExitCode.FOUND)


def merge(
    ids: Ids,
    store: StoreUrl = DEFAULT_STORE,
    by: SetBy = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """Must-link: these articles and their copies are one group."""
    from esdedup.maintenance.curation import merge as merge_articles

    _curate(merge_articles, ids, store, json_, by=by, note=note)


def split(
    ids: Ids,
    store: StoreUrl = DEFAULT_STORE,
    by: SetBy = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """Cannot-link: the first article is never in a group with any of the others."""
    from esdedup.maintenance.curation import split as split_articles

    _curate(split_articles, ids, store, json_, by=by, note=note)


def pin(
    id_: str = Argument(..., metavar="ID", help="The id of an article."),
    store: StoreUrl = DEFAULT_STORE,
    by: SetBy = "",
    note: Note = "",
    json_: AsJson = False,
) -> None:
    """Pinned original: this article precedes every article that is not pinned."""
    from esdedup.maintenance.curation import pin as pin_articles

    _curate(pin_articles, id_, store, json_, by=by, note=note)


def forget(ids: Ids, store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """Remove the constraints on an article, or between two articles."""
    from esdedup.maintenance.curation import forget as forget_constraints

    done = _curate(forget_constraints, ids, store, json_, mark="forgotten")
    if not done.corrections:
        raise stop(
            ExitCode.FOUND,
            f"there is no constraint on {' and '.join(ids)}; `groups export` lists all",
        )


def export(
    ids: list[str] | None = Argument(None, metavar="ID", help="Only constraints on these."),
    store: StoreUrl = DEFAULT_STORE,
) -> None:
    """Print the constraints as NDJSON for `groups import`."""
    with open_existing(store) as opened:
        constraints = opened.constraints.recent()
    print_json(constraints.find_naming(*ids) if ids else constraints.items)


def import_(
    file: str = Argument(..., metavar="FILE", help="NDJSON of `groups export`; - reads a pipe."),
    store: StoreUrl = DEFAULT_STORE,
    ahead: bool = Option(
        False, "--ahead", help="Also of articles that the store does not have yet."
    ),
    json_: AsJson = False,
) -> None:
    """Import exported constraints; an invalid line is named, and the others are applied."""
    from esdedup.maintenance.curation import import_lines

    lines = read_text_lines(Path(file))
    done = _curate(import_lines, lines, store, json_, ahead=ahead)
    for where, why in done.refused.items():
        say(f"{file}, {where}: {why}")
    if done.refused:
        raise stop(ExitCode.QUARANTINED)


def reroot(
    keep: CanonicalRule = Option(..., help="Which article of a group is its original."),
    sources: Path | None = Option(
        None,
        metavar="FILE",
        help="For --keep ranking: sources in the order they are preferred, one a line.",
    ),
    store: StoreUrl = DEFAULT_STORE,
    dry_run: DryRun = False,
    json_: AsJson = False,
) -> None:
    """Change the canonical rule: every group gets the original that the rule gives it.

    On a cluster nobody else should write meanwhile.
    """
    from esdedup.maintenance.change_canonical_rule import change_canonical_rule

    if (keep == "ranking") != (sources is not None):
        raise refuse("--sources", "--keep ranking and --sources FILE go together")
    check_store_exists(store)
    with open_deduplicator(store, mode="read" if dry_run else "write") as deduplicator:
        ranking = read_source_ranking(sources)
        chosen = replace(deduplicator.settings, keep=keep, keep_sources=ranking)
        done = change_canonical_rule(deduplicator, chosen, dry_run=dry_run)
    if json_:
        print_json([{**done.to_json(), "keep": keep, "dry_run": dry_run}])
        return
    out = console()
    for change in done.originals[:_SHOWN]:
        title = plain(change.record.document.title) or change.decision.id
        out.print_line(paint("original", "bold"), f"  {title}")
    out.print(
        f"{count(done.moved, 'article')} {'would stand' if dry_run else 'stand'} elsewhere in the "
        f"order, {len(done.originals):,} {'would be' if dry_run else 'are'} originals that were "
        f"not, {count(len(done.changes), 'place')} {'would change' if dry_run else 'changed'}"
    )


def _curate(
    change: Callable[..., CurationResult],
    what: Any,
    store: str,
    as_json: bool,
    *,
    mark: str = "set",
    **options: Any,
) -> CurationResult:
    """Make the change, and show what came of it."""
    with open_for_writing(store) as deduplicator:
        done = change(deduplicator, what, **options)
    print_result(done, partial(_print, mark=mark), as_json=as_json)
    return done


def _print(out: Screen, done: CurationResult, mark: str) -> None:
    for correction in done.corrections:
        note = f": {correction.note}" if correction.note else ""
        out.print_line(paint(mark, "bold"), f"  {correction.sentence}{note}")
    for decision in list(done.changed.values())[:_SHOWN]:
        place = "" if decision.link.canonical else f" in the group of {decision.group}"
        out.print_line(f"    {decision.id} is now {decision.role}{place}")
    out.print(f"{count(len(done.changed), 'article')} changed place")


def _print_groups(out: Screen, found: Sequence[Sequence[Record]]) -> None:
    rows = table("articles", "original", "sources")
    rows.columns[0].justify, rows.columns[1].overflow = "right", "fold"
    for members in found:
        leader = next(r for r in members if r.document.id == r.decision.group)
        sources = dict.fromkeys(plain(r.document.source or "") for r in members)
        named = ", ".join(filter(None, sources))
        title = join(paint(title_of(leader.document)), f"\n{plain(leader.document.id)}")
        title.stylize("dim", len(title_of(leader.document)))
        rows.add_row(str(len(members)), title, named)
    if found:
        out.print(rows)
    else:
        out.print("no article has a copy")


app = typer.Typer(
    cls=_Listing,
    help="List groups of copies, or correct them: constraints override what is measured."
    "\n\n`esdedup groups` lists the largest, `esdedup groups ID` the members of one.",
    rich_markup_mode=None,
    add_completion=False,
)
app.command(_LIST)(list_groups)
for verb in (merge, split, pin, forget, export):
    app.command()(verb)
app.command("import")(import_)
app.command()(reroot)
