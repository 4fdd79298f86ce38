"""What an article states, small enough to be stored: its counts, and the names it begins with."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.features.numbers.changes import changed_numbers
from esdedup.features.numbers.finding import number_contexts
from esdedup.features.numbers.names import NAME, changed_names, name_contexts
from esdedup.model.numbers import NumberChange, NumberContext


def stated(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """Counts in reading order, then names."""
    return (*number_contexts(text, lang), *name_contexts(text, lang))


def changed(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> tuple[str, tuple[NumberChange, ...]]:
    """What kind of statement changed, `numbers` or `names`, and how; nothing where none did."""
    if old == new:
        return "", ()
    before, after = set(old), set(new)
    if before <= after or after <= before:  # of copies cut at the end: nothing gave way to anything
        return "", ()
    counts = changed_numbers(
        [one for one in old if one.kind != NAME], [one for one in new if one.kind != NAME]
    )
    if counts:
        return "numbers", counts
    names = changed_names(old, new)
    return ("names", names) if names else ("", ())
