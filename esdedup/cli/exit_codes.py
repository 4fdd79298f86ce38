"""Exit codes, and how errors end a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

import typer

from esdedup.errors import EsdedupError, InputError, SettingsError, StoreError


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


def say(message: str) -> None:
    """Print one line to standard error, where it is not in the way of the output."""
    typer.echo(f"esdedup: {message}", err=True)


@contextmanager
def say_when_interrupted(describe: Callable[[], str]) -> Iterator[None]:
    """After Ctrl-C, say what is safe and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        say(describe())
        raise stop(ExitCode.INTERRUPTED) from None


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn an `EsdedupError` into one line and an exit code; any other error is a defect and keeps
    its traceback."""
    try:
        yield
        sys.stdout.flush()
    except EsdedupError as error:
        say(str(error))
        raise stop(_code_of(error)) from None
    except KeyboardInterrupt:
        say("stopped")
        raise stop(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        _close_output()
        raise stop(ExitCode.PIPE_CLOSED) from None


def _code_of(error: EsdedupError) -> ExitCode:
    if isinstance(error, StoreError):
        return ExitCode.STORE
    if isinstance(error, SettingsError | InputError):
        return ExitCode.USAGE
    return ExitCode.FOUND


def _close_output() -> None:
    """Discard buffered output: Python would report the closed pipe once more when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
