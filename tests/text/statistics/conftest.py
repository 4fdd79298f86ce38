"""The corpus counted, and its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from esdedup.text.statistics.corpus import Statistics
from esdedup.text.statistics.file import write
from tests.text.statistics.corpus import FOOTER, corpus_article, counted


@pytest.fixture(scope="module")
def corpus() -> Statistics:
    """A paper with a footer on every page, another without, a story that a third ran often."""
    pages = [corpus_article(i, site="courier", footer=FOOTER) for i in range(60)]
    pages += [corpus_article(1000 + i, site="herald") for i in range(60)]
    pages += [replace(corpus_article(5000, site="echo"), id=f"copy{i}") for i in range(20)]
    return counted(pages)


@pytest.fixture(scope="module")
def file(corpus: Statistics, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("words") / "corpus.words"
    write(corpus, out)
    return out
