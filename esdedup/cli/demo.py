"""The command a newcomer runs first: demo."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING

from typer import Option

from esdedup.cli.indexing import Tally, print_failures
from esdedup.cli.output import (
    STYLES,
    console,
    count,
    evidence_text,
    join,
    paint,
    table,
    title_of,
)
from esdedup.cli.searching import print_hits

if TYPE_CHECKING:
    from rich.table import Table

    from esdedup.cli.screen import Screen
    from esdedup.stores import Record, Store

QUERY = "ferry"
# Shares of the width; made for 100 columns.
_COLUMNS = {"story": 36, "source": 19, "overlap": 0, "evidence": 30}


def demo(
    query: str = Option(QUERY, help="What to search for at the end."),
) -> None:
    """Index the sample pages and show their stories.

    The store is temporary: nothing is left behind.
    """
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.ingest.readers import read
    from esdedup.sample import pages
    from esdedup.search.searcher import Searcher

    out = console()
    folder = pages()
    tally = Tally()
    with (
        tempfile.TemporaryDirectory(prefix="esdedup-demo-") as temporary,
        Deduplicator.open(f"sqlite:///{temporary}/demo.db") as deduplicator,
    ):
        ids = []
        for outcome in deduplicator.add_many(read([str(folder)]), workers=os.cpu_count() or 1):
            tally.add([outcome])
            ids.append(outcome.decision.id)
        _print_stories(out, deduplicator.store, ids)
        failures = deduplicator.store.quarantine.entries()
        out.print(f"\n{count(len(failures), 'page')} in the quarantine:", style="bold")
        print_failures(out, failures)
        out.print(f"\n$ esdedup search {query}", style="bold")
        result = Searcher(deduplicator.store).search(query, size=5)
        print_hits(out, result, [()] * len(result.hits), fold="group")
    out.print(f"\n{count(tally.read, 'page')} in {tally.seconds:.1f} s. Try next:", style="bold")
    # `make demo` installs the command in a folder that is not in PATH.
    command = "esdedup" if shutil.which("esdedup") else sys.argv[0]
    for line in (f"index {folder}", f"search {query} --expand", "explain ID  (one of the search)"):
        out.print_line(f"  {command} {line}")


def _print_stories(out: Screen, store: Store, ids: Iterable[str]) -> None:
    records = store.documents.get(ids).values()
    stories: dict[str, list[Record]] = {}
    for record in sorted(records, key=lambda r: r.order):
        if record.decision.role != "unprocessed":
            stories.setdefault(record.decision.story, []).append(record)
    articles = sum(map(len, stories.values()))
    title = f"{count(articles, 'page')}, {count(len(stories), 'story', 'stories')}"
    rows = table(*_COLUMNS, title=title)
    for column, share in zip(rows.columns, _COLUMNS.values(), strict=True):
        column.ratio, column.no_wrap, column.overflow = share or None, True, "ellipsis"
    rows.columns[2].justify, rows.columns[2].width = "right", 7
    rows.expand = True
    for story in stories.values():
        # The original and its copies, then each update and the copies of it.
        for leader in (r.document.id for r in story if r.decision.link.canonical):
            for record in story:
                if record.decision.group == leader:
                    _add_article(rows, record)
        rows.add_section()
    out.print(rows)
    out.print("= copy of the article above it   ^ update: new information, a group of its own")


def _add_article(rows: Table, record: Record) -> None:
    document, decision = record.document, record.decision
    mark = {"duplicate": "  = ", "update": "^ "}.get(decision.role, "")
    first = decision.evidence[0] if decision.link.parent else None
    style = STYLES[decision.role]
    rows.add_row(
        join(mark, paint(title_of(document), style)),
        document.source or "",
        f"{first.overlap:.2f}" if first else "",
        evidence_text(first, numbers=1) if first else "original",
    )
