"""The command that deletes old articles: expire."""

from __future__ import annotations

from typing import Literal

from typer import Option

from esdedup.cli.daemons import parse_date_option
from esdedup.cli.exit_codes import say_when_interrupted
from esdedup.cli.options import DEFAULT_STORE, AsJson, DryRun, StoreUrl, open_for_writing
from esdedup.cli.output import console, count, live_line, print_json

ExpireBy = Literal["story", "group", "article"]


def expire(
    older_than: str = Option(..., metavar="SPAN", help="90d, 12w, or a date."),
    store: StoreUrl = DEFAULT_STORE,
    by: ExpireBy = Option(
        "story",
        help="Whole stories or groups, once their youngest article is that old; or each "
        "article by itself, and the next of its group takes its place.",
    ),
    keys_only: bool = Option(
        False,
        "--keys-only",
        help="Delete only keys: articles and groups stay, but no further copies are found.",
    ),
    dry_run: DryRun = False,
    json_: AsJson = False,
) -> None:
    """Delete old articles, or only their keys, without breaking groups.

    The age is measured from the date of publication, or from the first time seen if there is no
    date. It works in batches; run it again after Ctrl-C.
    """
    from esdedup.maintenance.retention import RetentionProgress, RetentionRule
    from esdedup.maintenance.retention import expire as expired

    before = parse_date_option(older_than, "--older-than")
    assert before is not None
    rule = RetentionRule(before, None if by == "article" else by, keys_only)
    done = RetentionProgress()
    with (
        open_for_writing(store) as deduplicator,
        say_when_interrupted(
            lambda: (
                f"stopped after {count(done.documents, 'article')}; run the same command again "
                "to go on"
            )
        ),
        live_line() as line,
    ):
        for done in expired(deduplicator, rule, dry_run=dry_run):
            line.update(f"{done.documents:,} articles")
    if json_:
        print_json([{**done.to_json(), "keys_only": keys_only, "dry_run": dry_run}])
        return
    verb = ("would " if dry_run else "") + ("lose their keys" if keys_only else "go")
    if not dry_run:
        verb = "lost their keys" if keys_only else "deleted"
    many = "stories" if by == "story" else "groups"
    wholes = f" ({count(done.wholes, by, many)})" if by != "article" else ""
    out = console()
    out.print(f"{count(done.documents, 'article')}{wholes} {verb}")
    if done.kept:
        out.print(f"{count(done.kept, by, many)} kept for a younger article")
    if done.promoted:
        out.print(f"{count(done.promoted, 'article')} promoted to original")
