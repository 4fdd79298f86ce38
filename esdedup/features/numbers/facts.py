"""Facts that two near-identical articles state differently.

Counts are compared by the words around them, wherever they stand. Everything else is compared in
the difference of the texts: quantities, names and statements of passages that replace each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from esdedup.features.numbers.changes import find_changed_counts
from esdedup.features.numbers.difference import find_differences, quote
from esdedup.features.numbers.finding import Quantity, Reading
from esdedup.features.numbers.names import compare_names
from esdedup.features.numbers.quantities import find_changed_quantities, is_same, write
from esdedup.features.numbers.statements import compare_statements
from esdedup.model.numbers import NumberChange, NumberContext


def compare_facts(old: Reading, new: Reading) -> tuple[str, tuple[NumberChange, ...]]:
    """What changed, `numbers`, `names` or `statement`, and the changes; ("", ()) if nothing did."""
    if old.folded == new.folded:
        return "", ()
    passages = list(find_differences(old, new))
    placed = [
        *_compare_counts(old, new),
        *(change for one, other in passages for change in find_changed_quantities(one, other)),
    ]
    if placed:
        distinct: dict[tuple[str, str], NumberChange] = {}
        for _, number in sorted(placed):
            distinct.setdefault((number.old, number.new), number)
        return "numbers", tuple(distinct.values())
    for what, compare in (("names", compare_names), ("statement", compare_statements)):
        changes = [change for one, other in passages if (change := compare(one, other))]
        if changes:
            return what, tuple(changes)
    return "", ()


def _compare_counts(old: Reading, new: Reading) -> Iterator[tuple[int, NumberChange]]:
    before, after = set(old.counts), set(new.counts)
    if before <= after or after <= before:  # copies cut at the end: nothing was replaced
        return
    for previous, count in find_changed_counts(old.counts, new.counts):
        was, now = _find(old, previous, count.kind), _find(new, count.value, count.kind, count)
        if not is_same(was, now):
            phrase = quote(new, now.start, now.end)
            yield now.start, NumberChange(write(was, old), write(now, new), phrase)


def _find(
    reading: Reading, value: str, kind: str, context: NumberContext | None = None
) -> Quantity:
    return next(
        one
        for one in reading.found
        if (one.context.value, one.context.kind) == (value, kind)
        and (context is None or one.context == context)
    )
