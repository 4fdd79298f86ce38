"""The command line: parses, calls, prints.

One file per family of commands; the table below names them all. Everything heavy (numpy, rich, the
stores) is imported inside the commands, so that `esdedup --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer import Option
from typer.core import TyperGroup

from esdedup import __version__
from esdedup.cli import (
    admin,
    backfill,
    cluster,
    copies,
    demo,
    evaluate,
    explain,
    folding,
    gateway,
    groups,
    indexing,
    retention,
    revisions,
    searching,
    serve,
    stories,
    tuning,
    words,
)
from esdedup.cli.exit_codes import EPILOG, report_errors


class _Reporting(TyperGroup):
    """Turns the errors of every command into one line and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
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
    version: bool = Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
    ca_certs: str | None = Option(
        None, envvar="ES_CA_CERTS", metavar="FILE", help="Certificate authority of the cluster."
    ),
) -> None:
    """Near-duplicate news: every copy linked to its original, one result per story."""
    if ca_certs is not None:
        os.environ["ES_CA_CERTS"] = ca_certs  # where `Target.parse` finds it


# Every command, in the order of the help.
COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "index": indexing.index,
    "check": indexing.check,
    "retry": indexing.retry,
    "search": searching.search,
    "front": searching.front,
    "show": searching.show,
    "fold": folding.fold,
    "explain": explain.explain,
    "similar": stories.similar,
    "story": stories.story,
    "revisions": revisions.revisions,
    "copies": copies.copies,
    "links": copies.links,
    "quarantine": admin.quarantine,
    "delete": admin.delete,
    "stats": admin.stats,
    "settings": admin.show_settings,
    "doctor": admin.doctor,
    "expire": retention.expire,
    "backfill": backfill.backfill,
    "sweep": backfill.sweep,
    "gateway": gateway.gateway,
    "eval": evaluate.evaluate,
    "tune": tuning.tune,
    "rethreshold": tuning.rethreshold,
    "serve": serve.serve,
}
GROUPS = {
    "groups": groups.app,
    "events": stories.events_app,
    "templates": cluster.app,
    "words": words.app,
    "keys": serve.keys_app,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
for name, group in GROUPS.items():
    app.add_typer(group, name=name)


def main() -> None:
    """The entry point. What a terminal cannot show is escaped rather than an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="esdedup")
