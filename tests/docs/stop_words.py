"""esdedup/data/stop_words.txt from spaCy's lists: `python -m tests.docs.stop_words`.

A line for each language: its code, a tab, its words in rising order. They are part of the format
of signatures (docs/format.md, section 12): another list needs a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import spacy

from esdedup.text.tokens import fold

TARGET = Path(__file__).parents[2] / "esdedup" / "data" / "stop_words.txt"
SOURCE = Path(spacy.__file__).parent / "lang"
_APOSTROPHES = re.compile("['’‘]")


def lines() -> Iterator[str]:
    for file in sorted(SOURCE.glob("*/stop_words.py")):
        code = file.parent.name
        listed = import_module(f"spacy.lang.{code}.stop_words").STOP_WORDS
        yield f"{code}\t{' '.join(sorted(set(_words(listed))))}"


def _words(listed: set[str]) -> Iterator[str]:
    """Folded as texts are, and cut: a text has the words don and t where it says don't."""
    for entry in listed:
        for part in _APOSTROPHES.split(fold(entry)):
            if part.split() == [part]:  # one with white space is no word
                yield part


if __name__ == "__main__":
    TARGET.write_text("\n".join(lines()) + "\n", "utf-8")
