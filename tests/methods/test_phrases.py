"""Consistent weighted sampling (paper 002) and SpotSigs: estimates, worked examples, bad input."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.methods import phrases, spotsigs
from esdedup.methods.antecedents import ANTECEDENTS, are_antecedents
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, draw_numbers, mix
from tests.methods import reference

ALONSO = Settings.load(preset="alonso", environment={})
SPOTSIGS = Settings.load(preset="spotsigs", environment={})


def batch(*texts: str, settings: Settings = ALONSO, lang: str = "en") -> Batch:
    return Batch([Document(id=f"{i}", text=t, lang=lang) for i, t in enumerate(texts)], settings)


def weights(
    values: dict[int, int],
) -> tuple[Hashes, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    chosen = sorted(values)
    return mix(np.array(chosen, np.uint64)), np.array([values[i] for i in chosen], np.int64)


# --- phrases -----------------------------------------------------------------------------------


def naive_sample(
    hashes: list[int], own: list[int], sample: int, settings: Settings
) -> tuple[int, int]:
    """The formula of papers.md as it stands, one phrase at a time."""
    salts = draw_numbers(settings.seed, "phrases", 3 * settings.phrase_samples).tolist()
    best = (math.inf, 0, 0)
    for phrase, weight in zip(hashes, own, strict=True):
        numbers = [
            reference.mix(phrase ^ salts[k * settings.phrase_samples + sample]) for k in range(3)
        ]
        u1, u2, v1, v2 = ((half + 0.5) / 2**32 for n in numbers[:2] for half in divmod(n, 1 << 32))
        beta = (numbers[2] >> 11) / 2**53
        r = 1 / (u1 * u2)
        t = math.floor(math.log(weight, r) + beta)
        y = r ** (t - beta)
        a = -math.log(v1 * v2) / (r * y)
        best = min(best, (a, phrase, t))
    return best[1], best[2]


@given(
    st.dictionaries(st.integers(0, 1 << 40), st.integers(1, 1 << 20), min_size=1, max_size=12),
    st.integers(0, 5),
)
@hypothesis_settings(max_examples=60, deadline=None)
def test_samples_are_those_of_the_formula(values: dict[int, int], seed: int) -> None:
    settings = replace(ALONSO, phrase_samples=4, seed=seed)
    hashes, own = weights(values)
    signed = phrases.sample(hashes, own, settings)
    expected = [naive_sample(hashes.tolist(), own.tolist(), i, settings) for i in range(4)]
    assert list(zip(signed.phrases.tolist(), signed.steps.tolist(), strict=True)) == expected


def test_the_estimate_of_weighted_jaccard_is_unbiased() -> None:
    """Mean error over many pairs within 3 sigma of nothing, and no single pair beyond 5."""
    rng = random.Random(2)
    errors, variance = [], 0.0
    for seed in range(150):
        settings = replace(ALONSO, seed=seed, phrase_samples=99)
        common = {i: rng.choice([1, 7, 300, 1 << 14, 1 << 20]) for i in range(30)}
        a = {
            **common,
            **{100 + i: rng.choice([1, 300, 1 << 18]) for i in range(rng.randint(0, 20))},
        }
        b = {i: rng.choice([w, w, 2 * w, w // 3 + 1]) for i, w in common.items()}
        every = set(a) | set(b)
        true = sum(min(a.get(i, 0), b.get(i, 0)) for i in every) / sum(
            max(a.get(i, 0), b.get(i, 0)) for i in every
        )
        one, other = (phrases.keys(phrases.sample(*weights(x), settings), settings) for x in (a, b))
        sigma = math.sqrt(true * (1 - true) / 99)
        errors.append(phrases.compare(one, other, settings) - true)
        variance += sigma**2
        assert abs(errors[-1]) < 5 * sigma + 1e-9
    assert abs(sum(errors)) < 3 * math.sqrt(variance)


def test_the_estimate_of_one_pair_from_many_samples() -> None:
    """As papers.md checked its reading of the formula (.8604 for .8625, sigma .0024)."""
    a, b = {1: 100, 2: 200, 3: 300, 4: 90}, {1: 100, 2: 200, 3: 300, 5: 5}
    true = 600 / 695
    hits = samples = 0
    for seed in range(100):
        settings = replace(ALONSO, seed=seed, phrase_samples=99)
        one, other = (phrases.keys(phrases.sample(*weights(x), settings), settings) for x in (a, b))
        hits += len(set(one) & set(other))
        samples += 99
    assert abs(hits / samples - true) < 3 * math.sqrt(true * (1 - true) / samples)


@pytest.mark.parametrize("name", phrases.FUNCTIONS)
def test_weights_are_whole_and_rise_with_the_first_word(name: str) -> None:
    settings = replace(ALONSO, phrase_weight=name)  # type: ignore[arg-type]  # any of the names
    own = phrases.first_weights(
        batch("the government said rhododendrons", settings=settings), settings
    )
    assert own.dtype == np.int64
    the, government, _, rare = own.tolist()
    if name == "antecedent":
        assert own.tolist() == [1, 0, 0, 0]
    elif name == "uniform":
        assert set(own.tolist()) == {1}
    else:
        assert the >= government > rare >= 1


def test_copies_are_told_from_others() -> None:
    words = [f"word{i} the report" for i in range(80)]
    text = " ".join(words)
    copy = " ".join([*words[:70], *(f"new{i} the thing" for i in range(10))])
    other = " ".join(f"else{i} the report" for i in range(80))
    one, two, three = (
        phrases.keys(s, ALONSO) for s in phrases.sign(batch(text, copy, other), ALONSO)
    )
    assert len(one) == ALONSO.phrase_samples
    assert phrases.matches(phrases.compare(one, two, ALONSO), ALONSO)
    assert phrases.compare(one, three, ALONSO) == 0


@pytest.mark.parametrize("text", ["", "six words are no phrase yet", "😀 😀 😀", ". . ."])
def test_texts_without_a_phrase(text: str) -> None:
    (signed,) = phrases.sign(batch(text), ALONSO)
    assert phrases.keys(signed, ALONSO) == ()


def test_without_antecedents_nothing_weighs() -> None:
    settings = replace(ALONSO, phrase_weight="antecedent")
    (signed,) = phrases.sign(batch("nothing begins with any such word anywhere here"), settings)
    assert phrases.keys(signed, settings) == ()


# --- SpotSigs ----------------------------------------------------------------------------------


def naive_chains(text: str, chain: int, distance: int) -> list[list[str]]:
    words = reference.words(text)
    out = []
    for i, word in enumerate(words):
        behind = [w for w in words[i + 1 :] if w not in ANTECEDENTS]
        if word in ANTECEDENTS and len(behind) >= chain * distance:
            out.append([behind[k * distance - 1] for k in range(1, chain + 1)])
    return out


def hashed(words: list[str]) -> int:
    value = 0
    for word in words:
        polynomial = reference.polynomial(word, reference.BASE["mixed"])
        value = reference.mix((value * 3 + polynomial) % reference.MODULUS)
    return value


def test_the_chains_of_a_sentence() -> None:
    """Three words, each the second behind the one before; antecedents are not counted."""
    text = "The mayor of the flooded town was told at night that help would come by boat"
    chains = [
        ["of", "town", "at"],
        ["town", "at", "that"],
        ["at", "that", "come"],
    ]
    assert naive_chains(text, 3, 2) == chains
    (signed,) = spotsigs.sign(batch(text, settings=SPOTSIGS), SPOTSIGS)
    assert signed.tolist() == sorted(map(hashed, chains))


vocabulary = st.lists(
    st.sampled_from([*ANTECEDENTS, "river", "mayor", "flood", "rose"]), max_size=30
)


@given(
    st.lists(vocabulary.map(" ".join), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 3)
)
@hypothesis_settings(max_examples=100, deadline=None)
def test_chains_are_the_naive_ones(texts: list[str], chain: int, distance: int) -> None:
    settings = replace(SPOTSIGS, chain_words=chain, chain_distance=distance)
    signed = spotsigs.sign(batch(*texts, settings=settings), settings)
    for own, text in zip(signed, texts, strict=True):
        expected = set(map(hashed, naive_chains(text, chain, distance)))
        assert own.tolist() == sorted(expected)


def test_jaccard_of_chains_and_its_estimate() -> None:
    def text(words: list[int]) -> str:
        return " ".join(f"the w{i}a w{i}b w{i}c" for i in words)

    shared, one, other = range(600), range(1000, 1200), range(2000, 2200)
    a, b = text([*shared, *one]), text([*shared, *other])
    exact = replace(SPOTSIGS, max_chains=900, chain_distance=1)
    few = replace(exact, max_chains=400)
    measured = []
    for settings in (exact, few):
        x, y = (
            spotsigs.keys(s, settings)
            for s in spotsigs.sign(batch(a, b, settings=settings), settings)
        )
        measured.append(spotsigs.compare(x, y, settings))
    assert measured[0] == pytest.approx(600 / 1000, abs=0.01)
    assert abs(measured[1] - 0.6) < 3 * math.sqrt(0.6 * 0.4 / 400)


def test_other_languages_have_their_stop_words() -> None:
    turkish = batch("bu olay ve polis geldi", settings=SPOTSIGS, lang="tr")
    assert are_antecedents(turkish).tolist() == [True, False, True, False, False]
    unknown = batch("the olay", settings=SPOTSIGS, lang="zz")
    assert are_antecedents(unknown).tolist() == [True, False]
