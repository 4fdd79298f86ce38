"""TuNER, the named entities of the thesis (paper 004, chapter 3): runs of capitalised words.

Capitalised words that follow each other are one run; punctuation and an apostrophe suffix end it.
Its kind comes from classify.py, and where that is not firm from names found earlier in the same
text (Garanti Bankası … Garanti). What remains is unclassified and not used.

Runs of a whole batch are found by array operations; 400 words have some 40. A run is judged by
what is known of its words and of those beside it, and judgements are cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    classify,
)
from esdedup.features.entities.gazetteers import (
    ABBREVIATED,
    BODY,
    BODY_END,
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
    PLACE_END,
    PLACE_OF,
    POSSESSIVE,
    SMALL,
    SUFFIXED,
)
from esdedup.features.entities.lexicon import EntityLexicon, group_by_lexicon
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
from esdedup.text.hashing import BASE_MIXED, Hashes, mix, powers
from esdedup.text.tokens import LONGEST_WORD

KINDS = (PERSON, LOCATION, ORGANISATION)
# A text in which more words than this share are capitalised says nothing by capitals: headlines,
# lists, ALL CAPITALS. German news has about .4.
MOST_CAPITALS = 0.8
FEWEST_WORDS = 12
# Of a longer row of names only as much is read together: a list without commas is no name.
LONGEST_RUN = 12

_Truths = NDArray[np.bool_]
_NAME_ENDS = PLACE_END | BODY_END
_SUFFIXES = SUFFIXED | LOCATIVE | MADE_OF | GENITIVE | OBJECTIVE
_NUMBERS = {PERSON: 0, LOCATION: 1, ORGANISATION: 2, "": -1}
# Of the number that stands for a context; its other bits are flags of words.
_INITIAL, _ACRONYM, _HAS_SUFFIXES, _STRICT, _CAPITAL_NOUNS = 1, 2, 4, 8, 16
# Patterns of runs in the cache, of which news has some ten thousand; 50 MB at most.
_PATTERNS = 1 << 17


@dataclass(frozen=True, slots=True)
class Spans:
    """Words `starts` to `ends` (exclusive) are an entity of one kind, a place in KINDS."""

    texts: Places
    starts: Places
    ends: Places
    kinds: Places


def recognise(words: Words, lexicons: Sequence[EntityLexicon], *, strict: bool = False) -> Spans:
    """Entities of all texts in their order, none within another.

    `strict`: with the rules that came after format 1, whose keys they would change.
    """
    capital = np.flatnonzero(words.kinds == CAPITAL)
    counts = _count_by_text(words, capital)
    texts = np.repeat(np.arange(len(counts)), counts)
    is_initial = _are_initial(words, capital)
    is_large = ~(is_initial & (words.flags[capital] & NEVER != 0))
    if strict:
        is_large |= _are_heads_of_endings(words, capital)
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
    _add_names(flags, words, starts, ends, lexicons)
    contexts = _context_codes(words, starts, ends, is_initial[begins], has_suffixes[begins])
    if strict:
        nouns = np.array([one.knowledge.has_capital_nouns for one in lexicons], bool)
        contexts |= _STRICT | nouns[texts] * _CAPITAL_NOUNS
    return _resolve_kinds(words, texts, starts, _judge(flags, starts, ends, contexts))


def _are_initial(words: Words, places: Places) -> _Truths:
    """Whether a sentence begins with these words."""
    before = words.marks_before(places)
    is_abbreviated = words.flags[places - 1] & ABBREVIATED != 0
    begins: _Truths = before & (APOSTROPHE | QUOTE | STOP) != 0
    begins |= (before & DOT != 0) & ~is_abbreviated
    return begins


def _are_heads_of_endings(words: Words, places: Places) -> _Truths:
    """Merkez Bankası: whether an ending of an organisation or a place follows, with a capital."""
    following = np.minimum(places + 1, len(words.flags) - 1)
    heads: _Truths = words.behind[places] == SPACE
    heads &= (words.kinds[following] == CAPITAL) & (words.flags[following] & _NAME_ENDS != 0)
    return heads


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
    flags: Flags, words: Words, starts: Places, ends: Places, lexicons: Sequence[EntityLexicon]
) -> None:
    """Marks the words with which a listed name of several words begins."""
    long = np.flatnonzero(ends - starts > 1)
    sizes = (ends - starts)[long]
    runs = np.repeat(long, sizes)
    within = np.repeat(ends[long] - np.cumsum(sizes), sizes) + np.arange(len(runs))
    begins = words.flags[within] & FIRST != 0
    at, limits = within[begins], ends[runs[begins]]
    hashes = words.hashes[at]
    power = powers(BASE_MIXED, LONGEST_WORD + 2)
    for size in range(2, LONGEST_NAME + 1):
        fits = at + size <= limits
        at, limits, hashes = at[fits], limits[fits], hashes[fits]
        last = at + size - 1
        lengths = words.tokens.lengths[words.places[last]]
        hashes = hashes * power[lengths + 1] + words.hashes[last]
        hashes += np.uint64(ord(" ")) * power[lengths]
        for lexicon, rows in group_by_lexicon(lexicons, words.first, at):
            known = lexicon.find_names(hashes[rows])
            flags[at[rows[known & PLACE != 0]]] |= PLACE_OF[size]
            flags[at[rows[known & BODY != 0]]] |= BODY_OF[size]


def _context_codes(
    words: Words, starts: Places, ends: Places, is_initial: _Truths, has_suffixes: _Truths
) -> Flags:
    """What is beside each run, as one number (`_context`): the flags of cues before and
    after a run and of endings are different ones."""
    last = ends - 1
    before = words.flags[starts - 1] & BEFORE
    before[words.marks_before(starts) != SPACE] = 0
    after = words.flags[np.minimum(ends, len(words.flags) - 1)] & AFTER
    after[words.behind[last] != SPACE] = 0
    suffix = words.suffix[last] & np.where(has_suffixes, _SUFFIXES, SUFFIXED)
    codes = before | after | suffix
    codes |= is_initial * _INITIAL
    codes |= has_suffixes * _HAS_SUFFIXES
    single = np.flatnonzero(last == starts)
    codes[single] |= words.are_acronyms(starts[single]) * _ACRONYM
    return codes


def _context(code: int) -> Context:
    return Context(
        is_initial=bool(code & _INITIAL),
        before=code & BEFORE,
        after=code & AFTER,
        suffix=code & _SUFFIXES,
        is_acronym=bool(code & _ACRONYM),
        has_suffixes=bool(code & _HAS_SUFFIXES),
        strict=bool(code & _STRICT),
        has_capital_nouns=bool(code & _CAPITAL_NOUNS),
    )


_Row = tuple[int, int, int, bool, tuple[int, ...]]  # a Piece with the number of its kind, or -1
_judgements: dict[int, list[_Row]] = {}


def _judge(flags: Flags, starts: Places, ends: Places, contexts: Flags) -> list[list[_Row]]:
    """The pieces of each run. A run whose words and context have the same flags as those of an
    earlier one is not judged again."""
    if len(_judgements) > _PATTERNS:
        _judgements.clear()
    judged = []
    for run, key in enumerate(_run_keys(flags, starts, ends, contexts).tolist()):
        rows = _judgements.get(key)
        if rows is None:
            words = flags[starts[run] : ends[run]].tolist()
            rows = [
                (piece.start, piece.end, _NUMBERS[piece.kind], piece.is_firm, piece.remembered)
                for piece in classify(words, _context(int(contexts[run])))
            ]
            _judgements[key] = rows
        judged.append(rows)
    return judged


def _run_keys(flags: Flags, starts: Places, ends: Places, contexts: Flags) -> Hashes:
    words, sizes = flags.view(np.uint64), ends - starts
    keys = mix(contexts.view(np.uint64) * np.uint64(BASE_MIXED) + sizes.view(np.uint64))
    for place in range(int(sizes.max(initial=0))):
        longer = np.flatnonzero(sizes > place)
        keys[longer] = mix(keys[longer] + words[starts[longer] + place])
    return keys


def _resolve_kinds(
    words: Words, texts: Places, starts: Places, judged: Sequence[list[_Row]]
) -> Spans:
    """The pieces that are names. One that is not firm takes the kind of an earlier one of its text
    that has the same word."""
    hashes = words.hashes.tolist()
    found: tuple[list[int], ...] = ([], [], [], [])
    add_text, add_start, add_end, add_kind = (column.append for column in found)
    kind_by_word: dict[int, int] = {}
    last_text = -1
    for text, origin, pieces in zip(texts.tolist(), starts.tolist(), judged, strict=True):
        if text != last_text:
            kind_by_word, last_text = {}, text
        for start, end, own_kind, is_firm, remembered in pieces:
            first = origin + start
            kind = own_kind if is_firm else kind_by_word.get(hashes[first], own_kind)
            if kind < 0:
                continue
            add_text(text)
            add_start(first)
            add_end(origin + end)
            add_kind(kind)
            for place in remembered:
                kind_by_word.setdefault(hashes[origin + place], kind)
    return Spans(*(np.array(column, np.int64) for column in found))
