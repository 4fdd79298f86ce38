"""Stored signatures stay readable: the committed ones are made again, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden import FOLDER, FORMATS, SIGNED_PRESETS, entities, vectors

ROOT = Path(__file__).parents[2]


def golden(name: str, format_: int) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((FOLDER / f"{name}{format_}.json").read_text("utf-8"))
    return read


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("preset", SIGNED_PRESETS)
def test_signatures_are_the_golden_ones(preset: str, format_: int) -> None:
    made, there = vectors(format_)[preset], golden("format", format_)[preset]
    assert made["shaping"] == there["shaping"]
    assert made["fingerprint"] == there["fingerprint"]
    assert made["signatures"].keys() == there["signatures"].keys()
    for id_, signature in made["signatures"].items():
        assert signature == there["signatures"][id_], id_


@pytest.mark.parametrize("format_", FORMATS)
def test_keys_of_entities_and_lengths_are_the_golden_ones(format_: int) -> None:
    for preset, by_document in entities.signed(format_).items():
        for id_, keys in by_document.items():
            assert keys == golden("methods_entities", format_)[preset][id_], (preset, id_)


@pytest.mark.parametrize("format_", FORMATS)
def test_the_document_of_the_format_names_the_fingerprints(format_: int) -> None:
    text = (ROOT / "docs" / "format.md").read_text("utf-8")
    there = golden("format", format_)
    assert all(there[preset]["fingerprint"] in text for preset in SIGNED_PRESETS)


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_another_process_with_another_hash_seed_signs_the_same(seed: str) -> None:
    code = (
        "import json, sys; from tests.golden import FORMATS, vectors; "
        "sys.stdout.buffer.write(json.dumps([vectors(f) for f in FORMATS]).encode())"
    )
    made = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    assert json.loads(made.stdout) == [golden("format", f) for f in FORMATS]
