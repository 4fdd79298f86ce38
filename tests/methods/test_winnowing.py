"""Winnowing against the definition of its paper, and its guarantee."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.methods import winnowing
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from tests.methods import reference

SETTINGS = Settings(methods=("winnowing",))
WORDS = [f"word{n}" for n in range(5_000)]


def keys_of(settings: Settings, *texts: str) -> list[tuple[str, ...]]:
    batch = Batch([Document(id=f"{n}", text=text) for n, text in enumerate(texts)], settings)
    return [winnowing.keys(signed, settings) for signed in winnowing.sign(batch, settings)]


def naive_keys(text: str, settings: Settings) -> set[str]:
    """Window by window, as the paper has it; the hash is that of docs/format.md."""
    words = reference.words(text)
    size = settings.winnow_words
    runs = [
        reference.mix(reference.polynomial(" ".join(words[i : i + size]), reference.BASE["mixed"]))
        for i in range(len(words) - size + 1)
    ]
    windows = max(1, len(runs) - settings.winnow_window + 1)
    minima = {min(runs[i : i + settings.winnow_window]) for i in range(windows)} if runs else set()
    return {f"n{reference.base_64(value % 2**48, 8)}" for value in minima}


@given(
    texts=st.lists(st.lists(st.sampled_from("abcde"), max_size=40).map(" ".join), max_size=4),
    words=st.integers(1, 4),
    window=st.integers(1, 9),
)
@hypothesis_settings(max_examples=200, deadline=None)
def test_keys_are_those_of_the_definition(texts: list[str], words: int, window: int) -> None:
    settings = replace(SETTINGS, winnow_words=words, winnow_window=window)
    for text, keys in zip(texts, keys_of(settings, *texts), strict=True):
        assert len(set(keys)) == len(keys)
        assert set(keys) == naive_keys(text, settings)


@given(seed=st.integers(0, 10**6), before=st.integers(0, 90), behind=st.integers(0, 90))
@hypothesis_settings(max_examples=60, deadline=None)
def test_every_passage_of_the_guaranteed_length_shares_a_key(
    seed: int, before: int, behind: int
) -> None:
    dice = random.Random(seed)
    passage = dice.choices(WORDS, k=winnowing.guaranteed_words(SETTINGS))
    one = dice.choices(WORDS, k=before) + passage + dice.choices(WORDS, k=behind)
    other = dice.choices(WORDS, k=behind) + passage + dice.choices(WORDS, k=before)
    a, b = keys_of(SETTINGS, " ".join(one), " ".join(other))
    assert set(a) & set(b)


def test_a_text_has_about_two_keys_a_window() -> None:
    text = " ".join(random.Random(1).choices(WORDS, k=4_000))
    (keys,) = keys_of(SETTINGS, text)
    assert 170 < len(keys) < 220  # 2 / 41 of 3,993 runs are 195


def test_a_text_of_fewer_words_than_a_run_has_no_key() -> None:
    assert keys_of(SETTINGS, "one two three", "") == [(), ()]


def test_keys_are_capped() -> None:
    text = " ".join(random.Random(1).choices(WORDS, k=3_000))
    (keys,), (few,) = keys_of(SETTINGS, text), keys_of(replace(SETTINGS, winnow_max_keys=5), text)
    assert keys[:5] == few


@pytest.mark.parametrize("place", [0, 700, 1_400])
def test_an_article_inside_a_long_page_is_a_candidate(place: int) -> None:
    dice = random.Random(place)
    article = dice.choices(WORDS, k=120)
    page = dice.choices(WORDS, k=1_500)
    page[place:place] = article
    with Deduplicator(open_store("sqlite://:memory:", SETTINGS)) as news:
        news.add(Document(id="page", text=" ".join(page)))
        decision = news.check(Document(id="article", text=" ".join(article)))
    assert [(e.other, set(e.found_by)) for e in decision.evidence] == [("page", {"winnowing"})]
