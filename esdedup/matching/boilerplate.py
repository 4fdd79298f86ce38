"""Whether two pages of one source share only what the source puts on many pages.

Newsletter forms, appeals for donations, rules for comments, teasers and the standing background of
a company are sentences like others, so that their words do not give them away. Headlines do: a
headline names what its article is about. Where two articles of one source have different headlines,
and neither headline's own words occur in the passages that both share, the passages are
boilerplate.

The rule looks at two documents and nothing else. So groups do not depend on the order of arrival,
two pages of a source are enough, and a store has nothing to count, to persist or to forget. Of 703
pairs of SpotSigs copies with different titles it would part 7, were they all of one source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes
from esdedup.text.statistics.corpus import site_of
from esdedup.text.tokens import tokenise

# Words of a text without a title that take its place.
_HEADLINE_WORDS = 15
# Of one side, own words of the headline that the rest of the text must have: one may be chance.
_LEAST_WORDS = 2
# Of a page without a rest, own words of the headline that nothing shared may have.
_LEAST_WORDS_ALONE = 3
# Of these words the share that shared passages may have and still be boilerplate: general words.
_MOST_SHARED = 0.25


@dataclass(frozen=True, slots=True)
class _Page:
    """The words of one document: its headline, and which of the others both documents have."""

    headline: Hashes
    shared: Hashes
    rest: Hashes


def share_only_boilerplate(one: Document, other: Document, settings: Settings) -> bool:
    """For two documents that match; False if they are of different or unknown sources."""
    site = site_of(one)
    if not site or site != site_of(other) or _same_title(one, other):
        return False
    a, b = _read_pages(one, other, settings)
    return _is_about_rest(a, b) and _is_about_rest(b, a)


def _same_title(one: Document, other: Document) -> bool:
    return bool(one.title.strip()) and one.title.strip() == other.title.strip()


def _is_about_rest(page: _Page, other: _Page) -> bool:
    """Whether the headline's own words are in the rest of the page, and not in what is shared.

    A page may have no rest: a headline and a notice about cookies. Then more words have to tell.
    """
    own = np.setdiff1d(page.headline, other.headline)
    in_shared = np.isin(own, page.shared)
    told = np.count_nonzero(np.isin(own, page.rest) & ~in_shared)
    if told >= _LEAST_WORDS:
        return bool(np.count_nonzero(in_shared) <= _MOST_SHARED * told)
    return len(own) >= _LEAST_WORDS_ALONE and not in_shared.any()


def _read_pages(one: Document, other: Document, settings: Settings) -> tuple[_Page, _Page]:
    batch = Batch([one, other], settings)
    (a, b), size = batch.ranges, settings.shingle_words
    shingles = batch.fingerprints
    return (
        _read_page(batch, 0, np.isin(shingles[a[0] : a[1]], shingles[b[0] : b[1]]), size),
        _read_page(batch, 1, np.isin(shingles[b[0] : b[1]], shingles[a[0] : a[1]]), size),
    )


def _read_page(batch: Batch, i: int, is_shared: NDArray[np.bool_], size: int) -> _Page:
    """`is_shared` is of each shingle; a word is shared if any shingle that covers it is."""
    tokens = batch.tokens
    first, last = int(tokens.first[i]), int(tokens.first[i + 1])
    title = batch.documents[i].title
    length = tokenise([title], tokens.base).count(0) if title.strip() else _HEADLINE_WORDS
    words, is_stop = tokens.hashes[first:last], batch.terms.is_stop[first:last]
    covered = np.zeros(len(words), np.bool_)
    for offset in range(size):
        covered[offset : offset + len(is_shared)] |= is_shared
    return _Page(
        headline=np.unique(words[:length][~(is_stop | covered)[:length]]),
        shared=words[covered],
        rest=words[length:][~covered[length:]],
    )
