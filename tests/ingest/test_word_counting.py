"""Statistics of what a store holds are those of the files it was filled from, on every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsMismatch
from esdedup.ingest.word_counting import count, read_articles
from esdedup.settings import Settings
from esdedup.text.statistics.countmin import Shape
from esdedup.text.statistics.file import write
from tests.support.backends import Backend
from tests.text.statistics.corpus import FOOTER, corpus_article

SHAPE = Shape(1 << 12, 4)


def test_statistics_of_a_store_and_a_store_with_statistics(
    backend: Backend, tmp_path: Path
) -> None:
    documents = [corpus_article(i, site="courier", footer=FOOTER) for i in range(120)]
    words, other = tmp_path / "own.words", tmp_path / "other.words"
    version = write(count(documents, Settings(), shape=SHAPE), words)
    write(count(documents[:110], Settings(), shape=SHAPE), other)
    alonso = Settings.load(preset="alonso", environment={})
    news = Deduplicator(backend.open(alonso.with_words(words)))
    list(news.add_many(documents))
    assert write(count(read_articles(news.store), Settings(), shape=SHAPE), other) == version
    record = news.store.documents.get(["a7"])["a7"]
    assert record.signature.format.endswith(f".{version}")
    write(count(documents[:110], Settings(), shape=SHAPE), other)
    with pytest.raises(SettingsMismatch, match=rf"statistics of version {version}, and these"):
        backend.open(alonso.with_words(other))
    assert backend.open().settings.words_version == version
