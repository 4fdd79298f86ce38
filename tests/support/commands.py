"""The command line as users run it, and the articles it runs on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from esdedup.cli import app
from tests.support.articles import BRIDGE, FERRY


def article_json(id_: str, text: str, day: int, **more: Any) -> dict[str, Any]:
    """One line of input; `more` replaces fields, even by invalid values."""
    return {
        "id": id_, "title": f"Headline {id_}", "text": text, "source": f"Source {id_}",
        "published": f"2026-03-{day:02}T08:00:00Z", **more,
    }  # fmt: skip


ARTICLES = [
    article_json("first", FERRY, 3),
    article_json("copy", FERRY.replace("Several passengers", "Some passengers"), 4),
    article_json("another", FERRY.replace("early on Tuesday", "on Tuesday"), 5),
    article_json("update", FERRY.replace("12 people", "17 people"), 6),
    article_json("bridge", BRIDGE, 7),
]


def ndjson(*articles: dict[str, Any]) -> str:
    return "".join(json.dumps(a) + "\n" for a in articles)


def store_commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that opens a store, with something for what it must be given. The last word is
    the option that names the store."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from store_commands(command, (*path, name))
        given = [part for p in command.params if p.required for part in _value_for(p)]
        for option in command.params:
            if option.name in ("store", "known"):
                yield (*path, name, *given, option.opts[0])


def _value_for(parameter: Any) -> list[str]:
    values = {"older_than": "1d", "keep": "earliest", "paths": "-", "path": "-", "file": "-"}
    value = values.get(parameter.name, "some")
    return [*(o for o in parameter.opts if o.startswith("--")), value]


class Cli:
    """Runs commands on one store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = f"sqlite:///{folder}/news.db"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("ESDEDUP_")},
            "ESDEDUP_STORE": self.store,
            "COLUMNS": "100",
        }

    def __call__(self, *arguments: str, **env: str) -> Result:
        unset = {k: None for k in os.environ if k.startswith("ESDEDUP_")}
        return CliRunner().invoke(
            app, list(arguments), env={**unset, **self.environment, **env}, prog_name="esdedup"
        )

    def json(self, *arguments: str) -> list[Any]:
        result = self(*arguments, "--json")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return [json.loads(line) for line in result.stdout.splitlines()]

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def process(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "esdedup", *arguments],
            env=self.environment, cwd=self.folder, text=True, **options,
        )  # fmt: skip


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    result = cli("index", cli.file("news.ndjson", ndjson(*ARTICLES)), "--workers", "1")
    assert result.exit_code == 0, result.output
    return cli
