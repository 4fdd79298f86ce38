"""TuNER, the named entities of the thesis (paper 004, chapter 3): runs of capitalised words.

Capitalised words that follow each other are one run; punctuation and an apostrophe suffix end it.
Its kind comes from classify.py, and where that is not firm from names found earlier in the same
text (Garanti Bankası … Garanti). What remains is unclassified and not used.

Runs of a whole batch are found by array operations. What is known of their words makes a key, and
a run whose key was judged before costs nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

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
from esdedup.text.hashing import BASE_MIXED, Hashes, mix, powers

KINDS = (PERSON, LOCATION, ORGANISATION)
# A text in which more words than this share are capitalised says nothing by capitals: headlines,
# lists, ALL CAPITALS. German news has about .4.
MOST_CAPITALS = 0.8
FEWEST_WORDS = 12
# Of a longer row of names only as much is read together: a list without commas is no name.
LONGEST_RUN = 12

_Truths = NDArray[np.bool_]
_SUFFIXES = SUFFIXED | LOCATIVE | MADE_OF | GENITIVE | OBJECTIVE
_ODD = np.uint64(BASE_MIXED)
_APART = np.uint64(0xD6E8FEB86659FD93)  # odd, and no power of the base of words
_HIGH = np.uint64(48)
_NO_NAME = np.uint64(2**64 - 1)


@dataclass(frozen=True, slots=True)
class Spans:
    """Words `starts` to `ends` (exclusive) are an entity of one kind, a place in KINDS."""

    texts: Places
    starts: Places
    ends: Places
    kinds: Places


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
    with _lock:
        pieces = _judgements.pieces(flags, starts, ends, texts, contexts)
    return _resolve_kinds(pieces, words)


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
    sizes = (ends - starts)[long]
    runs = np.repeat(long, sizes)
    within = np.repeat(ends[long] - np.cumsum(sizes), sizes) + np.arange(len(runs))
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


@dataclass(frozen=True, slots=True)
class _Contexts:
    """Context of classify.py, of all runs."""

    is_initial: _Truths
    before: Flags
    after: Flags
    suffix: Flags
    is_acronym: _Truths
    has_suffixes: _Truths

    def of(self, runs: Places) -> Iterator[Context]:
        columns = (self.is_initial, self.before, self.after, self.suffix)
        forms = (self.is_acronym, self.has_suffixes)
        return map(Context, *(column[runs].tolist() for column in (*columns, *forms)))

    def keys(self) -> Hashes:
        """Different for different contexts; cues before and after a run have different flags."""
        small = self.is_initial.astype(np.int64)
        small |= self.is_acronym.astype(np.int64) << 1
        small |= self.has_suffixes.astype(np.int64) << 2
        return (small | self.before | self.after | self.suffix).astype(np.uint64)


def _contexts(
    words: Words, starts: Places, ends: Places, is_initial: _Truths, has_suffixes: _Truths
) -> _Contexts:
    last = ends - 1
    before = words.flags[starts - 1] & BEFORE
    before[words.marks_before(starts) != SPACE] = 0
    after = words.flags[np.minimum(ends, len(words.flags) - 1)] & AFTER
    after[words.behind[last] != SPACE] = 0
    single = np.flatnonzero(last == starts)
    is_acronym = np.zeros(len(starts), bool)
    is_acronym[single] = words.are_acronyms(starts[single])
    suffix = words.suffix[last] & np.where(has_suffixes, _SUFFIXES, SUFFIXED)
    return _Contexts(is_initial, before, after, suffix, is_acronym, has_suffixes)


# --- judgements --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Piece of classify.py, of all runs; `origins` is where its run begins, `kinds` is -1 for
    none, `remembered` has a bit for each word of the run."""

    texts: Places
    origins: Places
    starts: Places
    ends: Places
    kinds: Places
    is_firm: _Truths
    remembered: Places


# Places for patterns of runs, of which news has some ten thousand.
_PLACES = 1 << 17
_SHIFT = np.uint64(64 - 17)
_LONGEST_POWER = 258
# Patterns in the cache, some 50 MB; a full cache is emptied.
_MOST_PATTERNS = 1 << 17


class _JudgementCache:
    """Judgements by the key of a run: its words' flags in their order, and its context."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._keys = np.zeros(_PLACES, np.uint64)
        self._numbers = np.zeros(_PLACES, np.int64)
        self._by_key: dict[int, int] = {}
        self._rows = np.zeros((0, 5), np.int64)  # start, end, kind, firm, remembered
        self._firsts = np.zeros(1, np.int64)

    def pieces(
        self, flags: Flags, starts: Places, ends: Places, texts: Places, contexts: _Contexts
    ) -> _Pieces:
        if len(self._by_key) > _MOST_PATTERNS:
            self._forget()
        keys = _run_keys(flags, starts, ends, contexts)
        places = (keys >> _SHIFT).view(np.int64)
        numbers = self._numbers[places]
        unseen = np.flatnonzero(self._keys[places] != keys)
        if len(unseen):
            numbers[unseen] = self._learn(keys, flags, starts, ends, contexts, unseen)
            self._keys[places[unseen]] = keys[unseen]
            self._numbers[places[unseen]] = numbers[unseen]
        firsts = self._firsts[numbers]
        counts = self._firsts[numbers + 1] - firsts
        runs = np.repeat(np.arange(len(counts)), counts)
        table = self._rows[firsts[runs] + np.arange(len(runs)) - (np.cumsum(counts) - counts)[runs]]
        origins = starts[runs]
        return _Pieces(
            texts[runs],
            origins,
            origins + table[:, 0],
            origins + table[:, 1],
            table[:, 2],
            table[:, 3] != 0,
            table[:, 4],
        )

    def _learn(
        self,
        keys: Hashes,
        flags: Flags,
        starts: Places,
        ends: Places,
        contexts: _Contexts,
        unseen: Places,
    ) -> list[int]:
        """The numbers of runs not in their places; a pattern is judged once."""
        known = self._by_key
        wanted = keys[unseen].tolist()
        new = np.array([key not in known for key in wanted], bool)
        distinct, at = np.unique(keys[unseen[new]], return_index=True)
        runs = unseen[new][at]
        rows: list[tuple[int, int, int, bool, int]] = []
        firsts: list[int] = []
        edges = zip(starts[runs].tolist(), ends[runs].tolist(), strict=True)
        words = [flags[start:end].tolist() for start, end in edges]
        for key, own, context in zip(distinct.tolist(), words, contexts.of(runs), strict=True):
            known[key] = len(known)
            rows += map(_row, classify(own, context))
            firsts.append(len(rows))
        added = np.array(rows, np.int64).reshape(len(rows), 5)
        ends_of_all = np.array(firsts, np.int64) + len(self._rows)
        self._rows = np.concatenate([self._rows, added])
        self._firsts = np.concatenate([self._firsts, ends_of_all])
        return [known[key] for key in wanted]


def _row(piece: Piece) -> tuple[int, int, int, bool, int]:
    kind = KINDS.index(piece.kind) if piece.kind else -1
    return piece.start, piece.end, kind, piece.is_firm, sum(1 << i for i in piece.remembered)


def _run_keys(flags: Flags, starts: Places, ends: Places, contexts: _Contexts) -> Hashes:
    words = flags.view(np.uint64)
    out = words[starts] * _ODD
    sizes = ends - starts
    out += sizes.astype(np.uint64)
    longer = np.flatnonzero(sizes > 1)
    place = 1
    while len(longer):
        out[longer] = mix(out[longer]) + words[starts[longer] + place] * _ODD
        place += 1
        longer = longer[sizes[longer] > place]
    return mix(mix(out) + contexts.keys())


_judgements = _JudgementCache()
_lock = Lock()


def _resolve_kinds(pieces: _Pieces, words: Words) -> Spans:
    """Names that are not firm take the kind of an earlier one of their text with the same word."""
    kinds = pieces.kinds.copy()
    unsure = np.flatnonzero(~pieces.is_firm)
    learnt = np.flatnonzero(pieces.remembered)
    if len(unsure) and len(learnt):
        wanted = _hash_in_text(words, pieces.starts[unsure], pieces.texts[unsure])
        keys, sources = _collect_mentions(pieces, learnt, words, wanted)
        found = np.searchsorted(keys, wanted)
        is_resolved = (keys[found] == wanted) & (sources[found] < unsure)
        kinds[unsure[is_resolved]] = kinds[sources[found[is_resolved]]]
    selected = np.flatnonzero(kinds >= 0)
    return Spans(
        pieces.texts[selected], pieces.starts[selected], pieces.ends[selected], kinds[selected]
    )


def _collect_mentions(
    pieces: _Pieces, learnt: Places, words: Words, wanted: Hashes
) -> tuple[Hashes, Places]:
    """Words that names were made of, in order, each with the first such name of its text; mostly
    those wanted, and at the end one of no name."""
    places, sources = [], []
    bits, bit = pieces.remembered[learnt], 0
    while len(learnt):
        has = learnt[bits & 1 != 0]
        places.append(pieces.origins[has] + bit)
        sources.append(has)
        bits, bit = bits >> 1, bit + 1
        learnt, bits = learnt[bits != 0], bits[bits != 0]
    by = np.concatenate(sources)
    keys = _hash_in_text(words, np.concatenate(places), pieces.texts[by])
    is_wanted = np.zeros(1 << 16, bool)
    is_wanted[wanted >> _HIGH] = True
    selected = np.flatnonzero(is_wanted[keys >> _HIGH])
    keys, by = keys[selected], by[selected]
    order = np.lexsort((by, keys))
    return np.append(keys[order], _NO_NAME), np.append(by[order], len(pieces.kinds))


def _hash_in_text(words: Words, places: Places, texts: Places) -> Hashes:
    """A word's hash that is another in every text."""
    return words.hashes[places] + texts.astype(np.uint64) * _APART
