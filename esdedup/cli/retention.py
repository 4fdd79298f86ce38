"""The command that lets old articles go: expire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from esdedup.cli.daemons import date_of
from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import DEFAULT_STORE, AsJson, StoreUrl, open_to_change
from esdedup.cli.output import console, count, print_json

if TYPE_CHECKING:
    from esdedup.maintenance.retention import Expired


class By(StrEnum):
    """What goes as a whole."""

    story = "story"
    group = "group"
    article = "article"


WHOLES: dict[By, Literal["story", "group"] | None] = {
    By.story: "story",
    By.group: "group",
    By.article: None,
}


def register(app: typer.Typer) -> None:
    app.command()(expire)


def expire(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="SPAN", help="90d, 12w, or a date.")
    ],
    store: StoreUrl = DEFAULT_STORE,
    by: Annotated[
        By,
        typer.Option(
            "--by",
            help="Whole stories or groups, once their youngest article is that old; or each "
            "article by itself, and the next of its group takes its place.",
        ),
    ] = By.story,
    keys_only: Annotated[
        bool,
        typer.Option(
            "--keys-only", help="Articles and groups stay; they only find no more copies."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    json_: AsJson = False,
) -> None:
    """Delete old articles, or only their keys, without breaking groups.

    The age is that of the date of publication, else of the first time seen. Done in batches: after
    Ctrl-C the same command goes on.
    """
    from esdedup.maintenance.retention import Expired, Rule
    from esdedup.maintenance.retention import expire as expired

    before = date_of(older_than, "--older-than")
    assert before is not None
    rule = Rule(before, WHOLES[by], keys_only)
    done = Expired()
    with open_to_change(store) as deduplicator:
        try:
            for now in _followed(expired(deduplicator, rule, dry_run=dry_run)):
                done = now
        except KeyboardInterrupt:
            say(
                f"stopped after {count(done.documents, 'article')}; run the same command again to "
                "go on"
            )
            raise stop(ExitCode.INTERRUPTED) from None
    if json_:
        print_json([{**done.to_json(), "keys_only": keys_only, "dry_run": dry_run}])
        return
    _print(done, by, keys_only=keys_only, dry_run=dry_run)


def _followed(running: Iterable[Expired]) -> Iterator[Expired]:
    """A live line on a terminal."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield from running
        return
    with out.status("looking for old articles") as status:
        for done in running:
            status.update(f"{done.documents:,} articles")
            yield done


def _print(done: Expired, by: By, *, keys_only: bool, dry_run: bool) -> None:
    verb = ("would " if dry_run else "") + ("lose their keys" if keys_only else "go")
    if not dry_run:
        verb = "lost their keys" if keys_only else "deleted"
    wholes = ""
    if by is not By.article:
        many = "stories" if by is By.story else "groups"
        wholes = f" ({count(done.wholes, by.value, many)})"
    out = console()
    out.print(f"{count(done.documents, 'article')}{wholes} {verb}")
    if done.kept:
        many = "stories" if by is By.story else "groups"
        out.print(f"{count(done.kept, by.value, many)} kept for a younger article")
    if done.promoted:
        out.print(f"{count(done.promoted, 'article')} promoted to original")
