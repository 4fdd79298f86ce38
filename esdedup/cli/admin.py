"""Commands that look after a store: quarantine, delete, stats, settings, doctor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.indexing import print_failures
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    open_existing,
    open_to_change,
    settings_of,
    shown_store,
)
from esdedup.cli.output import console, count, joined, plain, print_json, styled, table
from esdedup.errors import StoreError

if TYPE_CHECKING:
    from esdedup.cli.doctor import Check
    from esdedup.clustering.deduplicator import Deduplicator


def register(app: typer.Typer) -> None:
    for command in (quarantine, delete, stats):
        app.command()(command)
    app.command(name="settings")(show_settings)
    app.command()(doctor)


def quarantine(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """List the articles that could not be processed, and why."""
    opened = open_existing(store)
    try:
        failures = opened.quarantined()
    finally:
        opened.close()
    if json_:
        print_json(failure.to_json() for failure in failures)
        return
    print_failures(failures)
    console().print(f"{count(len(failures), 'article')} in the quarantine")


def delete(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Articles to delete.")],
    store: StoreUrl = DEFAULT_STORE,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what would happen.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Delete articles; copies of an original close ranks.

    Where an original goes, the next of its group takes its place, and is reported.
    """
    with open_to_change(store) as deduplicator:
        report = _delete(deduplicator, ids, dry_run=dry_run)
    if json_:
        print_json([report])
    else:
        _print_deleted(report, dry_run=dry_run)
    if report["missing"]:
        say(f"not in {shown_store(store)}: {', '.join(plain(id_) for id_ in report['missing'])}")
        raise stop(ExitCode.FOUND)


def stats(store: StoreUrl = DEFAULT_STORE, json_: AsJson = False) -> None:
    """Count what is in the store."""
    opened = open_existing(store)
    try:
        numbers = opened.stats()
    finally:
        opened.close()
    if json_:
        print_json([numbers])
        return
    rows = table(shown_store(store), "")
    rows.columns[1].justify = "right"
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
    chosen = settings_of(store, preset, settings, set_)
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
        text = joined(one["text"], styled(f" ({one['source']})", "dim"))
        rows.add_row(
            styled(name), styled(_value(one["value"]), changed), _value(one["default"]),
            one["unit"], text,
        )  # fmt: skip
    console().print(rows)
    console().print("* shapes what is stored: fixed once a store is made")


def doctor(
    store: StoreUrl = DEFAULT_STORE,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend groups, links and signatures, then check again.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Check the store and the installation.

    Every problem comes with its remedy, and any makes the exit code 1.
    """
    from esdedup.cli.doctor import checks

    done = _repair(store) if fix else []
    found = checks(store, required=store != DEFAULT_STORE)
    problems = [check for check in found if not check.ok]
    if json_:
        report = {"ok": not problems, "checks": [check.to_json() for check in found]}
        print_json([{**report, "fixed": done} if fix else report])
    else:
        for line in done:
            console().print(joined(styled("fixed", "green"), f"    {plain(line)}"), soft_wrap=True)
        _print_checks(found)
    if problems:
        raise stop(ExitCode.FOUND)


def _repair(store: str) -> list[str]:
    from esdedup.maintenance.repair import repair

    with open_to_change(store) as deduplicator:
        return repair(deduplicator)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)


class _Undone(Exception):
    """Ends a transaction that was only tried."""


def _delete(
    deduplicator: Deduplicator, ids: Sequence[str], *, dry_run: bool
) -> dict[str, list[str]]:
    """Delete, or do so and take it back, and tell who leads instead."""
    from esdedup.maintenance import delete as deleting

    store = deduplicator.store
    if dry_run and not store.serial:
        raise StoreError("--dry-run needs a store with transactions; a search cluster has none")
    report: dict[str, list[str]] = {}
    with suppress(_Undone), store.transaction():
        report = deleting.delete(deduplicator, ids)
        if dry_run:
            raise _Undone
    return report


def _print_deleted(report: dict[str, list[str]], *, dry_run: bool) -> None:
    out = console()
    for id_ in report["deleted"]:
        out.print(joined(styled("deleted", "red"), "   ", plain(id_)), soft_wrap=True)
    for id_ in report["promoted"]:
        out.print(joined(styled("promoted", "bold"), "  ", plain(id_)), soft_wrap=True)
    deleted, promoted = len(report["deleted"]), len(report["promoted"])
    outcome = f"{count(deleted, 'article')} deleted, {promoted} promoted to original"
    out.print(f"dry run, nothing was changed: {outcome}" if dry_run else outcome)


def _print_checks(found: Sequence[Check]) -> None:
    out = console()
    for check in found:
        mark = styled("ok", "green") if check.ok else styled("PROBLEM", "bold red")
        out.print(
            joined(mark, " " * (9 - len(mark)), f"{check.name}: {plain(check.detail)}"),
            soft_wrap=True,
        )
        if check.remedy:
            out.print(f"         {check.remedy}", soft_wrap=True)
