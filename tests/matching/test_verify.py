"""Overlap measures and verdicts on hand-made contents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.ingest.sign import Signed
from esdedup.matching.content import Content
from esdedup.matching.verify import (
    count_overlap,
    count_shared,
    dice_matrix,
    dice_with_each,
    verify,
    verify_contents,
)
from esdedup.methods import METHODS
from esdedup.model import Document, Signature
from esdedup.settings import Settings
from esdedup.settings.table import Measure

PEOPLE = "The coastguard said 12 people were killed on the ferry."
MORE_PEOPLE = "The coastguard said 17 people were killed on the ferry."


def content(
    shingles: Sequence[int], words: int = 50, exact: str = "", sentence: str = ""
) -> Content:
    return Content(sentence, "en", words, np.array(shingles, np.uint32), exact)


@pytest.mark.parametrize(
    ("measure", "overlap"), [("dice", 4 / 9), ("jaccard", 2 / 7), ("containment", 2 / 4)]
)
def test_measures(measure: Measure, overlap: float) -> None:
    """{1..5} and {4..7} share 4 and 5; repeated shingles count once."""
    old, new = content([1, 2, 3, 4, 5, 5, 5]), content([5, 4, 6, 7, 4])
    evidence = verify_contents("o", old, new, Settings(measure=measure, min_overlap=overlap))
    assert evidence.overlap == pytest.approx(overlap)
    assert (evidence.of_new, evidence.of_old) == (2 / 4, 2 / 5)
    assert evidence.verdict == "different", "the overlap must be above the threshold"
    assert verify_contents(
        "o", old, new, Settings(measure=measure, min_overlap=overlap - 1e-9)
    ).verdict == ("duplicate")


@given(st.sets(st.integers(0, 2**32 - 1)), st.sets(st.integers(0, 2**32 - 1)))
def test_shared_hashes_are_the_intersection(a: set[int], b: set[int]) -> None:
    one, other = (np.array(sorted(s), np.uint32) for s in (a, b))
    assert count_shared(one, other) == len(a & b)


_few_hashes = st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9), max_size=12)


@given(_few_hashes, _few_hashes)
def test_distinct_hashes_are_counted_as_in_sets(one: list[int], other: list[int]) -> None:
    arrays = [np.array(hashes, np.uint32) for hashes in (one, other)]
    a, b = set(one), set(other)
    assert count_overlap(*arrays) == (len(a & b), len(a), len(b))
    assert [array.tolist() for array in arrays] == [one, other], "left as they were"


@given(_few_hashes, st.lists(_few_hashes, max_size=5))
def test_dice_with_each_of_several(own: list[int], others: list[list[int]]) -> None:
    found = dice_with_each(np.array(own, np.uint32), [np.array(o, np.uint32) for o in others])
    a = set(own)
    expected = [2 * len(a & set(o)) / (len(a) + len(set(o))) if a and o else 0.0 for o in others]
    assert found == expected


def test_evidence_names_measure_thresholds_and_collisions() -> None:
    settings = Settings(min_overlap=0.25, max_collisions_by_chance=1)
    evidence = verify_contents("o", content([1]), content([1]), settings, found_by={"sketch": 7})
    assert evidence.other == "o"
    assert evidence.found_by == {"sketch": 7}
    assert evidence.measure == settings.measure
    assert evidence.thresholds == {"min_overlap": 0.25, "max_collisions_by_chance": 1}


def test_changed_counts_make_an_update_and_only_of_a_match() -> None:
    old, new = content([1, 2], sentence=PEOPLE), content([1, 2], sentence=MORE_PEOPLE)
    evidence = verify_contents("o", old, new, Settings())
    assert (evidence.verdict, evidence.reason) == ("update", "numbers")
    assert [(c.old, c.new) for c in evidence.numbers] == [("12", "17")]
    elsewhere = content([3, 4], sentence=MORE_PEOPLE)
    assert verify_contents("o", old, elsewhere, Settings()).verdict == "different"
    unchecked = verify_contents("o", old, new, Settings(number_check=False))
    assert (unchecked.verdict, unchecked.numbers) == ("duplicate", ())


@pytest.mark.parametrize(
    ("old_words", "new_words", "ratio", "verdict"),
    [
        (100, 151, 1.5, "update"),
        (100, 150, 1.5, "duplicate"),
        (151, 100, 1.5, "duplicate"),
        (100, 900, 0.0, "duplicate"),
    ],
)
def test_an_extended_text(old_words: int, new_words: int, ratio: float, verdict: str) -> None:
    old, new = content([1, 2, 3], old_words), content([1, 2, 3, 4, 5], new_words)
    evidence = verify_contents("o", old, new, Settings(extended_ratio=ratio))
    assert evidence.verdict == verdict
    assert (evidence.reason == "extended") == (verdict == "update")


def quoting(passage: Iterable[int]) -> list[int]:
    """A text of its own with the passage at its end."""
    return [*range(1000, 1100), *passage]


@pytest.mark.parametrize("words", [(100, 151), (151, 100)])
def test_a_long_text_needs_half_of_the_short_one(words: tuple[int, int]) -> None:
    """A passage quoted in a long article makes it neither a copy nor an update."""
    old, new = content(range(100), words[0]), content(quoting(range(53, 100)), words[1])
    settings = Settings(min_overlap=0.4)
    evidence = verify_contents("o", old, new, settings)
    assert (evidence.overlap, evidence.verdict) == (0.47, "different")
    assert evidence.thresholds["min_overlap"] == 0.5
    of_one_length = verify_contents("o", old, content(quoting(range(53, 100)), words[0]), settings)
    assert (of_one_length.verdict, of_one_length.thresholds["min_overlap"]) == ("duplicate", 0.4)
    without = verify_contents("o", old, new, Settings(min_overlap=0.4, extended_ratio=0.0))
    assert without.verdict == "duplicate"
    assert (
        verify_contents("o", old, new, Settings(min_overlap=0.6)).thresholds["min_overlap"] == 0.6
    )


@pytest.mark.parametrize(
    ("old", "new", "needed"),
    [
        (range(200), [*range(80), *range(1000, 1130)], 0.32),  # cut after the lead, continued
        (range(200), [*range(1000, 1130), *range(80)], 0.45),  # the lead, behind a new one
        (range(200), [*range(120, 200), *range(1000, 1130)], 0.32),  # a lead of another's end
        (range(30), [*range(12), *range(1000, 1020)], 0.45),  # too short to have a lead
    ],
)
def test_what_is_needed_of_texts_that_begin_alike(
    old: Sequence[int], new: Sequence[int], needed: float
) -> None:
    """Two fifths of the shorter text each time; the longer one's beginning tells."""
    one, other = content(old, len(old)), content(new, len(new))
    evidence = verify_contents("o", one, other, Settings())
    assert evidence.overlap == 0.4
    assert evidence.thresholds["min_overlap"] == pytest.approx(needed)
    assert (evidence.verdict == "duplicate") == (needed < 0.4)
    assert verify_contents("o", other, one, Settings()).verdict == evidence.verdict
    for settings in (Settings(lead_bonus=0.0), Settings(min_overlap=0.51, lead_bonus=0.2)):
        assert verify_contents("o", one, other, settings).verdict == "different"


def test_a_clearly_longer_text_with_the_same_beginning_is_an_update() -> None:
    old = content(range(200), 200)
    new = content([*range(80), *range(1000, 1300)], 380)
    evidence = verify_contents("o", old, new, Settings())
    assert (evidence.verdict, evidence.reason) == ("update", "extended")
    quoting_the_lead = content([*range(1000, 1300), *range(80)], 380)
    assert verify_contents("o", old, quoting_the_lead, Settings()).verdict == "different"


def test_texts_without_a_shingle_match_by_their_exact_words() -> None:
    short = content([], 2, "ab")
    assert verify_contents("o", short, content([], 2, "ab"), Settings()).verdict == "duplicate"
    assert verify_contents("o", short, content([], 2, "cd"), Settings()).verdict == "different"
    assert verify_contents("o", short, content([1, 2], 5, "ef"), Settings()).verdict == "different"
    assert verify_contents("o", content([], 0, "ab"), content([], 0, "ab"), Settings()).verdict == (
        "different"
    ), "nothing is no copy of nothing"


@pytest.mark.parametrize(("name", "closeness"), [("simhash", 1 / 4), ("phrases", 3 / 4)])
def test_one_method_alone(name: str, closeness: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its measure decides; for ranking, less is closer where the measure is a distance."""
    fake = SimpleNamespace(
        compare=lambda a, b, _: 3.0 if a == b else 5.0,
        compare_seeds=lambda a, b, _: 7.0 if a == b else 9.0,
        matches=lambda measure, _: measure in (3.0, 7.0),
    )
    monkeypatch.setitem(METHODS, name, fake)
    settings = Settings(verified_by=name)

    def signed(*keys: str, **seeds: str) -> Signed:
        return Signed(Document("o"), Signature("f", {name: keys} if keys else {}, query_seed=seeds))

    one, other = signed("a"), signed("b")
    evidence = verify(one, one, settings)
    assert (evidence.verdict, evidence.overlap, evidence.measure) == ("duplicate", 3.0, name)
    assert (evidence.of_new, evidence.of_old) == (closeness, closeness)
    assert verify(one, other, settings).verdict == "different"
    without = verify(one, signed(), settings)
    assert (without.verdict, without.overlap, without.of_new) == ("different", 0.0, 0.0)
    seeded = [signed("a", **{name: text}) for text in "ab"]
    assert verify(seeded[0], seeded[0], settings).overlap == 7.0
    assert verify(seeded[0], seeded[1], settings).overlap == 9.0
    assert verify(seeded[0], one, settings).overlap == 3.0, "of the keys, where one has no more"


def test_how_alike_each_two_are() -> None:
    found = dice_matrix([content([1, 2, 3]), content([3, 4, 4]), content([]), content([])])
    expected = [[1, 0.4, 0, 0], [0.4, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert found == pytest.approx(np.array(expected))
