"""`eval`: detection quality on labelled sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.options import AsJson, Preset, SettingsFile, SetValues, assignments

if TYPE_CHECKING:
    from esdedup.settings import Settings


def register(app: typer.Typer) -> None:
    app.command("eval")(evaluate)


def evaluate(
    sets: Annotated[
        list[Path],
        typer.Argument(
            metavar="SET",
            help="A folder with docs.jsonl[.gz] or html.tar.gz, and clusters.csv.",
        ),
    ],
    preset: Preset = None,
    settings_file: SettingsFile = None,
    values: SetValues = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="html|text", help="What to read; html where there is."),
    ] = None,
    order: Annotated[
        str,
        typer.Option(metavar="NAME", help="original-first, depth-first or random."),
    ] = "original-first",
    seeds: Annotated[int, typer.Option(min=1, help="Runs with different random orders.")] = 1,
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="An empty store to run in.")
    ] = "sqlite://:memory:",
    number_check: Annotated[
        bool,
        typer.Option(
            "--number-check/--no-number-check",
            help="Without it no link is called an update: the paper's own scoring.",
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Replay a labelled set one document at a time and score every decision (paper 000, 3.2)."""
    from esdedup.settings import Settings

    flags: dict[str, Any] = dict(assignments(values, "--set"))
    if not number_check:
        flags |= {"number_check": False, "extended_ratio": 0.0}
    settings = Settings.load(preset=preset, file=settings_file, flags=flags)
    rows = [_scored(folder, settings, source, order, seeds, store) for folder in sets]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
    else:
        _print_table(rows)


def _scored(
    folder: Path, settings: Settings, source: str | None, order: str, seeds: int, store: str
) -> dict[str, Any]:
    from esdedup.evaluate import ARRIVALS, SOURCES, load, online, summary

    if order not in ARRIVALS:
        raise typer.BadParameter(f"choose one of {', '.join(ARRIVALS)}", param_hint="--order")
    if source is not None and source not in SOURCES:
        raise typer.BadParameter(f"choose one of {', '.join(SOURCES)}", param_hint="--from")
    gold = load(folder, settings, source=SOURCES.get(source) if source else None)
    scores = [
        online(gold, settings, order=ARRIVALS[order], seed=seed, store=store)
        for seed in range(seeds)
    ]
    return {"set": gold.name, "preset": settings.preset, "order": order, **summary(scores)}


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()))
    Console().print(table)
