"""What articles are about: many at once, one by itself and a few, all as the definition has it."""

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
from esdedup.features.topics import CHARACTERS, TERMS, likeness, likenesses
from esdedup.model import NO_TOPIC, Document, Topic
from esdedup.settings import Settings
from esdedup.stories import few_topics, one_topic
from esdedup.stories.few_topics import topics_of_few
from esdedup.text.batch import signed_text
from esdedup.text.tokens import guess_language, words_of
from esdedup.text.words import is_known, language, name_hash, primary
from tests.methods import reference
from tests.newsdesk import FERRY, GARDEN, STRIKE, story

SETTINGS = Settings()
_PLAIN = "the of and said ferry ferries fire fires bridge bridges Stella Brackwater 12 zqor don't"
_OTHER = "deniz feneri İstanbul ISPARTA ışık için “harbour” naïve co\u00adoperate x\u200dy 火災を …"
WORDS = [*_PLAIN.split(), *_OTHER.split(), "snake_case", "w" * 300, "é" * 300, "\n"]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join) | st.text(max_size=40)
documents = st.builds(
    Document,
    id=st.just("a"),
    title=st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
    text=texts | st.sampled_from([FERRY, STRIKE, GARDEN, story("ferry", 1, words=400)]),
    lang=st.sampled_from([None, "en", "en-GB", "tr", "zz", "ja", ""]),
)
chosen = st.sampled_from([SETTINGS, replace(SETTINGS, signed_text="body")])


def naive_topic(document: Document, settings: Settings) -> dict[int, float] | None:
    """By the definition; None of a language whose words are taken in pairs."""
    text = signed_text(document, settings, CHARACTERS)
    code = primary(document.lang if is_known(document.lang) else guess_language(text))
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


def as_dict(topic: Topic) -> dict[int, float]:
    return dict(zip(topic.terms.tolist(), topic.weights.tolist(), strict=True))


@given(texts)
def test_words_of_one_text_are_the_naive_ones(text: str) -> None:
    assert words_of(text) == reference.words(text)


@given(st.lists(documents, max_size=5), chosen)
@hypothesis_settings(deadline=None)
def test_topics_are_the_naive_ones(batch: list[Document], settings: Settings) -> None:
    for document, topic in zip(batch, topics.topics(batch, settings), strict=True):
        expected = naive_topic(document, settings)
        if expected is not None:
            assert list(as_dict(topic)) == list(expected)
            assert as_dict(topic) == pytest.approx(expected)


@given(documents, chosen, st.integers(0, TERMS))
@hypothesis_settings(deadline=None)
def test_one_by_itself_is_as_among_many(document: Document, settings: Settings, most: int) -> None:
    one, names = one_topic.topic_and_names(document, settings, most)
    expected, expected_names = topics.topic_and_names(document, settings, most)
    assert as_dict(one) == pytest.approx(as_dict(expected))
    assert list(names.items()) == list(expected_names.items())


def test_a_full_vocabulary_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_topic, "_MOST_WORDS", 5)
    for text in (FERRY, STRIKE, GARDEN, FERRY):
        document = Document("a", text=text, lang="en")
        one, _ = one_topic.topic_and_names(document, SETTINGS)
        assert as_dict(one) == pytest.approx(naive_topic(document, SETTINGS))


@given(st.lists(documents, max_size=8), chosen)
@hypothesis_settings(deadline=None)
def test_a_few_are_as_many(batch: list[Document], settings: Settings) -> None:
    for _ in range(2):  # read, and remembered
        found = topics_of_few(batch, settings)
        expected = topics.topics(batch, settings)
        assert list(map(as_dict, found)) == list(map(as_dict, expected))


def test_what_was_read_lately_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_topics, "_memory", few_topics._Memory())
    read: list[str] = []

    def topics_read(documents: list[Document], settings: Settings) -> list[Topic]:
        read.extend(document.id for document in documents)
        return topics.topics(documents, settings)

    monkeypatch.setattr(few_topics, "topics", topics_read)
    first, second = Document("a", text=FERRY, lang="en"), Document("b", text=STRIKE, lang="en")
    topics_of_few([first], SETTINGS)
    topics_of_few([first, second, replace(first, id="copy")], SETTINGS)
    assert read == ["a", "b"]
    topics_of_few([replace(first, text=GARDEN)], SETTINGS)  # another text under the same id
    topics_of_few([replace(first, title="Ferry")], SETTINGS)
    topics_of_few([replace(first, lang="tr")], SETTINGS)
    topics_of_few([first], replace(SETTINGS, signed_text="body"))
    assert read == ["a", "b", "a", "a", "a", "a"]
    beyond = " Lifeboats" * CHARACTERS  # is not read
    longer = replace(first, text=FERRY + beyond)
    topics_of_few([longer], SETTINGS)
    topics_of_few([replace(longer, text=longer.text + beyond)], SETTINGS)
    assert read == ["a", "b", "a", "a", "a", "a", "a"]


def test_no_more_is_remembered_than_twice_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_topics, "_REMEMBERED", 10)
    memory = few_topics._Memory()
    for n in range(100):
        memory.keep(("", "", str(n), None), NO_TOPIC)
        assert memory.get(("", "", "0", None)) is NO_TOPIC  # asked for again and again
        assert len(memory) <= 20
    assert memory.get(("", "", "95", None)) is NO_TOPIC
    assert memory.get(("", "", "50", None)) is None


@given(documents, st.lists(documents, max_size=6))
@hypothesis_settings(deadline=None)
def test_likeness_to_each_of_several(document: Document, others: list[Document]) -> None:
    one, *rest = topics.topics([document, *others], SETTINGS)
    expected = [likeness(one, other) for other in rest]
    assert likenesses(one, rest) == pytest.approx(expected, abs=1e-6)
    assert np.all(np.array(likenesses(one, rest)) <= 1 + 1e-6)
