"""Comparing the counts of two texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from esdedup.features.numbers.languages import MONEY, PERCENT, lexicon_of
from esdedup.features.numbers.reading import same_figure
from esdedup.model.numbers import NumberChange, NumberContext

# Letters of a word that are compared: endings change with the sentence ("kişi", "kişinin";
# "killed", "killing"). Measured on SpotSigs, 4 raises no more alarms than 5.
STEM = 4

# Words whose one and many begin differently: "one person", "two people".
_ONE_AND_MANY = {"person": "peop", "persons": "peop", "kam": "kame"}

# A count with its unit is one kind of its own: 2133 metres is not an update of 7000 feet.
MEASURES = lexicon_of("").lists["measures"] | lexicon_of("").units.keys()


# A place with more values is a table; also keeps hostile input linear.
MAX_VALUES = 8

# "17 people dead, up from 12 people": the second number is the old one, in a place of its own.
REFERENCES = lexicon_of("").lists["references"]


def compare_numbers(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> tuple[NumberChange, ...]:
    """Counts of `new` that stand where `old` had another value, with the words behind them."""
    changed = find_changed_counts(old, new)
    return tuple(NumberChange(was, count.value, _readable(count)) for was, count in changed)


def find_changed_counts(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> list[tuple[str, NumberContext]]:
    """Old values and the counts of `new` that took their places, in the order of `new`.

    Two counts of one kind and unit stand in the same place when they share two neighbouring
    content words. A place has changed when old and new have no value in common there, or when
    exactly one value gave way to another. The new value must be more frequent in the new text
    than in the old; where the old text has it at all, the one that gave way must have become
    rarer ("1 killed, 2 injured" -> "2 killed, 2 injured"), or two places must agree. Values that
    are as frequent as before have changed where two of them changed places.
    """
    before, after = set(old), set(new)
    moved = [number for number in new if number not in before]
    gone = [number for number in old if number not in after]
    # A value that left a place is of a count that is gone as it stood. In most copies nothing came
    # to such a place but the same value, and the places of all other counts need not be made.
    left, entered = _places(gone), _places(moved)
    same = left.keys() & entered.keys()
    if not any(left[place] - entered[place] and entered[place] - left[place] for place in same):
        return []
    known, present = _frequencies(old), _frequencies(new)
    old_places, new_places = _places(old), _places(new)
    changes: dict[tuple[str, str], NumberContext] = {}
    certain: set[tuple[str, str]] = set()
    for number in moved:
        previous, places = _previous_value(number, old_places, new_places)
        if not previous:
            continue
        pair, kind = (previous, number.value), number.kind
        changes.setdefault(pair, number)
        if present[kind, number.value] > known.get((kind, number.value), 0) and (
            places > 1
            or (kind, number.value) not in known
            or present.get((kind, previous), 0) < known.get((kind, previous), 0)
        ):
            certain.add(pair)
    return [
        (pair[0], count)
        for pair, count in changes.items()
        if pair in certain or pair[::-1] in changes
    ]


def _frequencies(numbers: Iterable[NumberContext]) -> dict[tuple[str, str], int]:
    frequencies: dict[tuple[str, str], int] = {}
    for number in numbers:
        key = number.kind, number.value
        frequencies[key] = frequencies.get(key, 0) + 1
    return frequencies


_Places = dict[tuple[str, ...], set[str]]


def _places(numbers: Iterable[NumberContext]) -> _Places:
    places: _Places = {}
    for number in numbers:
        for key in _place_keys(number):
            values = places.get(key)
            if values is None:
                places[key] = {number.value}
            else:
                values.add(number.value)
    return places


def _previous_value(
    number: NumberContext, old_places: _Places, new_places: _Places
) -> tuple[str, int]:
    """The old value that gave way to this one in most places, and in how many; or ""."""
    votes: dict[str, int] = {}
    for key in _place_keys(number):
        old_values = old_places.get(key)
        if old_values:
            for value in _find_replaced(old_values, new_places[key], number.value):
                votes[value] = votes.get(value, 0) + 1
    if not votes:
        return "", 0
    # By votes, then by the smallest, so that the answer does not depend on the order of a set.
    previous = min(votes, key=lambda value: (-votes[value], len(value), value))
    if same_figure(previous, number.value):
        return "", 0
    return previous, votes[previous]


def _find_replaced(old_values: set[str], new_values: set[str], value: str) -> set[str]:
    """The values that left a place which `value` entered."""
    if value in old_values or max(len(old_values), len(new_values)) > MAX_VALUES:
        return set()
    gone = old_values - new_values
    if len(gone) == len(old_values) or (len(gone) == 1 and len(new_values - old_values) == 1):
        return gone
    return set()


def _place_keys(number: NumberContext) -> list[tuple[str, ...]]:
    """Two content words each: both behind, one on either side, both before; or a whole line."""
    before, after = number.before.split(), number.after.split()
    if len(before) + len(after) == 1:
        return [(number.kind, *before, "|", *after)]
    kind = number.kind
    keys: list[tuple[str, ...]] = []
    left = stem(before[-1]) if before else ""
    if after:
        right = stem(after[0])
        if kind == MONEY or after[0] in MEASURES:
            kind = f"{kind} {right}"
        if len(after) > 1 and not (before and before[-1] in REFERENCES):
            keys.append((kind, "", right, stem(after[1])))
        if left:
            keys.append((kind, left, right))
    if len(before) > 1:
        keys.append((kind, stem(before[-2]), left, ""))
    return keys


def stem(word: str) -> str:
    return _ONE_AND_MANY.get(word) or word[:STEM]


def _readable(number: NumberContext) -> str:
    words = number.after or (f"({number.before})" if number.before else "")
    return f"% {words}".rstrip() if number.kind == PERCENT else words
