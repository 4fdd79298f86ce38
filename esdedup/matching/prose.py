"""Which shingles of a text are prose: sentences have function words, menus and lists have none.

Paper 002 weighs phrases by the frequency of their first word for this reason. Here the words around
a shingle count, so that a sentence is compared whole: on the raw visible text of pages that finds
more copies, with fewer false ones (docs/evaluation.md, "Texts with menus").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from esdedup.text.batch import Batch

# Words on each side of a shingle that are looked at: one or two sentences. 8 to 20 were tried.
_AROUND = 14
# The share of stop words that prose has at least. The median of news is .47 in English, .50 in
# German and French and .53 in Spanish, and 95 of 100 neighbourhoods have .32 and more. .22 to .30
# were tried.
_LEAST_SHARE = 0.25
# Languages in which function words are words of their own. In Turkish, Arabic, Russian and Polish
# they are endings more often (medians .16 to .33): there all of a text is compared.
_LANGUAGES = frozenset({"en", "de", "fr", "es", "it", "pt", "nl", "ca", "da"})
# A text with less prose is a table, a list or a headline, and is compared whole.
_LEAST_WORDS = 50
# So is a text that is prose for the most part: a list in an article belongs to it.
_MOST_PROSE = 0.75


def find_prose(batch: Batch) -> list[NDArray[np.bool_] | None]:
    """For each text which of its shingles are prose; None for a text that is compared whole."""
    size = batch.settings.shingle_words
    known = [code in _LANGUAGES for code in batch.term_languages]
    if not any(known):
        return [None] * len(known)
    before = np.concatenate([[0], np.cumsum(batch.terms.is_stop)])
    out: list[NDArray[np.bool_] | None] = []
    for i, (start, end) in enumerate(batch.ranges):
        if not known[i] or end - start < _LEAST_WORDS:
            out.append(None)
            continue
        first, last = int(batch.tokens.first[i]), int(batch.tokens.first[i + 1])
        places = np.arange(first, first + end - start)
        low = np.maximum(places - _AROUND, first)
        high = np.minimum(places + (size + _AROUND), last)
        is_prose = before[high] - before[low] >= _LEAST_SHARE * (high - low)
        count = int(np.count_nonzero(is_prose))
        has_menu = _LEAST_WORDS <= count < _MOST_PROSE * (end - start)
        out.append(is_prose if has_menu else None)
    return out
