"""Counts that an article states, and counts that changed."""

from __future__ import annotations

from typing import NamedTuple


class NumberContext(NamedTuple):
    """One count: its normalised value, its kind, and the content words around it."""

    value: str
    kind: str
    before: str
    after: str


class NumberChange(NamedTuple):
    """A fact that changed, as people write it, and the phrase of the new text that states it."""

    old: str
    new: str
    context: str

    def __str__(self) -> str:
        change = f"{self.old} -> {self.new}"
        return f"{change}: {self.context}" if self.context else change
