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
    """A count that changed, with the words of the new text that locate it."""

    old: str
    new: str
    context: str

    def __str__(self) -> str:
        return f"{self.old} -> {self.new} {self.context}".rstrip()
