"""Signing: documents to signed documents, a batch at a time. Runs in worker processes, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from esdedup.errors import ExtractionError
from esdedup.features.agencies import find_agency
from esdedup.ingest.error_pages import find_error_page
from esdedup.ingest.failures import document_failure, map_documents
from esdedup.matching.content import (
    Content,
    cache_contents,
    compute_contents,
    restore_content,
)
from esdedup.methods import exact, method
from esdedup.model import Document, Failure, Signature
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.statistics import statistics_of


@dataclass(frozen=True, slots=True)
class Signed:
    """A document with its signature."""

    document: Document
    signature: Signature


def check_settings(settings: Settings) -> None:
    """Raise the error that signing would raise with every document: missing statistics, models,
    the library of `extractor = fast`."""
    statistics_of(settings)
    if settings.extractor == "fast":
        from esdedup.ingest.html import load_extractor

        load_extractor(settings.extractor)
    for name in settings.methods:
        module = method(name)
        if hasattr(module, "check"):
            module.check(settings)


def prepare(documents: Sequence[Document], settings: Settings) -> list[Signed | Failure]:
    """Extract the text of pages, then sign. Error pages and texts without words are failures."""
    items = _prepare(documents, settings)
    _cache_contents([item for item in items if isinstance(item, _Read)], settings)
    return [item.signed if isinstance(item, _Read) else item for item in items]


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """What a worker process sends back: the signature, of a page with the extracted document, and
    what verification reads. Reading it again in the parent process took 50 us an article with 30 %
    copies, sending it takes 10."""

    signed: Signature | Signed
    digest: str
    shingles: bytes


def prepare_in_worker(
    documents: Sequence[Document], settings: Settings
) -> list[WorkerResult | Failure]:
    """Like `prepare`, for worker processes. Returns only the signature for plain-text input; the
    parent process re-attaches the document (`attach_document`)."""
    return [
        item
        if isinstance(item, Failure)
        else WorkerResult(
            item.signed.signature if item.signed.document is document else item.signed,
            item.content.digest,
            item.content.shingles.tobytes(),
        )
        for document, item in zip(documents, _prepare(documents, settings), strict=True)
    ]


def attach_document(
    settings: Settings, document: Document, result: WorkerResult
) -> Signed | Failure:
    """The signed document of a worker's result. Its content is cached, as by `prepare`."""
    signed = result.signed
    if isinstance(signed, Signature):
        signed = Signed(document, signed)
    content = restore_content(
        signed.document, signed.signature.words, result.shingles, result.digest, settings
    )
    cache_contents([signed.document], [content], settings)
    return signed


def sign_many(documents: Sequence[Document], settings: Settings) -> list[Signed]:
    read = _sign(documents, settings)
    _cache_contents(read, settings)
    return [one.signed for one in read]


@dataclass(frozen=True, slots=True)
class _Read:
    signed: Signed
    content: Content


def _cache_contents(read: Sequence[_Read], settings: Settings) -> None:
    documents = [one.signed.document for one in read]
    cache_contents(documents, [one.content for one in read], settings)


def _prepare(documents: Sequence[Document], settings: Settings) -> list[_Read | Failure]:
    read = [_refuse_error_page(read_page(document, settings), settings) for document in documents]
    return map_documents(read, lambda texts: map(_refuse_empty, _sign(texts, settings)))


def _sign(documents: Sequence[Document], settings: Settings) -> list[_Read]:
    """Words are hashed once for the batch and shared by all methods."""
    if not documents:
        return []
    batch = Batch(documents, settings)
    digests = exact.sign(batch, settings)
    keys, seeds = _keys_by_method(batch, digests, settings)
    format_ = settings.fingerprint_of_format()
    read = []
    for i, content in enumerate(compute_contents(batch, digests)):
        document, digest = documents[i], exact.digest(digests[i], settings)
        mark = find_agency(document)
        agency = mark.agency if mark is not None else ""
        signature = Signature(format_, keys[i], digest, content.words, seeds[i], agency)
        read.append(_Read(Signed(document, signature), content))
    return read


def _keys_by_method(
    batch: Batch, digests: Sequence[str], settings: Settings
) -> tuple[list[dict[str, tuple[str, ...]]], list[dict[str, str]]]:
    """The keys of each document, and the query seeds that methods store beside them.

    A text too short for a shingle has its exact words as a key.
    """
    out: list[dict[str, tuple[str, ...]]] = [{} for _ in batch.documents]
    seeds: list[dict[str, str]] = [{} for _ in batch.documents]
    for name in settings.methods:
        module = method(name)
        for i, value in enumerate(module.sign(batch, settings)):
            if keys := module.keys(value, settings):
                out[i][name] = keys
            if hasattr(module, "query_seed") and (text := module.query_seed(value, settings)):
                seeds[i][name] = text
    for own, digest, (start, end) in zip(out, digests, batch.ranges, strict=True):
        if start == end:
            own["exact"] = exact.keys(digest, settings)
    return out, seeds


def read_page(document: Document, settings: Settings) -> Document | Failure:
    if document.html is None:
        return document
    from esdedup.ingest.html import extract

    try:
        return extract(document, settings)
    except ExtractionError as error:
        return document_failure(document, str(error))


def _refuse_error_page(item: Document | Failure, settings: Settings) -> Document | Failure:
    if isinstance(item, Failure) or not settings.refuse_notices:
        return item
    kind = find_error_page(item.text)
    if kind is None:
        return item
    reason = f"this is no article but {kind}; `refuse_notices = false` takes it for one"
    return document_failure(item, reason)


def _refuse_empty(read: _Read) -> _Read | Failure:
    if read.content.words:
        return read
    return document_failure(
        replace(read.signed.document, html=None),
        "there are no words in its title and text; check the field names (--field text=NAME)",
    )
