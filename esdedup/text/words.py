"""Facts about words: stop words, stems, and how rare each word is in its language.

Everything is fixed, so that keys are the same on every machine: stop words from a list of our own
(`tests/docs/stop_words.py` made it), stems by Snowball, rarity from `wordfreq`, or from statistics
of one's own corpus. A language is loaded on first use. Words reach the methods as
numbers: `read_terms` gives every word of a batch the number of its stem, and decodes the word
itself only if it was not seen before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from esdedup.text.hashing import Hashes, mix
from esdedup.text.tokens import Tokens, fold

if TYPE_CHECKING:
    from esdedup.text.statistics.corpus import Statistics

# Rarity is -100 log10 of a word's share of all words (centibels, the unit of wordfreq's files):
# "the" has 127. wordfreq's small lists end at 600, one word in a million; what they do not hold
# is taken to be this rare.
RAREST = 600

# Snowball's algorithms by language; others are not stemmed.
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali",
    "nl": "dutch", "nn": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
# Codes that the packages know by another name.
_ALIASES = {"no": "nb", "iw": "he", "in": "id", "cmn": "zh"}


class Term(NamedTuple):
    """A word as the methods see it: its stem, the rarity of the stem, whether it is a stop word."""

    stem: str
    rarity: int
    is_stop: bool


@dataclass(frozen=True, slots=True)
class Language:
    """The word statistics of one language; the unknown one has none, and all words are alike."""

    stop_words: frozenset[str]
    rarities: Mapping[str, int]  # by stem: that of its commonest form
    stem: Callable[[str], str]

    def term(self, word: str) -> Term:
        stem = self.stem(word)
        return Term(stem, self.rarities.get(stem, RAREST), word in self.stop_words)


@lru_cache(maxsize=1024)  # pages declare anything
def primary_code(code: str | None) -> str:
    """`en` of `en-GB` or `EN_us`; empty where there is no language."""
    first = (code or "").replace("_", "-").split("-")[0].strip().lower()
    usable = first.isascii() and first.isalpha() and len(first) <= 3  # as in every list
    return _ALIASES.get(first, first) if usable else ""


@cache
def language(code: str) -> Language:
    """The statistics of a language by its primary code; about 0.1 s each, once a process."""
    stem = _stemmer(code)
    return Language(frozenset(stop_word_lists().get(code, "").split()), _rarities(code, stem), stem)


def is_known(code: str | None) -> bool:
    """Whether there are statistics for a code: pages also declare `us` and `zz`."""
    known = language(primary_code(code))
    return bool(known.rarities or known.stop_words)


@cache
def stop_word_lists() -> dict[str, str]:
    """The words by language, in one row."""
    text = files("esdedup").joinpath("data/stop_words.txt").read_text("utf-8")
    return dict(line.split("\t") for line in text.rstrip("\n").split("\n"))


def _rarities(code: str, stem: Callable[[str], str]) -> dict[str, int]:
    """wordfreq keeps the words of each centibel together: whole numbers from the start."""
    import wordfreq

    if code not in wordfreq.available_languages("small"):
        return {}
    out: dict[str, int] = {}
    for centibels, words in enumerate(wordfreq.get_frequency_list(code, "small")):
        for word in words:
            out.setdefault(stem(fold(word)), centibels)
    return out


def _stemmer(code: str) -> Callable[[str], str]:
    if code not in STEMMERS:
        return str
    from Stemmer import Stemmer

    # Its own cache would keep every word once more.
    stem: Callable[[str], str] = Stemmer(STEMMERS[code], 0).stemWord
    return stem


# --- the words of a batch ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terms:
    """Of each word of a batch the number of its term; the rest is by that number.

    Numbers are this process's own: nothing that is stored may depend on them.
    """

    numbers: NDArray[np.int64]
    is_stop: NDArray[np.bool_]
    hashes: Hashes
    rarities: NDArray[np.int64]
    stems: Sequence[str]


def read_terms(
    tokens: Tokens, languages: Sequence[str | None], statistics: Statistics | None = None
) -> Terms:
    """The terms of all words, each text in its language, as rare as the statistics say."""
    version = statistics.version if statistics else ""
    with _lock:
        seen = _seen.get(version)
        if seen is None or seen.is_full:  # started anew when it is full
            seen = _TermTable(statistics)
            if len(_seen) > _MOST_VERSIONS:
                _seen.clear()
            _seen[version] = seen
        return seen.terms(tokens, [primary_code(code) for code in languages])


def term(word: str, code: str, statistics: Statistics | None = None) -> Term:
    """A word of a language; the statistics decide where they have enough of the language."""
    found = language(code).term(word)
    known = statistics.counts_in(code) if statistics else None
    return found if known is None else found._replace(rarity=known.rarity(found.stem))


def name_hash(name: str) -> int:
    """64 bits of a feature's name; BLAKE2b, as docs/format.md has it."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@cache
def _salt(base: int, code: str) -> int:
    return name_hash(f"{base} {code}")


# Places for words seen, a power of two: the vocabulary of some ten thousand articles. Each word has
# two. A new one takes its first, whose word goes to its second and drives out what is there: so
# the size is bounded, nothing is searched, and after some turns all have a place (cuckoo hashing).
_PLACES = 1 << 18
_SHIFT = np.uint64(64 - 18)
_SECOND_SHIFT = np.uint64(64 - 2 * 18)
_IN_TABLE = np.uint64(_PLACES - 1)
# Stems in the table (about 20 MB); a full table is emptied.
_MOST_TERMS = 1 << 18


class _TermTable:
    """Words met before, by hash and language: most words of a batch never become strings."""

    def __init__(self, statistics: Statistics | None = None) -> None:
        self._statistics = statistics
        self._keys = np.zeros(_PLACES, np.uint64)
        self._numbers = np.zeros(_PLACES, np.int64)  # negative for a stop word
        self._by_term: dict[tuple[str, int], int] = {}
        self._stems = [""]  # number 0 is nobody's, so that every number has a sign
        self._hashes = np.zeros(1 << 12, np.uint64)
        self._rarities = np.zeros(1 << 12, np.int64)

    @property
    def is_full(self) -> bool:
        return len(self._stems) > _MOST_TERMS

    def terms(self, tokens: Tokens, codes: Sequence[str]) -> Terms:
        salts = np.array([_salt(tokens.base, code) for code in codes], np.uint64)
        keys = mix(tokens.hashes + np.repeat(salts, np.diff(tokens.first)))
        places = (keys >> _SHIFT).astype(np.int64)
        elsewhere = np.flatnonzero(self._keys[places] != keys)
        second = _second_places(keys[elsewhere])
        places[elsewhere] = second
        numbers = self._numbers[places]
        unseen = elsewhere[self._keys[second] != keys[elsewhere]]
        if len(unseen):
            numbers[unseen] = self._learn(tokens, codes, keys[unseen], unseen)
        return Terms(np.abs(numbers), numbers < 0, self._hashes, self._rarities, self._stems)

    def _learn(
        self, tokens: Tokens, codes: Sequence[str], keys: Hashes, unseen: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The numbers of words not in their places; each is looked at once."""
        distinct, one, inverse = np.unique(keys, return_index=True, return_inverse=True)
        texts = np.searchsorted(tokens.first, unseen[one], side="right") - 1
        numbers = np.fromiter(
            (
                self._number(term(word, codes[text], self._statistics))
                for word, text in zip(tokens.words(unseen[one]), texts.tolist(), strict=True)
            ),
            np.int64,
            len(distinct),
        )
        places = (distinct >> _SHIFT).astype(np.int64)
        before = self._keys[places]
        second = _second_places(before)
        self._keys[second], self._numbers[second] = before, self._numbers[places]
        self._keys[places], self._numbers[places] = distinct, numbers
        return numbers[inverse]

    def _number(self, term: Term) -> int:
        number = self._by_term.setdefault((term.stem, term.rarity), len(self._stems))
        if number == len(self._stems):
            self._stems.append(term.stem)
            if number == len(self._hashes):
                self._hashes = np.concatenate([self._hashes, np.zeros_like(self._hashes)])
                self._rarities = np.concatenate([self._rarities, np.zeros_like(self._rarities)])
            self._hashes[number], self._rarities[number] = name_hash(term.stem), term.rarity
        return -number if term.is_stop else number


def _second_places(keys: Hashes) -> NDArray[np.int64]:
    return (keys >> _SECOND_SHIFT & _IN_TABLE).astype(np.int64)


# One for each version of statistics that a process uses, in practice one or two.
_MOST_VERSIONS = 3
_seen: dict[str, _TermTable] = {}
_lock = Lock()
