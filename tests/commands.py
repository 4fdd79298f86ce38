"""Commands as a user runs them, and the few articles they are run on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esdedup.cli import app

FERRY = (
    "At least 12 people died and more than 40 were injured when fire swept through the car deck "
    "of an overnight ferry off the Eastshire coast early on Tuesday, the coastguard said. The "
    "Stella Corvina was carrying 286 passengers and 31 crew from Brackwater to the island of "
    "Skerrin when the alarm was raised about nine nautical miles from shore. Helicopters and two "
    "lifeboats lifted people from the upper decks as flames spread from the vehicle hold to the "
    "forward cabins. Several passengers jumped into the water before rescue craft came."
)
BRIDGE = (
    "The Kestrel Bridge will close to lorries for eighteen weeks from April while engineers "
    "replace the bearings under its northern span, the county highways authority announced. "
    "Drivers of heavy vehicles will have to use the valley road through Lower Arle, a detour of "
    "forty kilometres that hauliers say will add an hour to each journey across the estuary."
)


def article(id_: str, text: str, day: int, **more: Any) -> dict[str, Any]:
    return {
        "id": id_, "title": f"Headline {id_}", "text": text, "source": f"Source {id_}",
        "published": f"2026-03-{day:02}T08:00:00Z", **more,
    }  # fmt: skip


ARTICLES = [
    article("first", FERRY, 3),
    article("copy", FERRY.replace("Several passengers", "Some passengers"), 4),
    article("another", FERRY.replace("early on Tuesday", "on Tuesday"), 5),
    article("update", FERRY.replace("12 people", "17 people"), 6),
    article("bridge", BRIDGE, 7),
]


def ndjson(*articles: dict[str, Any]) -> str:
    return "".join(json.dumps(a) + "\n" for a in articles)


@contextmanager
def restore_interrupt() -> Iterator[None]:
    """What is started inside ends on Ctrl-C, also where this process was told to ignore it.

    A shell starts background jobs that way, and their children inherit it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
