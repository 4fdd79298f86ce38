"""Printing: JSON lines for programs, and the pieces that make text for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from esdedup.features.numbers import NumberChange
    from esdedup.ingest.readers.dates import UnreadDates
    from esdedup.model import Decision, Document, Evidence

# Where the output is no terminal, nobody wraps lines for us.
_WIDTH_OF_FILES = 100
# Characters that steer a terminal have no business in the text of an article.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

STYLES = {"original": "bold", "duplicate": "cyan", "update": "yellow", "unprocessed": "red"}


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    out.on_broken_pipe = _end_of_pipe  # type: ignore[method-assign]  # of this console alone
    if not out.is_terminal and "COLUMNS" not in out._environ:
        out.width = _WIDTH_OF_FILES
    return out


def _end_of_pipe() -> None:
    """Rich would end the program here; `exits` does, the same way for every kind of output."""
    raise BrokenPipeError


def print_json(values: Iterable[Any]) -> None:
    """One object a line, flushed, so that what reads the pipe can work on it."""
    plain_ascii = "utf" not in (sys.stdout.encoding or "").lower()
    for value in values:
        sys.stdout.write(json.dumps(value, ensure_ascii=plain_ascii) + "\n")
    sys.stdout.flush()


def print_unread_dates(dates: UnreadDates, out: Console) -> None:
    """How many, with examples; nothing where all were read."""
    if not dates.count:
        return
    out.print(
        f"{count(dates.count, 'article')} had a date that cannot be read; arrival time is "
        "used instead:"
    )
    for id_, text in dates.examples.items():
        out.print(f"    {plain(id_)}: {plain(text)}", soft_wrap=True)


def plain(text: str) -> str:
    """Text of an article on one line, without anything a terminal would obey."""
    return " ".join(_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text).split())


def styled(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(plain(text), style=style)


def joined(*parts: RenderableType | str) -> Text:
    """Pieces on one line, those that are plain text taken as they are."""
    from rich.text import Text

    line = Text()
    for part in parts:
        line.append_text(part) if isinstance(part, Text) else line.append(str(part))
    return line


def table(*columns: str, title: str | None = None) -> Table:
    from rich import box
    from rich.table import Table

    out = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for column in columns:
        out.add_column(column)
    return out


def when(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment is not None else "no date"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 copy, 4 copies, 1,200 articles."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def title_of(document: Document) -> str:
    """The headline, else the first words, else where it came from."""
    words = plain(document.title) or plain(document.text[:120])
    return words or plain(str(document.extra.get("file") or document.id))


def about(document: Document) -> str:
    """Source and date of an article."""
    return f"{plain(document.source or 'no source')} · {when(document.published)}"


def evidence_text(evidence: Evidence, *, numbers: int = 2) -> str:
    """What speaks for, or against, a pair: changed numbers before everything else."""
    if evidence.reason.startswith("said "):  # by a person
        return evidence.reason
    if evidence.numbers:
        shown = "; ".join(change_text(change) for change in evidence.numbers[:numbers])
        more = len(evidence.numbers) - numbers
        return shown + (f"; {more} more" if more > 0 else "")
    keys = ", ".join(f"{n} {method} keys" for method, n in evidence.found_by.items())
    if evidence.reason == "extended":
        return f"extended: holds {evidence.of_old:.0%} of the old text"
    return keys or evidence.reason


def change_text(change: NumberChange) -> str:
    """12 -> 17 people died; large numbers with commas."""
    return plain(f"{_grouped(change.old)} -> {_grouped(change.new)} {change.context}")


def _grouped(value: str) -> str:
    whole, point, rest = value.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isascii() and whole.isdigit() else value


def decision_text(decision: Decision) -> Text:
    """The verdict as a line."""
    role = styled(decision.role, STYLES[decision.role])
    if decision.role not in ("duplicate", "update"):
        return joined(role, f": {plain(decision.reason)}" if decision.reason else "")
    first = decision.evidence[0]
    return joined(
        role, f" of {plain(first.other)} (overlap {first.overlap:.2f}; {evidence_text(first)})"
    )
