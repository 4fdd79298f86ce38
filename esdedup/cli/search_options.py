"""Options that `search` and `fold` share, and the query that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from esdedup.cli.daemons import parse_date_option, parse_span
from esdedup.cli.exit_codes import refuse
from esdedup.cli.options import parse_assignments

if TYPE_CHECKING:
    from datetime import timedelta

    from esdedup.model.queries import Query


By = Literal["group", "story"]
ShowRule = Literal["best", "earliest", "newest", "longest", "source"]
Number = Annotated[int, typer.Option("-n", "--number", min=1, help="How many to show.")]
SourcesFile = Annotated[
    Path | None,
    typer.Option("--sources", metavar="FILE", help="Sources in order of preference, one per line."),
]
Window = Annotated[
    str | None,
    typer.Option("--window", metavar="SPAN", help="Split a story after such a pause: 30d."),
]


def build_query(
    words: str | None,
    body: Path | None,
    filters: list[str] | None,
    sort: list[str] | None,
    since: str | None,
    until: str | None,
) -> Query | dict[str, Any]:
    from esdedup.model.encoding import parse_json
    from esdedup.model.queries import Query

    if body is not None:
        if words is not None or filters or sort or since or until:
            raise refuse(
                "--body", "the body says what to look for; leave words, filters, dates and sort out"
            )
        try:
            text = typer.get_text_stream("stdin").read() if str(body) == "-" else body.read_text()
            found: dict[str, Any] = parse_json(text)
        except (OSError, ValueError) as error:
            raise refuse("--body", f"{body}: {error}") from error
        return found
    if words is None and not filters and not since and not until:
        raise typer.BadParameter("say what to look for: words, --filter, --since or --body")
    wanted: dict[str, list[str]] = {}
    for pair in filters or []:
        for name, value in parse_assignments([pair], "--filter").items():
            wanted.setdefault(name, []).append(value)
    dates = (parse_date_option(since, "--since"), parse_date_option(until, "--until"))
    return Query(words, wanted, *dates, tuple(sort or ()))


def parse_window(text: str | None) -> timedelta | None:
    if text is None:
        return None
    found = parse_span(text)
    if not found:
        raise typer.BadParameter(f"{text!r} is no span of time; write 12h, 30d or 8w")
    return found


def read_source_ranking(file: Path | None) -> tuple[str, ...]:
    """Read sources in order of preference; each counts once."""
    from esdedup.settings.values import read_list

    return tuple(dict.fromkeys(read_list(file, "--sources"))) if file is not None else ()
