"""Facts about a word: name lists and rule words of a language in one table of flags.

One look-up returns everything about a word. The lists are compiled into esdedup/data/gazetteers by
`python -m tests.docs.gazetteers` and loaded on first use (0.2 s, 60 MB); NOTICE says where they
are from.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from esdedup.features.entities.languages import RULES, Rules
from esdedup.text.tokens import fold

GIVEN = 1 << 0  # a given name
SURNAME = 1 << 1
PLACE = 1 << 2
LARGE = 1 << 3  # a country, a province, a city of 300,000 and more
BODY = 1 << 4  # an organisation
WORD = 1 << 5  # also an ordinary word of the language
FIRST = 1 << 6  # a name of several words begins with it
TITLE = 1 << 7
HONORIFIC = 1 << 8
PLACE_END = 1 << 9
BODY_END = 1 << 10
OTHER_END = 1 << 11
PLACE_START = 1 << 12
BODY_START = 1 << 13
NATION = 1 << 14
NEVER = 1 << 15
LINK = 1 << 16
PERSON_BEFORE = 1 << 17
PERSON_AFTER = 1 << 18
PLACE_BEFORE = 1 << 19
PLACE_AFTER = 1 << 20
BODY_BEFORE = 1 << 21
BODY_AFTER = 1 << 22
OTHER_AFTER = 1 << 23
OTHER_INSIDE = 1 << 24
# Of the form of a word.
LETTER = 1 << 25  # a single one
BRIEF = 1 << 26  # two letters at most
ABBREVIATED = 1 << 27  # a dot behind it ends no sentence: initials, Roman numbers, Mr., St.
CONJUNCTION = 1 << 28
ELIDED = 1 << 29  # a head that the apostrophe leaves out: l'État, O'Neill
CLUB = 1 << 30  # Bursaspor, Akbank
# Of what stands behind an apostrophe.
SUFFIXED = 1 << 31
LOCATIVE = 1 << 32
MADE_OF = 1 << 33
GENITIVE = 1 << 34
POSSESSIVE = 1 << 35
# With this word begins a name of two, three or four words that is in the lists.
PLACE_OF = {2: 1 << 36, 3: 1 << 37, 4: 1 << 38}
BODY_OF = {2: 1 << 39, 3: 1 << 40, 4: 1 << 41}
PLURAL = 1 << 44  # in -s, as English plurals
OBJECTIVE = 1 << 45  # of what stands behind an apostrophe: -i, -e, -den
SMALL = 1 << 42  # written small, within a run
LONGEST_NAME = 4

_LETTERS = {"g": GIVEN, "s": SURNAME, "p": PLACE, "m": LARGE, "o": BODY}
_FIELDS = {
    "titles": TITLE,
    "honorifics": HONORIFIC,
    "place_ends": PLACE_END,
    "body_ends": BODY_END,
    "other_ends": OTHER_END,
    "place_starts": PLACE_START,
    "body_starts": BODY_START,
    "bodies": BODY | LARGE,
    "places": PLACE | LARGE,
    "person_before": PERSON_BEFORE,
    "person_after": PERSON_AFTER,
    "place_before": PLACE_BEFORE,
    "place_after": PLACE_AFTER,
    "body_before": BODY_BEFORE,
    "body_after": BODY_AFTER,
    "other_after": OTHER_AFTER,
    "other_inside": OTHER_INSIDE,
    "nations": NATION,
    "never": NEVER,
    "links": LINK,
}
# Words that take case endings without an apostrophe in Turkish: Üniversitesinde, ilçesine.
_INFLECTED = {
    "place_ends",
    "body_ends",
    "other_ends",
    "place_after",
    "body_after",
    "other_after",
    "titles",
}

_CONJUNCTIONS = frozenset(("ve", "and", "et", "y", "e", "und"))
_ELIDED = frozenset(
    ("l", "d", "j", "m", "t", "s", "c", "n", "qu", "o", "jusqu", "lorsqu", "puisqu")
)
# Case endings that follow places rather than persons: of 1,600 single names with one of these in
# the training part of the Turkish set 1,490 are places.
_LOCATIVE = frozenset(("da", "de", "ta", "te", "daki", "deki", "taki", "teki"))
# Endings that make another word of a name: Ankaralı, CHP'liler.
_MADE_OF = frozenset(("li", "lu", "lü", "lar", "ler", "ca", "ce"))
_OBJECTIVE = frozenset(
    (
        "i",
        "u",
        "ü",
        "yi",
        "yu",
        "yü",
        "a",
        "e",
        "ya",
        "ye",
        "dan",
        "den",
        "tan",
        "ten",
        "la",
        "le",
        "yla",
        "yle",
    )
)
# Endings by which surnames and places of many languages are known.
_SURNAME_ENDS = (
    "oğlu",
    "zade",
    "gil",
    "yan",
    "dze",
    "şvili",
    "ov",
    "ova",
    "ev",
    "eva",
    "yev",
    "yeva",
    "viç",
    "vich",
    "ovski",
    "evski",
    "sky",
    "ski",
    "ska",
    "iç",
    "ic",
    "escu",
    "opulos",
    "akis",
    "idis",
    "sson",
    "mann",
    "berg",
    "stein",
    "meier",
    "bauer",
    "inen",
)
_PLACE_ENDS = (
    "istan",
    "burg",
    "grad",
    "köy",
    "shire",
    "ville",
    "abad",
    "polis",
    "tepe",
    "hisar",
    "pinar",
    "kale",
    "kent",
    "dere",
    "ören",
    "stadt",
    "gorod",
)
_SHORTEST_STEM = 3
# Endings of place names written without their apostrophe: Romadaki, Sofyadan.
_UNMARKED = (
    "daki",
    "deki",
    "taki",
    "teki",
    "dan",
    "den",
    "tan",
    "ten",
    "nin",
    "nun",
    "nün",
    "da",
    "de",
    "ta",
    "te",
    "ya",
    "ye",
)

Table = dict[str, int]


class Knowledge(NamedTuple):
    """Flags by word and by name of several words, and whether apostrophes part a name from its
    endings."""

    table: Table
    names: Table
    has_suffixes: bool

    def flags(self, word: str) -> int:
        """Everything about a word: what the lists have of it, and its form."""
        flags = self.table.get(word, 0) | _FORMS.get(word, 0)
        size = len(word)
        if size < 3:
            flags |= BRIEF | (LETTER if size == 1 else 0)
        if size == 1 or not word.strip("ivx") or (size < 5 and flags & (TITLE | PLACE_START)):
            flags |= ABBREVIATED
        if word[-1] == "n":
            flags |= GENITIVE
        elif word[-1] == "s":
            flags |= PLURAL
        return flags | self._by_ending(word, flags) if self.has_suffixes else flags

    def _by_ending(self, word: str, flags: int) -> int:
        if word.endswith(("spor", "bank")):
            return CLUB
        if flags & (GIVEN | SURNAME | PLACE | BODY | WORD | NEVER | NATION | _ANY_END):
            return 0
        if word.endswith(_UNMARKED):
            for ending in _UNMARKED:
                if word.endswith(ending) and len(word) - len(ending) > _SHORTEST_STEM:
                    stem = self.table.get(word.removesuffix(ending), 0)
                    if stem & LARGE and stem & PLACE and not stem & WORD:
                        return PLACE | LARGE
        if _has_end(word, _PLACE_ENDS):
            return PLACE
        return SURNAME if _has_end(word, _SURNAME_ENDS) else 0


_ANY_END = PLACE_END | BODY_END | OTHER_END | TITLE


def _has_end(word: str, endings: tuple[str, ...]) -> bool:
    return word.endswith(endings, _SHORTEST_STEM)


def _forms_of(*lists: tuple[int, Iterable[str]]) -> Table:
    out: Table = {}
    for flag, words in lists:
        for word in words:
            out[word] = out.get(word, 0) | flag
    return out


_FORMS = _forms_of(
    (CONJUNCTION, _CONJUNCTIONS),
    (ELIDED, _ELIDED),
    (LOCATIVE, _LOCATIVE),
    (MADE_OF, _MADE_OF),
    (OBJECTIVE, _OBJECTIVE),
    (POSSESSIVE, "s"),
)


def is_elided(head: str) -> bool:
    return head in _ELIDED


def code_of(lang: str | None) -> str:
    """`tr` of `tr-TR`; empty for a language without rules of its own."""
    code = (lang or "")[:2].lower()
    return code if code in RULES else ""


@cache
def knowledge(lang: str | None) -> Knowledge:
    """Of a language by its code (`tr`, `tr-TR`); one without rules has the lists of names."""
    code = code_of(lang)
    if not code:
        return _unknown_language()
    table, names = _names(("world", "tr") if code == "tr" else ("world",))
    for word in _lines(f"words-{code}"):
        table[word] = table.get(word, 0) | WORD
    rules = RULES[code]
    _add_rules(table, names, rules)
    return Knowledge(table, names, has_suffixes=rules.is_inflected)


def _unknown_language() -> Knowledge:
    """Names alone; what any of the known languages writes large for grammar's sake is none."""
    table, names = _names(("world",))
    for rules in RULES.values():
        for word in f"{rules.never} {rules.nations}".split():
            table[_key(word)] = NEVER
    return Knowledge(table, names, has_suffixes=False)


def _names(lists: tuple[str, ...]) -> tuple[Table, Table]:
    """The lists as flags of single words, and of names of several."""
    single: Table = {}
    several: Table = {}
    by_letters: dict[str, int] = {}
    for line in (line for name in lists for line in _lines(name)):
        name, _, letters = line.partition("\t")
        if letters not in by_letters:
            by_letters[letters] = sum(_LETTERS[letter] for letter in letters)
        table = several if " " in name else single
        table[name] = table.get(name, 0) | by_letters[letters]
    for name in several:
        first = name.partition(" ")[0]
        single[first] = single.get(first, 0) | FIRST
    return single, several


def _lines(name: str) -> list[str]:
    packed = files("esdedup").joinpath(f"data/gazetteers/{name}.txt.gz").read_bytes()
    return gzip.decompress(packed).decode().split("\n")


def _add_rules(table: Table, names: Table, rules: Rules) -> None:
    for field, flag in _FIELDS.items():
        inflect = rules.is_inflected and field in _INFLECTED
        for word in getattr(rules, field).split():
            for form in _forms(word) if inflect else (word,):
                key = _key(form)
                own = names if " " in key else table
                own[key] = own.get(key, 0) | flag
                if own is names:
                    first = key.partition(" ")[0]
                    table[first] = table.get(first, 0) | FIRST


def _key(word: str) -> str:
    """As a text's words are read: Wal-Mart and U.S. are two."""
    return " ".join(fold(word).replace("-", " ").replace(".", " ").split())


def _forms(word: str) -> Iterable[str]:
    """A Turkish noun that ends in a possessive, with the case endings it takes."""
    yield word
    if word[-1] in "ıiuü" and len(word) > 3:
        yield from _cases(word)


def _cases(word: str) -> Iterator[str]:
    close = word[-1]
    open_ = "a" if close in "ıu" else "e"
    for ending in ("n" + close + "n", "n" + open_, "nd" + open_, "nd" + open_ + "n"):
        yield word + ending
    for ending in ("n" + close, "yl" + open_, "nd" + open_ + "ki", "d" + close + "r"):
        yield word + ending
