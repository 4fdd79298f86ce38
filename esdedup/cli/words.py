"""`words`: statistics of one's own corpus, for the methods that weigh words and phrases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from esdedup.cli.exit_codes import refuse, say, say_when_interrupted
from esdedup.cli.options import (
    AsJson,
    FieldNames,
    SettingsFile,
    SetValues,
    load_settings,
    open_existing,
    parse_assignments,
)
from esdedup.cli.output import console, count, live_line, plain, print_json, say_failure, table

if TYPE_CHECKING:
    from esdedup.ingest.word_counting import CountingProgress
    from esdedup.model import Document, Failure
    from esdedup.settings import Settings
    from esdedup.text.statistics.corpus import Statistics

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the statistics go.")]
# Cut-offs of rare phrases that paper 002 tried, shown with the counts they come to.
_PERCENTS = (1, 5, 25, 50, 75, 95, 99)
# Failures named one by one; more are counted.
_NAMED = 5


def build(
    out: Out,
    paths: list[str] | None = Argument(
        None, metavar="[PATH]...", help="Files, folders or globs as for `index`; - too."
    ),
    store: str | None = Option(
        None, metavar="URL", help="Count the articles of this store as well."
    ),
    error: float | None = Option(
        None,
        min=1e-10,
        max=0.1,
        help="Phrase counts are too high by at most this share of all phrases counted "
        "(1e-6); less takes more memory.",
    ),
    doubt: float | None = Option(
        None, min=1e-9, max=0.5, help="Share of the phrases that may be worse (0.02)."
    ),
    settings: SettingsFile = None,
    set_: SetValues = None,
    field: FieldNames = None,
    workers: int = Option(0, min=0, help="Worker processes; 0: one for each core where it pays."),
    json_: AsJson = False,
) -> None:
    """Count words and phrases in one pass over articles, and write them to a file.

    The file is written whole at the end or not at all. The same articles give the same version,
    in any order.
    """
    from esdedup.ingest.word_counting import DOUBT, ERROR
    from esdedup.text.statistics.countmin import Shape
    from esdedup.text.statistics.file import write

    if not paths and not store:
        raise typer.BadParameter("name files to count, or a store (--store URL)")
    _check_folder(out)
    chosen = load_settings(None, file=settings, values=set_)
    shape = Shape.of(error or ERROR, doubt or DOUBT)
    articles = _read_articles(paths or [], store, parse_assignments(field, "--field"))
    counted = _count_articles(articles, chosen, shape, workers)
    version = write(counted, out)
    _show_statistics(out, counted, version, as_json=json_)


def merge(
    out: Out,
    files: list[Path] = Argument(..., metavar="FILE...", help="What `build` wrote."),
    json_: AsJson = False,
) -> None:
    """Add statistics up: the same as counting all their articles at once."""
    from esdedup.text.statistics.file import read, write

    _check_folder(out)
    together = read(files[0])
    for file in files[1:]:
        together = together.merge(read(file))
    version = write(together, out)
    _show_statistics(out, together, version, as_json=json_)


def show(
    file: Path = Argument(..., metavar="FILE", help="What `build` wrote."),
    json_: AsJson = False,
) -> None:
    """Show what is in a statistics file, and the error of its counts."""
    from esdedup.text.statistics.file import read

    statistics = read(file)
    _show_statistics(file, statistics, statistics.version, as_json=json_)


# --- building ----------------------------------------------------------------------------------


def _read_articles(
    paths: list[str], store: str | None, fields: dict[str, str]
) -> Iterator[Document | Failure]:
    from esdedup.ingest.readers import read
    from esdedup.ingest.word_counting import read_articles

    yield from read(paths, fields=fields)
    if store:
        with open_existing(store) as opened:
            yield from read_articles(opened)


def _count_articles(
    articles: Iterator[Document | Failure], settings: Settings, shape: Any, workers: int
) -> Statistics:
    from esdedup.cli.indexing import choose_workers
    from esdedup.ingest.word_counting import count as count_articles
    from esdedup.ingest.workers import collect_less_often

    collect_less_often()
    failures: list[Failure] = []
    interrupted = "stopped: nothing was written; run the same command again"
    with live_line() as line, say_when_interrupted(lambda: interrupted):

        def show_progress(progress: CountingProgress) -> None:
            failed = f", {progress.failed:,} failed" if progress.failed else ""
            line.update(f"{progress.counted:,} articles counted{failed}")

        if not workers:
            workers, articles = choose_workers(articles)
        try:
            return count_articles(
                articles,
                settings,
                shape=shape,
                workers=workers,
                progress=show_progress,
                failed=failures.append,
            )
        finally:
            for failure in failures[:_NAMED]:
                say_failure(failure)
            if len(failures) > _NAMED:
                more = count(len(failures) - _NAMED, "other article")
                say(f"{more} could not be read either")


def _check_folder(out: Path) -> None:
    """Before an hour of counting."""
    folder = out.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or out.is_dir():
        raise refuse("--out", f"{out} cannot be written there")


# --- printing ----------------------------------------------------------------------------------


def describe(statistics: Statistics, version: str) -> dict[str, Any]:
    """What a file holds, in one object."""
    shape = statistics.shape
    return {
        "version": version,
        "documents": statistics.documents,
        "phrase_words": statistics.phrase_words,
        "languages": {
            code or "unknown": {
                "documents": counts.documents,
                "words": counts.words,
                "stems": len(counts.stems.keys),
            }
            for code, counts in statistics.languages.items()
        },
        "sites": len(statistics.sites),
        "distinct_phrases": round(statistics.sample.distinct()),
        "sketch": {
            "width": shape.width,
            "depth": shape.depth,
            "error": shape.error,
            "doubt": shape.doubt,
            "phrases_counted": statistics.phrases_counted,
            "too_high_by_at_most": round(shape.error * statistics.phrases_counted, 1),
        },
        "measured": statistics.errors(),
        "common_above": {f"{percent}%": statistics.common_above(percent) for percent in _PERCENTS},
    }


def _show_statistics(file: Path, statistics: Statistics, version: str, *, as_json: bool) -> None:
    facts = describe(statistics, version)
    if as_json:
        print_json([{"file": str(file), **facts}])
        return
    out = console()
    out.print_line(
        f"{plain(str(file))}: version {version}, {count(statistics.documents, 'article')}, "
        f"{count(facts['sites'], 'site')}",
        style="bold",
    )
    rows = table("language", "articles", "words", "stems", numbers_from=1)
    for code, own in facts["languages"].items():
        rows.add_row(code, f"{own['documents']:,}", f"{own['words']:,}", f"{own['stems']:,}")
    out.print(rows)
    _print_phrases(facts)


def _print_phrases(facts: dict[str, Any]) -> None:
    out = console()
    sketch, measured = facts["sketch"], facts["measured"]
    out.print_line(
        f"about {facts['distinct_phrases']:,} distinct phrases of {facts['phrase_words']} words, "
        f"counted in {sketch['width']:,} x {sketch['depth']} cells: too high by at most "
        f"{sketch['error']:.2g} of {sketch['phrases_counted']:,} = "
        f"{sketch['too_high_by_at_most']:,} with probability {1 - sketch['doubt']:.3f}"
    )
    if measured["sampled"]:
        out.print_line(
            f"of {measured['sampled']:,} phrases counted exactly {measured['exact']:.1%} are right "
            f"in the sketch; mean error {measured['mean']:.2f}, 99 % of them at most "
            f"{measured['largest_of_99_percent']}"
        )
    cuts = ", ".join(f"{percent} {value}" for percent, value in facts["common_above"].items())
    out.print_line(f"common phrases, by cut-off, are in more articles than: {cuts}")
    if measured["sampled"] and measured["mean"] > 1:
        say(
            "the sketch is too small for this corpus: its counts are wrong by more than 1 on "
            f"average; build with --error {sketch['error'] / 8:.1g}"
        )


app = typer.Typer(
    name="words",
    help="Statistics of your own corpus: which words and phrases are common, and where.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for verb in (build, merge, show):
    app.command()(verb)
