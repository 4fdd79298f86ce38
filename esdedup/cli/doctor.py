"""What `esdedup doctor` looks at."""

from __future__ import annotations

import platform
import sqlite3
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from esdedup.cli.options import shown_store
from esdedup.errors import EsdedupError
from esdedup.ingest.sign import check_settings
from esdedup.settings import Settings
from esdedup.stores import Store, open_store, recorded_settings

_OLDEST_PYTHON = (3, 11)
# What fewer documents share is quickly read, however small the store.
_FEW = 1_000
# Upserts, window functions and row values together; FTS5 is asked for by name.
_OLDEST_SQLITE = (3, 25, 0)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; the remedy is for what is not in order."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def checks(store: str, *, required: bool) -> list[Check]:
    """Everything, the store last; `required` tells that there must be one."""
    return [_python(), _sqlite(), *_packages(), *_store(store, required=required)]


def _python() -> Check:
    ok = sys.version_info >= _OLDEST_PYTHON
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    remedy = "" if ok else f"install Python {oldest} or newer"
    return Check("Python", ok, platform.python_version(), remedy)


def _sqlite() -> Check:
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
    return Check("SQLite", ok, detail, remedy)


def _packages() -> list[Check]:
    """The packages esdedup asks for, as its own metadata names them."""
    try:
        wanted = metadata.requires("esdedup") or []
    except metadata.PackageNotFoundError:
        remedy = "run `pip install .` in its folder"
        return [Check("packages", False, "esdedup is not installed", remedy)]
    needed = [line for line in wanted if "extra ==" not in line]
    return [_package(line) for line in needed]


def _package(requirement: str) -> Check:
    name = requirement
    for mark in " ;<>=!~[":
        name = name.partition(mark)[0]
    try:
        return Check(name, True, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, False, "is missing", f"run `pip install '{requirement}'`")


def _store(store: str, *, required: bool) -> list[Check]:
    try:
        recorded = recorded_settings(store)
        if recorded is None:
            remedy = "`esdedup index PATH` makes one" + ("; check --store" if required else "")
            return [
                Check("store", not required, f"there is none at {shown_store(store)} yet", remedy)
            ]
        settings = Settings.load(base=recorded)
        opened = open_store(store, settings, mode="read")
    except EsdedupError as error:
        return [Check("store", False, str(error))]
    try:
        stats = opened.stats()
        return [
            _settings(settings, recorded),
            *_time_order(opened),
            *_inside(store, opened.check(), stats),
            _hot_keys(opened, stats["documents"]),
        ]
    except EsdedupError as error:
        return [Check("store", False, str(error))]
    finally:
        opened.close()


def _settings(settings: Settings, recorded: Settings) -> Check:
    mine, theirs = settings.to_json(), recorded.to_json()
    changed = [f"{name}={mine[name]}" for name in mine if mine[name] != theirs[name]]
    fingerprint = f"preset {settings.preset}, format {settings.fingerprint_of_format()}"
    detail = f"{fingerprint}; environment changes {', '.join(changed)}" if changed else fingerprint
    try:
        check_settings(settings)
    except EsdedupError as error:
        return Check("settings", False, f"{detail}; nothing can be signed with them", str(error))
    return Check("settings", True, detail)


def _time_order(store: Store) -> list[Check]:
    """Of indices that others designed; no defect, since groups do not depend on it."""
    from esdedup.stores.cluster.store import ClusterStore

    if not isinstance(store, ClusterStore):
        return []
    from esdedup.ingest.readers.records import FieldMap
    from esdedup.stores.cluster.foreign_index import ExistingIndex

    index = ExistingIndex(store)
    found = index.without_time(FieldMap(index.told_fields()).names("published"))
    if not found:
        return [Check("order of time", True, "every index can be sorted by its dates")]
    shown = "; ".join(f"{name}: {reason}" for name, reason in found.items())
    remedy = "map the field as date in the next index, or name another: --field published=NAME"
    return [Check("order of time", True, f"in the order of arrival: {shown}", remedy)]


def _hot_keys(store: Store, documents: int) -> Check:
    """Keys that make every question dear; no defect, so never a problem by itself."""
    hot = store.hot_keys(max(_FEW, documents // 100))
    left = [key for key in hot if key not in store.settings.hot_keys]
    if not left:
        return Check("hot keys", True, f"{len(hot)} found, {len(store.settings.hot_keys)} left out")
    shown = ", ".join(f"{key} ({hot[key]:,})" for key in left[:5])
    return Check(
        "hot keys",
        True,
        f"{len(left)} keys are shared by more than 1 % of the articles: {shown}",
        "to leave them out, make a new store with them in `hot_keys` of its settings",
    )


def _remedy(problem: str) -> str:
    if problem.startswith("the file is damaged"):
        return "restore a backup, or index the articles into a new store; please report it"
    return "`esdedup doctor --fix` mends it; please report how it came about"


def _inside(store: str, problems: list[str], stats: dict[str, Any]) -> list[Check]:
    broken = [Check("store", False, problem, _remedy(problem)) for problem in problems]
    waiting = stats["quarantine"]
    found = f"{stats['documents']:,} articles in {shown_store(store)}"
    return [
        *(broken or [Check("store", True, found)]),
        Check(
            "quarantine",
            True,
            f"{waiting:,} articles",
            "`esdedup quarantine` lists them, `esdedup retry` tries again" if waiting else "",
        ),
    ]
