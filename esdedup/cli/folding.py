"""The command that folds any list: fold."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import typer
from typer import Argument, Option

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import AsJson, Strict, open_existing
from esdedup.cli.output import count, print_json
from esdedup.cli.search_options import By, SourcesFile, Window, parse_window, read_source_ranking

KeepRule = Literal["first", "earliest", "source", "longest"]


def fold(
    file: Path | None = Argument(
        None, metavar="[FILE]", help="The list: NDJSON, a JSON array, or a search response."
    ),
    keep: KeepRule = Option("first", help="Which item of a story stays."),
    sources: SourcesFile = None,
    by: By = Option("group", help="Fold copies only (group), or updates too (story)."),
    known: str | None = Option(
        None, metavar="URL", help="A store to look the items up in, by id, URL or text."
    ),
    window: Window = None,
    folded: bool = Option(
        False, "--folded", help="Print the folded items instead, with the item and the rule."
    ),
    stream: bool = Option(False, "--stream", help="Decide and print item by item."),
    json_: AsJson = False,
    quiet: bool = Option(False, "--quiet", help="No summary."),
    strict: Strict = False,
) -> None:
    """Fold any list of results; items that are kept are printed unchanged, in order.

    Items need no id; text, a snippet, or only title and url are enough. With --json each kept
    item comes with what was folded into it, and why.
    """
    from esdedup.search.fold import KeptItem, fold_stream
    from esdedup.search.fold import fold as fold_list

    if stream and (keep != "first" or json_):
        raise typer.BadParameter("a stream keeps the first of a story; leave --keep and --json out")
    reading = _Reading(file)
    options: dict[str, Any] = {"by": by, "window": parse_window(window)}
    notes: Sequence[str] = ()
    with open_existing(known) if known is not None else nullcontext() as store:
        if stream:
            kept = gone = 0
            for one in fold_stream(reading.items(), store=store, **options):
                is_kept = isinstance(one, KeptItem)
                kept, gone = kept + is_kept, gone + (not is_kept)
                if is_kept != folded:
                    print_json([one.item if is_kept else one])
        else:
            result = fold_list(
                reading.items(),
                keep=keep,
                sources=read_source_ranking(sources),
                store=store,
                **options,
            )
            kept, gone, notes = len(result.kept), len(result.folded), result.notes
            items = result.kept if json_ else [one.item for one in result.kept]
            print_json(result.folded if folded else items)
    for note in notes:
        say(note)
    if not quiet:
        say(f"{count(kept + gone, 'item')}, {kept:,} kept, {gone:,} folded")
    if strict and reading.failures:
        raise stop(ExitCode.QUARANTINED)


class _Reading:
    """The items of a file or pipe; a line that is no JSON is named and left out."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.failures = 0

    def items(self) -> Iterator[Any]:
        from esdedup.errors import InputError

        if self._file is None or str(self._file) == "-":
            yield from self._read(sys.stdin)
            return
        try:
            with self._file.open(encoding="utf-8", errors="replace") as lines:
                yield from self._read(lines)
        except OSError as error:
            raise InputError(f"{self._file}: {error.strerror}; name a file with a list") from error

    def _read(self, lines: Any) -> Iterator[Any]:
        from esdedup.model.encoding import parse_json
        from esdedup.search.fold import read_list

        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = parse_json(line)
            except ValueError as error:
                if number == 1 and line.lstrip()[:1] in ("[", "{"):  # over several lines
                    yield from read_list(self._parse_whole(line + lines.read()))
                    return
                self.failures += 1
                say(f"line {number} is no JSON ({error}); it is left out")
                continue
            hits = value.get("hits") if isinstance(value, dict) else None
            if number == 1 and (isinstance(value, list) or isinstance(hits, dict | list)):
                yield from read_list(value)
            else:
                yield value

    def _parse_whole(self, text: str) -> Any:
        from esdedup.errors import InputError
        from esdedup.model.encoding import parse_json

        try:
            return parse_json(text)
        except ValueError as error:
            raise InputError(
                f"{self._file or 'the input'} is no JSON ({error}); give one object a line, or "
                "an array"
            ) from error
