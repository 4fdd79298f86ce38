"""An invented corpus: two papers, one with a footer, and a story that a third ran often."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from esdedup import Document, Settings
from esdedup.ingest.word_counting import count, count_documents
from esdedup.model import Failure
from esdedup.text.statistics.corpus import LanguageCounts, Statistics, StatisticsBuilder
from esdedup.text.statistics.countmin import Shape

SMALL = Shape(1 << 15, 4)
PLAIN = Settings.load(preset="sketch", environment={})
ALONSO = Settings.load(preset="alonso", environment={})
NOUNS = ("mayor", "river", "council", "bridge", "harbour", "minister", "strike", "storm", "ferry")
FOOTER = "All rights reserved by the Skerrin Courier and its licensors in every country"


def corpus_article(
    number: int, *, site: str | None = None, footer: str = "", words: int = 60
) -> Document:
    """An invented article; different numbers have hardly a phrase in common."""
    dice = random.Random(number)
    said = [f"the {dice.choice(NOUNS)} of w{dice.randrange(10_000)}" for _ in range(words // 4)]
    return Document(id=f"a{number}", text=" ".join([*said, footer]).strip(), lang="en", source=site)


def counted(documents: Sequence[Document], **changed: Any) -> Statistics:
    return count(documents, replace(PLAIN, **changed), shape=SMALL)


def of_counted(
    documents: Sequence[Document], shape: Shape = SMALL, sampled: int = 16
) -> Statistics:
    counter = StatisticsBuilder(3, shape, sampled)
    found = count_documents(documents, replace(PLAIN, phrase_words=3))
    counter.add([one for one in found if not isinstance(one, Failure)])
    return counter.statistics()


def same(a: Statistics, b: Statistics) -> bool:
    return (
        a.languages.keys() == b.languages.keys()
        and all(_same_counts(c, b.languages[code]) for code, c in a.languages.items())
        and a.sites == b.sites
        and a.sample.keys.tolist() == b.sample.keys.tolist()
        and a.sample.counts.tolist() == b.sample.counts.tolist()
        and (a.phrases == b.phrases).all()
        and (a.site_pages == b.site_pages).all()
        and bool((a.site_stories == b.site_stories).all())
    )


def _same_counts(a: LanguageCounts, b: LanguageCounts) -> bool:
    pairs = ((a.stems.keys, b.stems.keys), (a.stems.counts, b.stems.counts))
    numbers = (a.documents, a.words) == (b.documents, b.words)
    return numbers and all(x.tolist() == y.tolist() for x, y in pairs)
