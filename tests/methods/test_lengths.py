"""The worked examples of paper 003 (Chang & Wang), by name, and the properties of the windows."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.methods import lengths
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, open_store
from esdedup.stores.cluster.requests.candidates import candidate_search
from esdedup.text.batch import Batch
from esdedup.text.sentences import Numbers, split
from tests.methods import naive_lengths as naive
from tests.methods.test_reference import FRAGMENTS
from tests.support.work import count_lines

CHANG_WANG = Settings.load(preset="chang-wang", environment={}, flags={"clause_marks": ""})


def keys_of(text: str, settings: Settings = CHANG_WANG) -> tuple[str, ...]:
    batch = Batch([Document(id="a", text=text)], settings)
    (signed,) = lengths.sign(batch, settings)
    return lengths.keys(signed, settings)


def written(counts: list[int], word: str = "word", end: str = ". ") -> str:
    """A text with these sentence lengths."""
    return end.join(" ".join([word] * n) for n in counts) + end


def drawn(seed: int, count: int) -> list[int]:
    return random.Random(seed).choices(range(4, 40), k=count)


# --- the paper ---------------------------------------------------------------------------------


def test_the_parameters_of_the_paper() -> None:
    assert (CHANG_WANG.window_sentences, CHANG_WANG.window_step, CHANG_WANG.min_windows) == (
        8,
        1,
        5,
    )
    assert CHANG_WANG.methods == ("lengths",)
    assert CHANG_WANG.verified_by == "lengths"
    assert not CHANG_WANG.number_check


def test_the_preset_cuts_at_commas_and_semicolons_as_table_6_implies() -> None:
    preset = Settings.load(preset="chang-wang", environment={})
    assert preset.clause_marks == ",;"
    text = "One two three, four five; six. Seven eight! " * 6
    (clauses,) = lengths.sign(Batch([Document("a", text=text)], preset), preset)
    assert clauses.lengths.tolist() == [3, 2, 1, 2] * 6
    (sentences,) = lengths.sign(Batch([Document("a", text=text)], CHANG_WANG), CHANG_WANG)
    assert sentences.lengths.tolist() == [6, 2] * 6


def test_the_example_of_section_3_2() -> None:
    settings = replace(CHANG_WANG, window_sentences=4, window_step=2, min_windows=1)
    one, other = np.arange(10), np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 0])

    def windows(string: Numbers, *, step: int) -> list[str]:
        chosen = replace(settings, window_step=step)
        starts = lengths.select_stored(string, lengths.window_starts(string, chosen), chosen)
        return ["".join(map(str, string[i : i + 4])) for i in starts]

    stored = windows(one, step=2)
    assert stored == ["0123", "2345", "4567", "6789"]
    assert set(stored) & set(windows(other, step=2)) == set()
    assert [w for w in windows(other, step=1) if w in stored] == ["2345", "4567", "6789"]


@pytest.mark.parametrize(
    ("size", "step", "threshold", "shortest"), [(8, 1, 9, 16), (16, 2, 1, 16), (8, 1, 5, 12)]
)
def test_the_shortest_match_of_equation_1(
    size: int, step: int, threshold: int, shortest: int
) -> None:
    settings = replace(CHANG_WANG, window_sentences=size, window_step=step, min_windows=threshold)
    assert lengths.min_sentences(settings) == shortest
    assert keys_of(written(drawn(1, shortest)), settings)
    assert keys_of(written(drawn(1, shortest - 1)), settings) == ()


@given(st.lists(st.integers(1, 2), max_size=40), st.integers(1, 6), st.integers(1, 3))
@hypothesis_settings(max_examples=100, deadline=None)
def test_dynamic_jumping_is_the_papers(string: list[int], size: int, step: int) -> None:
    settings = replace(CHANG_WANG, window_sentences=size, window_step=step, dynamic_jumping=True)
    array = np.array(string, np.int64)
    starts = np.arange(max(0, len(string) - size + 1))
    found = [tuple(string[i : i + size]) for i in lengths.select_stored(array, starts, settings)]
    assert found == naive.dynamic(string, size, step)


# --- the keys ----------------------------------------------------------------------------------

any_text = st.lists(
    st.one_of(
        st.sampled_from([*FRAGMENTS, "One. Two two! ", "。", "؟", "ก ข", "x" * 600, "\n", "…"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    ),
    max_size=25,
).map(" ".join)


@given(st.lists(any_text, min_size=1, max_size=20))
@example(["", ".", "a", "", "b."])
@hypothesis_settings(max_examples=100, deadline=None)
def test_sentences_are_the_naive_ones(texts: list[str]) -> None:
    found = split(texts)
    for i, text in enumerate(texts):
        own = slice(found.first[i], found.first[i + 1])
        columns = (found.words[own], found.starts[own], found.ends[own])
        assert np.stack(columns, axis=1).tolist() == list(map(list, naive.sentences(text)))
        assert found.count(i) == len(found.words[own])


@given(any_text, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
@hypothesis_settings(max_examples=100, deadline=None)
def test_keys_are_the_naive_ones(text: str, size: int, step: int, threshold: int) -> None:
    settings = replace(CHANG_WANG, window_sentences=size, window_step=step, min_windows=threshold)
    expected = naive.keys(text.strip(), size, step, threshold)
    if step == 1:
        assert list(keys_of(text, settings)) == expected
    assert set(keys_of(text, settings)) == set(expected)


def test_a_key_can_be_read() -> None:
    counts = [12, 7, 30, 5, 9, 14, 22, 18, 3, 11, 6, 8]
    assert keys_of(written(counts))[:2] == ("w:12-7-30-5-9-14-22-18", "w:7-30-5-9-14-22-18-3")


letters = st.lists(st.sampled_from("abcdef"), max_size=12, unique=True)


@given(letters, letters)
@hypothesis_settings(max_examples=200, deadline=None)
def test_the_measure_is_the_longest_diagonal(a: list[str], b: list[str]) -> None:
    assert lengths.compare(a, b, CHANG_WANG) == naive.longest_diagonal(a, b)
    assert lengths.compare(b, a, CHANG_WANG) == lengths.compare(a, b, CHANG_WANG)


def test_windows_in_another_order_are_no_copy() -> None:
    shared = [f"w:{i}" for i in range(10)]
    assert lengths.matches(lengths.compare(shared, shared, CHANG_WANG), CHANG_WANG)
    apart = [key for i in range(10) for key in (f"w:{i}", f"x{i}")]
    assert lengths.compare(shared, apart, CHANG_WANG) == 1


# --- languages -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "joint", "end"),
    [("", "雨", "。"), ("şehir", " ", ". "), ("शहर", " ", "। "), ("مدينة", " ", "؟ ")],
    ids=["Chinese", "Turkish", "Hindi", "Arabic"],
)
def test_a_partial_copy_in_any_language(word: str, joint: str, end: str) -> None:
    def text(counts: list[int]) -> str:
        return "".join(
            joint * n + end if not word else joint.join([word] * n) + end for n in counts
        )

    shared = drawn(1, 14)
    old, new = text(shared + drawn(2, 10)), text(drawn(3, 20) + shared)
    with Deduplicator(open_store("sqlite://:memory:", CHANG_WANG)) as deduplicator:
        deduplicator.add(Document(id="old", text=old))
        decision = deduplicator.add(Document(id="new", text=new))
    assert (decision.role, decision.group) == ("duplicate", "old")
    assert decision.evidence[0].overlap == 7


def test_replaced_words_leave_the_windows_alone() -> None:
    counts = drawn(4, 20)
    assert keys_of(written(counts, "river")) == keys_of(written(counts, "lake"))


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "no sentence ends here " * 200,
        "word " * 100_000 + ".",
        "😀" * 500,
        "😀. 🎉! " * 100,
        "... !!! ???",
        written([7, 5] * 30),
        written([5] * 40, end="\n"),
        written([10] * 11 + [4]),
    ],
    ids=["none", "giant", "emoji", "emoji sentences", "marks", "verse", "lines", "table"],
)
def test_texts_without_windows(text: str) -> None:
    assert keys_of(text) == ()


def test_right_to_left_with_direction_marks() -> None:
    counts = drawn(5, 15)
    plain = written(counts, "مدينة")
    marked = plain.replace("مدينة", "\u200fمدينة\u200f")
    assert keys_of(plain) == keys_of(marked) != ()


def test_a_long_text_keeps_its_first_windows() -> None:
    counts = drawn(6, 2_000)
    assert len(keys_of(written(counts))) == CHANG_WANG.max_windows
    assert keys_of(written(counts)) == keys_of(written(counts[: 900 + 7]))


def test_the_most_windows_fit_into_one_request() -> None:
    """Beside sketch and simhash: fewer than the 1,024 clauses that OpenSearch takes."""
    counts = {"sketch": 20, "simhash": 8, "lengths": CHANG_WANG.max_windows}
    keys = {method: tuple(f"{method}{i}" for i in range(n)) for method, n in counts.items()}
    body = candidate_search(CandidateQuery("a", keys, dict.fromkeys(keys, 1), (1, "a")), CHANG_WANG)
    assert json.dumps(body).count('"term"') + len(keys) < 1_024


def _compare_with_itself(text: str) -> None:
    own = keys_of(text)
    lengths.compare(own, own, CHANG_WANG)


@pytest.mark.parametrize(
    "text", ["a. " * 400, written(list(range(1, 30)) * 4)], ids=["all alike", "periods"]
)
def test_ten_times_the_sentences_are_ten_times_the_work(text: str) -> None:
    small = count_lines(lambda: _compare_with_itself(text))
    assert count_lines(lambda: _compare_with_itself(10 * text)) < 12 * small
