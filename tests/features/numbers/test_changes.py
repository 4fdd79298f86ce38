"""Which counts changed, against a judge that looks at every place of both texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from esdedup.features.numbers import NumberContext, compare_numbers
from esdedup.features.numbers.changes import MAX_VALUES, MEASURES, REFERENCES, stem
from esdedup.features.numbers.reading import scale

Place = tuple[str, ...]
Pair = tuple[str, str]


def naive_changes(old: Sequence[NumberContext], new: Sequence[NumberContext]) -> list[Pair]:
    """As `changed_numbers` says it: for each new count every place it stands in is asked who stood
    there in the old text, who in the new one, and whether somebody gave way."""
    found: dict[Pair, bool] = {}
    for number in new:
        votes: Counter[str] = Counter()
        for place in _places(number) if number not in old else []:
            were = {one.value for one in old if place in _places(one)}
            are = {one.value for one in new if place in _places(one)}
            if number.value in were or max(len(were), len(are)) > MAX_VALUES:
                continue
            left, came = were - are, are - were
            if left == were or (len(left) == 1 and len(came) == 1):
                votes.update(left)
        if not votes:
            continue
        previous = min(votes, key=lambda value: (-votes[value], len(value), value))
        if any(number.value == scale(previous, p) or previous == scale(number.value, p)
               for p in (6, 9)):  # fmt: skip
            continue
        pair = previous, number.value
        is_certain = _times(new, number, pair[1]) > _times(old, number, pair[1]) and (
            votes[previous] > 1
            or not _times(old, number, pair[1])
            or _times(new, number, previous) < _times(old, number, previous)
        )
        found[pair] = found.get(pair, False) or is_certain
    return [pair for pair, is_certain in found.items() if is_certain or pair[::-1] in found]


def _times(numbers: Sequence[NumberContext], like: NumberContext, value: str) -> int:
    return sum(one.kind == like.kind and one.value == value for one in numbers)


def _places(number: NumberContext) -> list[Place]:
    before, after = number.before.split(), number.after.split()
    if len(before) + len(after) == 1:
        return [(number.kind, number.before, number.after)]
    unit = ""
    if after and (number.kind == "money" or after[0] in MEASURES):
        unit = stem(after[0])
    kind = number.kind, unit
    places: list[Place] = []
    if len(after) > 1 and not (before and before[-1] in REFERENCES):
        places.append((*kind, "behind", stem(after[0]), stem(after[1])))
    if before and after:
        places.append((*kind, "around", stem(before[-1]), stem(after[0])))
    if len(before) > 1:
        places.append((*kind, "before", stem(before[-2]), stem(before[-1])))
    return places


SOME_WORDS = st.lists(
    st.sampled_from(["killed", "killing", "people", "person", "from", "feet", "shops"]), max_size=3
).map(" ".join)
COUNTS = st.builds(
    NumberContext,
    st.sampled_from(["1", "2", "3", "17", "17000000"]),
    st.sampled_from(["count", "money", "percent"]),
    SOME_WORDS,
    SOME_WORDS,
)
TEXTS = st.lists(COUNTS, max_size=12)


@st.composite
def two_versions(draw: st.DrawFn) -> tuple[list[NumberContext], list[NumberContext]]:
    """A text and another that keeps most of its counts."""
    old = draw(TEXTS)
    new = [draw(COUNTS) if draw(st.integers(0, 4)) == 0 else number for number in old]
    return old, new + draw(st.lists(COUNTS, max_size=2))


@settings(max_examples=200)
@given(st.one_of(two_versions(), st.tuples(TEXTS, TEXTS)))
@example(
    (
        [
            NumberContext("1", "count", "", "people killed"),
            NumberContext("2", "count", "", "shops"),
        ],
        [
            NumberContext("2", "count", "", "people killed"),
            NumberContext("1", "count", "", "shops"),
        ],
    )
)
def test_the_slow_judge_finds_the_same_changes(
    versions: tuple[list[NumberContext], list[NumberContext]],
) -> None:
    old, new = versions
    found = [(change.old, change.new) for change in compare_numbers(old, new)]
    assert found == naive_changes(old, new)
