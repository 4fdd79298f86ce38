"""The folder of the labelled sets: `ESDEDUP_DATA`, or a folder beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ESDEDUP_DATA", Path(__file__).parents[3] / "shared" / "data"))


def labelled(name: str) -> Path:
    """The folder of a set. Skips the test where the set is missing."""
    folder = FOLDER / name
    if not folder.is_dir():
        pytest.skip(f"no labelled set at {folder}; set ESDEDUP_DATA to run this test")
    return folder
