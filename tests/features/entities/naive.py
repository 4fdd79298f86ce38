"""The slow judge of entities: one text, word by word, with sets of words instead of flags.

It is written apart from the product. Both read the same lists (esdedup/data/gazetteers and
`RULES`) and fold letters alike; the judge has no rule from there.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from esdedup.features.entities.languages import RULES
from esdedup.text.tokens import UNSPACED, fold

_LONGEST_WORD = 256
_LONGEST_RUN = 12
_APOSTROPHES = "'\u2019\u2018`\u02bc"
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a'
_HYPHENS = "-\u2010\u2011"

Facts = frozenset[str]
_NONE: Facts = frozenset()


def _set(words: str) -> Facts:
    return frozenset(words.split())


# --- what is known of a word --------------------------------------------------------------------

_LETTERS = {"g": "given", "s": "surname", "p": "place", "m": "large", "o": "body"}
_FORMS = {
    "conjunction": "ve and et y e und",
    "elided": "l d j m t s c n qu o jusqu lorsqu puisqu",
    "locative": "da de ta te daki deki taki teki",
    "made of": "li lu lü lar ler ca ce",
    "objective": "i u ü yi yu yü a e ya ye dan den tan ten la le yla yle",
}
_INFLECTED = _set("titles place_ends body_ends other_ends place_after body_after other_after")
_UNMARKED = _set("daki deki taki teki dan den tan ten nin nun nün da de ta te ya ye")
_PLACE_ENDINGS = _set(
    "istan burg grad köy shire ville abad polis tepe hisar pinar kale kent dere ören stadt gorod"
)
_SURNAME_ENDINGS = _set(
    "oğlu zade gil yan dze şvili ov ova ev eva yev yeva viç vich ovski evski sky ski ska iç ic "
    "escu opulos akis idis sson mann berg stein meier bauer inen"
)
# What makes a word known; other facts say something of its neighbours or of its form.
_KNOWN = _set(
    "given surname place large body word titles honorifics place_ends body_ends other_ends "
    "place_starts body_starts nations never links other_inside conjunction club small "
    "person_before listed"
)
_NAMED = {"given", "surname", "place", "body"}
_ENDS = {"place_ends", "body_ends", "other_ends"}


@dataclass(frozen=True)
class Lists:
    """Facts by word, and by name of several words."""

    words: dict[str, set[str]]
    names: dict[str, set[str]]
    has_suffixes: bool = False

    def facts(self, word: str) -> Facts:
        found = set(self.words.get(word, ()))
        found |= {name for name, forms in _FORMS.items() if word in forms.split()}
        if len(word) < 3:
            found.add("brief")
        if len(word) == 1:
            found.add("letter")
        is_roman = set(word) <= set("ivx")
        if len(word) == 1 or is_roman or (len(word) < 5 and found & {"titles", "place_starts"}):
            found.add("abbreviated")
        if word.endswith("n"):
            found.add("genitive")
        if word.endswith("s"):
            found.add("plural")
        if self.has_suffixes:
            found |= self._turkish_facts(word, found)
        return frozenset(found)

    def _turkish_facts(self, word: str, found: set[str]) -> set[str]:
        if word.endswith(("spor", "bank")):
            return {"club"}
        if found & (_NAMED | _ENDS | {"word", "never", "nations", "titles"}):
            return set()
        stems = (word[: -len(end)] for end in _UNMARKED if word.endswith(end))
        for stem in stems:
            known = self.words.get(stem, set())
            if len(stem) > 3 and {"large", "place"} <= known and "word" not in known:
                return {"place", "large"}
        if word[3:].endswith(tuple(_PLACE_ENDINGS)):
            return {"place"}
        return {"surname"} if word[3:].endswith(tuple(_SURNAME_ENDINGS)) else set()


@cache
def lists(lang: str | None) -> Lists:
    code = (lang or "")[:2].lower()
    known = Lists({}, {}, has_suffixes=code == "tr")
    for line in _lines("world") + (_lines("tr") if code == "tr" else []):
        name, _, letters = line.partition("\t")
        _add(known, name, {_LETTERS[letter] for letter in letters})
    if code not in RULES:
        for rules in RULES.values():
            for word in f"{rules.never} {rules.nations}".split():
                known.words[_spaced(word)] = {"never"}
        return known
    for word in _lines(f"words-{code}"):
        _add(known, word, {"word"})
    for name, words in vars(RULES[code]).items():
        if isinstance(words, str):
            facts = {"bodies": {"body", "large"}, "places": {"place", "large"}}.get(name, {name})
            for word in words.split():
                is_inflected = code == "tr" and name in _INFLECTED
                for form in (word, *(_cases(word) if is_inflected else ())):
                    _add(known, _spaced(form), facts)
    return known


def _add(known: Lists, name: str, facts: set[str]) -> None:
    table = known.names if " " in name else known.words
    table.setdefault(name, set()).update(facts)


def _lines(name: str) -> list[str]:
    packed = files("esdedup").joinpath(f"data/gazetteers/{name}.txt.gz").read_bytes()
    return gzip.decompress(packed).decode().split("\n")


def _spaced(word: str) -> str:
    return " ".join(re.split("[-. ]+", fold(word))).strip()


def _cases(word: str) -> list[str]:
    """Bankası: Bankasının, Bankasına, Bankasında, Bankasından, …"""
    if len(word) < 4 or word[-1] not in "ıiuü":
        return []
    i, a = word[-1], "a" if word[-1] in "ıu" else "e"
    endings = (f"n{i}n", f"n{a}", f"nd{a}", f"nd{a}n", f"n{i}", f"yl{a}", f"nd{a}ki", f"d{i}r")
    return [word + ending for ending in endings]


# --- words and runs ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """A word with what stands behind it; `tail` is what an apostrophe joined to it."""

    folded: str
    written: str
    behind: str
    tail: str = ""
    facts: Facts = field(default=_NONE)

    @property
    def is_capital(self) -> bool:
        return _is_capital(self.written[0])


def words(text: str, lang: str | None) -> list[Word]:
    known = lists(lang)
    read = _characters(text)
    shape = "".join(_shape(folded) for folded, _ in read)
    edges = [
        (at, min(at + _LONGEST_WORD, match.end()))
        for match in re.finditer("a+|1", shape)
        for at in range(match.start(), match.end(), _LONGEST_WORD)
    ]
    single = []
    for i, (start, end) in enumerate(edges):
        folded = "".join(f for f, _ in read[start:end])
        written = "".join(w for _, w in read[start:end])
        is_last = i + 1 == len(edges)
        gap = "!" if is_last else "".join(f for f, _ in read[end : edges[i + 1][0]])
        single.append(Word(folded, written, gap, facts=known.facts(folded)))
    return list(_join_apostrophes(single))


def _join_apostrophes(single: Sequence[Word]) -> Iterator[Word]:
    """One word of each row: the first, or the one behind an elided article."""
    row: list[Word] = []
    for word in single:
        row.append(word)
        if len(word.behind) == 1 and word.behind in _APOSTROPHES:
            continue
        if len(row) > 1 and "elided" in row[0].facts:
            row = row[1:]
        yield replace(row[0], behind=row[-1].behind, tail=row[1].folded if len(row) > 1 else "")
        row = []


def _characters(text: str) -> list[tuple[str, str]]:
    """Each character folded and as it is written, without invisible ones."""
    out: list[tuple[str, str]] = []
    is_after_i = False
    for written in unicodedata.normalize("NFKC", text):
        if written == "\u0307" and is_after_i:
            is_after_i = False
            continue
        form = fold(written)
        is_after_i = form[-1:] == "i"
        out += [(folded, written) for folded in form]
    return [(folded, written) for folded, written in out if not _is_invisible(folded)]


def _is_invisible(c: str) -> bool:
    return (unicodedata.category(c) == "Cf" and ord(c) < 0x20000) or 0xFE00 <= ord(c) < 0xFE10


def _shape(c: str) -> str:
    is_single = any(low <= ord(c) <= high for low, high in UNSPACED)
    if ord(c) >= 0x20000:
        return "1" if is_single else " "
    if unicodedata.category(c)[0] not in "LMN":
        return " "
    return "1" if is_single else "a"


def _is_capital(c: str) -> bool:
    return c.isupper() or c.istitle()


def _has(text: str, signs: str) -> bool:
    return any(c in signs for c in text)


class Sentence:
    """The words of a text with the questions that rules ask of their neighbours."""

    def __init__(self, found: list[Word], *, has_suffixes: bool) -> None:
        self.words = found
        self.has_suffixes = has_suffixes

    def gap_before(self, i: int) -> str:
        return self.words[i - 1].behind if i else "!"

    def is_initial(self, i: int) -> bool:
        gap = self.gap_before(i)
        if _has(gap, _APOSTROPHES + _QUOTES + "!?:\u2026"):
            return True
        return "." in gap and "abbreviated" not in self.words[i - 1].facts

    def is_large(self, i: int) -> bool:
        word = self.words[i]
        return word.is_capital and not ("never" in word.facts and self.is_initial(i))

    def closes(self, i: int) -> bool:
        """Whether a run ends with this word."""
        word = self.words[i]
        gap = word.behind
        if any(not c.isspace() and c not in _HYPHENS + ".&" for c in gap):
            return True
        if _has(gap, _HYPHENS) and any(c.isspace() for c in gap):
            return True
        if "." in gap and "abbreviated" not in word.facts:
            return True
        return bool(word.tail) and (self.has_suffixes or word.tail == "s")

    def goes_over(self, i: int) -> bool:
        """Whether a run may go on over this small word."""
        gap = self.words[i].behind
        is_plain = all(c.isspace() or c in _HYPHENS for c in gap)
        return "links" in self.words[i].facts and is_plain

    def runs(self) -> Iterator[tuple[int, int]]:
        """First and last word of each run, without those in inverted commas."""
        for start, last in self._all_runs():
            is_quoted = _has(self.gap_before(start), _QUOTES)
            if not (is_quoted and _has(self.words[last].behind, _QUOTES)):
                yield start, last

    def _all_runs(self) -> list[tuple[int, int]]:
        out: list[tuple[int, int]] = []
        origin = -1
        for i in filter(self.is_large, range(len(self.words))):
            last = out[-1][1] if out else None
            goes_on = (
                last is not None
                and not self.closes(last)
                and i - last <= 3
                and all(map(self.goes_over, range(last + 1, i)))
            )
            if not goes_on:
                origin = i
            if goes_on and (i - origin) // _LONGEST_RUN == (out[-1][1] - origin) // _LONGEST_RUN:
                out[-1] = (out[-1][0], i)
            else:
                out.append((i, i))
        return out

    def shouts(self) -> bool:
        capitals = sum(word.is_capital for word in self.words)
        numbers = sum(w.written[0].isnumeric() and not w.is_capital for w in self.words)
        counted = len(self.words) - numbers
        return counted >= 12 and capitals > 0.8 * counted


# --- what a run is -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Around:
    """What is beside a run; `suffix` is None without an apostrophe behind it."""

    is_initial: bool
    before: Facts
    after: Facts
    suffix: Facts | None
    is_acronym: bool
    has_suffixes: bool

    @property
    def ending(self) -> Facts:
        """The case ending, in a language that has them behind apostrophes."""
        return (self.suffix or _NONE) if self.has_suffixes else _NONE

    def left(self) -> Around:
        """Beside the left part of a run that is split."""
        return replace(self, after=_NONE, suffix=None)

    def right(self) -> Around:
        return replace(self, before=_NONE, is_initial=False)


class Name(NamedTuple):
    start: int
    end: int
    kind: str
    is_firm: bool


def names_in(run: Sequence[Facts], around: Around) -> list[Name]:
    """The names in a run, by the facts of its words."""
    return list(_split(run, 0, len(run), around))


def _split(run: Sequence[Facts], start: int, end: int, around: Around) -> Iterator[Name]:
    """A run at its links and titles."""
    while start < end and "small" in run[start]:
        start += 1
    if around.is_initial and end - start > 1 and _begins_sentence(run[start], run[start + 1]):
        start, around = start + 1, around.right()
    for i in range(start + 1, end - 1):
        if {"small", "conjunction"} <= run[i] and not _is_inside_body(run, start, i, end):
            yield from _split(run, start, i, around.left())
            yield from _split(run, i + 1, end, around.right())
            return
    is_cue = end - start > 1 and "person_before" in run[start]
    if is_cue and not run[start] & {"titles", "given", *_ENDS}:
        start, around = start + 1, replace(around.right(), before=_set("person_before"))
    titles = [i for i in range(start, end) if "titles" in run[i]]
    if titles:
        title = titles[-1]
        is_last = title == end - 1
        is_within = not is_last and bool(run[end - 1] & _ENDS)
        is_before_link = title + 1 < len(run) and "small" in run[title + 1]
        is_name = is_last and not is_before_link and title > start and around.suffix is None
        if not is_within and not (is_name and run[title] & {"given", "surname"}):
            yield from _at_title(run, start, end, title, around)
            return
    yield from _at_ending(run, start, end, around)


def _begins_sentence(first: Facts, second: Facts) -> bool:
    """Whether the first word is large for the sentence's sake alone."""
    if first & {"given", "large", "body", "titles", "place_starts", "body_starts", "nations"}:
        return False
    if first & _NAMED:
        return "word" in first and bool(second & _NAMED)
    if first & {"word", "never"}:
        return True
    return not first & _KNOWN and bool(second & {"given", "large"})


def _is_inside_body(run: Sequence[Facts], start: int, link: int, end: int) -> bool:
    """Sanayi ve Ticaret Bakanlığı: the link is part of one organisation."""
    has_end = any("body_ends" in facts for facts in run[link + 2 : min(link + 5, end)])
    own = {"titles", "given", "large", *_ENDS}
    return has_end and link - start <= 2 and not any(facts & own for facts in run[start:link])


def _at_title(
    run: Sequence[Facts], start: int, end: int, title: int, around: Around
) -> Iterator[Name]:
    """A person behind the title, and before it the house of an office."""
    if title + 1 < end:
        if "small" in run[title + 1]:
            yield from _split(run, title + 1, end, around.right())
        else:
            yield Name(title + 1, end, "person", is_firm=True)
    if title == start:
        return
    if any(facts & _ENDS for facts in run[start + 1 : title]):
        yield from _at_ending(run, start, title, around.left())
    elif title - start > 1 and _is_branch(run[start], run[start + 1]):
        yield Name(start, start + 2, "organisation", is_firm=True)
    elif "large" in run[start]:
        kind = "location" if "place" in run[start] else "organisation"
        yield Name(start, start + 1, kind, is_firm=True)


def _is_branch(first: Facts, last: Facts) -> bool:
    return {"large", "place"} <= last and not first & {"place", "never"}


def _at_ending(run: Sequence[Facts], start: int, end: int, around: Around) -> Iterator[Name]:
    """Up to the last ending one name, and behind it others; without an ending by the lists."""
    ends = [i for i in range(start + 1, end) if run[i] & _ENDS]
    if not ends:
        yield from _trimmed(run, start, end, around)
        return
    last = ends[-1]
    stop = end if last + 2 < end and "small" in run[last + 1] else last + 1
    while start < stop - 1 and around.is_initial and "never" in run[start]:
        start += 1
    if stop - start > 1 and "other_ends" not in run[last]:
        kind = "organisation" if "body_ends" in run[last] else "location"
        yield Name(start, stop, kind, is_firm=True)
    if stop < end:
        yield from _trimmed(run, stop, end, around.right())


def _trimmed(run: Sequence[Facts], start: int, end: int, around: Around) -> Iterator[Name]:
    """Without nations and words that are never names at the edges."""
    unfit = {"never", "nations"}
    while start < end and run[start] & unfit:
        start, around = start + 1, replace(around, before=_NONE)
    while start < end and run[end - 1] & unfit:
        end, around = end - 1, around.left()
    if end - start == 1:
        yield from _single(run[start], start, around)
    elif end > start:
        yield from _several(run, start, end, around)


def _several(run: Sequence[Facts], start: int, end: int, around: Around) -> Iterator[Name]:
    first, last, size = run[start], run[end - 1], end - start
    union = frozenset().union(*run[start:end])

    def whole(kind: str, *, is_firm: bool = True) -> Name:
        return Name(start, end, kind, is_firm)

    if f"place of {size}" in first:
        yield whole("location")
        return
    if f"body of {size}" in first:
        yield whole("organisation")
        return
    if around.has_suffixes:
        longest = next((n for n in (4, 3, 2) if n < size and f"place of {n}" in first), 0)
        if longest:
            yield Name(start, start + longest, "location", is_firm=True)
            yield from _trimmed(run, start + longest, end, around.right())
            return
        is_country = {"large", "place"} <= last and not last & {"given", "surname", "word"}
        unfit = {"place_starts", "word", "other_inside", "body_starts", "letter"}
        if is_country and around.suffix is not None and not first & unfit:
            yield from _trimmed(run, start, end - 1, around.left())
            yield Name(end - 1, end, "location", is_firm=True)
            return
    has_links = any("small" in facts for facts in run)
    is_plural = "plural" in last and not last & (_NAMED | {"word"})
    is_team = around.has_suffixes and is_plural and "place" in first and size < 4
    if "body_starts" in first and (has_links or around.has_suffixes):
        yield whole("organisation")
    elif "place_starts" in first or "locative" in around.ending:
        yield whole("location")
    elif "other_inside" in union or "other_after" in around.after:
        return
    elif "given" in first and not ("large" in first and "place" in last):
        yield whole("person")
    elif _is_branch(first, last) or is_team:
        yield whole("organisation")
    elif {"large", "place"} <= first and "word" not in union:
        yield Name(start, start + 1, "location", is_firm=True)
        yield from _trimmed(run, start + 1, end, around.right())
    elif "honorifics" in last or (last & {"given", "surname"} and "word" not in union):
        yield whole("person")
    else:
        kind = _by_cues(around)
        is_foreign = size < 4 and not union & {"word", "place", "body", "letter"}
        is_surname = around.has_suffixes and "surname" in first
        if not kind and is_foreign and (is_surname or around.ending & {"genitive", "objective"}):
            kind = "person"
        yield whole(kind, is_firm=bool(kind))


def _single(facts: Facts, place: int, around: Around) -> Iterator[Name]:
    if "place_starts" in facts or "made of" in around.ending:
        return
    is_ambiguous = "word" in facts and around.is_initial and around.suffix is None
    if "large" in facts and not is_ambiguous:
        kind = "location" if "place" in facts else "organisation"
        yield Name(place, place + 1, kind, is_firm=True)
        return
    kind = ""
    if not (is_ambiguous or "letter" in facts or "other_after" in around.after):
        kind = _by_cues(around) or _by_facts(facts, around)
    yield Name(place, place + 1, kind, is_firm=False)


def _by_facts(facts: Facts, around: Around) -> str:
    signs = (
        (around.is_acronym and not facts & (_NAMED | {"word"}), "organisation"),
        ("locative" in around.ending, "location"),
        ("body" in facts, "organisation"),
        (facts & {"given", "surname"}, "person"),
        ("place" in facts, "location"),
        ("word" in facts, ""),
        ("club" in facts, "organisation"),
        ("genitive" in around.ending, "person"),
    )
    return next((kind for sign, kind in signs if sign), "")


def _by_cues(around: Around) -> str:
    cues = (
        *(("place_after", "location"), ("body_after", "organisation")),
        *(("person_before", "person"), ("place_before", "location")),
        *(("body_before", "organisation"), ("person_after", "person")),
    )
    return next((kind for cue, kind in cues if cue in around.before | around.after), "")


# --- the names of a text -------------------------------------------------------------------------


def spans(found: list[Word], lang: str | None) -> list[tuple[int, int, str]]:
    known = lists(lang)
    sentence = Sentence(found, has_suffixes=known.has_suffixes)
    if sentence.shouts():
        return []
    out: list[tuple[int, int, str]] = []
    earlier: dict[str, str] = {}
    for start, last in sentence.runs():
        run = [_facts_in_run(sentence, i, last, known) for i in range(start, last + 1)]
        for name in names_in(run, _around(sentence, start, last, known)):
            a, b = start + name.start, start + name.end
            kind = name.kind
            if not name.is_firm:
                kind = earlier.get(found[a].folded, kind)
            if not kind:
                continue
            out.append((a, b, kind))
            if name.kind and b - a > 1:
                unfit = {"nations", "never", "large", "links", "brief", *_ENDS}
                for i in range(a, b):
                    if not run[i - start] & unfit:
                        earlier.setdefault(found[i].folded, kind)
    return out


def _facts_in_run(sentence: Sentence, i: int, last: int, known: Lists) -> Facts:
    facts = set(sentence.words[i].facts)
    if not sentence.is_large(i):
        facts.add("small")
    for size in range(2, min(4, last + 1 - i) + 1):
        name = " ".join(word.folded for word in sentence.words[i : i + size])
        for kind in known.names.get(name, set()) & {"place", "body"}:
            facts |= {f"{kind} of {size}", "listed"}
    return frozenset(facts)


def _around(sentence: Sentence, start: int, last: int, known: Lists) -> Around:
    found = sentence.words
    before, word = sentence.gap_before(start), found[last]
    is_acronym = (
        start == last
        and 2 < len(word.folded) < 6
        and all(map(_is_capital, (word.written[0], word.written[1], word.written[-1])))
    )
    has_next = last + 1 < len(found) and word.behind.isspace()
    return Around(
        is_initial=sentence.is_initial(start),
        before=_cues(found[start - 1], "_before") if start and before.isspace() else _NONE,
        after=_cues(found[last + 1], "_after") if has_next else _NONE,
        suffix=known.facts(word.tail) if word.tail else None,
        is_acronym=is_acronym,
        has_suffixes=sentence.has_suffixes,
    )


def _cues(word: Word, side: str) -> Facts:
    return frozenset(fact for fact in word.facts if fact.endswith(side))
