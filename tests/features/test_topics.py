"""Term vectors: those of the definition, their cosines, and the words of their terms."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.features import topics
from esdedup.features.topics import CHARACTERS, TERMS
from esdedup.model import Document, TermVector
from esdedup.settings import Settings
from esdedup.text.batch import signed_text
from esdedup.text.tokens import guess_language
from esdedup.text.words import is_known, language, name_hash, primary_code
from tests.methods import reference
from tests.support.articles import FERRY, GARDEN, STRIKE, topical_text

SETTINGS = Settings()
_PLAIN = "the of and said ferry ferries fire fires bridge bridges Stella Brackwater 12 zqor don't"
_OTHER = "deniz feneri İstanbul ISPARTA ışık için “harbour” naïve co\u00adoperate x\u200dy 火災を …"
WORDS = [*_PLAIN.split(), *_OTHER.split(), "snake_case", "w" * 300, "é" * 300, "\n"]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join) | st.text(max_size=40)
documents = st.builds(
    Document,
    id=st.just("a"),
    title=st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    text=texts | st.sampled_from([FERRY, STRIKE, GARDEN, topical_text("ferry", 1, words=400)]),
    lang=st.sampled_from([None, "en", "en-GB", "tr", "zz", "ja", ""]),
)
chosen = st.sampled_from([SETTINGS, replace(SETTINGS, signed_text="body")])


def naive_topic(document: Document, settings: Settings) -> dict[int, float] | None:
    """By the definition; None of a language whose words are taken in pairs."""
    text = signed_text(document, settings, CHARACTERS)
    code = primary_code(document.lang if is_known(document.lang) else guess_language(text))
    if not is_known(code):
        return None
    title = len(document.title.split()) if settings.signed_text != "body" else 0
    times: Counter[str] = Counter()
    for place, word in enumerate(reference.words(text)):
        if not language(code).term(word).is_stop:
            times[language(code).term(word).stem] += 3 if place < title else 1
    weights = {
        name_hash(stem): (1 + math.log2(count))
        * max(language(code).rarities.get(stem, 600) - 250, 1)
        for stem, count in times.items()
    }
    best = sorted(weights, key=lambda term: (-int(weights[term] * 64), term >> 36))[:TERMS]
    length = math.sqrt(sum(weights[term] ** 2 for term in best))
    return {term: weights[term] / length for term in sorted(best)}


def as_dict(topic: TermVector) -> dict[int, float]:
    return dict(zip(topic.terms.tolist(), topic.weights.tolist(), strict=True))


@given(st.lists(documents, max_size=5), chosen)
@hypothesis_settings(deadline=None)
def test_vectors_are_the_naive_ones(batch: list[Document], settings: Settings) -> None:
    for document, topic in zip(batch, topics.term_vectors(batch, settings), strict=True):
        expected = naive_topic(document, settings)
        if expected is not None:
            assert list(as_dict(topic)) == list(expected)
            assert as_dict(topic) == pytest.approx(expected)


@given(documents, chosen, st.integers(0, TERMS))
@hypothesis_settings(deadline=None)
def test_words_of_the_terms(document: Document, settings: Settings, most: int) -> None:
    """The terms with the highest weights, each by a word or a pair of words of the text."""
    vector, words = topics.vector_and_words(document, settings, most)
    (expected,) = topics.term_vectors([document], settings)
    assert as_dict(vector) == as_dict(expected)
    weights = as_dict(vector)
    assert list(words) == sorted(weights, key=lambda term: (-weights[term], term))[:most]
    read = signed_text(document, settings, CHARACTERS)
    code = primary_code(document.lang if is_known(document.lang) else guess_language(read))
    if is_known(code):
        for term, word in words.items():
            assert name_hash(language(code).term(word).stem) == term
            assert word in reference.words(read)


@given(documents, st.lists(documents, max_size=6))
@hypothesis_settings(deadline=None)
def test_cosines_with_each_of_several(document: Document, others: list[Document]) -> None:
    one, *rest = topics.term_vectors([document, *others], SETTINGS)
    own = as_dict(one)
    expected = [
        math.fsum(own.get(term, 0.0) * weight for term, weight in as_dict(other).items())
        for other in rest
    ]
    assert topics.cosines(one, rest) == pytest.approx(expected, abs=1e-6)
    assert np.all(np.array(topics.cosines(one, rest)) <= 1 + 1e-6)
