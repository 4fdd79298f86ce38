"""Which facts changed between two texts: quantities, names and statements, and how they are told.

Cases in eleven languages are in tests/eval/signals; here is what they do not show.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.features.numbers import compare_facts, read_quantities
from esdedup.features.numbers.difference import find_differences
from esdedup.features.numbers.quantities import write_value
from tests.support.work import count_lines

BEFORE = "The harbour office met reporters in the morning. "
AFTER = " The ministry promised another statement soon."


def facts(old: str, new: str, lang: str | None = "en") -> tuple[str, list[str]]:
    readings = (read_quantities(f"{BEFORE}{text}{AFTER}", lang) for text in (old, new))
    reason, changes = compare_facts(*readings)
    return reason, [str(change) for change in changes]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "Officials said at least 12 people died, the mayor added.",
            "Officials said at least 17 people died, the mayor added.",
            ("numbers", ["12 -> 17: said at least 17 people died"]),
        ),
        (
            "The bridge cost 18 billion lira.",
            "The bridge cost 21.5 billion lira.",
            ("numbers", ["18 bn lira -> 21.5 bn lira: The bridge cost 21.5 billion lira"]),
        ),
        (
            "Prices rose 4.1 percent in spring.",
            "Prices rose 4.3 percent in spring.",
            ("numbers", ["4.1 % -> 4.3 %: Prices rose 4.3 percent in spring"]),
        ),
        (
            "Hundreds of people fled.",
            "Thousands of people fled.",
            ("numbers", ["Hundreds -> Thousands: Thousands of people fled"]),
        ),
        (
            "There were no deaths in the camp.",
            "There were seven deaths in the camp.",
            ("numbers", ["no -> 7: There were seven deaths in the camp"]),
        ),
        (
            "The well is the source of the infection.",
            "The well is not the source of the infection.",
            ("statement", ["is the -> is not the: The well is not the source of the infection"]),
        ),
        (
            "Admissions fell in the north.",
            "Admissions rose in the north.",
            ("statement", ["fell -> rose: Admissions rose in the north"]),
        ),
        (
            "They suffer from an unknown illness.",
            "They suffer from cholera.",
            ("names", ["an unknown illness -> cholera: They suffer from cholera"]),
        ),
        (
            "The quake struck Izmir on Tuesday.",
            "The quake struck Van on Tuesday.",
            ("names", ["Izmir -> Van: The quake struck Van on Tuesday"]),
        ),
    ],
)
def test_a_change_is_told_with_the_phrase_of_the_text(
    old: str, new: str, expected: tuple[str, list[str]]
) -> None:
    assert facts(old, new) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Added, cut and moved statements replace nothing.
        ("Trains run.", "Trains run. They did not stop at all stations yesterday evening."),
        ("It is closed. Nobody was hurt by the fire there.", "It is closed."),
        ("He met Ana in the old hall.", "He met Ana Lopez in the old hall."),
        ("It was cold, he said.", "It was cold, Smith said."),
        # Denied as before.
        ("They did not stop.", "They didn't stop."),
        ("The office declined to comment.", "The office did not comment."),
        # A table.
        ("The end.\n36 -- 12 -- 4\nMore", "The end.\n38 -- 14 -- 5\nMore"),
        # Money converted at some rate.
        ("It cost $12m in all.", "It cost £9m in all."),
        ("Some 43 people came.", "About 43 people came."),
        ("He was jailed at the age of 45.", "He was jailed at 46 years of age."),
    ],
)
def test_nothing_changed(old: str, new: str) -> None:
    assert facts(old, new) == ("", [])


def test_years_in_prison_are_no_age() -> None:
    old, new = (f"He was sentenced to {n} years in prison." for n in (12, 15))
    assert facts(old, new)[0] == "numbers"


def test_a_page_part_beside_the_text_is_no_context() -> None:
    """Above and below a line that differs stands another text."""
    readings = (
        read_quantities(f"{channel}\nThe mayor thanked the volunteers of the town.", "en")
        for channel in ("KXTV 7 Springtown", "News 8 Rivertown")
    )
    assert compare_facts(*readings) == ("", ())


@pytest.mark.parametrize(
    ("value", "kind", "unit", "written"),
    [
        ("12", "count", "", "12"),
        ("12500", "count", "", "12500"),
        ("1200000", "count", "", "1.2 m"),
        ("1234567", "count", "", "1234567"),
        ("18000000000", "money", "try", "18 bn lira"),
        ("81", "money", "usd", "81 dollars"),
        ("4.3", "percent", "", "4.3 %"),
        ("2-1", "count", "", "2-1"),
    ],
)
def test_amounts_are_written_as_people_do(value: str, kind: str, unit: str, written: str) -> None:
    assert write_value(value, kind, unit) == written


WORDS = "killed people no not never rose fell 12 17 hundreds half cholera in Leeds York , . \n"
TEXTS = st.lists(st.sampled_from(WORDS.split(" ")), max_size=40).map(" ".join)
LANGUAGES = st.sampled_from(["en", "fr", "de", "tr", "ru", "ar", "zh", None])


@given(TEXTS | st.text(), LANGUAGES)
def test_a_text_states_what_it_states(text: str, lang: str | None) -> None:
    readings = (read_quantities(text, lang) for _ in range(2))
    assert compare_facts(*readings) == ("", ())


@given(TEXTS | st.text(), TEXTS | st.text(), LANGUAGES)
def test_any_two_texts_are_compared(old: str, new: str, lang: str | None) -> None:
    reason, changes = compare_facts(read_quantities(old, lang), read_quantities(new, lang))
    assert bool(reason) == bool(changes)
    assert reason in ("", "numbers", "names", "statement")


@given(TEXTS, TEXTS, TEXTS)
def test_what_differs_lies_between_shared_words(head: str, old: str, new: str) -> None:
    """Both passages stand behind the same word, or at the beginning."""
    one, other = (
        read_quantities(f"{head} {text} then all of them left", "en") for text in (old, new)
    )
    for before, after in find_differences(one, other):
        assert before.words != after.words
        words = [
            side.reading.folded[slice(*side.tokens[side.first - 1])] if side.first else ""
            for side in (before, after)
        ]
        assert words[0] == words[1]


@pytest.mark.parametrize("unit", ["12 people died ", "no ", "a b c ", "1 ", "in York "])
def test_work_grows_with_the_length_only(unit: str) -> None:
    """Eight times the text; quadratic work would be 64 times as much."""

    def compare(times: int) -> int:
        one = read_quantities("x " + unit * times, "en")
        other = read_quantities("y " + f"{unit}z " * times, "en")
        return count_lines(lambda: compare_facts(one, other))

    compare(2)
    assert compare(800) < 10 * compare(100)
