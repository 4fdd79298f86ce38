"""Exit codes, and how errors end a command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from esdedup.errors import (
    EsdedupError,
    InputError,
    NothingToExplain,
    SettingsError,
    StoreError,
    UnknownDocument,
)

# Control characters, which could steer the terminal.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class ExitCode(IntEnum):
    """The exit codes that scripts can rely on."""

    DONE = 0
    FOUND = 1
    USAGE = 2
    QUARANTINED = 3
    STORE = 4
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS = {
    ExitCode.DONE: "done; articles that failed are in the quarantine and were counted",
    ExitCode.FOUND: "nothing matched, an id is unknown, or `doctor` found a problem",
    ExitCode.USAGE: "wrong usage: options, settings, or a path that is not there",
    ExitCode.QUARANTINED: "articles failed and --strict was given, or not one could be used",
    ExitCode.STORE: "the store is missing, unavailable, damaged or not ours",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C; whole batches are stored; run again to go on",
    ExitCode.PIPE_CLOSED: "the reader of the output went away; whole batches are stored",
}

# \b keeps the lines as they are.
EPILOG = "\b\nExit codes:\n" + "\n".join(f"  {code:>3}  {text}" for code, text in MEANINGS.items())


def stop(code: ExitCode, reason: str = "") -> typer.Exit:
    """Print the reason, if there is one to print; to be raised: `raise stop(ExitCode.FOUND)`."""
    if reason:
        say(reason)
    return typer.Exit(int(code))


def refuse(option: str, reason: str) -> typer.BadParameter:
    """To be raised: an option, or a combination of options, that cannot be used."""
    return typer.BadParameter(reason, param_hint=option)


def remove_controls(text: str) -> str:
    """Text of an article or a server, without what could steer the terminal."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def say(message: str) -> None:
    """Print one line to standard error, where it is not in the way of the output."""
    typer.echo(f"esdedup: {' '.join(remove_controls(message).split())}", err=True)


@contextmanager
def say_when_interrupted(describe: Callable[[], str]) -> Iterator[None]:
    """After Ctrl-C, say what is safe and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise stop(ExitCode.INTERRUPTED, describe()) from None


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn an `EsdedupError` into one line and an exit code; any other error is a defect and keeps
    its traceback."""
    try:
        yield
        sys.stdout.flush()
    except EsdedupError as error:
        raise stop(_code_of(error), str(error)) from None
    except KeyboardInterrupt:
        raise stop(ExitCode.INTERRUPTED, "stopped") from None
    except BrokenPipeError:
        # Discard buffered output: Python would report the closed pipe once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise stop(ExitCode.PIPE_CLOSED) from None


def _code_of(error: EsdedupError) -> ExitCode:
    if isinstance(error, StoreError):
        return ExitCode.STORE
    if isinstance(error, UnknownDocument | NothingToExplain):
        return ExitCode.FOUND
    return ExitCode.USAGE if isinstance(error, SettingsError | InputError) else ExitCode.FOUND
