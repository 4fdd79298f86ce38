"""What is known of a word: name lists and rule words of a language in one table of flags.

One look-up tells everything about a word. The lists are compiled into esdedup/data/gazetteers by
`python -m tests.docs.gazetteers` and loaded on first use (0.2 s, 60 MB); NOTICE says where they
are from.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from esdedup.entities.languages import RULES, Rules
from esdedup.text import fold

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

Table = dict[str, int]


class Knowledge(NamedTuple):
    """The table of a language, and whether its apostrophes part a name from its endings."""

    table: Table
    has_suffixes: bool


@cache
def knowledge(lang: str | None) -> Knowledge:
    """Of a language by its code (`tr`, `tr-TR`); one without rules has the lists of names."""
    code = (lang or "")[:2].lower()
    rules = RULES.get(code)
    if rules is None:
        return _unknown_language()
    table = dict(_names(("world", "tr") if code == "tr" else ("world",)))
    for word in _lines(f"words-{code}"):
        table[word] = table.get(word, 0) | WORD
    _add_rules(table, rules)
    return Knowledge(table, has_suffixes=rules.is_inflected)


@cache
def _unknown_language() -> Knowledge:
    """Names alone; what any of the known languages writes large for grammar's sake is none."""
    table = dict(_names(("world",)))
    for rules in RULES.values():
        for word in f"{rules.never} {rules.nations}".split():
            table[_key(word)] = NEVER
    return Knowledge(table, has_suffixes=False)


@cache
def _names(lists: tuple[str, ...]) -> Table:
    table: Table = {}
    by_letters: dict[str, int] = {}
    for line in (line for name in lists for line in _lines(name)):
        name, _, letters = line.partition("\t")
        if letters not in by_letters:
            by_letters[letters] = sum(_LETTERS[letter] for letter in letters)
        table[name] = table.get(name, 0) | by_letters[letters]
    for name in [name for name in table if " " in name]:
        first = name.partition(" ")[0]
        table[first] = table.get(first, 0) | FIRST
    return table


def _lines(name: str) -> list[str]:
    packed = files("esdedup").joinpath(f"data/gazetteers/{name}.txt.gz").read_bytes()
    return gzip.decompress(packed).decode().split("\n")


def _add_rules(table: Table, rules: Rules) -> None:
    for field, flag in _FIELDS.items():
        inflect = rules.is_inflected and field in _INFLECTED
        for word in getattr(rules, field).split():
            for form in _forms(word) if inflect else (word,):
                table[_key(form)] = table.get(_key(form), 0) | flag


def _key(word: str) -> str:
    return fold(word).replace("-", "").replace(".", "").replace("'", "")


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
