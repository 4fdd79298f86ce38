"""What kind of name a run of capitalised words is: the rules and lists of TuNER in their order.

A title splits a run. Then, in the thesis' order: endings and beginnings of places and
organisations, before persons (Atatürk Hastanesi is no person), and the lists. Words beside a run
(ilçesi, yazar) and the case ending behind its apostrophe (Cagliari'de) decide where lists are
silent. A run is judged by the flags of its words alone, so that judgements can be cached: most
runs look like one seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from esdedup.features.entities.gazetteers import (
    BODY,
    BODY_AFTER,
    BODY_BEFORE,
    BODY_END,
    BODY_OF,
    BODY_START,
    BRIEF,
    CLUB,
    CONJUNCTION,
    GENITIVE,
    GIVEN,
    HONORIFIC,
    LARGE,
    LETTER,
    LINK,
    LOCATIVE,
    LONGEST_NAME,
    MADE_OF,
    NATION,
    NEVER,
    OBJECTIVE,
    OTHER_AFTER,
    OTHER_END,
    OTHER_INSIDE,
    PERSON_AFTER,
    PERSON_BEFORE,
    PLACE,
    PLACE_AFTER,
    PLACE_BEFORE,
    PLACE_END,
    PLACE_OF,
    PLACE_START,
    PLURAL,
    SMALL,
    SURNAME,
    TITLE,
    WORD,
)

PERSON, LOCATION, ORGANISATION = "person", "location", "organisation"
BEFORE = PERSON_BEFORE | PLACE_BEFORE | BODY_BEFORE
AFTER = PERSON_AFTER | PLACE_AFTER | BODY_AFTER | OTHER_AFTER

NAMED = GIVEN | SURNAME | PLACE | BODY

# All that a judgement looks at, of the words of a run.
JUDGED = (
    GIVEN | SURNAME | PLACE | LARGE | BODY | WORD | TITLE | HONORIFIC | PLACE_END | BODY_END
    | OTHER_END | PLACE_START | BODY_START | NATION | NEVER | LINK | OTHER_INSIDE | LETTER | BRIEF
    | CONJUNCTION | CLUB | SMALL | PLURAL | PERSON_BEFORE
    | sum(PLACE_OF.values()) | sum(BODY_OF.values())
)  # fmt: skip

_ENDS = PLACE_END | BODY_END | OTHER_END
_SHAPE = LETTER | BRIEF | PLURAL
_OWN_NAME = _ENDS | TITLE | GIVEN | LARGE


class Piece(NamedTuple):
    """Words of a run that are one name, or none by itself (kind "").

    A name that is not firm gives way to an earlier one of the text with the same word. Later
    mentions are recognised by the words at the places `remembered`.
    """

    start: int
    end: int
    kind: str
    is_firm: bool
    remembered: tuple[int, ...]


class Context(NamedTuple):
    """What is beside a run: flags of the words around it, and of the ending behind its
    apostrophe."""

    is_initial: bool = False
    before: int = 0
    after: int = 0
    suffix: int = 0
    is_acronym: bool = False
    has_suffixes: bool = False


def classify(flags: Sequence[int], context: Context) -> tuple[Piece, ...]:
    """The names in a run of words, of which nothing but their flags is known."""
    judge = _Judge(flags)
    judge.run(0, len(flags), context)
    return tuple(judge.pieces)


class _Judge:
    def __init__(self, flags: Sequence[int]) -> None:
        self.flags = flags
        self.links = [i for i, flag in enumerate(flags) if flag & SMALL]
        self.pieces: list[Piece] = []

    def run(self, start: int, end: int, context: Context) -> None:
        """Links first, then titles, endings, and the lists."""
        while start in self.links:
            start += 1
        if end - start > 1 and context.is_initial and self._begins_with_a_word(start):
            start, context = start + 1, _context_after_split(context)
        if self._split_at_link(start, end, context):
            return
        if end - start > 1 and self._is_office(start):
            start, context = start + 1, _context_after_split(context)._replace(before=PERSON_BEFORE)
        title = self._find_last(TITLE, start, end)
        if title is not None and self._split_at_title(start, end, title, context):
            return
        ending = self._find_last(_ENDS, start + 1, end)
        if ending is not None:
            self._classify_by_ending(start, end, ending, context)
        else:
            self._classify_by_lists(start, end, context)

    def _begins_with_a_word(self, start: int) -> bool:
        """Where a sentence begins: Karar Milli Eğitim Bakanlığı, Kızları Cristina."""
        first, second = self.flags[start], self.flags[start + 1]
        if first & (GIVEN | LARGE | BODY | TITLE | PLACE_START | BODY_START | NATION):
            return False
        if first & NAMED:
            return bool(first & WORD and second & NAMED)
        return bool(first & (WORD | NEVER) or (not first & ~_SHAPE and second & (GIVEN | LARGE)))

    def _is_office(self, start: int) -> bool:
        """Yazar Ayla Sezer: a cue that begins the sentence."""
        flag = self.flags[start]
        return bool(flag & PERSON_BEFORE) and not flag & (TITLE | GIVEN | _ENDS)

    def _find_last(self, mask: int, start: int, end: int) -> int | None:
        for i in range(end - 1, start - 1, -1):
            if self.flags[i] & mask:
                return i
        return None

    def _add(self, start: int, end: int, kind: str, *, is_firm: bool = True) -> None:
        remembered: tuple[int, ...] = ()
        if end - start > 1 and kind:
            unfit = _ENDS | NATION | NEVER | LARGE | LINK | BRIEF
            remembered = tuple(i for i in range(start, end) if not self.flags[i] & unfit)
        self.pieces.append(Piece(start, end, kind, is_firm, remembered))

    def _split_at_link(self, start: int, end: int, context: Context) -> bool:
        """Names with "and" between them are several, but for Sanayi ve Ticaret Bakanlığı."""
        for i in self.links:
            if not start < i < end - 1 or not self.flags[i] & CONJUNCTION:
                continue
            has_one_end = any(flag & BODY_END for flag in self.flags[i + 2 : min(i + 5, end)])
            own_names = any(flag & _OWN_NAME for flag in self.flags[start:i])
            if has_one_end and i - start <= 2 and not own_names:
                continue
            self.run(start, i, _context_before_split(context))
            self.run(i + 1, end, _context_after_split(context))
            return True
        return False

    def _split_at_title(self, start: int, end: int, title: int, context: Context) -> bool:
        """Shell Genel Müdürü | Canan Ediboğlu; false where the title is inside a longer name."""
        if end - title > 1 and self.flags[end - 1] & _ENDS:
            return False
        if title + 1 in self.links:
            self.run(title + 1, end, _context_after_split(context))
        elif title + 1 < end:
            self._add(title + 1, end, PERSON)
        elif self.flags[title] & (GIVEN | SURNAME) and not context.suffix and title > start:
            return False
        if title > start:
            self._classify_before_title(start, title, _context_before_split(context))
        return True

    def _classify_before_title(self, start: int, end: int, context: Context) -> None:
        """An office names its house: the words before a title are no person."""
        ending = self._find_last(_ENDS, start + 1, end)
        first = self.flags[start]
        if ending is not None:
            self._classify_by_ending(start, end, ending, context)
        elif end - start > 1 and self._is_branch(start, start + 1):
            self._add(start, start + 2, ORGANISATION)
        elif first & LARGE:
            self._add(start, start + 1, LOCATION if first & PLACE else ORGANISATION)

    def _is_branch(self, first: int, last: int) -> bool:
        """Microsoft Türkiye: a country behind a word that is no place."""
        country = self.flags[last] & LARGE and self.flags[last] & PLACE
        return bool(country) and not self.flags[first] & (PLACE | NEVER)

    def _classify_by_ending(self, start: int, end: int, last: int, context: Context) -> None:
        """Up to the last ending it is one name; what follows is another run."""
        ending, stop = self.flags[last], last + 1
        if last + 2 < end and last + 1 in self.links:
            stop = end  # British Columbia Institute of Technology
        first = start
        while first < stop - 1 and context.is_initial and self.flags[first] & NEVER:
            first += 1
        if stop - first > 1 and not ending & OTHER_END:
            self._add(first, stop, ORGANISATION if ending & BODY_END else LOCATION)
        if stop < end:
            self._classify_by_lists(stop, end, _context_after_split(context))

    def _classify_by_lists(self, start: int, end: int, context: Context) -> None:
        """Lists, earlier names, and the words beside the run."""
        unfit = NEVER | NATION
        while start < end and self.flags[start] & unfit:
            start, context = start + 1, context._replace(before=0)
        while start < end and self.flags[end - 1] & unfit:
            end, context = end - 1, _context_before_split(context)
        if end - start == 1:
            self._classify_single(start, context)
        elif end > start:
            self._classify_several(start, end, context)

    def _classify_several(self, start: int, end: int, context: Context) -> None:
        first, last = self.flags[start], self.flags[end - 1]
        union = 0
        for flag in self.flags[start:end]:
            union |= flag
        size = end - start
        if first & (PLACE_OF.get(size, 0) | BODY_OF.get(size, 0)):
            self._add(start, end, LOCATION if first & PLACE_OF[size] else ORGANISATION)
        elif self._split_at_place(start, end, context):
            return
        elif first & BODY_START and (self.links or context.has_suffixes):
            self._add(start, end, ORGANISATION)
        elif first & PLACE_START or (context.has_suffixes and context.suffix & LOCATIVE):
            self._add(start, end, LOCATION)
        elif union & OTHER_INSIDE or context.after & OTHER_AFTER:
            return
        elif first & GIVEN and not (first & LARGE and last & PLACE):
            self._add(start, end, PERSON)
        elif self._is_branch(start, end - 1) or self._is_team(start, end, context):
            self._add(start, end, ORGANISATION)
        elif first & PLACE and first & LARGE and not union & WORD:
            self._add(start, start + 1, LOCATION)
            self._classify_by_lists(start + 1, end, _context_after_split(context))
        elif last & HONORIFIC or (last & (GIVEN | SURNAME) and not union & WORD):
            self._add(start, end, PERSON)
        else:
            kind = _kind_by_cues(context) or self._kind_of_foreign_name(start, end, union, context)
            self._add(start, end, kind, is_firm=bool(kind))

    def _split_at_place(self, start: int, end: int, context: Context) -> bool:
        """New York | Harbour, Selim | Fransa'ya: a place with another name beside it."""
        if not context.has_suffixes:
            return False
        for size in range(min(LONGEST_NAME, end - start - 1), 1, -1):
            if self.flags[start] & PLACE_OF[size]:
                self._add(start, start + size, LOCATION)
                self._classify_by_lists(start + size, end, _context_after_split(context))
                return True
        last = self.flags[end - 1]
        is_country = last & LARGE and last & PLACE and not last & (GIVEN | SURNAME | WORD)
        unfit = PLACE_START | WORD | OTHER_INSIDE | BODY_START | LETTER
        if not is_country or not context.suffix or self.flags[start] & unfit:
            return False
        self._classify_by_lists(start, end - 1, _context_before_split(context))
        self._add(end - 1, end, LOCATION)
        return True

    def _is_team(self, start: int, end: int, context: Context) -> bool:
        """Ankara Tigers: an English plural behind a place, in a language without it."""
        first, last = self.flags[start], self.flags[end - 1]
        is_plural = last & PLURAL and not last & (NAMED | WORD)
        return bool(context.has_suffixes and is_plural and first & PLACE and end - start < 4)

    def _kind_of_foreign_name(self, start: int, end: int, union: int, context: Context) -> str:
        """Two or three words of which at most the first is a surname: foreign persons."""
        if not context.has_suffixes or end - start > 3 or union & (WORD | PLACE | BODY | LETTER):
            return ""
        if self.flags[start] & SURNAME or context.suffix & (GENITIVE | OBJECTIVE):
            return PERSON
        return ""

    def _classify_single(self, place: int, context: Context) -> None:
        flag = self.flags[place]
        if flag & PLACE_START or (context.has_suffixes and context.suffix & MADE_OF):
            return
        is_ambiguous = bool(flag & WORD) and context.is_initial and not context.suffix
        if flag & LARGE and not is_ambiguous:
            self._add(place, place + 1, LOCATION if flag & PLACE else ORGANISATION)
        elif is_ambiguous or flag & LETTER or context.after & OTHER_AFTER:
            self._add(place, place + 1, "", is_firm=False)
        else:
            kind = _kind_by_cues(context) or _kind_by_lists(flag, context)
            self._add(place, place + 1, kind, is_firm=False)


def _kind_by_lists(flag: int, context: Context) -> str:
    kind = ""
    if context.is_acronym and not flag & (NAMED | WORD):
        kind = ORGANISATION
    elif context.has_suffixes and context.suffix & LOCATIVE:
        kind = LOCATION
    elif flag & BODY:
        kind = ORGANISATION
    elif flag & NAMED:
        kind = PERSON if flag & (GIVEN | SURNAME) else LOCATION
    elif flag & WORD:
        kind = ""
    elif flag & CLUB:
        kind = ORGANISATION
    elif context.has_suffixes and context.suffix & GENITIVE:
        kind = PERSON  # a genitive without any other sign: three persons to two places
    return kind


def _context_before_split(context: Context) -> Context:
    """The context of the part before a split: nothing follows it."""
    return context._replace(after=0, suffix=0)


def _context_after_split(context: Context) -> Context:
    return context._replace(before=0, is_initial=False)


_CUES = (
    (PLACE_AFTER, LOCATION),
    (BODY_AFTER, ORGANISATION),
    (PERSON_BEFORE, PERSON),
    (PLACE_BEFORE, LOCATION),
    (BODY_BEFORE, ORGANISATION),
    (PERSON_AFTER, PERSON),
)


def _kind_by_cues(context: Context) -> str:
    """The kind that the words before and after a run suggest; "" for none."""
    around = context.before | context.after
    if around:
        for flag, kind in _CUES:
            if around & flag:
                return kind
    return ""
