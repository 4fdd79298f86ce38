"""A spaCy model that is not installed ends a command at its start, not at every article."""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from esdedup import Deduplicator, Document, Settings
from esdedup.cli import app
from esdedup.errors import SettingsError
from esdedup.features.entities.spacy_ner import load
from esdedup.service.config import ServiceConfig
from esdedup.service.state import Service

ROOT = Path(__file__).parents[3]
MODEL = "xx_no_such_model"
ENTITIES = Settings(methods=("sketch", "entities"), ner=f"spacy:{MODEL}")
VECTORS = Settings(methods=("simhash",), simhash_vectors=MODEL)
TEXT = "The ferry Stella caught fire off the coast on Tuesday, the coastguard said."


@pytest.fixture
def article(tmp_path: Path) -> str:
    file = tmp_path / "article.txt"
    file.write_text(TEXT, "utf-8")
    return str(file)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    """Made with a model that has been removed since."""
    import spacy

    folder = tmp_path / "model"
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "ORG", "pattern": "Stella"}])  # type: ignore[attr-defined]  # its own
    pipeline.to_disk(folder)
    url = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(url, replace(ENTITIES, ner=f"spacy:{folder}")) as news:
        news.add(Document(id="a", text=TEXT))
    folder.rename(tmp_path / "removed")
    load.cache_clear()
    yield url
    load.cache_clear()


@pytest.mark.parametrize("settings", [ENTITIES, VECTORS], ids=["ner", "vectors"])
def test_no_store_is_made(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"`python -m spacy download {MODEL}`"):
        Deduplicator.open(f"sqlite:///{tmp_path}/news.db", settings)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        "index ARTICLE",
        "check ARTICLE",
        "similar ARTICLE",
        "copies ARTICLE",
        "retry",
        "backfill --only lengths",
        "serve --port 0",
        "serve --port 0 --read-only",
    ],
)
def test_a_command_that_signs_says_so_once(command: str, store: str, article: str) -> None:
    words = command.replace("ARTICLE", article).split()
    result = CliRunner().invoke(app, [*words, "--store", store])
    assert result.exit_code == 2, result.output
    assert result.output.count("spaCy finds no such model") == 1
    assert "Traceback" not in result.output


def test_the_gateway_does_not_start() -> None:
    command = ["gateway", "--upstream", "http://127.0.0.1:1", "--index", "news"]
    chosen = ["--set", "methods=entities", "--set", f"ner=spacy:{MODEL}"]
    result = CliRunner().invoke(app, [*command, *chosen])
    assert result.exit_code == 2
    assert f"`python -m spacy download {MODEL}`" in " ".join(result.output.split())


@pytest.mark.parametrize("read_only", [False, True])
def test_a_service_in_a_program_of_one_s_own_does_not_start(read_only: bool, store: str) -> None:
    with pytest.raises(SettingsError, match="spaCy finds no such model"):
        asyncio.run(Service(ServiceConfig(store=store, read_only=read_only)).open())


@pytest.mark.parametrize("command", ["search ferry", "show a", "stats"])
def test_reading_needs_no_model(command: str, store: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--store", store])
    assert result.exit_code == 0, result.output


def test_the_doctor_finds_it(store: str) -> None:
    result = CliRunner().invoke(app, ["doctor", "--store", store])
    assert result.exit_code == 1
    assert "spaCy finds no such model" in " ".join(result.output.split())


def test_only_packages_of_ours_are_named_for_installing() -> None:
    """On a registry anybody may have taken another name, that of a model among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    ranges = [*project["dependencies"], *(line for extra in extras for line in extra)]
    known = {re.split(r"[<>=;\[ ]", line)[0].lower().replace("_", "-") for line in ranges}
    files = [*(ROOT / "esdedup").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    for file in files:
        for hint in re.findall(r"pip install ([^`\"\n#)]+)", file.read_text("utf-8")):
            for name in hint.replace("'", " ").split():
                bare = re.split(r"[<>=\[]", name)[0]
                computed = bare == "{requirement}"  # of the same list, see cli/doctor.py
                assert bare in {*known, "."} or computed, f"{file}: pip install {hint}"
