"""The tables that shape keys are the golden ones, and come from nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from esdedup.text import words
from tests.golden.words import FILE, digests

ROOT = Path(__file__).parents[2]
GOLDEN: dict[str, dict[str, str]] = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, str]]:
    return digests()


@pytest.mark.parametrize("table", GOLDEN)
def test_tables_are_the_golden_ones(table: str, made: dict[str, dict[str, str]]) -> None:
    assert made.keys() == GOLDEN.keys()
    assert made[table] == GOLDEN[table]


def test_another_list_has_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {**words.stop_word_lists()}
    lists["en"] = lists["en"].removesuffix(lists["en"].split()[-1])
    monkeypatch.setattr(words, "stop_word_lists", lambda: lists)
    words.language.cache_clear()
    changed = digests()["stop words"]
    words.language.cache_clear()
    assert [code for code in changed if changed[code] != GOLDEN["stop words"][code]] == ["en"]


def test_no_key_depends_on_spacy() -> None:
    """All golden vectors are made where it can be neither imported nor read."""
    code = """
import json, sys

def refuse(event, arguments):
    if event == "import" and arguments[0].partition(".")[0] == "spacy":
        raise ImportError("spaCy is imported")
    if event == "open" and "/site-packages/spacy/" in str(arguments[0]):
        raise OSError(f"{arguments[0]} is read")

sys.addaudithook(refuse)

from tests import golden
from tests.golden import entities, methods

made = {
    "format": golden.vectors(golden.PRESENT),
    "methods": methods.vectors(golden.PRESENT),
    "methods_entities": entities.signed(golden.PRESENT),
}
for name, keys in made.items():
    file = golden.FOLDER / f"{name}{golden.PRESENT}.json"
    assert json.loads(json.dumps(keys)) == json.loads(file.read_text("utf-8")), file
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
