"""Imports point one way: a module imports its own layer and the layers above it in the list.

Lazy imports and imports for types count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "esdedup"

LAYERS = (
    "errors",
    "model",
    "settings",
    "text",
    "features",
    "methods",
    "matching",
    "stores",
    "ingest",
    "clustering",
    "search",
    "maintenance",
    "stories",
    "alerts",
    "evaluation",
    "gateway",
    "service",
    "cli",
)
# Files that no layer owns.
OUTSIDE = {"__init__", "__main__", "data", "sample", "py.typed"}


def module_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(file: Path) -> Iterator[str]:
    """Every `esdedup` module that a file imports, at any depth of the code."""
    module = module_of(file).split(".")
    package = module if file.name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("esdedup"))
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            if base.split(".")[0] == "esdedup":
                yield from (f"{base}.{alias.name}" for alias in node.names)


def layer_of(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def test_the_top_level_is_the_list_of_layers() -> None:
    entries = {p.stem if p.suffix == ".py" else p.name for p in PACKAGE.iterdir()}
    assert entries - {"__pycache__"} == {*LAYERS, *OUTSIDE}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_no_layer_below_it(layer: str) -> None:
    below = LAYERS[LAYERS.index(layer) + 1 :]
    files = [PACKAGE / f"{layer}.py"] if layer == "errors" else (PACKAGE / layer).rglob("*.py")
    wrong = [
        f"{module_of(file)} imports {name}"
        for file in files
        for name in imported_modules(file)
        if layer_of(name) in below
    ]
    assert wrong == []
