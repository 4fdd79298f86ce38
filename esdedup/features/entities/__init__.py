"""Named entities of a text: persons, locations, organisations (ENAMEX), nothing else."""

from __future__ import annotations

from typing import NamedTuple

from esdedup.features.entities.classify import LOCATION, ORGANISATION, PERSON
from esdedup.features.entities.gazetteers import LARGE, PLACE
from esdedup.features.entities.lexicon import lexicon
from esdedup.features.entities.rules import KINDS, recognise
from esdedup.features.entities.words import locate_words, read
from esdedup.text.hashing import BASE_MIXED
from esdedup.text.tokens import tokenise

__all__ = ["KINDS", "LOCATION", "ORGANISATION", "PERSON", "Entity", "find_entities"]


class Entity(NamedTuple):
    """`text` from character `start` to `end` of what was read."""

    start: int
    end: int
    kind: str
    text: str


def find_entities(text: str, lang: str | None = None, *, nested: bool = True) -> list[Entity]:
    """The entities of a text by rules, with their places; suffixes are cut off.

    `nested`: also large places within longer names (Mersin in Mersin Üniversitesi).
    """
    lexicons = [lexicon(lang)]
    words = read(tokenise([text], BASE_MIXED), [text], lexicons, [""])
    spans = recognise(words, lexicons)
    named = list(
        zip(
            spans.starts.tolist(),
            spans.ends.tolist(),
            map(KINDS.__getitem__, spans.kinds),
            strict=True,
        )
    )
    if nested:
        is_large = words.flags & (LARGE | PLACE) == LARGE | PLACE
        named += [
            (i, i + 1, LOCATION)
            for start, end, kind in named
            if end - start > 1 and kind != PERSON
            for i in range(start, end)
            if is_large[i]
        ]
    places = locate_words(text)
    at = words.places.tolist()
    edges = [(places[at[a]][0], places[at[b - 1]][1], kind) for a, b, kind in named]
    return sorted(Entity(start, end, kind, text[start:end]) for start, end, kind in edges)
