"""What one article is about: the topic that `topics` finds for many articles at once.

Numpy takes half a millisecond before it has read the first text, and whoever asks for similar news
waits for the topic of one article. Word by word it is there in a quarter of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from esdedup.features import topics
from esdedup.model import NO_TOPIC, Document, Topic
from esdedup.settings import Settings
from esdedup.text.batch import signed_text
from esdedup.text.statistics import statistics_of
from esdedup.text.statistics.corpus import Statistics
from esdedup.text.tokens import guess_language, words_of
from esdedup.text.words import is_known, name_hash, primary, term

# Languages, each with the statistics of a file, whose words are kept.
_VOCABULARIES = 8
# Words kept of each, with their stems (about 3 MB), before all are forgotten.
_MOST_WORDS = 1 << 14


def topic_and_names(
    document: Document, settings: Settings, most: int = topics.TERMS
) -> tuple[Topic, dict[int, str]]:
    """What an article is about, and its weightiest terms as `topics.named` has them."""
    text = signed_text(document, settings, topics.CHARACTERS)
    given = document.lang if document.lang and is_known(document.lang) else guess_language(text)
    code = primary(given)
    # Terms of one word each, whatever the site of the article.
    if settings.leave_out_boilerplate or not is_known(code):
        return topics.topic_and_names(document, settings, most)
    vocabulary = _vocabulary(code, statistics_of(settings))
    if len(vocabulary) > _MOST_WORDS:
        _vocabulary.cache_clear()
    words = words_of(text)
    stems = [vocabulary[word] for word in words]
    title = len(document.title.split()) if settings.signed_text != "body" else 0
    topic = _topic(stems, title)
    order = np.lexsort((topic.terms, -topic.weights))
    names = dict.fromkeys(topic.terms[order[:most]].tolist(), "")
    for word, stem in zip(reversed(words), reversed(stems), strict=True):  # the first one stays
        if stem.hash in names:
            names[stem.hash] = word
    return topic, names


class _Weighed(NamedTuple):
    key: int  # to sort by
    hash: int
    weight: float


class _Stem:
    """A term of a language: told from others by being another object, the quickest to count."""

    __slots__ = ("hash", "once", "rarity")

    def __init__(self, hash_: int, rarity: int) -> None:
        self.hash = hash_
        self.rarity = rarity
        self.once = self.weighed(1)

    def weighed(self, times: int) -> _Weighed:
        weight = topics.weight_of(self.rarity, times)
        return _Weighed(topics.sorting_key(weight, self.hash), self.hash, weight)


# Of words that say nothing.
_NONE = _Stem(0, 0)


class _Vocabulary(dict[str, _Stem]):
    """The words of a language as they were met; unknown ones are looked up."""

    def __init__(self, code: str, statistics: Statistics | None) -> None:
        super().__init__()
        self._code = code
        self._statistics = statistics
        self._stems: dict[str, _Stem] = {}

    def __missing__(self, word: str) -> _Stem:
        found = term(word, self._code, self._statistics)
        stem = _NONE if found.is_stop else self._stems.get(found.stem)
        if stem is None:
            new = _Stem(name_hash(found.stem), found.rarity)
            stem = self._stems.setdefault(found.stem, new)  # one object, whoever else is reading
        self[word] = stem
        return stem


_vocabulary = lru_cache(_VOCABULARIES)(_Vocabulary)


def _topic(stems: Sequence[_Stem], title: int) -> Topic:
    """Of the words of a text, the first `title` of them its headline."""
    times = Counter(stems)
    for stem in stems[:title]:
        times[stem] += topics.TITLE - 1
    del times[_NONE]
    if not times:
        return NO_TOPIC
    weighed = [stem.once if n == 1 else stem.weighed(n) for stem, n in times.items()]
    weighed.sort(key=itemgetter(0))
    del weighed[topics.TERMS :]
    weighed.sort(key=itemgetter(1))
    hashes = np.array([one.hash for one in weighed], np.uint64)
    weights = np.array([one.weight for one in weighed])
    return Topic(hashes, (weights / np.sqrt(weights @ weights)).astype(np.float32))
