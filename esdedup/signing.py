"""Documents to signed documents, a batch at a time: what a worker process does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from esdedup.errors import ExtractionError
from esdedup.hashing import BASE_MIXED, BASE_POLY31, Hashes, mix
from esdedup.methods import exact, sketch
from esdedup.model import Document, Failure, Hashes32, Signature
from esdedup.numbers import number_contexts
from esdedup.settings import Settings
from esdedup.text import guess_language, tokenise


@dataclass(frozen=True, slots=True)
class Signed:
    """A document with its signature."""

    document: Document
    signature: Signature


def prepare(documents: Sequence[Document], settings: Settings) -> list[Signed | Failure]:
    """Extract what is still a page, then sign; a document without words is a failure."""
    read: list[Document | Failure] = [read_page(document, settings) for document in documents]
    texts = [d for d in read if isinstance(d, Document)]
    signed = iter(sign_many(texts, settings))
    out: list[Signed | Failure] = []
    for item in read:
        if isinstance(item, Failure):
            out.append(item)
        else:
            out.append(_refuse_empty(next(signed)))
    return out


def sign_many(documents: Sequence[Document], settings: Settings) -> list[Signed]:
    """Tokens are hashed once for the batch and shared by all methods."""
    if not documents:
        return []
    texts = [signed_text(document, settings) for document in documents]
    base = BASE_POLY31 if settings.fingerprint == "poly31" else BASE_MIXED
    tokens = tokenise(texts, base)
    fingerprints = sketch.fingerprints(tokens, settings)
    compared = _compared(fingerprints, settings)
    sketches = sketch.minima(fingerprints, tokens, settings)
    digests = exact.sign(tokens, settings)
    ranges = tokens.shingle_ranges(settings.shingle_words).tolist()
    format_ = settings.fingerprint_of_format()
    signed = []
    for i, (document, text) in enumerate(zip(documents, texts, strict=True)):
        start, end = ranges[i]
        keys = (
            {"sketch": sketch.keys(sketches[i], settings)}
            if end > start
            else {"exact": exact.keys(digests[i], settings)}
        )
        lang = document.lang or guess_language(text)
        words = tokens.count(i)
        signature = Signature(
            format=format_,
            keys=keys,
            shingles=compared[start : start + kept_shingles(end - start, words, settings)].copy(),
            words=words,
            exact=digests[i],
            numbers=number_contexts(text, lang) if settings.number_check else (),
            lang=lang,
        )
        signed.append(Signed(document, signature))
    return signed


def signed_text(document: Document, settings: Settings) -> str:
    """Title and body trimmed and joined, or the body alone.

    A body that begins with the title, as extraction from some pages leaves it, has it already.
    """
    title, body = document.title.strip(), document.text.strip()
    if settings.signed_text == "body" or not title or body.startswith(title):
        return body
    return f"{title}\n{body}" if body else title


def kept_shingles(shingles: int, words: int, settings: Settings) -> int:
    """The first f of the shingles, all of them in a short text, never more than the cap."""
    part = 1.0 if words < settings.short_text else settings.compared_part
    return min(int(np.ceil(shingles * part)), settings.max_shingles)


def _compared(fingerprints: Hashes, settings: Settings) -> Hashes32:
    """32 well-mixed bits of each fingerprint: what verification compares."""
    mixed = mix(fingerprints) if settings.fingerprint == "poly31" else fingerprints
    return (mixed >> np.uint64(32)).astype(np.uint32)


def read_page(document: Document, settings: Settings) -> Document | Failure:
    if document.html is None:
        return document
    from esdedup.extract import extract

    try:
        return extract(document, settings)
    except ExtractionError as error:
        return Failure(document.id, _place(document), str(error), document=document)


def _place(document: Document) -> str:
    """Where a person finds it."""
    return str(document.extra.get("file") or document.url or document.id)


def _refuse_empty(signed: Signed) -> Signed | Failure:
    if signed.signature.words:
        return signed
    document = signed.document
    return Failure(
        document.id,
        _place(document),
        "there are no words in its title and text; check the field names (--field text=NAME)",
        document=replace(document, html=None),
    )
