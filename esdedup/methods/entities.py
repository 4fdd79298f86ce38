"""Tweezer: words around named entities as one signature (paper 004, Uyar).

Every entity of the body with p words before it and s behind it is a shingle (pNEs, 5NE5 by
default). Shingles are sorted, each kept once, joined and hashed; two articles with the same hash
are near-duplicates. A body without entities is its first and last twenty words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from esdedup.entities.rules import Span, recognise
from esdedup.entities.words import Words, split
from esdedup.methods.batch import Batch
from esdedup.settings import Settings
from esdedup.text import UNSPACED

# Section 4.2 of the thesis: the beginning introduces, the end concludes.
_EDGE = 20
_SPACY = "spacy:"


def sign(batch: Batch, settings: Settings) -> list[str]:
    """SHA-1 in hex of the shingles of each body; nothing for a body without a word."""
    before, after = settings.entity_words_before, settings.entity_words_after
    return [
        digest(shingles(words, spans, before, after)) if words.folded else ""
        for words, spans in recognised(batch, settings.ner)
    ]


def keys(signed: str, settings: Settings) -> tuple[str, ...]:
    """`e:` and the digest."""
    del settings
    return (f"e:{signed}",) if signed else ()


def needed(settings: Settings) -> int:
    del settings
    return 1


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    del settings
    return len(set(a) & set(b))


def matches(measure: float, settings: Settings) -> bool:
    del settings
    return measure > 0


def recognised(batch: Batch, ner: str) -> Iterator[tuple[Words, list[Span]]]:
    """The one place that knows who finds entities: our rules, or a model of spaCy."""
    texts = (split(document.text) for document in batch.documents)
    if ner.startswith(_SPACY):
        from esdedup.entities.spacy_ner import recognise_many

        yield from recognise_many(list(texts), ner.removeprefix(_SPACY))
        return
    for words, lang in zip(texts, batch.languages, strict=True):
        yield words, recognise(words, lang)


def shingles(words: Words, spans: Sequence[Span], before: int, after: int) -> list[str]:
    """pNEs of every entity in ascending order, each once; adjacent ones of a kind are one.

    A window goes on over the end of a sentence and stops at the ends of the text.
    """
    folded = words.folded
    if not spans:
        return [" ".join(_edges(folded))]
    found = set()
    start, end, kind = spans[0]
    for span in spans[1:]:
        if span.start == end and span.kind == kind and words.raw[end - 1][-1].isalnum():
            end = span.end  # Bursa'nın Orhangazi İlçesi
        else:
            found.add(_window(folded, start, end, before, after))
            start, end, kind = span
    found.add(_window(folded, start, end, before, after))
    return sorted(found)


def _window(folded: list[str], start: int, end: int, before: int, after: int) -> str:
    """Tabs around the entity: the shingles at p and s tell those at less."""
    head = " ".join(folded[max(start - before, 0) : start])
    return f"{head}\t{' '.join(folded[start:end])}\t{' '.join(folded[end : end + after])}"


def digest(found: Sequence[str]) -> str:
    return hashlib.sha1("\n".join(found).encode(), usedforsecurity=False).hexdigest()


def _edges(folded: list[str]) -> list[str]:
    """The first and the last twenty words; all of them where there are fewer than forty."""
    text = "".join(folded)
    if not text.isascii() and any(_is_unspaced(c) for c in text):
        folded = list(text)  # no spaces between words: each character is one
    return folded if len(folded) < 2 * _EDGE else [*folded[:_EDGE], *folded[-_EDGE:]]


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in UNSPACED)
