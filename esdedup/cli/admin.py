"""Commands that look after a store: quarantine, delete, stats, settings, doctor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from esdedup.cli.exit_codes import ExitCode, stop
from esdedup.cli.indexing import print_failures
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    DryRun,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    hide_credentials,
    load_settings,
    open_existing,
    open_for_writing,
)
from esdedup.cli.output import console, count, join, paint, print_json, print_result, table
from esdedup.errors import StoreError

if TYPE_CHECKING:
    from esdedup.cli.screen import Screen
    from esdedup.maintenance.delete import Deleted
    from esdedup.model import Failure


def quarantine(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """List the articles that could not be processed, and why."""
    with open_existing(store) as opened:
        failures = opened.quarantine.entries()
    print_result(failures, _print_quarantine, as_json=json_)


def _print_quarantine(out: Screen, failures: Sequence[Failure]) -> None:
    print_failures(out, failures)
    out.print(f"{count(len(failures), 'article')} in the quarantine")


def delete(
    ids: list[str] = Argument(..., metavar="ID", help="Articles to delete."),
    store: StoreUrl = DEFAULT_STORE,
    dry_run: DryRun = False,
    json_: AsJson = False,
) -> None:
    """Delete articles; if an original is deleted, the next of its group becomes the original.

    The new originals are reported.
    """
    from esdedup.maintenance.delete import Deleted
    from esdedup.maintenance.delete import delete as delete_articles

    report = Deleted([], [], [])
    with open_for_writing(store) as deduplicator:
        concurrency = deduplicator.store.concurrency
        if dry_run and not concurrency.consistency.isolated:
            raise StoreError("--dry-run needs a store with transactions; a search cluster has none")
        with suppress(_Undone), concurrency.transaction():
            report = delete_articles(deduplicator, ids)
            if dry_run:
                raise _Undone
    print_result(report, partial(_print_deleted, dry_run=dry_run), as_json=json_)
    if report.missing:
        raise stop(
            ExitCode.FOUND,
            f"not in {hide_credentials(store)}: {', '.join(report.missing)}",
        )


def stats(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """Count what is in the store."""
    with open_existing(store) as opened:
        numbers = opened.maintenance.stats()
    if json_:
        print_json([numbers])
        return
    rows = table(hide_credentials(store), "", numbers_from=1)
    for name, value in numbers.items():
        for line, shown in value.items() if isinstance(value, dict) else [(name, value)]:
            rows.add_row(line, f"{shown:,}" if isinstance(shown, int) else str(shown))
    console().print(rows)


def show_settings(
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    json_: AsJson = False,
) -> None:
    """Show every setting, its value and what it does."""
    chosen = load_settings(store, preset, settings, set_)
    defaults, values = type(chosen)().to_json(), chosen.to_json()
    known = [
        {
            "name": item.name,
            "value": values[item.name],
            "default": defaults[item.name],
            "unit": item.metadata["unit"],
            "source": item.metadata["source"],
            "shapes_keys": item.metadata["shapes"],
            "text": item.metadata["text"],
        }
        for item in fields(chosen)
    ]
    if json_:
        print_json(known)
        return
    rows = table("setting", "value", "default", "unit", "what it does")
    rows.columns[0].no_wrap = True  # a name cut in two is no name
    for one in known:
        changed = "bold yellow" if one["value"] != one["default"] else ""
        name = one["name"] + (" *" if one["shapes_keys"] else "")
        text = join(one["text"], paint(f" ({one['source']})", "dim"))
        rows.add_row(
            paint(name), paint(_value(one["value"]), changed), _value(one["default"]),
            one["unit"], text,
        )  # fmt: skip
    console().print(rows)
    console().print("* shapes what is stored: fixed once a store is made")


def doctor(
    store: StoreUrl = DEFAULT_STORE,
    fix: bool = Option(
        False, "--fix", help="Repair groups, links and signatures, then check again."
    ),
    json_: AsJson = False,
) -> None:
    """Check the store and the installation.

    Prints a remedy for each problem. The exit code is 1 if there is any.
    """
    from esdedup.cli.doctor import run_checks

    done: list[str] = []
    if fix:
        from esdedup.maintenance.repair import repair

        with open_for_writing(store) as deduplicator:
            done = repair(deduplicator)
    found = run_checks(store, required=store != DEFAULT_STORE)
    problems = [check for check in found if not check.ok]
    if json_:
        report = {"ok": not problems, "checks": found}
        print_json([{**report, "fixed": done} if fix else report])
    else:
        out = console()
        for line in done:
            out.print_line(paint("fixed", "green"), f"    {line}")
        for check in found:
            mark = paint("ok", "green") if check.ok else paint("PROBLEM", "bold red")
            out.print_line(mark, " " * (9 - len(mark)), f"{check.name}: {check.detail}")
            if check.remedy:
                out.print_line(f"         {check.remedy}")
    if problems:
        raise stop(ExitCode.FOUND)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


class _Undone(Exception):
    """Rolls back the transaction of a dry run."""


def _print_deleted(out: Screen, report: Deleted, *, dry_run: bool) -> None:
    for id_ in report.deleted:
        out.print_line(paint("deleted", "red"), "   ", id_)
    for id_ in report.promoted:
        out.print_line(paint("promoted", "bold"), "  ", id_)
    outcome = f"{count(len(report.deleted), 'article')} deleted, "
    outcome += f"{len(report.promoted)} promoted to original"
    out.print(f"dry run, nothing was changed: {outcome}" if dry_run else outcome)
