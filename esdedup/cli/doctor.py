"""What `esdedup doctor` looks at."""

from __future__ import annotations

import platform
import re
import sqlite3
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from esdedup.cli.options import hide_credentials
from esdedup.errors import EsdedupError
from esdedup.ingest.sign import check_settings
from esdedup.model.json_form import Result
from esdedup.settings import Settings
from esdedup.stores import Store, open_store, recorded_settings

_KEYS = "over-frequent keys"
# A key of fewer documents is never over-frequent, however small the store.
_FEW = 1_000
# The first version with upserts, window functions and row values.
_OLDEST_SQLITE = (3, 25, 0)


@dataclass(frozen=True, slots=True)
class DoctorCheck(Result):
    """One thing that was checked; a problem has a remedy."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def run_checks(store: str, *, required: bool) -> list[DoctorCheck]:
    """All checks, those of the store last; no store is a problem only where one is `required`."""
    python = DoctorCheck("Python", True, platform.python_version())  # pip refuses an older one
    return [python, _check_sqlite(), *_check_packages(), *_check_store(store, required=required)]


def _check_sqlite() -> DoctorCheck:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5 (x)")
        has_search = True
    except sqlite3.OperationalError:
        has_search = False
    finally:
        db.close()
    ok = has_search and sqlite3.sqlite_version_info >= _OLDEST_SQLITE
    detail = f"{sqlite3.sqlite_version}, {'with' if has_search else 'without'} FTS5"
    oldest = ".".join(map(str, _OLDEST_SQLITE))
    remedy = "" if ok else f"use a Python whose SQLite is {oldest} or newer and has FTS5"
    return DoctorCheck("SQLite", ok, detail, remedy)


def _check_packages() -> list[DoctorCheck]:
    """The packages esdedup asks for, as its own metadata names them."""
    try:
        wanted = metadata.requires("esdedup") or []
    except metadata.PackageNotFoundError:
        remedy = "run `pip install .` in its folder"
        return [DoctorCheck("packages", False, "esdedup is not installed", remedy)]
    found = []
    for requirement in (line for line in wanted if "extra ==" not in line):
        name = re.split(r"[ ;<>=!~\[]", requirement, maxsplit=1)[0]
        try:
            found.append(DoctorCheck(name, True, metadata.version(name)))
        except metadata.PackageNotFoundError:
            remedy = f"run `pip install '{requirement}'`"
            found.append(DoctorCheck(name, False, "is missing", remedy))
    return found


def _check_store(store: str, *, required: bool) -> list[DoctorCheck]:
    try:
        recorded = recorded_settings(store)
        if recorded is None:
            remedy = "`esdedup index PATH` makes one" + ("; check --store" if required else "")
            return [
                DoctorCheck(
                    "store", not required, f"there is none at {hide_credentials(store)} yet", remedy
                )
            ]
        settings = Settings.load(base=recorded)
        opened = open_store(store, settings, mode="read")
    except EsdedupError as error:
        return [DoctorCheck("store", False, str(error))]
    try:
        stats = opened.maintenance.stats()
        return [
            _check_recorded_settings(settings, recorded),
            *_check_time_order(opened),
            *_check_contents(store, opened.maintenance.find_problems(), stats),
            _check_key_frequency(opened, stats["documents"]),
        ]
    except EsdedupError as error:
        return [DoctorCheck("store", False, str(error))]
    finally:
        opened.close()


def _check_recorded_settings(settings: Settings, recorded: Settings) -> DoctorCheck:
    mine, theirs = settings.to_json(), recorded.to_json()
    changed = [f"{name}={mine[name]}" for name in mine if mine[name] != theirs[name]]
    fingerprint = f"preset {settings.preset}, format {settings.fingerprint_of_format()}"
    detail = f"{fingerprint}; environment changes {', '.join(changed)}" if changed else fingerprint
    try:
        check_settings(settings)
    except EsdedupError as error:
        return DoctorCheck(
            "settings", False, f"{detail}; nothing can be signed with them", str(error)
        )
    return DoctorCheck("settings", True, detail)


def _check_time_order(store: Store) -> list[DoctorCheck]:
    """Of indices that others designed; no defect, since groups do not depend on it."""
    index = store.maintenance.foreign_index
    if index is None:
        return []
    from esdedup.ingest.readers.records import FieldMap

    found = index.explain_missing_times(FieldMap(index.recorded_fields()).names("published"))
    if not found:
        return [DoctorCheck("order of time", True, "every index can be sorted by its dates")]
    shown = "; ".join(f"{name}: {reason}" for name, reason in found.items())
    remedy = "map the field as date in the next index, or name another: --field published=NAME"
    return [DoctorCheck("order of time", True, f"in the order of arrival: {shown}", remedy)]


def _check_key_frequency(store: Store, documents: int) -> DoctorCheck:
    """Over-frequent keys make every lookup expensive; they are no defect, so never a problem."""
    hot = store.maintenance.over_frequent_keys(max(_FEW, documents // 100))
    left = [key for key in hot if key not in store.settings.hot_keys]
    if not left:
        return DoctorCheck(
            _KEYS, True, f"{len(hot)} found, {len(store.settings.hot_keys)} left out"
        )
    shown = ", ".join(f"{key} ({hot[key]:,})" for key in left[:5])
    return DoctorCheck(
        _KEYS,
        True,
        f"{len(left)} keys are shared by more than 1 % of the articles: {shown}",
        "to leave them out, make a new store with them in `hot_keys` of its settings",
    )


def _check_contents(store: str, problems: list[str], stats: dict[str, Any]) -> list[DoctorCheck]:
    found = f"{stats['documents']:,} articles in {hide_credentials(store)}"
    checks = [] if problems else [DoctorCheck("store", True, found)]
    for problem in problems:
        remedy = "`esdedup doctor --fix` repairs it; please report how it came about"
        if problem.startswith("the file is damaged"):
            remedy = "restore a backup, or index the articles into a new store; please report it"
        checks.append(DoctorCheck("store", False, problem, remedy))
    waiting = stats["quarantine"]
    remedy = "`esdedup quarantine` lists them, `esdedup retry` tries again" if waiting else ""
    return [*checks, DoctorCheck("quarantine", True, f"{waiting:,} articles", remedy)]
