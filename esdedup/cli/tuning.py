"""`tune`: parameters from labelled sets or from your own judgement; `rethreshold` applies them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import say
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    SettingsFile,
    SetValues,
    StoreUrl,
    assignments,
    open_existing,
    settings_of,
    shown_store,
)
from esdedup.cli.output import console, count, plain, print_json, styled, table

if TYPE_CHECKING:
    from esdedup.evaluation.judging import Judged, Sampled
    from esdedup.evaluation.tuning import Tuned
    from esdedup.maintenance.rethreshold import Change
    from esdedup.stores import Store

_SHOWN = 1200  # characters of each article
_ROWS = 20  # combinations, changes


def register(app: typer.Typer) -> None:
    app.command()(tune)
    app.command()(rethreshold)


def tune(
    sets: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SET", help="Folders with clusters.csv, as for `eval`."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="A preset, or a method (sketch, …).")
    ] = "hybrid",
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=V,V",
            help="Values to try of a setting, several times; else the ranges of the papers.",
        ),
    ] = None,
    values: SetValues = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="html|text", help="What to read; html where there is."),
    ] = None,
    order: Annotated[str, typer.Option(metavar="NAME", help="As for `eval`.")] = "original-first",
    seeds: Annotated[int, typer.Option(min=1, help="Random orders of each combination.")] = 1,
    folds: Annotated[int, typer.Option(min=2, help="Parts the clusters are dealt into.")] = 5,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 is one a core.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the settings as TOML.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Instead of sets: judge pairs of this store, and see precision and recall.",
        ),
    ] = None,
    pairs: Annotated[
        Path,
        typer.Option("--pairs", metavar="FILE", help="Where judged pairs are kept (--store)."),
    ] = Path("judged-pairs.jsonl"),
    judge: Annotated[
        str, typer.Option(metavar="NAME", help="Who is judging; a second one may follow.")
    ] = "first",
    per_bin: Annotated[int, typer.Option(min=1, help="Pairs of each score bin (--store).")] = 10,
    most: Annotated[int, typer.Option(min=1, help="Articles looked at (--store).")] = 5000,
    as_json: AsJson = False,
) -> None:
    """Find parameters: by a grid over labelled sets, or by judging pairs of your own store.

    The printed figure of a grid is cross-validated by cluster, so it is not the tuned one. Run
    again after Ctrl-C, either way goes on where it was.
    """
    if store is not None:
        _judge_store(store, pairs, judge, per_bin, most, as_json=as_json)
        return
    if not sets:
        raise typer.BadParameter("name a SET, or a store of your own with --store")
    from esdedup.evaluation import ARRIVALS, SOURCES
    from esdedup.evaluation.detectors import ALIASES
    from esdedup.evaluation.tuning import grid_of, settings_file
    from esdedup.evaluation.tuning import tune as search
    from esdedup.settings import Settings

    if order not in ARRIVALS or (source is not None and source not in SOURCES):
        raise typer.BadParameter(
            f"--order is one of {', '.join(ARRIVALS)}, --from one of {', '.join(SOURCES)}"
        )
    fixed = assignments(values, "--set")
    wanted = grid_of(method, {n: v.split(",") for n, v in assignments(ranges, "--grid").items()})
    preset = ALIASES.get(method, method)
    made = [Settings.load(preset=preset, flags={**fixed, **one}) for one in wanted]
    grid = [{n: getattr(s, n) for n in one} for s, one in zip(made, wanted, strict=True)]
    tuned = search(
        sets,
        grid,
        made,
        source=SOURCES[source] if source else None,
        order=ARRIVALS[order],
        seeds=seeds,
        folds=folds,
        workers=workers,
        progress=_tell,
    )
    _print_tuned(tuned, as_json=as_json)
    if out is not None:
        notes = [
            f"esdedup tune {' '.join(folder.name for folder in sets)} --method {method}",
            f"cross-validated by cluster over {folds} folds: {_figures(tuned.cross_validated)}",
            f"on all clusters, which it was chosen on: {_figures(tuned.in_sample)}",
        ]
        out.write_text(settings_file(preset, {**fixed, **tuned.values}, notes), "utf-8")
        say(f"settings in {out}; use them with --settings {out}")


def _tell(done: int, total: int) -> None:
    if done == total or done % 10 == 0:
        say(f"{done} of {total} runs")


def _figures(score: Any) -> str:
    return f"F1 {score.f1:.4f}, precision {score.precision:.4f}, recall {score.recall:.4f}"


def _print_tuned(tuned: Tuned, *, as_json: bool) -> None:
    def figures(score: Any) -> dict[str, float]:
        return {n: round(getattr(score, n), 4) for n in ("precision", "recall", "f1")}

    if as_json:
        print_json(
            [
                {
                    "values": tuned.values,
                    "cross_validated": figures(tuned.cross_validated),
                    "in_sample": figures(tuned.in_sample),
                    "by_fold": list(tuned.by_fold),
                    "table": [{**v, **figures(s)} for v, s in tuned.table],
                }
            ]
        )
        return
    out = table(*tuned.values, "precision", "recall", "F1", title="best combinations, in sample")
    for values, score in tuned.table[:_ROWS]:
        cells = (score.precision, score.recall, score.f1)
        out.add_row(*(styled(str(v)) for v in values.values()), *(f"{c:.4f}" for c in cells))
    console().print(out)
    console().print(f"cross-validated by cluster: {_figures(tuned.cross_validated)}")


# --- your own store ----------------------------------------------------------------------------


def _judge_store(
    url: str, file: Path, judge: str, per_bin: int, most: int, *, as_json: bool
) -> None:
    from esdedup.evaluation.judging import read, sample, write

    opened = open_existing(url)
    try:
        if file.exists():
            drawn = read(file)
        else:
            drawn = sample(opened, per_bin=per_bin, most=most)
            if not drawn:
                say(f"no two articles in {shown_store(url)} share keys: there is nothing to judge")
                return
            write(file, drawn)
        _ask(opened, file, drawn, judge)
    finally:
        opened.close()
    _print_judged(read(file), as_json=as_json)


def _ask(store: Store, file: Path, drawn: list[Sampled], judge: str) -> None:
    """One pair after the other; every answer is kept at once."""
    from esdedup.evaluation.judging import write

    waiting = [i for i, pair in enumerate(drawn) if judge not in pair.judgements]
    for number, place in enumerate(waiting, start=1):
        pair = drawn[place]
        there = store.get_many([pair.old, pair.new])
        if len(there) < 2:
            continue  # deleted since the pair was drawn
        sides = table(plain(pair.old), plain(pair.new), title=f"{number} of {len(waiting)}")
        sides.expand = True
        for column in sides.columns:
            column.ratio = 1
        texts = [there[i].document for i in (pair.old, pair.new)]
        sides.add_row(*(styled(f"{d.title}. {d.text}"[:_SHOWN]) for d in texts))
        console(stderr=True).print(sides)
        answer = _answer()
        if answer == "q":
            return
        if answer in ("y", "n"):
            drawn[place] = pair.judged(judge, answer == "y")
            write(file, drawn)


def _answer() -> str:
    while True:
        said = typer.prompt(
            "Is one a copy of the other? (y)es, (n)o, (s)kip, (q)uit", default="s", err=True
        )
        if (letter := str(said).strip().lower()[:1]) in ("y", "n", "s", "q"):
            return letter


def _print_judged(drawn: Sequence[Sampled], *, as_json: bool) -> None:
    from esdedup.evaluation.judging import agreement, decided, estimate

    if not decided(drawn):
        say("nothing is judged yet")
        return
    found, kappa = estimate(drawn), agreement(drawn)
    if as_json:
        print_json([_judged_json(found, kappa)])
        return
    out = console()
    for name, e in (("precision", found.precision), ("recall", found.recall)):
        out.print(f"{name} {e.value:.3f} ({e.low:.3f} to {e.high:.3f})")
    out.print(f"{count(found.pairs, 'pair')} judged; recall is relative to candidates")
    if kappa is not None:
        out.print(f"agreement of two judges (kappa) {kappa:.3f}")
    if found.best_threshold is not None:
        out.print(f"highest F1 of these pairs from a score of {found.best_threshold:.3f} on")


def _judged_json(found: Judged, kappa: float | None) -> dict[str, Any]:
    return {
        "precision": found.precision.to_json(),
        "recall": found.recall.to_json(),
        "pairs": found.pairs,
        "kappa": None if kappa is None else round(kappa, 4),
        "best_threshold": found.best_threshold,
    }


# --- rethreshold -------------------------------------------------------------------------------


def rethreshold(
    values: SetValues = None,
    settings_file: SettingsFile = None,
    store: StoreUrl = DEFAULT_STORE,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write it; without, only tell what would change.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Decide a store anew with other thresholds, from what is stored: no text is read again.

    Settings that shape keys cannot be changed this way and are refused.
    """
    from esdedup.maintenance import rethreshold as work
    from esdedup.stores import open_store

    open_existing(store).close()
    settings = settings_of(store, file=settings_file, values=values)
    opened = open_store(store, settings, mode="write" if apply else "read")
    try:
        found = work.rethreshold(opened) if apply else work.changes(opened)
    finally:
        opened.close()
    if as_json:
        print_json(change.to_json() for change in found)
        return
    _print_changes(found, applied=apply)


def _print_changes(found: Sequence[Change], *, applied: bool) -> None:
    out = table("article", "was", "is now" if applied else "would be")
    for change in found[:_ROWS]:
        was, now = change.record.decision, change.decision
        name = change.record.document.title or now.id
        out.add_row(styled(name), *(styled(_place(d)) for d in (was, now)))
    if found:
        console().print(out)
    more = f", the first {_ROWS} above" if len(found) > _ROWS else ""
    told = "changed place" if applied else "would change place; --apply writes it"
    console().print(f"{count(len(found), 'article')}{more} {told}")


def _place(decision: Any) -> str:
    if decision.role in ("duplicate", "update") and decision.evidence:
        return f"{decision.role} of {decision.evidence[0].other} ({decision.score:.2f})"
    return str(decision.role)
