"""`tune`: parameters from labelled sets or from your own judgement; `rethreshold` applies them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from esdedup.cli.exit_codes import say
from esdedup.cli.options import (
    DEFAULT_STORE,
    Arrivals,
    AsJson,
    SetSource,
    SettingsFile,
    SetValues,
    StoreUrl,
    check_store_exists,
    hide_credentials,
    load_settings,
    open_existing,
    parse_assignments,
)
from esdedup.cli.output import (
    console,
    count,
    paint,
    print_result,
    side_by_side,
    table,
    write_file,
)

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.evaluation.judging import Judged, Sampled
    from esdedup.evaluation.tuning import Tuned
    from esdedup.maintenance.rethreshold import Change
    from esdedup.stores import Store

_CHARACTERS = 1200  # characters of each article
_ROWS = 20  # combinations, changes


def tune(
    sets: list[Path] | None = Argument(
        None, metavar="SET", help="Folders with clusters.csv, as for `eval`."
    ),
    method: str = Option("hybrid", metavar="NAME", help="A preset, or a method (sketch, …)."),
    ranges: list[str] | None = Option(
        None,
        "--grid",
        metavar="NAME=V,V",
        help="Values to try of a setting, several times; else the ranges of the papers.",
    ),
    values: SetValues = None,
    source: SetSource = None,
    order: Arrivals = Option("original-first", metavar="NAME", help="As for `eval`."),
    seeds: int = Option(1, min=1, help="Random orders of each combination."),
    folds: int = Option(5, min=2, help="Number of folds for cross-validation."),
    workers: int = Option(0, min=0, help="Processes; 0 is one a core."),
    out: Path | None = Option(None, metavar="FILE", help="Write the settings as TOML."),
    store: str | None = Option(
        None,
        metavar="URL",
        help="Instead of sets: judge pairs of this store, and see precision and recall.",
    ),
    pairs: Path = Option(
        Path("judged-pairs.jsonl"), metavar="FILE", help="File of judged pairs (--store)."
    ),
    judge: str = Option("first", metavar="NAME", help="Who is judging; a second one may follow."),
    per_bin: int = Option(10, min=1, help="Pairs of each score bin (--store)."),
    most: int = Option(5000, min=1, help="Articles looked at (--store)."),
    as_json: AsJson = False,
) -> None:
    """Find parameters: by a grid over labelled sets, or by judging pairs of your own store.

    The printed figure of a grid is cross-validated by cluster, so it is not the tuned one.
    After Ctrl-C run it again: it continues.
    """
    if store is not None:
        _judge_store(store, pairs, judge, per_bin, most, as_json=as_json)
        return
    if not sets:
        raise typer.BadParameter("name a SET, or a store of your own with --store")
    from esdedup.evaluation.detectors import ALIASES
    from esdedup.evaluation.tuning import grid_of, settings_file
    from esdedup.evaluation.tuning import tune as search
    from esdedup.settings import Settings

    fixed = parse_assignments(values, "--set")
    given = {name: v.split(",") for name, v in parse_assignments(ranges, "--grid").items()}
    wanted = grid_of(method, given)
    preset = ALIASES.get(method, method)
    made = [Settings.load(preset=preset, flags={**fixed, **one}) for one in wanted]
    grid = [{n: getattr(s, n) for n in one} for s, one in zip(made, wanted, strict=True)]
    tuned = search(
        sets,
        grid,
        made,
        source=source,
        order=order,
        seeds=seeds,
        folds=folds,
        workers=workers,
        progress=_say_progress,
    )
    print_result(tuned, _print_tuned, as_json=as_json)
    if out is not None:
        notes = [
            f"esdedup tune {' '.join(folder.name for folder in sets)} --method {method}",
            f"cross-validated by cluster over {folds} folds: {_figures(tuned.cross_validated)}",
            f"on all clusters, which it was chosen on: {_figures(tuned.in_sample)}",
        ]
        write_file(out, settings_file(preset, {**fixed, **tuned.values}, notes))
        say(f"use these settings with --settings {out}")


def _say_progress(done: int, total: int) -> None:
    if done == total or done % 10 == 0:
        say(f"{done} of {total} runs")


def _figures(score: Any) -> str:
    return f"F1 {score.f1:.4f}, precision {score.precision:.4f}, recall {score.recall:.4f}"


def _print_tuned(out: Screen, tuned: Tuned) -> None:
    rows = table(*tuned.values, "precision", "recall", "F1", title="best combinations, in sample")
    for values, score in tuned.table[:_ROWS]:
        cells = (score.precision, score.recall, score.f1)
        rows.add_row(*(paint(str(v)) for v in values.values()), *(f"{c:.4f}" for c in cells))
    out.print(rows)
    out.print(f"cross-validated by cluster: {_figures(tuned.cross_validated)}")


# --- your own store ----------------------------------------------------------------------------


def _judge_store(
    url: str, file: Path, judge: str, per_bin: int, most: int, *, as_json: bool
) -> None:
    from esdedup.evaluation.judging import agreed_pairs, estimate, read, sample, write

    with open_existing(url) as opened:
        if file.exists():
            drawn = read(file)
        else:
            drawn = sample(opened, per_bin=per_bin, most=most)
            if not drawn:
                say(f"no two articles in {hide_credentials(url)} share keys: nothing to judge")
                return
            write(file, drawn)
        _ask(opened, file, drawn, judge)
    judged = read(file)
    if not agreed_pairs(judged):
        say("nothing is judged yet")
        return
    print_result(estimate(judged), _print_judged, as_json=as_json)


def _ask(store: Store, file: Path, drawn: list[Sampled], judge: str) -> None:
    """Ask about one pair after the other; every answer is written at once."""
    from esdedup.evaluation.judging import write

    waiting = [i for i, pair in enumerate(drawn) if judge not in pair.judgements]
    for number, place in enumerate(waiting, start=1):
        pair = drawn[place]
        there = store.documents.get([pair.old, pair.new])
        if len(there) < 2:
            continue  # deleted since the pair was drawn
        documents = (there[pair.old].document, there[pair.new].document)
        old, new = ((d.id, f"{d.title}. {d.text}"[:_CHARACTERS]) for d in documents)
        console(stderr=True).print(side_by_side(old, new, f"{number} of {len(waiting)}"))
        answer = _ask_one()
        if answer == "q":
            return
        if answer in ("y", "n"):
            drawn[place] = pair.with_judgement(judge, answer == "y")
            write(file, drawn)


def _ask_one() -> str:
    while True:
        answer = typer.prompt(
            "Is one a copy of the other? (y)es, (n)o, (s)kip, (q)uit", default="s", err=True
        )
        if (letter := str(answer).strip().lower()[:1]) in ("y", "n", "s", "q"):
            return letter


def _print_judged(out: Screen, found: Judged) -> None:
    for name, e in (("precision", found.precision), ("recall", found.recall)):
        out.print(f"{name} {e.value:.3f} ({e.low:.3f} to {e.high:.3f})")
    out.print(f"{count(found.pairs, 'pair')} judged; recall is relative to candidates")
    if found.kappa is not None:
        out.print(f"agreement of two judges (kappa) {found.kappa:.3f}")
    if found.best_threshold is not None:
        out.print(f"highest F1 of these pairs from a score of {found.best_threshold:.3f} on")


# --- rethreshold -------------------------------------------------------------------------------


def rethreshold(
    values: SetValues = None,
    settings_file: SettingsFile = None,
    store: StoreUrl = DEFAULT_STORE,
    apply: bool = Option(False, "--apply", help="Write the changes; default: only report them."),
    as_json: AsJson = False,
) -> None:
    """Apply other thresholds to a store; signatures are reused, no text is read.

    Settings that shape keys cannot be changed this way and are refused.
    """
    from esdedup.maintenance import rethreshold as work

    check_store_exists(store)
    settings = load_settings(store, file=settings_file, values=values)
    with open_existing(store, settings, mode="write" if apply else "read") as opened:
        found = work.rethreshold(opened) if apply else work.find_changes(opened)
    print_result(found, partial(_print_changes, applied=apply), as_json=as_json)


def _print_changes(out: Screen, found: Sequence[Change], *, applied: bool) -> None:
    rows = table("article", "was", "is now" if applied else "would be")
    for change in found[:_ROWS]:
        was, now = change.record.decision, change.decision
        name = change.record.document.title or now.id
        rows.add_row(paint(name), _describe_place(was), _describe_place(now))
    if found:
        out.print(rows)
    more = f", the first {_ROWS} above" if len(found) > _ROWS else ""
    outcome = "changed place" if applied else "would change place; --apply writes it"
    out.print(f"{count(len(found), 'article')}{more} {outcome}")


def _describe_place(decision: Any) -> str:
    if decision.role in ("duplicate", "update") and decision.evidence:
        return f"{decision.role} of {decision.evidence[0].other} ({decision.score:.2f})"
    return str(decision.role)
