"""Per-site boilerplate: phrases common to the pages of one source, known from statistics.

A phrase is boilerplate of a site where it is on more than `boilerplate_share` of the pages that
were counted there, and those tell at least `boilerplate_stories` different stories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.hashing import Hashes, mix
from esdedup.text.statistics.corpus import Statistics, site_of
from esdedup.text.tokens import Tokens


def is_boilerplate(
    phrases: Hashes, document: Document, statistics: Statistics, settings: Settings
) -> NDArray[np.bool_]:
    """For each phrase of a document, by its mixed hash."""
    return statistics.is_boilerplate(
        phrases,
        site_of(document),
        share=settings.boilerplate_share,
        stories=settings.boilerplate_stories,
    )


def outside_boilerplate(
    tokens: Tokens, documents: Sequence[Document], statistics: Statistics, settings: Settings
) -> NDArray[np.bool_]:
    """Mark the words that no boilerplate phrase of their site covers.

    A text that consists of boilerplate is signed whole.
    """
    words = statistics.phrase_words
    hashes = mix(tokens.shingles(words))
    selected = np.ones(len(tokens.hashes), np.bool_)
    ranges = tokens.shingle_ranges(words).tolist()
    ends = tokens.first[1:].tolist()
    for document, (start, end), last in zip(documents, ranges, ends, strict=True):
        found = is_boilerplate(hashes[start:end], document, statistics, settings)
        for place in (start + np.flatnonzero(found)).tolist():
            selected[place : place + words] = False
        if not selected[start:last].any():
            selected[start:last] = True
    return selected


def select_words(tokens: Tokens, selected: NDArray[np.bool_]) -> Tokens:
    """The words marked in `selected`, as if the others had never been there."""
    before = np.concatenate([[0], np.cumsum(selected)])
    return replace(
        tokens,
        hashes=tokens.hashes[selected],
        lengths=tokens.lengths[selected],
        starts=tokens.starts[selected],
        first=before[tokens.first],
    )
