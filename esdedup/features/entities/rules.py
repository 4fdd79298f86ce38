"""TuNER, the named entities of the thesis (paper 004, chapter 3): runs of capitalised words.

Capitalised words that follow each other are one run; punctuation and an apostrophe suffix end it.
Its kind comes from classify.py, and where that is not firm from names found earlier in the same
text (Garanti Bankası … Garanti). What remains is unclassified and not used.

Runs of a whole batch are found by array operations. A run is judged by what is known of its words,
and most runs look like one that was judged before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from esdedup.features.entities.classify import (
    AFTER,
    BEFORE,
    JUDGED,
    LOCATION,
    ORGANISATION,
    PERSON,
    Context,
    Piece,
    classify,
)
from esdedup.features.entities.gazetteers import (
    ABBREVIATED,
    BODY,
    BODY_OF,
    FIRST,
    GENITIVE,
    LINK,
    LOCATIVE,
    LONGEST_NAME,
    MADE_OF,
    NEVER,
    OBJECTIVE,
    PLACE,
    PLACE_OF,
    POSSESSIVE,
    SMALL,
    SUFFIXED,
)
from esdedup.features.entities.lexicon import EntityLexicon
from esdedup.features.entities.words import (
    APOSTROPHE,
    CAPITAL,
    DIGIT,
    DOT,
    HYPHEN,
    OTHER,
    QUOTE,
    SPACE,
    STOP,
    Flags,
    Places,
    Words,
)
from esdedup.text.hashing import BASE_MIXED, Hashes, powers

KINDS = (PERSON, LOCATION, ORGANISATION)
_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
# A text in which more words than this share are capitalised says nothing by capitals: headlines,
# lists, ALL CAPITALS. German news has about .4.
MOST_CAPITALS = 0.8
FEWEST_WORDS = 12
# Of a longer row of names only as much is read together: a list without commas is no name.
LONGEST_RUN = 12

_Truths = NDArray[np.bool_]
_SUFFIXES = SUFFIXED | LOCATIVE | MADE_OF | GENITIVE | OBJECTIVE
_LONGEST_POWER = 258
# Bits of a context that no flag of a cue or a suffix has.
_INITIAL, _ACRONYM, _INFLECTED = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Spans:
    """Words `starts` to `ends` (exclusive) are an entity of one kind, a place in KINDS."""

    texts: Places
    starts: Places
    ends: Places
    kinds: Places

    @classmethod
    def of(cls, values: Sequence[int]) -> Spans:
        """Of text, start, end and kind of each entity, one entity after the other."""
        return cls(*np.array(values, np.int64).reshape(-1, 4).T)


def recognise(words: Words, lexicons: Sequence[EntityLexicon]) -> Spans:
    """Entities of all texts in their order, none within another."""
    capital = np.flatnonzero(words.kinds == CAPITAL)
    counts = _count_by_text(words, capital)
    texts = np.repeat(np.arange(len(counts)), counts)
    is_initial = _are_initial(words, capital)
    is_large = ~(is_initial & (words.flags[capital] & NEVER != 0))
    is_large &= ~_are_all_capitals(words, counts)[texts]
    large, texts, is_initial = capital[is_large], texts[is_large], is_initial[is_large]
    if not len(large):
        return Spans(large, large, large, large)
    has_suffixes = np.array([one.knowledge.has_suffixes for one in lexicons], bool)[texts]
    flags = words.flags & JUDGED
    begins = _find_run_starts(words, large, _are_run_ends(words, large, has_suffixes), flags)
    starts, ends = large[begins], large[np.append(begins[1:], len(large)) - 1] + 1
    quoted = (words.marks_before(starts) & QUOTE != 0) & (words.behind[ends - 1] & QUOTE != 0)
    if quoted.any():  # the title of a work, a name in inverted commas
        begins, starts, ends = begins[~quoted], starts[~quoted], ends[~quoted]
    texts = texts[begins]
    _add_names(flags, words, starts, ends, texts, lexicons)
    contexts = _contexts(words, starts, ends, is_initial[begins], has_suffixes[begins])
    return _judge(words, flags, starts, ends, texts, contexts)


def _are_initial(words: Words, places: Places) -> _Truths:
    """Whether a sentence begins with these words."""
    before = words.marks_before(places)
    is_abbreviated = words.flags[places - 1] & ABBREVIATED != 0
    begins: _Truths = before & (APOSTROPHE | QUOTE | STOP) != 0
    begins |= (before & DOT != 0) & ~is_abbreviated
    return begins


def _are_run_ends(words: Words, places: Places, has_suffixes: _Truths) -> _Truths:
    """Whether what stands behind these words ends their runs."""
    behind, suffix = words.behind[places], words.suffix[places]
    closes: _Truths = behind & (APOSTROPHE | QUOTE | STOP | OTHER) != 0
    closes |= behind & (HYPHEN | SPACE) == HYPHEN | SPACE
    closes |= (behind & DOT != 0) & (words.flags[places] & ABBREVIATED == 0)
    closes |= (suffix != 0) & (has_suffixes | (suffix & POSSESSIVE != 0))
    return closes


def _count_by_text(words: Words, places: Places) -> Places:
    """How many of these words are in each text."""
    return np.diff(np.searchsorted(places, words.first))


def _are_all_capitals(words: Words, capitals: Places) -> _Truths:
    """Of each text; numbers have no capitals and do not count on either side."""
    counted = np.diff(words.first) - _count_by_text(words, np.flatnonzero(words.kinds == DIGIT))
    shouts: _Truths = (counted >= FEWEST_WORDS) & (capitals > MOST_CAPITALS * counted)
    return shouts


def _find_run_starts(words: Words, large: Places, closes: _Truths, flags: Flags) -> Places:
    """Which of the capitalised words begin a run; one or two small words may be inside, and are
    marked: University of the Arts."""
    left, gap = large[:-1], np.diff(large)
    goes_on = ~closes[:-1] & (gap == 1)
    for size in (2, 3):
        far = np.flatnonzero((gap == size) & ~closes[:-1])
        for i in range(1, size):
            inside = left[far] + i
            is_link = words.flags[inside] & LINK != 0
            far = far[is_link & (words.behind[inside] & ~np.uint8(SPACE | HYPHEN) == 0)]
        goes_on[far] = True
        for i in range(1, size):
            flags[left[far] + i] |= SMALL
    begins = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    sizes = np.diff(np.append(begins, len(large)))
    if int(sizes.max()) <= LONGEST_RUN // 3:  # too short to be cut, whatever links are inside
        return begins
    part = (large - np.repeat(large[begins], sizes)) // LONGEST_RUN
    return np.flatnonzero(np.concatenate([[True], ~goes_on | (part[1:] != part[:-1])]))


def _add_names(
    flags: Flags,
    words: Words,
    starts: Places,
    ends: Places,
    texts: Places,
    lexicons: Sequence[EntityLexicon],
) -> None:
    """Marks the words with which a listed name of several words begins."""
    long = np.flatnonzero(ends - starts > 1)
    runs = np.repeat(long, (ends - starts)[long])
    within = _places_within(starts[long], ends[long])
    begins = words.flags[within] & FIRST != 0
    at, limits, texts = within[begins], ends[runs[begins]], texts[runs[begins]]
    hashes = words.hashes[at]
    power = powers(BASE_MIXED, _LONGEST_POWER)
    for size in range(2, LONGEST_NAME + 1):
        fits = at + size <= limits
        at, limits, texts, hashes = at[fits], limits[fits], texts[fits], hashes[fits]
        if not len(at):
            return
        last = at + size - 1
        lengths = words.tokens.lengths[words.places[last]]
        hashes = hashes * power[lengths + 1] + words.hashes[last]
        hashes += np.uint64(ord(" ")) * power[lengths]
        known = _find_listed_names(hashes, texts, lexicons)
        flags[at[known & PLACE != 0]] |= PLACE_OF[size]
        flags[at[known & BODY != 0]] |= BODY_OF[size]


def _find_listed_names(hashes: Hashes, texts: Places, lexicons: Sequence[EntityLexicon]) -> Flags:
    distinct = {one.salt: one for one in lexicons}
    if len(distinct) == 1:
        return lexicons[0].find_names(hashes)
    out = np.zeros(len(hashes), np.int64)
    salts = np.array([one.salt for one in lexicons], np.uint64)[texts]
    for salt, one in distinct.items():
        own = np.flatnonzero(salts == salt)
        out[own] = one.find_names(hashes[own])
    return out


def _contexts(
    words: Words, starts: Places, ends: Places, is_initial: _Truths, has_suffixes: _Truths
) -> Flags:
    """The context of each run in one number; cues before and after a run have different flags."""
    last = ends - 1
    before = words.flags[starts - 1] & BEFORE
    before[words.marks_before(starts) != SPACE] = 0
    after = words.flags[np.minimum(ends, len(words.flags) - 1)] & AFTER
    after[words.behind[last] != SPACE] = 0
    single = np.flatnonzero(last == starts)
    is_acronym = np.zeros(len(starts), bool)
    is_acronym[single] = words.are_acronyms(starts[single])
    suffix = words.suffix[last] & np.where(has_suffixes, _SUFFIXES, SUFFIXED)
    forms = is_initial * _INITIAL | is_acronym * _ACRONYM | has_suffixes * _INFLECTED
    contexts: Flags = forms | before | after | suffix
    return contexts


# --- judgements --------------------------------------------------------------------------------


def _judge(
    words: Words,
    flags: Flags,
    starts: Places,
    ends: Places,
    texts: Places,
    contexts: Flags,
) -> Spans:
    """The names of all runs. One that is not firm takes the kind of an earlier name of its text
    that has the same word."""
    within = _places_within(starts, ends)
    run_flags, hashes = tuple(flags[within].tolist()), words.hashes[within].tolist()
    found: list[int] = []
    at, last_text = 0, -1
    mentions: dict[int, str] = {}  # word, by hash -> kind
    runs = zip(*(column.tolist() for column in (texts, starts, ends, contexts)), strict=True)
    for text, start, end, context in runs:
        if text != last_text:
            last_text, mentions = text, {}
        next_at = at + end - start
        for first, stop, own, is_firm, remembered in _classify(run_flags[at:next_at], context):
            kind = own if is_firm else mentions.get(hashes[at + first], own)
            if kind:
                found += text, start + first, start + stop, _NUMBERS[kind]
            for place in remembered:
                mentions.setdefault(hashes[at + place], own)
        at = next_at
    return Spans.of(found)


def _places_within(starts: Places, ends: Places) -> Places:
    """The places of all words from `starts` to `ends`, range after range."""
    sizes = ends - starts
    return np.repeat(ends - np.cumsum(sizes), sizes) + np.arange(int(sizes.sum()))


@lru_cache(maxsize=1 << 17)  # some 50 MB; news has some ten thousand patterns of runs
def _classify(flags: tuple[int, ...], context: int) -> tuple[Piece, ...]:
    return classify(
        flags,
        Context(
            is_initial=bool(context & _INITIAL),
            before=context & BEFORE,
            after=context & AFTER,
            suffix=context & _SUFFIXES,
            is_acronym=bool(context & _ACRONYM),
            has_suffixes=bool(context & _INFLECTED),
        ),
    )
