"""The public surface changes on purpose only, and importing it stays light."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import esdedup

NAMES = {
    "Decision",
    "Deduplicator",
    "Document",
    "EsdedupError",
    "Evidence",
    "Failure",
    "Query",
    "Searcher",
    "Settings",
    "Signature",
    "__version__",
    "fold",
    "open_store",
    "read",
}
HEAVY = ("spacy", "trafilatura", "lxml", "elasticsearch", "opensearchpy", "numpy")


def test_the_public_names() -> None:
    assert set(esdedup.__all__) == NAMES
    assert set(dir(esdedup)) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_name_is_there(name: str) -> None:
    assert getattr(esdedup, name).__name__ == name if name != "__version__" else True


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        esdedup.Nonsense  # noqa: B018 - asked for to see it fail


@pytest.mark.parametrize("module", ["esdedup", "esdedup.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    assert importlib.util.find_spec(module) is not None
    code = f"import sys, {module}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
