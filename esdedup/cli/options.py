"""Options that several commands share, and the stores that these options open."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from esdedup.cli.exit_codes import refuse

if TYPE_CHECKING:
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.settings import Settings
    from esdedup.stores import Store
    from esdedup.stores.cluster.connection import Connection

DEFAULT_STORE = "sqlite:///esdedup.db"

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="ESDEDUP_STORE",
        metavar="URL",
        help="The store: sqlite:///news.db, or a file name.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help="Start from this preset: hybrid, nrc-gphin, …"),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="A TOML file with settings."),
]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="One setting; may be given several times."),
]
FieldNames = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        metavar="OURS=THEIRS",
        help="Use another input field (text=body, text=article.body).",
    ),
]
# Options of the commands that read labelled sets.
SetSource = Annotated[
    Literal["html", "text", "visible"] | None,
    typer.Option(
        "--from",
        metavar="html|text|visible",
        help="What to read: the articles of its pages (default if it has pages), its texts, or all "
        "visible text of its pages.",
    ),
]
Arrivals = Literal["original-first", "depth-first", "random", "time"]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on standard output.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with code 3 when any article failed.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report what would change; write nothing.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no summary.")]


def parse_assignments(given: list[str] | None, option: str) -> dict[str, str]:
    """Parse the `name=value` pairs of an option that may be repeated."""
    pairs = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise refuse(option, f"{pair!r} is not of the form name=value")
        pairs[name.strip()] = value.strip()
    return pairs


def read_text_lines(file: Path) -> list[str]:
    """The lines of a text file that an option names; - is standard input."""
    from esdedup.errors import InputError

    if str(file) == "-":
        return sys.stdin.read().splitlines()
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error


def hide_credentials(url: str) -> str:
    """Return the URL of a store without user and password, for messages."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if mark and scheme != "sqlite" else url


def load_settings(
    store: str | None,
    preset: str | None = None,
    file: Path | None = None,
    values: list[str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Load settings: those recorded in the store, if one is named, changed by file, environment and
    options."""
    from esdedup.settings import Settings
    from esdedup.stores import recorded_settings

    given = {**parse_assignments(values, "--set"), **(flags or {})}
    base = None if store is None else recorded_settings(store)
    return Settings.load(preset=preset, file=file, base=base, flags=given)


def open_deduplicator(
    store: str, settings: Settings | None = None, *, mode: Literal["write", "read"] = "write"
) -> Deduplicator:
    from esdedup.clustering.deduplicator import Deduplicator

    return Deduplicator.open(store, settings or load_settings(store), mode=mode)


def open_for_writing(store: str, settings: Settings | None = None) -> Deduplicator:
    """Open an existing store for writing. A mistyped name does not create a store."""
    check_store_exists(store)
    return open_deduplicator(store, settings)


@contextmanager
def open_existing(
    store: str, settings: Settings | None = None, *, mode: Literal["write", "read"] = "read"
) -> Iterator[Store]:
    """Open an existing store, by default for reading and with the settings recorded in it."""
    from esdedup.stores import open_store

    opened = open_store(store, settings, mode=mode)
    try:
        yield opened
    finally:
        opened.close()


def check_store_exists(store: str) -> None:
    """Raise StoreMissing if there is no store: a mistyped name must not create one."""
    with open_existing(store):
        pass


@contextmanager
def open_connection(store: str) -> Iterator[Connection]:
    """Connect to the cluster of a store. The index need not exist."""
    from esdedup.stores.cluster.connection import Target, connect

    connection = connect(Target.parse(store))
    try:
        yield connection
    finally:
        connection.close()
