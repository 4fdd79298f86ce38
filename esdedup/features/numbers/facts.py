"""Facts that an article states: its counts and the names in its lead."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.features.numbers.changes import compare_numbers
from esdedup.features.numbers.finding import extract_numbers
from esdedup.features.numbers.names import NAME, compare_names, extract_names
from esdedup.model.numbers import NumberChange, NumberContext


def extract_facts(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """Counts in reading order, then names."""
    return (*extract_numbers(text, lang), *extract_names(text, lang))


def compare_facts(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> tuple[str, tuple[NumberChange, ...]]:
    """Which facts changed, `numbers` or `names`, and the changes; ("", ()) if none did."""
    if old == new:
        return "", ()
    before, after = set(old), set(new)
    if before <= after or after <= before:  # copies cut at the end: nothing was replaced
        return "", ()
    counts = compare_numbers(
        [one for one in old if one.kind != NAME], [one for one in new if one.kind != NAME]
    )
    if counts:
        return "numbers", counts
    names = compare_names(old, new)
    return ("names", names) if names else ("", ())
