"""A small invented news stream in English, Turkish and French, with labels in expected.csv."""

from pathlib import Path


def pages() -> Path:
    """Return the folder that holds the sample pages."""
    return Path(__file__).resolve().parent / "pages"
