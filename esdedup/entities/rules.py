"""TuNER, the named entities of the thesis (paper 004, chapter 3): runs of capitalised words.

Capitalised words that follow each other are one run; punctuation and an apostrophe suffix end it.
Its kind comes from classify.py, and where that is not firm from names found earlier in the same
text (Garanti Bankası … Garanti). What remains is unclassified and not used.
"""

from __future__ import annotations

from itertools import compress
from operator import not_
from typing import NamedTuple

from esdedup.entities.classify import (
    AFTER,
    BEFORE,
    LOCATION,
    ORGANISATION,
    PERSON,
    classify,
)
from esdedup.entities.gazetteers import LARGE, LINK, NEVER, PLACE, PLACE_START, TITLE, knowledge
from esdedup.entities.words import Words, without_opening

__all__ = ["LOCATION", "ORGANISATION", "PERSON", "Span", "recognise"]

# An opening bracket that stood alone hangs on the word before it and ends a run as well.
_CLOSING = frozenset(",.;:!?)]}>\"'-([{/|")
_SENTENCE_END = frozenset(".!?:\"'")
# A text in which more words than this share are capitalised says nothing by capitals: headlines,
# lists, ALL CAPITALS. German news has about .4.
_MOST_CAPITALS = 0.8
_FEWEST_WORDS = 12
# Of a longer row of names only as much is read together: a list without commas is no name.
_LONGEST_RUN = 12
_PUNCTUATION = ",.;:!?)]\"'"


class Span(NamedTuple):
    """Words start to end (exclusive) of a text are an entity of one kind."""

    start: int
    end: int
    kind: str


def recognise(words: Words, lang: str | None, *, nested: bool = False) -> list[Span]:
    """Entities in the order of the text; `nested` also those within others (Mersin in Mersin
    Üniversitesi)."""
    finder = _Finder(words, lang)
    finder.read()
    return finder.with_nested() if nested else finder.spans


class _Finder:
    """One text: what is found, and the words it was found by."""

    def __init__(self, words: Words, lang: str | None) -> None:
        self.raw, self.folded = words
        self.lang = (lang or "")[:2].lower()
        self.table, self.has_suffixes = knowledge(self.lang)
        self.spans: list[Span] = []
        self.earlier: dict[str, str] = {}

    def read(self) -> None:
        """One loop over the words that are not in small letters."""
        raw, folded, get, has_suffixes = self.raw, self.folded, self.table.get, self.has_suffixes
        large = list(compress(range(len(raw)), map(not_, map(str.islower, raw))))
        if len(large) > _MOST_CAPITALS * len(raw) and self._shouts(large):
            return
        start = end = -9
        is_closed = is_initial = False
        links: tuple[int, ...] = ()
        for i in large:
            word = raw[i]
            opens = False
            if not word[0].isupper():
                bare = without_opening(word)
                if not bare or not bare[0].isupper():
                    continue
                opens = True
            gap = i - end
            is_long = i - start >= _LONGEST_RUN
            if is_closed or opens or is_long or gap > 2 or (gap and not self._links(end, i)):
                if end > 0:
                    self._take(start, end, is_initial, links)
                before = raw[i - 1] if i else "."
                is_initial = before[-1] in _SENTENCE_END and (
                    before[-1] != "." or not self._is_abbreviation(i - 1)
                )
                if is_initial and get(folded[i], 0) & NEVER:
                    end = -9
                    continue
                start, links = i, ()
            elif gap:
                links = (*links, *range(end - start, i - start))
            end = i + 1
            if word.isalnum():
                is_closed = False
            elif "'" in word:
                is_closed = has_suffixes or word[-1] in _CLOSING or word.endswith("'s")
            else:
                last = word[-1]
                is_closed = last in _CLOSING and (last != "." or not self._is_abbreviation(i))
        if end > 0:
            self._take(start, end, is_initial, links)

    def _take(self, start: int, end: int, is_initial: bool, links: tuple[int, ...]) -> None:
        """One run: its names, those of earlier mentions where its own are not firm."""
        raw, folded, get = self.raw, self.folded, self.table.get
        last = raw[end - 1]
        if last[-1] == '"' and (raw[start][0] == '"' or (start and raw[start - 1][-1] == '"')):
            return  # the title of a work, a name in inverted commas
        after = get(folded[end], 0) & AFTER if end < len(raw) and last[-1].isalnum() else 0
        before = get(folded[start - 1], 0) & BEFORE if start and raw[start - 1][-1].isalnum() else 0
        suffix = last.partition("'")[2].rstrip(_PUNCTUATION) if "'" in last else ""
        word = folded[start]
        is_single = end - start == 1
        pieces = classify(
            self.lang,
            word if is_single else " ".join(folded[start:end]),
            links,
            is_initial,
            before,
            after,
            suffix,
            is_single and 2 < len(word) < 6 and last[1].isupper() and _is_acronym(last),
        )
        for first, stop, kind, is_firm, remembered in pieces:
            known = kind if is_firm else self.earlier.get(folded[start + first], kind)
            if known:
                self.spans.append(Span(start + first, start + stop, known))
                for name in remembered:
                    self.earlier.setdefault(name, known)

    def _shouts(self, large: list[int]) -> bool:
        """Numbers have no capitals and do not count on either side."""
        capitals = sum(any(map(str.isupper, self.raw[i])) for i in large)
        words = len(self.raw) - len(large) + capitals
        return words >= _FEWEST_WORDS and capitals > _MOST_CAPITALS * words

    def _links(self, end: int, i: int) -> bool:
        """One or two small words that names go on over: University of the Arts."""
        get = self.table.get
        return all(
            get(self.folded[j], 0) & LINK and self.raw[j][-1].isalnum() for j in range(end, i)
        )

    def _is_abbreviation(self, i: int) -> bool:
        """An initial, a Roman number, or a title as Mr. and Dr., St. of places."""
        word = self.folded[i] if i >= 0 else "....."
        if len(word) > 4:
            return False
        known = self.table.get(word, 0) & (TITLE | PLACE_START)
        return len(word) == 1 or not word.strip("ivx") or bool(known)

    def with_nested(self) -> list[Span]:
        """Large places within longer names: Muğla in Muğla Çevre İl Müdürlüğü."""
        found = []
        for span in self.spans:
            found.append(span)
            if span.end - span.start > 1 and span.kind != PERSON:
                for i in range(span.start, span.end):
                    flags = self.table.get(self.folded[i], 0)
                    if flags & LARGE and flags & PLACE:
                        found.append(Span(i, i + 1, LOCATION))
        return found


def _is_acronym(written: str) -> bool:
    """NBA, UEFA'nın: three to five capitals."""
    return written.partition("'")[0].strip(_PUNCTUATION).isupper()
