"""Different events told with one template: earthquake bulletins, results of companies, obituaries.

Two such texts share most of their words. What tells them apart is the lead: between the same words
("near … on", "… said on") it has other names, which the other text has nowhere, and no name is in
both leads. A copy keeps the names of its lead, whatever is done to headline, dateline and byline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from esdedup.matching.content import Content
from esdedup.model.numbers import NumberChange

# Words after the headline that make the lead: two or three sentences.
_LEAD = 45
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*|\d+(?:[.,]\d+)*")
_ENDS = frozenset('.!?:;\n"“”„»«(—–|')
# Between the words of one name.
_PARTICLES = frozenset(
    ("of", "de", "del", "della", "di", "du", "da", "la", "le", "les", "y", "und", "et", "von",
     "van", "der", "den", "the")
)  # fmt: skip
# Capitalised in English, and no names.
_CALENDAR = frozenset(
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january",
     "february", "march", "april", "may", "june", "july", "august", "september", "october",
     "november", "december")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _NameRun:
    """Capitalised words side by side, and the words around them.

    `contexts` are the pairs of neighbours by which the same place in another text is found.
    """

    words: tuple[str, ...]
    contexts: frozenset[tuple[str, str, str]]
    is_first: bool  # of its sentence, where any word is capitalised


def find_other_event(old: Content, new: Content) -> tuple[NumberChange, ...]:
    """The names that were replaced, if the texts report different events; else nothing."""
    old_runs, new_runs = list(_find_runs(old.text)), list(_find_runs(new.text))
    replaced: list[NumberChange] = []
    for run in old_runs:
        for other in new_runs:
            if run.words == other.words or run.contexts.isdisjoint(other.contexts):
                continue
            before, after = _select_names(run, old, new), _select_names(other, new, old)
            if before and after:
                replaced.append(NumberChange(" ".join(before), " ".join(after), ""))
    if not replaced or _find_names(old_runs, old, new) & _find_names(new_runs, new, old):
        return ()
    return tuple(dict.fromkeys(replaced))


def _select_names(run: _NameRun, own: Content, other: Content) -> list[str]:
    """Names of a run that the other text has nowhere."""
    text = other.text.casefold()
    return [word for word in _names_of(run, own) if word not in text]


def _find_names(runs: Sequence[_NameRun], own: Content, other: Content) -> set[str]:
    """The names of a lead. Of "Chief Executive Jane Doe" the title is none, if the other text does
    not have the person."""
    text = other.text.casefold()
    names: set[str] = set()
    for run in runs:
        words = _names_of(run, own)
        if all(word in text for word in words):
            names.update(words)
    return {name for name in names if _is_rare(name)} if own.lang == "de" else names


def _names_of(run: _NameRun, own: Content) -> list[str]:
    """Its words, folded; the first of a sentence if it comes again, and always capitalised."""
    first = run.words[0]
    is_name = own.text.count(first) > 1 and f" {first.lower()}" not in own.text
    names = run.words[1:] if run.is_first and not is_name else run.words
    return [word for word in map(str.casefold, names) if word not in _CALENDAR]


def _is_rare(word: str) -> bool:
    """German capitalises every noun: a name is neither a frequent word nor ends in one."""
    from esdedup.text.words import RAREST, language  # reads its lists

    rarities = language("de").term
    endings = (word[i:] for i in range(max(1, len(word) - 3)))
    return all(rarities(ending).rarity >= RAREST for ending in endings)


# --- names and what stands around them --------------------------------------------------------


def _find_runs(text: str) -> Iterator[_NameRun]:
    """The runs of the headline and of the first words below it."""
    headline, newline, body = text.partition("\n")
    yield from _runs_of(headline if newline else "")
    yield from _runs_of(body if newline else headline)


def _runs_of(text: str) -> Iterator[_NameRun]:
    found = []
    for place in _WORD.finditer(text):
        found.append((place[0], _is_first(text, place.start())))
        if len(found) == _LEAD:
            break
    start = 0
    while start < len(found):
        end = _end_of_run(found, start)
        if end > start:
            words = tuple(word for word, _ in found[start:end] if word[0].isupper())
            yield _NameRun(words, _contexts(found, start, end), found[start][1])
        start = max(end, start + 1)


def _end_of_run(found: Sequence[tuple[str, bool]], start: int) -> int:
    end = place = start
    while place < len(found) and (place == start or not found[place][1]):
        word = found[place][0]
        if word[0].isupper():
            end = place + 1
        elif end == start or word not in _PARTICLES:
            break
        place += 1
    return end


def _contexts(
    found: Sequence[tuple[str, bool]], start: int, end: int
) -> frozenset[tuple[str, str, str]]:
    """The two words before, those on both sides, and the two behind: each pair finds the place.

    Words of the same sentence that are not capitalised, or its end; all numbers count as one.
    """
    left = []
    for word, is_first in reversed(found[max(0, start - 2) : start + 1]):
        left.append(_neighbour(word))
        if is_first:
            break
    left = left[1:]
    right = []
    for word, is_first in found[end : end + 2]:
        right.append("." if is_first else _neighbour(word))
        if is_first:
            break
    pairs = set()
    if len(left) == 2:
        pairs.add(("left", left[1], left[0]))
    if left and right:
        pairs.add(("both", left[0], right[0]))
    if len(right) == 2:
        pairs.add(("right", right[0], right[1]))
    return frozenset(pair for pair in pairs if all(pair) and pair[1].isalpha())


def _neighbour(word: str) -> str:
    return "#" if word[0].isdigit() else "" if word[0].isupper() else word


def _is_first(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \t")
    return start == 0 or (bool(before) and before[-1] in _ENDS)
