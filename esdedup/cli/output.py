"""Printing: JSON lines for programs, and the pieces that make text for people."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from esdedup.cli.exit_codes import remove_controls, say
from esdedup.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from esdedup.cli.screen import Screen
    from esdedup.features.numbers import NumberChange
    from esdedup.ingest.readers.dates import UnreadDates
    from esdedup.model import Decision, Document, Evidence, Failure
    from esdedup.model.results import StoryOrigin
    from esdedup.stories.revisions import ArticleRevision

STYLES = {"original": "bold", "duplicate": "cyan", "update": "yellow", "unprocessed": "red"}


def console(*, stderr: bool = False) -> Screen:
    from esdedup.cli.screen import Screen

    return Screen(stderr=stderr)


T = TypeVar("T")


def print_result(result: T, print_text: Callable[[Screen, T], None], *, as_json: bool) -> None:
    """Print what a command found: text for people, or JSON, a line for each result of a list."""
    if as_json:
        print_json(result if isinstance(result, list | tuple) else [result])
    else:
        print_text(console(), result)


def print_document(value: Any) -> None:
    """Print JSON over several lines, for a file or a request."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_json(values: Iterable[Any]) -> None:
    """Print each result or object on a line; each call is flushed for programs that read a pipe."""
    from esdedup.model.json_form import encode

    plain_ascii = "utf" not in (sys.stdout.encoding or "").lower()
    for value in values:
        sys.stdout.write(json.dumps(encode(value), ensure_ascii=plain_ascii) + "\n")
    sys.stdout.flush()


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
    say(f"written to {file}")


def say_failure(failure: Failure) -> None:
    """Name an article that could not be used, with the reason."""
    say(f"{failure.where}: {failure.reason}")


def print_unread_dates(dates: UnreadDates, out: Screen) -> None:
    """Print how many dates could not be read, with examples; nothing if all could."""
    if not dates.count:
        return
    out.print(
        f"{count(dates.count, 'article')} had a date that cannot be read; arrival time is "
        "used instead:"
    )
    for id_, text in dates.examples.items():
        out.print_line(f"    {id_}: {text}")


def plain(text: str) -> str:
    """Put text of an article on one line, without control characters."""
    return " ".join(remove_controls(text).split())


def paint(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(plain(text), style=style)


def join(*parts: Text | str) -> Text:
    """Join pieces of text; a plain string has no style."""
    from rich.text import Text

    return Text.assemble(*parts)


def table(*columns: str, title: str | None = None, numbers_from: int | None = None) -> Table:
    """A table; columns from `numbers_from` on are set to the right."""
    from rich import box
    from rich.table import Table

    out = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for place, column in enumerate(columns):
        is_number = numbers_from is not None and place >= numbers_from
        out.add_column(column, justify="right" if is_number else "left")
    return out


def side_by_side(left: tuple[str, str], right: tuple[str, str], title: str) -> Table:
    """Two texts, each under its heading."""
    out: Table = table(left[0], right[0], title=title)
    out.expand = True
    for column in out.columns:
        column.ratio = 1
    out.add_row(paint(left[1]), paint(right[1]))
    return out


def shorten(text: str, words: int, between: str = "…") -> str:
    """Put text on one line, and of a long text only so many words at each end. `{hidden}` in
    `between` becomes the number of words left out."""
    found = plain(text).split()
    hidden = len(found) - 2 * words
    if hidden <= words:
        return " ".join(found)
    return " ".join([*found[:words], between.format(hidden=hidden), *found[-words:]])


class LiveLine:
    """The line of a running command: a text and, where the total is known, a bar with the rate and
    the remaining time. It is drawn ten times a second on a terminal, and nowhere else."""

    def __init__(self) -> None:
        self.text: str | Callable[[], str] = ""
        self._done, self._total = 0, 0
        self._first: tuple[float, int] | None = None  # when, and how many were done by then

    def update(self, text: str, done: int = 0, total: int = 0) -> None:
        self.text, self._done, self._total = text, done, total
        self._first = self._first or (time.monotonic(), done)

    def __rich__(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        text = self.text if isinstance(self.text, str) else self.text()
        if not self._total or self._first is None:
            return text
        seconds = max(time.monotonic() - self._first[0], 1e-6)
        rate = (self._done - self._first[1]) / seconds
        left = f", left: {(self._total - self._done) / rate:,.0f} s" if rate else ""
        row = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=self._total, completed=self._done, width=40)
        row.add_row(bar, f"{self._done:,}/{self._total:,} {text} ({rate:,.0f}/s{left})")
        return row


@contextmanager
def live_line(*, quiet: bool = False) -> Iterator[LiveLine]:
    line, out = LiveLine(), console(stderr=True)
    if quiet or not out.is_terminal:
        yield line
        return
    from rich.progress import Progress, RenderableColumn, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), RenderableColumn(line), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        progress.add_task("", total=None)
        yield line


def date_text(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment is not None else "no date"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 copy, 4 copies, 1,200 articles."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def title_of(document: Document) -> str:
    """The headline, else the first words, else where it came from."""
    words = plain(document.title) or plain(document.text[:120])
    return words or plain(str(document.extra.get("file") or document.id))


def byline(document: Document) -> str:
    """Source and date of an article."""
    return f"{plain(document.source or 'no source')} · {date_text(document.published)}"


def origin_text(origin: StoryOrigin) -> str:
    """first: Wire · agency: AP · 3 independent reports"""
    first = origin.origin.source or origin.origin.id
    agency = f" · agency: {plain(origin.agency)}" if origin.agency else ""
    return f"first: {plain(first)}{agency} · {count(origin.independent, 'independent report')}"


def evidence_text(evidence: Evidence, *, numbers: int = 2) -> str:
    """The evidence for or against a pair in a few words: changed numbers first, else keys."""
    if evidence.reason.startswith("said "):  # a constraint, set by a person
        return evidence.reason
    if evidence.numbers:
        shown = "; ".join(change_text(change) for change in evidence.numbers[:numbers])
        more = len(evidence.numbers) - numbers
        return shown + (f"; {more} more" if more > 0 else "")
    keys = ", ".join(f"{n} {method} keys" for method, n in evidence.found_by.items())
    if evidence.reason == "boilerplate":
        return f"boilerplate: {evidence.of_new:.0%} of the text, which its headline is not about"
    if evidence.reason == "extended":
        return f"extended: holds {evidence.of_old:.0%} of the old text"
    return keys or evidence.reason


def change_text(change: NumberChange) -> str:
    """12 -> 17: at least 17 people died; large numbers with commas."""

    def group_digits(value: str) -> str:
        whole, point, rest = value.partition(".")
        return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() else value

    old, new = group_digits(change.old), group_digits(change.new)
    return plain(str(change._replace(old=old, new=new)))


def revision_text(one: ArticleRevision) -> Text:
    """A revision on one line: when, of which article, how much, and the counts that changed."""
    revision = one.revision
    changes = "; ".join(map(change_text, revision.numbers))
    return join(
        paint(f"revised {date_text(revision.at)} ({revision.degree})", STYLES["update"]),
        f"  {changes}" if changes else "",
        f"  {plain(one.id)}",
    )


def decision_text(decision: Decision) -> Text:
    """The decision on one line: role, original and evidence."""
    role = paint(decision.role, STYLES[decision.role])
    if decision.role not in ("duplicate", "update"):
        return join(role, f": {plain(decision.reason)}" if decision.reason else "")
    first = decision.evidence[0]
    evidence = f"overlap {first.overlap:.2f}; {evidence_text(first)}"
    return join(role, f" of {plain(first.other)} ({evidence})")
