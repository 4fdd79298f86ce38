"""Documents to signed documents, a batch at a time: what a worker process does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from esdedup.errors import ExtractionError
from esdedup.features.numbers import NumberContext, UnreadNumbers, stated
from esdedup.ingest.error_pages import notice_in
from esdedup.ingest.failures import failure
from esdedup.methods import exact, method
from esdedup.model import Document, Failure, Signature
from esdedup.settings import Settings
from esdedup.text import statistics
from esdedup.text.batch import Batch

# How the counts of a text are taken in its language.
Counting = Callable[[str, str | None], Sequence[NumberContext]]


@dataclass(frozen=True, slots=True)
class Signed:
    """A document with its signature."""

    document: Document
    signature: Signature


def check_settings(settings: Settings) -> None:
    """Raise now what signing would raise with every document: missing statistics or models."""
    statistics.check(settings)
    for name in settings.methods:
        module = method(name)
        if hasattr(module, "check"):
            module.check(settings)


def prepare(
    documents: Sequence[Document], settings: Settings, counting: Counting = stated
) -> list[Signed | Failure]:
    """Extract what is still a page, then sign; a document without words is a failure, and so is
    what a site shows instead of an article."""
    read = [_refuse_notice(read_page(document, settings), settings) for document in documents]
    texts = [d for d in read if isinstance(d, Document)]
    signed = iter(sign_many(texts, settings, counting))
    out: list[Signed | Failure] = []
    for item in read:
        if isinstance(item, Failure):
            out.append(item)
        else:
            out.append(_refuse_empty(next(signed)))
    return out


def prepare_apart(
    documents: Sequence[Document], settings: Settings
) -> list[Signature | Signed | Failure]:
    """As `prepare`, for a worker process: of what came as a text the signature alone, since who
    sent the document has it; see `joined`."""
    return [
        item.signature if isinstance(item, Signed) and item.document is document else item
        for document, item in zip(documents, prepare(documents, settings), strict=True)
    ]


def prepare_to_ask(documents: Sequence[Document], settings: Settings) -> list[Signed | Failure]:
    """As `prepare`, for what is not stored: counts, half of the work, are read of those articles
    alone that something near is found of."""
    return prepare(documents, settings, UnreadNumbers)


def joined(document: Document, result: Signature | Signed | Failure) -> Signed | Failure:
    return Signed(document, result) if isinstance(result, Signature) else result


def sign_many(
    documents: Sequence[Document], settings: Settings, counting: Counting = stated
) -> list[Signed]:
    """Words are hashed once for the batch and shared by all methods."""
    if not documents:
        return []
    batch = Batch(documents, settings)
    digests = exact.sign(batch, settings)
    keys, kept_texts = _keys_by_method(batch, digests, settings)
    format_ = settings.fingerprint_of_format()
    signed = []
    for i, document in enumerate(documents):
        start, end = batch.ranges[i]
        words = batch.tokens.count(i)
        kept = kept_shingles(end - start, words, settings)
        lang = batch.languages[i]
        signature = Signature(
            format=format_,
            keys=keys[i],
            shingles=batch.compared[start : start + kept].copy(),
            words=words,
            exact=digests[i],
            numbers=counting(batch.texts[i], lang) if settings.number_check else (),
            lang=lang,
            kept=kept_texts[i],
        )
        signed.append(Signed(document, signature))
    return signed


def _keys_by_method(
    batch: Batch, digests: Sequence[str], settings: Settings
) -> tuple[list[dict[str, tuple[str, ...]]], list[dict[str, str]]]:
    """The keys of each document, and what is kept beside them.

    A text too short for a shingle has its exact words as one.
    """
    out: list[dict[str, tuple[str, ...]]] = [{} for _ in batch.documents]
    kept: list[dict[str, str]] = [{} for _ in batch.documents]
    for name in settings.methods:
        module = method(name)
        for i, value in enumerate(module.sign(batch, settings)):
            if keys := module.keys(value, settings):
                out[i][name] = keys
            if hasattr(module, "kept") and (text := module.kept(value, settings)):
                kept[i][name] = text
    for own, digest, (start, end) in zip(out, digests, batch.ranges, strict=True):
        if start == end:
            own["exact"] = exact.keys(digest, settings)
    return out, kept


def kept_shingles(shingles: int, words: int, settings: Settings) -> int:
    """The first f of the shingles, all of them in a short text, never more than the cap."""
    part = 1.0 if words < settings.short_text else settings.compared_part
    return min(int(np.ceil(shingles * part)), settings.max_shingles)


def read_page(document: Document, settings: Settings) -> Document | Failure:
    if document.html is None:
        return document
    from esdedup.ingest.html import extract

    try:
        return extract(document, settings)
    except ExtractionError as error:
        return failure(document, str(error))


def _refuse_notice(item: Document | Failure, settings: Settings) -> Document | Failure:
    if isinstance(item, Failure) or not settings.refuse_notices:
        return item
    what = notice_in(item.text)
    if what is None:
        return item
    reason = f"this is no article but {what}; `refuse_notices = false` takes it for one"
    return failure(item, reason)


def _refuse_empty(signed: Signed) -> Signed | Failure:
    if signed.signature.words:
        return signed
    return failure(
        replace(signed.document, html=None),
        "there are no words in its title and text; check the field names (--field text=NAME)",
    )
