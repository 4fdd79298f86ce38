"""Pure functions, computed once for all schedules: signing, verification, reading of sources.

The stories of a schedule come from a pool, so that the same texts occur again and again. What is
computed from a text alone has no part in any race.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from esdedup.ingest import error_pages, sign
from esdedup.ingest.sign import Signed
from esdedup.matching import verify as verifying
from esdedup.matching.content import Content
from esdedup.matching.verify import SignedDocument
from esdedup.model import Document, Evidence, Signature
from esdedup.settings import Settings
from esdedup.stores.cluster.requests import documents

_Text = tuple[str, str, str | None, str | None, str | None]

_sign_many, _verify = sign.sign_many, verifying.verify
_document_from = documents.document_from
_signatures: dict[tuple[Settings, _Text], Signature] = {}
_evidence: dict[tuple[Settings, _Text, _Text], Evidence] = {}
_documents: dict[int, tuple[Mapping[str, Any], Document]] = {}
_MOST = 300_000
_MOST_SOURCES = 20_000


def sign_many(texts: Sequence[Document], settings: Settings) -> list[Signed]:
    """Stands in for `ingest.sign.sign_many`."""
    shaping = _without_batch(settings)
    keys = [(shaping, _text(document)) for document in texts]
    missing = {k: d for k, d in zip(keys, texts, strict=True) if k not in _signatures}
    for key, signed in zip(missing, _sign_many([*missing.values()], settings), strict=True):
        _signatures[key] = signed.signature
    return [Signed(d, _signatures[key]) for key, d in zip(keys, texts, strict=True)]


def verify(
    old: SignedDocument,
    new: SignedDocument,
    settings: Settings,
    found_by: Mapping[str, int] | None = None,
    contents: tuple[Content, Content] | None = None,
) -> Evidence:
    """Stands in for `matching.verify.verify`."""
    key = _without_batch(settings), _text(old.document), _text(new.document)
    found = _evidence.get(key)
    if found is None:
        if len(_evidence) >= _MOST:
            _evidence.clear()
        found = _evidence[key] = _verify(old, new, settings, {}, contents)
    return Evidence(
        old.document.id,
        found_by or {},
        found.measure,
        found.overlap,
        found.of_new,
        found.of_old,
        found.thresholds,
        found.verdict,
        found.reason,
        found.numbers,
    )


def document_from(
    id_: str, source: Mapping[str, Any], names: documents.Names = documents.NO_NAMES
) -> Document:
    """Stands in for `documents.document_from`: the model never changes a source, nor a part of it
    that it answers with."""
    if names:
        return _document_from(id_, source, names)
    found = _documents.get(id(source))
    if found is None:
        if len(_documents) >= _MOST_SOURCES:
            _documents.clear()
        # With the source itself, or another one could get its number.
        found = _documents[id(source)] = source, _document_from(id_, source, names)
    return found[1]


def _text(document: Document) -> _Text:
    """All that a signature and a comparison depend on."""
    return document.title, document.text, document.lang, document.source, document.url


@lru_cache
def _without_batch(settings: Settings) -> Settings:
    return replace(settings, batch=1)


STAND_INS: dict[str, Any] = {
    "ingest.sign.sign_many": sign_many,
    "ingest.sign.find_error_page": lru_cache(20_000)(error_pages.find_error_page),
    "matching.decide.verify": verify,
    "stores.cluster.requests.documents.document_from": document_from,
}
