"""Named entities of a text: persons, locations, organisations (ENAMEX), nothing else."""

from __future__ import annotations

from typing import NamedTuple

from esdedup.entities.rules import LOCATION, ORGANISATION, PERSON, recognise
from esdedup.entities.words import located, plain, without_opening

KINDS = (PERSON, LOCATION, ORGANISATION)


class Entity(NamedTuple):
    """`text` from character `start` to `end` of what was read."""

    start: int
    end: int
    kind: str
    text: str


def find(text: str, lang: str | None = None, *, nested: bool = True) -> list[Entity]:
    """The entities of a text by rules, with their places; suffixes are cut off."""
    words, places = located(text)
    found = []
    for span in recognise(words, lang, nested=nested):
        start, end = places[span.start][0], places[span.end - 1][1]
        found.append(_bare(text, start, end, span.kind))
    return sorted(found)


def _bare(text: str, start: int, end: int, kind: str) -> Entity:
    """Without the punctuation around it and the suffix behind its apostrophe."""
    first = plain(text[start:end].split(maxsplit=1)[0])
    start += len(first) - len(without_opening(first))
    last = max(text.rfind(" ", start, end) + 1, start)
    for mark in "'’":
        cut = text.find(mark, last + 2, end)
        if cut > 0:
            end = cut
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return Entity(start, end, kind, text[start:end])
