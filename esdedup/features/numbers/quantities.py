"""Quantities that changed: whether two of them say the same, and how people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from esdedup.features.numbers.difference import Side, quote
from esdedup.features.numbers.finding import Quantity, Reading
from esdedup.features.numbers.languages import (
    COUNT,
    MONEY,
    ORDINAL,
    PERCENT,
    SHARE,
    units_of_measure,
)
from esdedup.features.numbers.reading import same_figure
from esdedup.features.numbers.statements import denies
from esdedup.model.numbers import NumberChange

# Words on either side of a passage in which its numbers may go on: "minus 8", "8 grados bajo cero".
_MARGIN = 2
# Converted values are rounded: 7 miles are 11 km.
_ROUNDING = 0.04
_DEGREE = 0.6
_PERCENT_POINT = 0.7
# Words of a passage that says "none" or "one" and nothing else; longer ones share what is counted.
_FEW = 3


def find_changed_quantities(old: Side, new: Side) -> Iterator[tuple[int, NumberChange]]:
    """Quantities of two passages that stand for each other and differ, with their places."""
    if not old.quantities() and not new.quantities():
        return
    before, after = old.widen(_MARGIN).quantities(), new.widen(_MARGIN).quantities()
    gone = [
        one
        for one in before
        if not any(is_same(one, other) for other in after) and _has_words(one, old)
    ]
    came = [
        one
        for one in after
        if not any(is_same(one, other) for other in before) and _has_words(one, new)
    ]
    if gone and came:
        for one, other in zip(gone, came, strict=False):
            was, now = write(one, old.reading), write(other, new.reading)
            yield other.start, NumberChange(was, now, _quote(other, new))
    elif came and (nothing := _find_none_or_one(old, new, came[0])):
        now = write(came[0], new.reading)
        yield came[0].start, NumberChange(nothing, now, _quote(came[0], new))
    elif gone and (nothing := _find_none_or_one(new, old, gone[0])):
        yield new.span[0], NumberChange(write(gone[0], old.reading), nothing, new.clause())


def _has_words(found: Quantity, side: Side) -> bool:
    """Whether words stand beside a quantity; in tables and navigation none do."""
    return re.search(r"[^\W\d_]{3}|[\u3040-\u9fff]", _quote(found, side)) is not None


def _find_none_or_one(side: Side, counting: Side, other: Quantity) -> str:
    """The words of the passage that say "none", or "one" where the other is not one."""
    if max(side.size, counting.size) > _FEW and not side.shares_word(counting):
        return ""
    if denies(side):
        return side.text
    articles = side.reading.lexicon.lists["articles"]
    is_one = other.context.value == "1" or other.context.kind in (PERCENT, MONEY, SHARE)
    return side.text if not is_one and not articles.isdisjoint(side.words) else ""


def _quote(found: Quantity, side: Side) -> str:
    return quote(side.reading, found.start, found.end)


def is_same(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities state the same, in whatever notation or unit."""
    a, b = one.context, other.context
    if a.kind == b.kind == MONEY and one.unit != other.unit:
        return True  # converted at an unknown rate
    sizes = _sizes(one, other)
    if sizes is not None:
        x, y, tolerance = sizes
        return abs(x - y) <= tolerance
    if {a.kind, b.kind} <= {PERCENT, SHARE} and a.kind != b.kind:
        x, y = (_percent(context.value, context.kind) for context in (a, b))
        return abs(x - y) <= _PERCENT_POINT
    comparable = a.kind == b.kind or {a.kind, b.kind} <= {COUNT, ORDINAL, MONEY}
    return comparable and (a.value == b.value or same_figure(a.value, b.value))


# "500 pounds" is read as money.
_POUND = {"gbp": "pound"}


def _sizes(one: Quantity, other: Quantity) -> tuple[float, float, float] | None:
    """Both in one unit, and what rounding may make of them; None if they need no conversion."""
    units = units_of_measure()
    a, b = (_POUND.get(found.unit, found.unit) for found in (one, other))
    if a == b or a not in units or b not in units:
        return None
    (dimension, size_a, zero_a), (others, size_b, zero_b) = units[a], units[b]
    values = one.context.value, other.context.value
    if dimension != others or not all(_is_numeral(value) for value in values):
        return None
    x, y = float(values[0]) * size_a + zero_a, float(values[1]) * size_b + zero_b
    return x, y, _DEGREE if dimension == "temperature" else _ROUNDING * max(abs(x), abs(y))


def _is_numeral(value: str) -> bool:
    return value.removeprefix("-").replace(".", "", 1).isdigit()


def _percent(value: str, kind: str) -> float:
    return float(100 * Fraction(value)) if kind == SHARE else float(value)


# --- as people write them -------------------------------------------------------------------------

_CURRENCY_NAMES = {
    "usd": "dollars",
    "eur": "euros",
    "gbp": "pounds",
    "jpy": "yen",
    "cny": "yuan",
    "try": "lira",
    "inr": "rupees",
    "rub": "roubles",
    "chf": "francs",
    "peso": "pesos",
    "franc": "francs",
    "mark": "marks",
    "real": "reais",
}
_SCALES = ((12, "tn"), (9, "bn"), (6, "m"))
# A longer number is given exactly: 1,234,567.
_MOST_DIGITS = 4


def write(found: Quantity, reading: Reading) -> str:
    """The quantity as people write it: "18 bn lira", "4.3 %", "hundreds"."""
    value, kind = found.context.value, found.context.kind
    if kind not in (COUNT, PERCENT, MONEY):
        return " ".join(reading.original[found.start : found.end].split())
    return write_value(value, kind, found.unit)


def write_value(value: str, kind: str, unit: str = "") -> str:
    short = _shorten(value)
    if kind == PERCENT:
        return f"{short} %"
    return f"{short} {_CURRENCY_NAMES.get(unit, unit)}" if kind == MONEY and unit else short


def _shorten(value: str) -> str:
    """Millions and more by their scale, if few digits say them."""
    if not value.isdigit():
        return value
    for power, name in _SCALES:
        if len(value) > power:
            whole, rest = value[:-power], value[-power:].rstrip("0")
            if len(whole + rest) <= _MOST_DIGITS:
                return f"{whole}.{rest} {name}" if rest else f"{whole} {name}"
    return value
