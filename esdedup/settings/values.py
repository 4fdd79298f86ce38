"""Parsing and checking of values from files, environment variables and flags."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from esdedup.errors import SettingsError

_LARGEST = (1 << 63) - 1


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {file}: {error}") from error


def coerce(name: str, value: Any, wanted: Any) -> Any:
    """Convert text from the environment or a flag to the field's type; check other values."""
    if wanted != tuple[str, ...] and (choices := get_args(wanted)):
        if value not in choices:
            raise SettingsError(f"{name} is {quote(value)}; choose one of {', '.join(choices)}")
        return value
    if wanted == tuple[str, ...]:
        if isinstance(value, str) and value.startswith("@"):
            return read_list(value[1:], name)
        entries = value.split(",") if isinstance(value, str) else value
        if not isinstance(entries, list | tuple) or not all(isinstance(v, str) for v in entries):
            raise SettingsError(f"{name} is {quote(value)}, which is not a list of names")
        return tuple(v.strip() for v in entries)
    if wanted is bool and isinstance(value, str):
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in ("0", "false", "no", "off"):
            return False
        raise SettingsError(f"{name} is {quote(value)}; say yes or no")
    if wanted is not str and isinstance(value, bool) != (wanted is bool):
        raise SettingsError(f"{name} is {quote(value)}, which is not a {wanted.__name__}")
    try:
        converted = wanted(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(
            f"{name} is {quote(value)}, which is not a {wanted.__name__}"
        ) from error
    if isinstance(value, float) and converted != value:
        raise SettingsError(f"{name} is {quote(value)}, which is not a whole number")
    return converted


def read_list(file: str | os.PathLike[str], name: str) -> tuple[str, ...]:
    """Read a list from a file, one entry a line; # begins a comment."""
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: {os.fspath(file)} cannot be read ({error})") from error
    found = tuple(entry for line in lines if (entry := line.partition("#")[0].strip()))
    if not found:
        raise SettingsError(f"{name}: {os.fspath(file)} names nothing; write one entry a line")
    return found


def check_bounds(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    """A number without an upper bound of its own must fit into 63 bits, as in every store."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    low, high = metadata["low"], metadata["high"]
    is_low = low is not None and not value >= low
    if is_low or not value <= (_LARGEST if high is None else high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise SettingsError(f"{name} is {quote(value)}; it must be {bounds}")


def quote(value: Any) -> str:
    """The value for a message, at most 80 characters of it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def check_windows(windows: tuple[str, ...]) -> None:
    for entry in windows:
        name, equals, days = entry.rpartition("=")
        try:
            is_good = bool(equals and name.strip()) and 0 <= float(days) < 1e6
        except ValueError:
            is_good = False
        if not is_good:
            raise SettingsError(
                f"candidate_windows has {quote(entry)}; write LANGUAGE=DAYS or source:NAME=DAYS"
            )
