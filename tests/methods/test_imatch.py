"""I-Match (paper 004, figure 2.4): terms in a band of rarity, unique, sorted, SHA-1."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.sign import prepare, sign_many
from esdedup.methods import imatch
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.text.batch import Batch
from esdedup.text.words import RAREST, language
from tests.golden import DOCUMENTS
from tests.methods import reference

IMATCH = Settings.load(preset="imatch", environment={})


def signed(settings: Settings, *texts: str, lang: str = "en") -> list[str | None]:
    documents = [Document(id=f"{i}", text=text, lang=lang) for i, text in enumerate(texts)]
    return imatch.sign(Batch(documents, settings), settings)


def naive(text: str, settings: Settings, code: str = "en") -> str | None:
    """The steps of figure 2.4."""
    tree: set[str] = set()
    for word in reference.words(text):
        term = language(code).term(word)
        if settings.imatch_low <= term.rarity <= settings.imatch_high:
            tree.add(term.stem)
    digest = hashlib.sha1()
    for token in sorted(tree):
        digest.update(token.encode() + b"\n")
    return digest.hexdigest() if tree else None


VOCABULARY = [
    "the",
    "said",
    "bridge",
    "bridges",
    "flood",
    "mayor",
    "Skerrin",
    "12",
    "river",
    "ılık",
]
texts = st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join)


@given(st.lists(texts, min_size=1, max_size=5), st.integers(0, 600), st.integers(0, 600))
@hypothesis_settings(max_examples=100, deadline=None)
def test_digests_are_the_naive_ones(batch: list[str], low: int, high: int) -> None:
    settings = replace(IMATCH, imatch_low=low, imatch_high=high)
    assert signed(settings, *batch) == [naive(text, settings) for text in batch]


def test_order_repetition_and_words_outside_the_band_do_not_count() -> None:
    made = signed(
        IMATCH,
        "The mayor opened the bridge",
        "bridges, bridges: the mayor was opening",
        "Capybaras! The mayor opened a bridge at Xqzzy",
        "The mayor closed the bridge",
    )
    assert made[0] == made[1] == made[2] != made[3]


def test_the_band_is_inclusive() -> None:
    rarity = language("en").term("bridge").rarity
    exact = replace(IMATCH, imatch_low=rarity, imatch_high=rarity)
    assert signed(exact, "bridge") != [None]
    assert signed(replace(exact, imatch_low=rarity + 1), "bridge") == [None]
    assert signed(replace(exact, imatch_high=rarity - 1), "bridge") == [None]


def test_words_that_the_table_does_not_know() -> None:
    settings = replace(IMATCH, imatch_low=RAREST, imatch_high=RAREST)
    assert signed(settings, "xqzzy") != [None]
    assert signed(IMATCH, "xqzzy") == [None]


def test_one_key_and_equality() -> None:
    (key,) = imatch.keys("ab" * 20, IMATCH)
    assert key == "i:" + "ab" * 20
    assert imatch.min_shared_keys(IMATCH) == 1
    assert imatch.matches(imatch.compare([key], [key], IMATCH), IMATCH)
    assert not imatch.matches(imatch.compare([key], ["i:00"], IMATCH), IMATCH)


@pytest.mark.parametrize("text", ["?! …", "the of and", "xqzzy", "🙂"])
def test_no_terms_no_key(text: str) -> None:
    (made,) = sign_many([Document(id="a", text=text, lang="en")], IMATCH)
    assert "imatch" not in made.signature.keys


def test_an_unknown_language_has_no_terms_in_the_band() -> None:
    assert signed(IMATCH, "gagh qagh bridges", lang="tlh") == [None]


def test_decisions_of_the_preset() -> None:
    story = "Twelve people died when a fire broke out on a ferry, the coastguard said."
    bodies = [story, f"SKERRIN - {story}", story.replace("fire", "fight")]
    documents = [Document(id=f"{i}", text=body, lang="en") for i, body in enumerate(bodies)]
    with Deduplicator(open_store("sqlite://:memory:", IMATCH)) as deduplicator:
        outcomes = deduplicator.write(prepare(documents, IMATCH))
    assert [o.decision.role for o in outcomes] == ["original", "duplicate", "original"]


def test_the_rest_of_the_batch_does_not_matter() -> None:
    alone = [imatch.sign(Batch([document], IMATCH), IMATCH)[0] for document in DOCUMENTS]
    assert imatch.sign(Batch(DOCUMENTS, IMATCH), IMATCH) == alone
