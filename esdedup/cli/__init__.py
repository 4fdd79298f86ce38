"""The command line: parses, calls, prints.

One file per family of commands, each with a `register(app)`. Everything heavy (numpy, rich, the
stores) is imported inside the commands, so that `esdedup --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from esdedup import __version__
from esdedup.cli import admin as upkeep
from esdedup.cli import (
    backfill,
    cluster,
    copies,
    demo,
    evaluate,
    folding,
    gateway,
    groups,
    indexing,
    retention,
    searching,
    serve,
    stories,
    words,
)
from esdedup.cli import explain as why
from esdedup.cli.exit_codes import EPILOG, reported


class _Reporting(TyperGroup):
    """Turns the errors of every command into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


app = typer.Typer(
    name="esdedup",
    cls=_Reporting,
    epilog=EPILOG,
    no_args_is_help=True,
    # Plain help comes twice as fast as rich's, and reads the same in a terminal and in the docs.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"esdedup {__version__}")
        raise typer.Exit


@app.callback()
def _esdedup(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    ca_certs: Annotated[
        str | None,
        typer.Option(
            "--ca-certs",
            envvar="ES_CA_CERTS",
            metavar="FILE",
            help="Certificate authority of the cluster.",
        ),
    ] = None,
) -> None:
    """Near-duplicate news: every copy linked to its original, one result per story."""
    if ca_certs is not None:
        os.environ["ES_CA_CERTS"] = ca_certs  # where `Target.parse` finds it


# The order of the help. A new family (evaluation, a service) is named here and nowhere else.
for family in (
    demo,
    indexing,
    searching,
    groups,
    folding,
    why,
    stories,
    copies,
    upkeep,
    retention,
    backfill,
    cluster,
    gateway,
    words,
    evaluate,
    serve,
):
    family.register(app)


def main() -> None:
    """The entry point. What a terminal cannot show is escaped rather than an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="esdedup")
