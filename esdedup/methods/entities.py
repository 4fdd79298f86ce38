"""Tweezer: words around named entities as one signature (paper 004, Uyar).

Every entity of the body with p words before it and s behind it is a shingle (pNEs, 5NE5 by
default). Distinct shingles are sorted, joined and hashed; two articles with the same hash
are near-duplicates. A body without entities is its first and last twenty words.

A shingle is known by the 64-bit polynomial of its characters, as everywhere else: it is these
numbers that are sorted and joined, and no shingle becomes a string.
"""

from __future__ import annotations

import hashlib
import itertools

import numpy as np

from esdedup.features.entities.lexicon import lexicon
from esdedup.features.entities.rules import Spans, recognise
from esdedup.features.entities.words import SPACE, Places, Words, read
from esdedup.methods.equality import compare, describe, matches, min_shared_keys
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix

__all__ = ["check", "compare", "describe", "keys", "matches", "min_shared_keys", "sign"]

# Section 4.2 of the thesis: the beginning introduces, the end concludes.
_EDGE = 20
_SPACY = "spacy:"
_FACTOR = np.uint64(0xD6E8FEB86659FD93)  # odd, and no power of the base of words


def sign(batch: Batch, settings: Settings) -> list[str]:
    """SHA-1 in hex of the shingles of each body; nothing for a body without a word."""
    words, spans = recognise_batch(batch, settings.ner)
    spans = merge_adjacent(words, spans)
    before, after = settings.entity_words_before, settings.entity_words_after
    made = shingles(words, spans, before, after)
    made, texts = _drop_repeated(made, spans.texts)
    content = made.astype(">u8").tobytes()
    bounds = (np.searchsorted(texts, np.arange(len(words.first))) * 8).tolist()
    edges = words.first.tolist()
    return [
        _sha1(content[a:b]) if a < b else _sign_edges(words, start, end)
        for (a, b), (start, end) in zip(
            itertools.pairwise(bounds), itertools.pairwise(edges), strict=True
        )
    ]


def _drop_repeated(made: Hashes, texts: Places) -> tuple[Hashes, Places]:
    """In ascending order within each text, without repetitions."""
    order = np.lexsort((made, texts))
    made, texts = made[order], texts[order]
    is_new = np.ones(len(made), bool)
    is_new[1:] = (made[1:] != made[:-1]) | (texts[1:] != texts[:-1])
    return made[is_new], texts[is_new]


def keys(signed: str, settings: Settings) -> tuple[str, ...]:
    """`e:` and the digest."""
    del settings
    return (f"e:{signed}",) if signed else ()


def check(settings: Settings) -> None:
    """Raise the error that signing would raise with every document: a missing model."""
    if settings.ner.startswith(_SPACY):
        from esdedup.features.entities.spacy_ner import load

        load(settings.ner.removeprefix(_SPACY))


def recognise_batch(batch: Batch, ner: str, *, strict: bool = False) -> tuple[Words, Spans]:
    """Find entities by the rules or by a spaCy model, as the setting `ner` names it.

    `strict`: with the rules that came after format 1, whose keys they would change.
    """
    by_language = {lang: lexicon(lang) for lang in set(batch.languages)}
    lexicons = [by_language[lang] for lang in batch.languages]
    pairs = zip(batch.texts, batch.documents, strict=True)
    titles = [_title(text, document.text) if document.title else "" for text, document in pairs]
    signed = None if batch.mixed_tokens is batch.all_mixed_tokens else batch.mixed_tokens
    words = read(batch.all_mixed_tokens, batch.texts, lexicons, titles=titles, signed=signed)
    if ner.startswith(_SPACY):
        from esdedup.features.entities.spacy_ner import recognise_many

        return words, recognise_many(words, batch.texts, ner.removeprefix(_SPACY))
    return words, recognise(words, lexicons, strict=strict)


def _title(text: str, body: str) -> str:
    """What a text has before its body, which alone is signed."""
    return text[: len(text) - len(body.strip())]


def merge_adjacent(words: Words, spans: Spans) -> Spans:
    """Adjacent ones of a kind are one: Bursa'nın Orhangazi İlçesi."""
    if not len(spans.starts):
        return spans
    begins = np.ones(len(spans.starts), bool)
    begins[1:] = (
        (spans.starts[1:] != spans.ends[:-1])
        | (spans.kinds[1:] != spans.kinds[:-1])
        | (words.behind[spans.ends[:-1] - 1] != SPACE)
    )
    at = np.flatnonzero(begins)
    lasts = np.append(at[1:], len(begins)) - 1
    return Spans(spans.texts[at], spans.starts[at], spans.ends[lasts], spans.kinds[at])


def shingles(words: Words, spans: Spans, before: int, after: int) -> Hashes:
    """pNEs of every entity as a number: words before it, the entity, words behind it.

    A window goes on over the end of a sentence and stops at the ends of the text. The three parts
    are hashed each by itself: the shingles at p and s tell those at less.
    """
    starts, ends, texts = spans.starts, spans.ends, spans.texts
    head = _hash_neighbours(words, range(-before, 0), starts, words.first[texts], ends)
    tail = _hash_neighbours(words, range(after), ends, starts, words.first[texts + 1])
    name = words.hashes[starts]
    longer, place = np.flatnonzero(ends - starts > 1), 1
    while len(longer):
        name[longer] = name[longer] * _FACTOR + words.hashes[starts[longer] + place]
        place += 1
        longer = longer[ends[longer] - starts[longer] > place]
    return mix(mix(mix(head) + name) + tail)


def _hash_neighbours(
    words: Words, steps: range, origins: Places, low: Places, high: Places
) -> Hashes:
    """Polynomial over the words at these steps; a word beyond the ends of the text counts 0."""
    out = np.zeros(len(origins), np.uint64)
    for step in steps:
        at = origins + step
        word = words.hashes.take(at, mode="clip")
        word[(at < low) | (at >= high)] = 0
        out *= _FACTOR
        out += word
    return out


def _sign_edges(words: Words, start: int, end: int) -> str:
    """The first and the last twenty words; all of them where there are fewer than forty."""
    if end - start < 2 * _EDGE:
        text = words.join_words(start, end)
    else:
        text = f"{words.join_words(start, start + _EDGE)} {words.join_words(end - _EDGE, end)}"
    return _sha1(text.encode("utf-8", "surrogatepass")) if text else ""


def _sha1(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()
