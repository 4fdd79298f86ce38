"""Commands about passages: copies, links."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from esdedup.cli.daemons import parse_date_option
from esdedup.cli.exit_codes import ExitCode, refuse, say, stop
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
    open_existing,
    parse_assignments,
    read_text_lines,
)
from esdedup.cli.output import (
    byline,
    count,
    date_text,
    join,
    paint,
    plain,
    print_json,
    print_result,
    say_failure,
    shorten,
    title_of,
)

if TYPE_CHECKING:
    from esdedup.alerts.protected_texts import ReuseWatch
    from esdedup.cli.screen import Screen
    from esdedup.settings import Settings
    from esdedup.stories.text_reuse import Copy, Edge, TextReuse

# Ids of short texts that are named; a large set may have many.
_NAMED = 5
# Words shown at each end of a passage.
_SHOWN = 8
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
    path: str | None = Argument(
        None,
        metavar="[FILE]",
        help="A file as for `index`: a text, a page, NDJSON, …; with --watch, or a folder, "
        "what is protected.",
    ),
    store: Archive = DEFAULT_STORE,
    watch: bool = Option(
        False, "--watch", help="Report newly indexed articles that contain protected ones."
    ),
    once: Once = False,
    every: Every = 10.0,
    ids: Path | None = Option(
        None, metavar="FILE", help="Protected articles of the store: an id a line."
    ),
    where: list[str] | None = Option(
        None,
        metavar="FIELD=VALUE",
        help="Articles of the store with this value are protected (protected=true).",
    ),
    least: float = Option(0.2, min=0, max=1, help="Smallest share of a protected text to report."),
    poster: list[str] | None = Option(
        None, metavar="FIELD", help="Field with the publisher of an article."
    ),
    author: list[str] | None = Option(
        None, metavar="FIELD", help="Field with the author of a protected text."
    ),
    checkpoint: CheckpointFile = Path("esdedup-watch.db"),
    output: OutputFile = None,
    since: str | None = Option(
        None, metavar="SPAN|DATE", help="Start of the first poll; default: now. Example: 7d."
    ),
    field: FieldNames = None,
    json_: AsJson = False,
) -> None:
    """Find text reuse: which stored articles share passages with a text, and where.

    With --watch the other way round: FILE, --ids and --where say what is protected, and every
    newly indexed article that contains some of it becomes a line of JSON, addressed to whoever
    posted the one and wrote the other. Each pair is reported once, also after a restart.
    """
    fields = parse_assignments(field, "--field")
    if not (watch or once):
        if path is None:
            raise refuse("FILE", "name a file to check, or say --watch")
        _check_file(path, store, fields, as_json=json_)
        return
    from esdedup.alerts.protected_texts import (
        AUTHOR_FIELDS,
        POSTER_FIELDS,
        Protection,
        ReuseWatch,
    )

    stored = filter(None, map(str.strip, read_text_lines(ids))) if ids else ()
    protection = Protection(
        ids=frozenset(stored),
        where=parse_assignments(where, "--where"),
        poster=poster or POSTER_FIELDS,
        author=author or AUTHOR_FIELDS,
        least=least,
    )
    if path is None and not protection.in_store:
        raise refuse(
            "--watch", "say what is protected: a file or folder, --ids FILE or --where FIELD=VALUE"
        )
    start = parse_date_option(since, "--since")
    with open_watch_files(checkpoint, hide_credentials(store), output) as (recorded, sink):
        is_new = recorded.since is None
        with ReuseWatch(protection, recorded, sink, start=start) as running:
            if path is not None:
                _read_protected(running, path, fields)
            if is_new:
                say(f"looking at articles indexed since {date_text(running.since)} (--since)")
            run_watch(running, store, None if once else every)


def _check_file(path: str, store: str, fields: dict[str, str], *, as_json: bool) -> None:
    from esdedup.ingest.readers import read
    from esdedup.model import Failure
    from esdedup.stories.text_reuse import find_text_reuse as found_in

    found = failed = False
    with open_existing(store) as opened:
        _say_without_passages(opened.settings, store)
        for item in read([path], fields=fields):
            checked = item if isinstance(item, Failure) else found_in(item, opened)
            if isinstance(checked, Failure):
                failed = True
                say_failure(checked)
                continue
            found |= bool(checked.copies)
            _say_short(checked, opened.settings)
            print_result(checked, _print, as_json=as_json)
    if failed:
        raise stop(ExitCode.QUARANTINED)
    if not found:
        raise stop(ExitCode.FOUND)


def links(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """List which articles share passages: from the later one to the earlier one."""
    from esdedup.stories.text_reuse import find_links as all_links

    found = False
    with open_existing(store) as opened:
        _say_without_passages(opened.settings, store)
        for edge in all_links(opened):
            found = True
            print_json([edge]) if json_ else typer.echo(_edge_text(edge))
    if not found:
        raise stop(ExitCode.FOUND)


def _say_without_passages(settings: Settings, store: str) -> None:
    from esdedup.stories.text_reuse import passage_methods

    if not passage_methods(settings):
        say(
            f"{hide_credentials(store)} has no keys of passages: only articles that are alike as "
            "wholes are found, no short one inside a long one; `esdedup backfill --only winnowing` "
            "adds them"
        )


def _say_short(checked: TextReuse, settings: Settings) -> None:
    """Of a store whose only keys of passages are windows of sentences."""
    from esdedup.stories.text_reuse import passage_methods

    least = settings.window_sentences
    if passage_methods(settings) == ["lengths"] and checked.sentences < least:
        say(
            f"{checked.document.id} has {count(checked.sentences, 'sentence')}, fewer than "
            f"{least}: no windows, so only articles alike as wholes are found"
        )


def _print(out: Screen, checked: TextReuse) -> None:
    out.print(paint(title_of(checked.document), "bold"))
    for copy in checked.copies:
        out.print()
        _print_copy(out, checked, copy)
    words = sum(copy.shared.words for copy in checked.copies)
    out.print()
    out.print(f"{count(len(checked.copies), 'article')} with {count(words, 'shared word')}")


def _print_copy(out: Screen, checked: TextReuse, copy: Copy) -> None:
    shared = copy.shared
    out.print(join("  ", paint(title_of(copy.document), "bold")))
    out.print_line("  ", byline(copy.document), " · ", copy.document.id)
    out.print(
        f"  {count(shared.words, 'word')}: {shared.of_here:.0%} of this text, "
        f"{shared.of_there:.0%} of that one"
    )
    for passage in shared.passages:
        (start, end), (there, _) = passage.here, passage.there
        text = shorten(checked.document.text[start:end], _SHOWN)
        place = f"    at {start:,} (there {there:,}), {count(passage.words, 'word')}: "
        out.print_line(place, paint(text, "dim"))


def _edge_text(edge: Edge) -> str:
    both = edge.shared
    return (
        f"{plain(edge.source)} -> {plain(edge.target)}: {count(both.words, 'word')}, "
        f"{both.of_here:.0%} of the first, {both.of_there:.0%} of the second"
    )


def _read_protected(watch: ReuseWatch, path: str, fields: Mapping[str, str]) -> None:
    """Protect the texts of files; those that cannot be used are named."""
    from esdedup.alerts.protected_texts import FINDABLE_WORDS
    from esdedup.ingest.readers import read
    from esdedup.model import Failure

    short = []
    for item in watch.protected.add(read([path], fields=fields)):
        if isinstance(item, Failure):
            say_failure(item)
        else:
            short.append(item)
    if short:
        named = ", ".join(short[:_NAMED]) + (", …" if len(short) > _NAMED else "")
        say(
            f"{count(len(short), 'protected text')} of fewer than {FINDABLE_WORDS} words: found "
            f"only where an article is alike as a whole ({named})"
        )
    if not len(watch.protected) and not watch.protection.in_store:
        raise stop(ExitCode.QUARANTINED, f"{path}: there is nothing to protect")
