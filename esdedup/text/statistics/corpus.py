"""Statistics of a corpus: how many documents have a word or a phrase, and on which sites.

    words     per language, by stem: exact, twelve bytes for each distinct stem
    phrases   per language: a count-min sketch; beside it a sample counted exactly, which gives the
              percentiles and the error of the sketch
    sites     phrases on the pages of one source: two sketches, one of pages and one of stories

Two statistics add up to those of both corpora together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from esdedup.errors import InputError
from esdedup.model import JSON, Document
from esdedup.text.hashing import Hashes, mix
from esdedup.text.statistics.countmin import (
    Counts,
    Exact,
    Shape,
    add_bits,
    add_counts,
    add_tables,
    bits_set,
    estimates,
    shape_of,
)
from esdedup.text.words import RAREST, name_hash

# Words of the article in which document frequency and share of all words are one another's: of
# a word's share f of all words 1 - (1 - f)^400 of such articles have one.
ARTICLE = 400
# A language with fewer documents says too little of its words: the fixed tables are read instead.
LEAST_DOCUMENTS = 100
# Phrases counted exactly: percentiles of their counts are right within .4 % (two sigma).
SAMPLED = 1 << 16
# A cell of the sketch of stories has 32 bits: five of the hash say which.
_STORY_SHIFT = np.uint64(64 - 5)


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """What one document adds: distinct stems and phrases, in its language, on its site."""

    lang: str
    site: str
    words: int
    stems: Hashes
    phrases: Hashes  # sorted


@dataclass(frozen=True)
class LanguageCounts:
    """Documents of a language, and in how many of them each stem is."""

    documents: int = 0
    words: int = 0
    stems: Exact = field(default_factory=Exact.empty)

    def merge(self, other: LanguageCounts) -> LanguageCounts:
        return LanguageCounts(
            self.documents + other.documents,
            self.words + other.words,
            self.stems.merge(other.stems),
        )

    @cached_property
    def rarities(self) -> NDArray[np.int64]:
        """Of each stem, in the unit of the fixed tables (see `words`)."""
        distinct, inverse = np.unique(self.stems.counts, return_inverse=True)
        table = [rarity(int(count), self.documents) for count in distinct]
        return np.array(table, np.int64)[inverse]

    def rarity(self, stem: str) -> int:
        """RAREST where the corpus does not have it."""
        keys = self.stems.keys
        own = np.uint64(name_hash(stem))
        at = int(np.searchsorted(keys, own))
        return int(self.rarities[at]) if at < len(keys) and keys[at] == own else RAREST


def rarity(count: int, documents: int) -> int:
    """-100 log10 of the share of all words that makes a word be in so many of the documents."""
    share = -math.expm1(math.log1p(-count / (documents + 1)) / ARTICLE)
    return min(RAREST, max(0, round(-100 * math.log10(share))))


@dataclass(frozen=True)
class Statistics:
    """Everything counted; `version` names the content, and is empty while it is being counted."""

    phrase_words: int
    languages: Mapping[str, LanguageCounts]
    phrases: Counts
    sample: Exact
    sites: Mapping[str, int]  # pages of each
    site_pages: Counts
    site_stories: Counts
    version: str = ""

    @property
    def documents(self) -> int:
        return sum(counts.documents for counts in self.languages.values())

    @property
    def shape(self) -> Shape:
        return shape_of(self.phrases)

    @property
    def phrases_counted(self) -> int:
        """Documents times their distinct phrases: what the error of the sketch is a share of."""
        return int(self.phrases[0].sum(dtype=np.uint64))

    def counts_in(self, lang: str) -> LanguageCounts | None:
        """The counts of a language; None if it has too few documents."""
        counts = self.languages.get(lang)
        return counts if counts and counts.documents >= LEAST_DOCUMENTS else None

    def phrase_counts(self, phrases: Hashes, lang: str) -> NDArray[np.int64]:
        """In how many documents of the language each is, at least."""
        return estimates(self.phrases, keys_in_language(phrases, lang))

    def is_boilerplate(
        self, phrases: Hashes, site: str, *, share: float, stories: int
    ) -> NDArray[np.bool_]:
        """Which are on more than a share of the pages of a site, and of so many stories."""
        pages = self.sites.get(site, 0)
        if pages < stories:
            return np.zeros(len(phrases), np.bool_)
        keys = keys_on_site(phrases, site)
        counts = np.minimum(estimates(self.site_pages, keys), pages)
        common = (counts > share * pages) & (counts >= stories)
        if common.any():
            common[common] = bits_set(self.site_stories, keys[common]) >= stories
        return common

    def common_above(self, percent: float) -> int:
        """The count that this share of the phrases of two documents or more do not exceed.

        A phrase of a single document is nobody's copy and nobody's boilerplate. With these in, as
        most phrases are, the cut-offs up to 75 % would all be a count of 1, and a phrase be
        common because somebody copied it.
        """
        repeated = np.sort(self.sample.counts[self.sample.counts > 1])
        if not len(repeated):
            return 1
        rank = math.ceil(percent / 100 * len(repeated))
        return int(repeated[rank - 1]) if rank else 1

    def errors(self) -> JSON:
        """The error of the sketch, measured on the phrases that were counted exactly."""
        if not len(self.sample.keys):
            return {"sampled": 0}
        over = estimates(self.phrases, self.sample.keys) - self.sample.counts
        return {
            "sampled": len(over),
            "exact": round(float((over == 0).mean()), 4),
            "mean": round(float(over.mean()), 4),
            "largest_of_99_percent": int(np.quantile(over, 0.99, method="higher")),
        }

    def merge(self, other: Statistics) -> Statistics:
        """Of both corpora; a document that is in both counts twice."""
        mine = (self.phrase_words, self.shape, self.sample.limit)
        if mine != (other.phrase_words, other.shape, other.sample.limit):
            raise InputError(
                f"statistics of phrases of {self.phrase_words} words in {self.shape.width:,} x "
                f"{self.shape.depth} cells do not add to those of {other.phrase_words} words in "
                f"{other.shape.width:,} x {other.shape.depth}; build both with the same --error, "
                "--doubt and phrase_words"
            )
        sites = dict(self.sites)
        for name, pages in other.sites.items():
            sites[name] = sites.get(name, 0) + pages
        none = LanguageCounts()
        codes = sorted({*self.languages, *other.languages})
        return Statistics(
            self.phrase_words,
            {
                code: self.languages.get(code, none).merge(other.languages.get(code, none))
                for code in codes
            },
            add_tables(self.phrases, other.phrases),
            self.sample.merge(other.sample),
            dict(sorted(sites.items())),
            add_tables(self.site_pages, other.site_pages),
            self.site_stories | other.site_stories,
        )


class StatisticsBuilder:
    """Counts documents into statistics, some at a time."""

    def __init__(self, phrase_words: int, shape: Shape, sampled: int = SAMPLED) -> None:
        self._phrase_words = phrase_words
        self._languages: dict[str, LanguageCounts] = {}
        self._phrases = shape.empty()
        self._sample = Exact.empty(sampled)
        self._sites: dict[str, int] = {}
        self._site_pages = shape.for_sites().empty()
        self._site_stories = shape.for_sites().empty()

    def add(self, documents: Sequence[DocumentWords]) -> None:
        for lang in {document.lang for document in documents}:
            self._add_language(lang, [d for d in documents if d.lang == lang])
        on_sites = [document for document in documents if document.site]
        for document in on_sites:
            self._sites[document.site] = self._sites.get(document.site, 0) + 1
        with_phrases = [document for document in on_sites if len(document.phrases)]
        if with_phrases:
            keys = [keys_on_site(d.phrases, d.site) for d in with_phrases]
            bits = np.repeat(
                [_story_bit(d.phrases) for d in with_phrases], [len(own) for own in keys]
            )
            add_counts(self._site_pages, np.concatenate(keys))
            add_bits(self._site_stories, np.concatenate(keys), bits)

    def _add_language(self, lang: str, documents: Sequence[DocumentWords]) -> None:
        stems = np.concatenate([document.stems for document in documents])
        counts = LanguageCounts(
            len(documents),
            sum(document.words for document in documents),
            Exact.empty().add_keys(stems),
        )
        self._languages[lang] = self._languages.get(lang, LanguageCounts()).merge(counts)
        phrases = keys_in_language(np.concatenate([d.phrases for d in documents]), lang)
        add_counts(self._phrases, phrases)
        self._sample = self._sample.add_keys(phrases)

    def statistics(self) -> Statistics:
        return Statistics(
            self._phrase_words,
            dict(sorted(self._languages.items())),
            self._phrases,
            self._sample,
            dict(sorted(self._sites.items())),
            self._site_pages,
            self._site_stories,
        )


def keys_in_language(phrases: Hashes, lang: str) -> Hashes:
    return mix(phrases ^ np.uint64(name_hash(f"lang {lang}")))


def keys_on_site(phrases: Hashes, site: str) -> Hashes:
    return mix(phrases ^ np.uint64(name_hash(f"site {site}")))


def _story_bit(phrases: Hashes) -> int:
    """One of 32 by the smallest phrase of a text, which copies of a story nearly always share."""
    return int(mix(phrases[:1])[0] >> _STORY_SHIFT)


def site_of(document: Document) -> str:
    """Whose page it is: the source named with it, else the host of its address."""
    if document.source and document.source.strip():
        return document.source.strip().lower()
    try:
        host = urlsplit(document.url or "").hostname or ""
    except ValueError:  # no address at all
        return ""
    return host.removeprefix("www.")
