"""Stored signatures stay readable: the committed ones are made again, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.golden import FILE, SIGNED_PRESETS, signed, vectors

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    vectors_read: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return vectors_read


@pytest.mark.parametrize("preset", SIGNED_PRESETS)
def test_signatures_are_the_golden_ones(preset: str, golden: dict[str, Any]) -> None:
    made = signed(preset)
    assert made.keys() == golden[preset]["signatures"].keys()
    for id_, signature in made.items():
        assert signature == golden[preset]["signatures"][id_], id_


def test_the_fingerprint_of_the_settings_is_the_golden_one(golden: dict[str, Any]) -> None:
    for preset, made in vectors().items():
        assert made["shaping"] == golden[preset]["shaping"]
        assert made["fingerprint"] == golden[preset]["fingerprint"]


def test_the_document_of_the_format_names_the_fingerprints(golden: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "format.md").read_text("utf-8")
    assert all(golden[preset]["fingerprint"] in text for preset in SIGNED_PRESETS)


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_another_process_with_another_hash_seed_signs_the_same(
    seed: str, golden: dict[str, Any]
) -> None:
    code = (
        "import json, sys; from tests.golden import vectors; "
        "sys.stdout.buffer.write(json.dumps(vectors()).encode())"
    )
    made = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )
    assert json.loads(made.stdout) == golden
