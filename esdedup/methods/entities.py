"""Tweezer: words around named entities (paper 004, Uyar).

Every entity of the body with p words before it and s behind it is a context (pNEs, 5NE5 by
default). With `entity_keys`, the smallest hashes of single contexts are keys: an edited word
changes the contexts around it, and the others still meet. With `entity_keys = 0`, as in the paper,
distinct contexts are sorted, joined and hashed into one key; two articles with the same key are
near-duplicates. A body without entities is its first and last twenty words.

A context is known by the 64-bit polynomial of its characters, as everywhere else: it is these
numbers that are sorted and joined, and no context becomes a string.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from esdedup.features.entities.lexicon import lexicon
from esdedup.features.entities.rules import Spans, recognise
from esdedup.features.entities.words import CAPITAL, DOT, SPACE, STOP, Places, Words, read
from esdedup.methods import equality
from esdedup.methods.key_text import write_keys
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.hashing import Hashes, mix

__all__ = ["check", "compare", "describe", "keys", "matches", "min_shared_keys", "sign"]

# Section 4.2 of the thesis: the beginning introduces, the end concludes.
_EDGE = 20
# A candidate shares at least this many contexts: one is often that of a phrase of a site.
_NEEDED = 2
_SPACY = "spacy:"
_FACTOR = np.uint64(0xD6E8FEB86659FD93)  # odd, and no power of the base of words


@dataclass(frozen=True, slots=True)
class SignedBody:
    """The distinct contexts of a body in ascending order; if it has none, its first and last
    words."""

    contexts: Hashes
    edges: str = ""


def sign(batch: Batch, settings: Settings) -> list[SignedBody]:
    words, spans = recognise_batch(batch, settings.ner)
    spans = merge_adjacent(words, spans)
    made, texts = _drop_repeated(contexts(words, spans, settings), spans.texts)
    bounds = np.searchsorted(texts, np.arange(len(words.first))).tolist()
    edges = words.first.tolist()
    return [
        SignedBody(made[a:b], "" if a < b else _join_edges(words, start, end))
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


def keys(signed: SignedBody, settings: Settings) -> tuple[str, ...]:
    """`e` and the smallest contexts; or `e:` and the SHA-1 of all."""
    if settings.entity_keys:
        return write_keys("e", signed.contexts[: settings.entity_keys], settings)
    content = signed.contexts.astype(">u8").tobytes() or signed.edges.encode(
        "utf-8", "surrogatepass"
    )
    digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return (f"e:{digest}",) if content else ()


def min_shared_keys(settings: Settings) -> int:
    """Two contexts of many; the one key of the paper."""
    return _NEEDED if settings.entity_keys else 1


def compare(a: Sequence[str], b: Sequence[str], settings: Settings) -> float:
    """The share of the contexts of the shorter list that the other one has; or 1, or 0."""
    shared = equality.compare(a, b, settings)
    return shared / max(1, min(len(a), len(b))) if settings.entity_keys else shared


def matches(measure: float, settings: Settings) -> bool:
    return measure > settings.min_overlap if settings.entity_keys else measure > 0


def describe(measure: float, is_copy: bool, settings: Settings) -> str:
    if settings.entity_keys:
        return f"{measure:.0%} of the contexts of names are in both"
    return equality.describe(measure, is_copy, settings)


def check(settings: Settings) -> None:
    """Raise the error that signing would raise with every document: a missing model."""
    if settings.ner.startswith(_SPACY):
        from esdedup.features.entities.spacy_ner import load

        load(settings.ner.removeprefix(_SPACY))


def recognise_batch(batch: Batch, ner: str) -> tuple[Words, Spans]:
    """Find entities by the rules or by a spaCy model, as the setting `ner` names it."""
    by_language = {lang: lexicon(lang) for lang in set(batch.languages)}
    lexicons = [by_language[lang] for lang in batch.languages]
    pairs = zip(batch.texts, batch.documents, strict=True)
    titles = [_title(text, document.text) if document.title else "" for text, document in pairs]
    words = read(batch.mixed_tokens, batch.texts, lexicons, titles)
    if ner.startswith(_SPACY):
        from esdedup.features.entities.spacy_ner import recognise_many

        return words, recognise_many(words, batch.texts, ner.removeprefix(_SPACY))
    return words, recognise(words, lexicons)


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


def contexts(words: Words, spans: Spans, settings: Settings) -> Hashes:
    """pNEs of every entity as a number: words before it, the entity, words behind it.

    A context ends with its sentence (`entity_in_sentence`), or at the ends of the text. The three
    parts are hashed each by itself: the contexts at p and s tell those at less.
    """
    starts, ends, texts = spans.starts, spans.ends, spans.texts
    low, high = words.first[texts], words.first[texts + 1]
    if settings.entity_in_sentence and len(starts):
        begins, stops = _sentence_bounds(words)
        low, high = np.maximum(low, begins[starts]), np.minimum(high, stops[ends - 1])
    before, after = settings.entity_words_before, settings.entity_words_after
    head = _hash_neighbours(words, range(-before, 0), starts, low, ends)
    tail = _hash_neighbours(words, range(after), ends, starts, high)
    name = words.hashes[starts]
    longer, place = np.flatnonzero(ends - starts > 1), 1
    while len(longer):
        name[longer] = name[longer] * _FACTOR + words.hashes[starts[longer] + place]
        place += 1
        longer = longer[ends[longer] - starts[longer] > place]
    return mix(mix(mix(head) + name) + tail)


def _sentence_bounds(words: Words) -> tuple[Places, Places]:
    """For each word, the first word of its sentence and the first one behind it.

    A sentence ends at a mark that ends one, or at a full stop with a space and a capital behind.
    """
    count = len(words.hashes)
    begins = np.zeros(count + 1, bool)
    begins[words.first] = True
    behind, dotted = words.behind[:-1], DOT | SPACE
    begins[1:count] |= (behind & STOP) != 0
    begins[1:count] |= ((behind & dotted) == dotted) & (words.kinds[1:] == CAPITAL)
    places = np.arange(count + 1)
    first = np.maximum.accumulate(np.where(begins, places, 0))
    following = np.minimum.accumulate(np.where(begins, places, count)[::-1])[::-1]
    return first[:-1], following[1:]


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


def _join_edges(words: Words, start: int, end: int) -> str:
    """The first and the last twenty words; all of them where there are fewer than forty."""
    if end - start < 2 * _EDGE:
        return words.join_words(start, end)
    return f"{words.join_words(start, start + _EDGE)} {words.join_words(end - _EDGE, end)}"
