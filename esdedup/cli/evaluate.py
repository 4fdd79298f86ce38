"""`eval`: detection quality on labelled sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Argument, Option

from esdedup import __version__
from esdedup.cli.options import (
    Arrivals,
    AsJson,
    Preset,
    SetSource,
    SettingsFile,
    SetValues,
    parse_assignments,
)
from esdedup.cli.output import (
    console,
    live_line,
    paint,
    print_json,
    side_by_side,
    table,
    write_file,
)

if TYPE_CHECKING:
    from esdedup.evaluation.detectors import EvaluatedMethod
    from esdedup.evaluation.sets import GoldSet
    from esdedup.evaluation.suite import EvaluationPlan, EvaluationResult, Progress
    from esdedup.settings import Settings

# Columns of the table, in this order: name of the figure -> heading. `--json` prints all figures.
_COLUMNS = {
    "method": "method",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "f1_spread": "±",
    "f1_interval": "95 %",
    "mcc": "MCC",
    "tp": "TP",
    "fp": "FP",
    "tn": "TN",
    "fn": "FN",
    "updates": "updates",
    "false_positive_rate": "FP rate",
    "false_positive_interval": "95 %",
    "cost": "cost",
    "ari": "ARI",
    "b_cubed_f1": "B-cubed",
    "v_measure": "V",
    "purity": "purity",
    "best_threshold": "best at",
    "best_f1": "best F1",
    "spearman": "rank corr.",
    "chosen": "chosen here",
}
# Columns, if the output is a file or a pipe: these tables are wide.
_WIDTH_OF_FILES = 160


def evaluate(
    sets: list[Path] = Argument(
        ...,
        metavar="SET",
        help="A folder with docs.jsonl[.gz] or html.tar.gz, and clusters.csv or pairs.csv.",
    ),
    methods: list[str] | None = Option(
        None,
        "--method",
        metavar="NAME",
        help="A preset, a method (sketch, lengths, …) or a baseline (exact, simhash-3, "
        "datasketch-0.5, …); several with commas or repeated; `all`.",
    ),
    preset: Preset = None,
    settings_file: SettingsFile = None,
    values: SetValues = None,
    source: SetSource = None,
    protocol: Literal["online", "pairs", "clusters"] | None = Option(
        None, metavar="NAME", help="online (where there are clusters), pairs (else) or clusters."
    ),
    order: Arrivals = Option(
        "original-first", metavar="NAME", help="original-first, depth-first, random or time."
    ),
    seeds: int = Option(1, min=1, help="Runs with different random orders."),
    labels: Literal["copies", "events"] = Option(
        "copies",
        metavar="copies|events",
        help="What a cluster is; of an event no two articles are copies, so every link is a "
        "false positive.",
    ),
    store: str = Option("sqlite://:memory:", metavar="URL", help="An empty store to run in."),
    number_check: bool = Option(
        True,
        "--number-check/--no-number-check",
        help="Off: no link is called an update, as in the paper.",
    ),
    statistics: bool = Option(
        False, "--stats", help="Intervals by bootstrap, and tests between methods."
    ),
    report: Path | None = Option(
        None, metavar="FILE", help="Write one HTML page with plots and every error."
    ),
    disagreements: tuple[str, str] | None = Option(
        None, metavar="A B", help="List the pairs that only one of two methods reports."
    ),
    judged: Path | None = Option(
        None,
        metavar="FILE",
        help="That listing (--json) with is_duplicate filled in: score both methods by it.",
    ),
    as_json: AsJson = False,
) -> None:
    """Score methods on labelled sets: one document at a time (paper 000, 3.2), pairs or clusters.

    Without --json the table has a second row for methods that call some links updates: the same
    with these rules off.
    """
    from esdedup.evaluation.report import render
    from esdedup.evaluation.sets import load
    from esdedup.evaluation.suite import EvaluationPlan, build_chapter, choose_labels
    from esdedup.settings import Settings

    flags: dict[str, Any] = dict(parse_assignments(values, "--set"))
    if not number_check:
        flags |= {"number_check": False, "extended_ratio": 0.0}

    def load_preset(name: str | None = preset) -> Settings:
        return Settings.load(preset=name, file=settings_file, flags=flags)

    plan = EvaluationPlan(
        protocol=protocol,
        order=order,
        seeds=seeds,
        labels=labels,
        with_statistics=statistics or report is not None,
    )
    with live_line() as line:
        golds = [
            load(
                folder,
                load_preset(),
                source=source,
                labels="none" if disagreements else choose_labels(folder, plan),
                progress=lambda done, total: line.update("reading pages", done, total),
            )
            for folder in sets
        ]
        if disagreements:
            _print_disagreements(
                golds, _make_detectors(disagreements, load_preset, store), judged, as_json=as_json
            )
            return
        detectors = _make_detectors(methods, load_preset, store)
        results = [
            _run_methods(gold, detectors, plan, line.update, as_json=as_json) for gold in golds
        ]
    if report is None:
        return
    parts = zip(golds, results, strict=True)
    page = render(
        [build_chapter(gold, found, plan) for gold, found in parts],
        subtitle=f"esdedup {__version__}, {date.today().isoformat()}; order {plan.order}, "
        f"{plan.seeds} seeds",
    )
    write_file(report, page)


def _make_detectors(
    names: Sequence[str] | None, load: Callable[..., Settings], store: str
) -> list[EvaluatedMethod]:
    from esdedup.evaluation.detectors import Ours, list_methods, resolve

    if not names:
        settings = load()
        return [Ours(settings, settings.preset, store)]
    wanted = [name.strip() for given in names for name in given.split(",") if name.strip()]
    if "all" in wanted:
        wanted = list_methods()
    return [resolve(name, load, store) for name in dict.fromkeys(wanted)]


def _run_methods(
    gold: GoldSet,
    detectors: Sequence[EvaluatedMethod],
    plan: EvaluationPlan,
    progress: Progress,
    *,
    as_json: bool,
) -> list[EvaluationResult]:
    """Run all methods on one set. With --json each row is printed as soon as it is computed."""
    from esdedup.evaluation.suite import compare_results, evaluate, without_update_rules

    results: list[EvaluationResult] = []
    shown: list[EvaluationResult] = []
    for detector in detectors:
        result = evaluate(gold, detector, plan, progress)
        results.append(result)
        shown.append(result)
        if as_json:
            print_json([result.row])
        elif plain := without_update_rules(gold, result, plan, progress):
            shown.append(plain)
    if not as_json:
        _print_rows(gold.name, [r.row for r in shown])
        if plan.with_statistics and len(results) > 1:
            _print_rows("differences", compare_results(results))
    return results


def _print_rows(title: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    there = {n: shown for n, shown in _COLUMNS.items() if any(n in row for row in rows)}
    names = there if "method" in there else {name: name for name in rows[0]}
    lines = table(*names.values(), title=title, numbers_from=1)
    for column in lines.columns:
        column.no_wrap = True
    for row in rows:
        lines.add_row(*(paint(_cell(row.get(name))) for name in names))
    out = console()
    if not out.is_terminal:
        out.width = max(out.width, _WIDTH_OF_FILES)
    out.print(lines)
    for row in rows:
        if degrees := row.get("by_degree"):
            labels = ", ".join(f"{d} {n['reported']} of {n['pairs']}" for d, n in degrees.items())
            out.print(f"{row['method']}, reported by label: {labels}")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return " to ".join(_cell(v) for v in value)
    if isinstance(value, float):
        return f"{value:.2e}" if 0 < abs(value) < 5e-5 else f"{value:.4f}"
    return str(value)


def _print_disagreements(
    golds: Sequence[GoldSet],
    detectors: Sequence[EvaluatedMethod],
    judged: Path | None,
    *,
    as_json: bool,
) -> None:
    from esdedup.evaluation.disagreements import Pool, read_judgements
    from esdedup.evaluation.measures import summarise

    for gold in golds:
        ids = sorted(gold.items)
        pool = Pool.of([gold.items[i] for i in ids], detectors[0], detectors[1])
        if judged is not None:
            scores = pool.scores(read_judgements(judged))
            rows = [
                {"set": gold.name, "method": name, "protocol": "pooled", **summarise([score])}
                for name, score in zip(pool.names, scores, strict=True)
            ]
            print_json(rows) if as_json else _print_rows(f"{gold.name}, pooled", rows)
            continue
        found = [d.to_row(gold.items) for d in pool.disagreements()]
        if as_json:
            print_json(found)
            continue
        out = console()
        for row in found:
            texts = ((row["id"], row["text"]), (row["other"], row["other_text"]))
            out.print(side_by_side(*texts, title=f"{row['reported_by']}, not {row['not_by']}"))
        out.print(f"{gold.name}: {len(found)} documents reported by one method alone")
