"""Signing: what a worker process sends back, and what its caller makes of it."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from esdedup.ingest.sign import (
    Signed,
    WorkerResult,
    attach_document,
    prepare,
    prepare_in_worker,
)
from esdedup.matching.content import ContentCache, read_contents
from esdedup.model import Document, Failure, Signature
from esdedup.settings import Settings

ARTICLE = Document(
    id="a",
    title="Flood in Ölde",
    text="The river rose by 3.5 metres over night, and 12 people had to leave their houses. " * 4,
    url="https://news.example/a",
    source="Example",
    lang="en",
    published=datetime(2024, 5, 1, 12, tzinfo=UTC),
    extra={"desk": "home", "tags": ["flood"]},
)
WORDLESS = Document(id="b", title="…", text="--")
PAGE = Document(
    id="c",
    html=b"<html><body><article>" + b"<p>A dam broke in the valley this morning.</p>" * 30,
)

EVERY_METHOD = Settings(
    methods=("sketch", "exact", "simhash", "lengths", "phrases", "spotsigs", "imatch", "entities")
)


@pytest.mark.parametrize("settings", [Settings(), EVERY_METHOD])
def test_sent_apart_and_joined_it_is_what_preparing_gives(settings: Settings) -> None:
    documents = [ARTICLE, WORDLESS, PAGE]
    sent = pickle.loads(pickle.dumps(prepare_in_worker(documents, settings)))
    joined = [
        result if isinstance(result, Failure) else attach_document(settings, document, result)
        for document, result in zip(documents, sent, strict=True)
    ]
    assert joined == prepare(documents, settings)


def test_a_text_is_not_sent_back_and_a_page_is() -> None:
    text, _, page = prepare_in_worker([ARTICLE, WORDLESS, PAGE], Settings())
    assert isinstance(text, WorkerResult)
    assert isinstance(text.signed, Signature)
    assert isinstance(page, WorkerResult)
    assert isinstance(page.signed, Signed)
    assert page.signed.document.text.startswith("A dam broke")


@pytest.mark.parametrize("document", [ARTICLE, PAGE])
def test_a_text_signed_in_a_worker_is_not_read_again(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(compared_part=0.5)
    whole = prepare([document], settings)[0]
    assert isinstance(whole, Signed)
    (expected,) = read_contents([whole.document], settings)
    cache = ContentCache()
    monkeypatch.setattr("esdedup.ingest.sign.cache_contents", cache.add)
    monkeypatch.setattr("esdedup.matching.content.Batch", None)  # reading would fail
    (sent,) = pickle.loads(pickle.dumps(prepare_in_worker([document], settings)))
    signed = attach_document(settings, document, sent)
    assert isinstance(signed, Signed)
    (content,) = cache.read([signed.document], settings)
    assert content.shingles.tolist() == expected.shingles.tolist()
    assert (content.text, content.words, content.digest, content.given_lang) == (
        expected.text,
        expected.words,
        expected.digest,
        expected.given_lang,
    )


@pytest.mark.parametrize("document", [ARTICLE, WORDLESS, PAGE])
def test_a_document_is_sent_whole(document: Document) -> None:
    assert pickle.loads(pickle.dumps(document)) == document
