"""`words`: statistics of one's own corpus, for the methods that weigh words and phrases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    AsJson,
    FieldNames,
    SettingsFile,
    SetValues,
    assignments,
    open_existing,
)
from esdedup.cli.output import console, count, plain, print_json, table

if TYPE_CHECKING:
    from esdedup.ingest.word_counting import Progress
    from esdedup.model import Document, Failure
    from esdedup.settings import Settings
    from esdedup.text.statistics.corpus import Statistics

words = typer.Typer(
    name="words",
    help="Statistics of your own corpus: which words and phrases are common, and where.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the statistics go.")]
# Cut-offs of rare phrases that paper 002 tried, shown with the counts they come to.
_PERCENTS = (1, 5, 25, 50, 75, 95, 99)
# Failures named one by one; more are counted.
_NAMED = 5


def register(app: typer.Typer) -> None:
    for command in (build, merge, show):
        words.command()(command)
    app.add_typer(words, name="words")


def build(
    out: Out,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files, folders or globs as for `index`; - too."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="URL", help="Count the articles of this store as well."),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            min=1e-10,
            max=0.1,
            help="Phrase counts are too high by at most this share of all phrases counted "
            "(1e-6); less takes more memory.",
        ),
    ] = None,
    doubt: Annotated[
        float | None,
        typer.Option(min=1e-9, max=0.5, help="Share of the phrases that may be worse (0.02)."),
    ] = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    field: FieldNames = None,
    workers: Annotated[
        int,
        typer.Option(min=0, help="Worker processes; 0: one for each core where it pays."),
    ] = 0,
    json_: AsJson = False,
) -> None:
    """Count words and phrases in one pass over articles, and write them to a file.

    The file is written whole at the end or not at all. The same articles give the same version,
    in any order.
    """
    from esdedup.ingest.word_counting import DOUBT, ERROR
    from esdedup.settings import Settings
    from esdedup.text.statistics.countmin import Shape
    from esdedup.text.statistics.file import write

    if not paths and not store:
        raise typer.BadParameter("name files to count, or a store (--store URL)")
    _check_folder(out)
    chosen = Settings.load(file=settings, flags=assignments(set_, "--set"))
    shape = Shape.of(error or ERROR, doubt or DOUBT)
    articles = _articles(paths or [], store, assignments(field, "--field"))
    counted = _counted(articles, chosen, shape, workers)
    version = write(counted, out)
    _tell(out, counted, version, as_json=json_)


def merge(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What `build` wrote.")],
    out: Out,
    json_: AsJson = False,
) -> None:
    """Add statistics up: the same as counting all their articles at once."""
    from esdedup.text.statistics.file import read, write

    _check_folder(out)
    together = read(files[0])
    for file in files[1:]:
        together = together.merged(read(file))
    version = write(together, out)
    _tell(out, together, version, as_json=json_)


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `build` wrote.")],
    json_: AsJson = False,
) -> None:
    """Tell what is in a file of statistics, and how far its counts can be trusted."""
    from esdedup.text.statistics.file import read

    statistics = read(file)
    _tell(file, statistics, statistics.version, as_json=json_)


# --- building ----------------------------------------------------------------------------------


def _articles(
    paths: list[str], store: str | None, fields: dict[str, str]
) -> Iterator[Document | Failure]:
    from esdedup.ingest.readers import read

    given = read(paths, fields=fields)
    return chain(given, _stored(store)) if store else given


def _stored(store: str) -> Iterator[Document]:
    from esdedup.ingest.word_counting import articles_of

    opened = open_existing(store)
    try:
        yield from articles_of(opened)
    finally:
        opened.close()


def _counted(
    articles: Iterator[Document | Failure], settings: Settings, shape: Any, workers: int
) -> Statistics:
    from esdedup.cli.indexing import suited
    from esdedup.ingest.word_counting import count as count_articles
    from esdedup.ingest.workers import collect_less_often

    collect_less_often()
    failures: list[Failure] = []
    with _progress() as tell:
        try:
            if not workers:
                workers, articles = suited(articles)
            counted = count_articles(
                articles,
                settings,
                shape=shape,
                workers=workers,
                progress=tell,
                failed=failures.append,
            )
        except KeyboardInterrupt:
            say("stopped: nothing was written; run the same command again")
            raise stop(ExitCode.INTERRUPTED) from None
        finally:
            _name_failures(failures)
    return counted


def _name_failures(failures: list[Failure]) -> None:
    for failure in failures[:_NAMED]:
        say(f"{plain(failure.where)}: {plain(failure.reason)}")
    if len(failures) > _NAMED:
        say(f"{count(len(failures) - _NAMED, 'other article')} could not be read either")


@contextmanager
def _progress() -> Iterator[Any]:
    """A live line on a terminal; nothing anywhere else."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield lambda progress: None
        return
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=out, transient=True) as bar:
        task = bar.add_task("counting", total=None)

        def tell(progress: Progress) -> None:
            failed = f", {progress.failed:,} failed" if progress.failed else ""
            bar.update(task, description=f"{progress.counted:,} articles counted{failed}")

        yield tell


def _check_folder(out: Path) -> None:
    """Before an hour of counting."""
    folder = out.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or out.is_dir():
        raise typer.BadParameter(f"{out} cannot be written there", param_hint="--out")


# --- telling -----------------------------------------------------------------------------------


def described(statistics: Statistics, version: str) -> dict[str, Any]:
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


def _tell(file: Path, statistics: Statistics, version: str, *, as_json: bool) -> None:
    told = described(statistics, version)
    if as_json:
        print_json([{"file": str(file), **told}])
        return
    out = console()
    out.print(
        f"{plain(str(file))}: version {version}, {count(statistics.documents, 'article')}, "
        f"{count(told['sites'], 'site')}",
        style="bold",
        soft_wrap=True,
    )
    rows = table("language", "articles", "words", "stems")
    for column in rows.columns[1:]:
        column.justify = "right"
    for code, own in told["languages"].items():
        rows.add_row(code, f"{own['documents']:,}", f"{own['words']:,}", f"{own['stems']:,}")
    out.print(rows)
    _tell_phrases(told)


def _tell_phrases(told: dict[str, Any]) -> None:
    out = console()
    sketch, measured = told["sketch"], told["measured"]
    out.print(
        f"about {told['distinct_phrases']:,} distinct phrases of {told['phrase_words']} words, "
        f"counted in {sketch['width']:,} x {sketch['depth']} cells: too high by at most "
        f"{sketch['error']:.2g} of {sketch['phrases_counted']:,} = "
        f"{sketch['too_high_by_at_most']:,} with probability {1 - sketch['doubt']:.3f}",
        soft_wrap=True,
    )
    if measured["sampled"]:
        out.print(
            f"of {measured['sampled']:,} phrases counted exactly {measured['exact']:.1%} are right "
            f"in the sketch; mean error {measured['mean']:.2f}, 99 % of them at most "
            f"{measured['largest_of_99_percent']}",
            soft_wrap=True,
        )
    cuts = ", ".join(f"{percent} {value}" for percent, value in told["common_above"].items())
    out.print(f"common phrases, by cut-off, are in more articles than: {cuts}", soft_wrap=True)
    if measured["sampled"] and measured["mean"] > 1:
        say(
            "the sketch is too small for this corpus: its counts are wrong by more than 1 on "
            f"average; build with --error {sketch['error'] / 8:.1g}"
        )
