"""Word statistics of a corpus, counted in one streaming pass over files or a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from esdedup.errors import InputError
from esdedup.ingest.failures import map_documents
from esdedup.ingest.sign import read_page
from esdedup.ingest.workers import Workers
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Store
from esdedup.stores.ports import scan
from esdedup.text.batch import Batch
from esdedup.text.hashing import mix
from esdedup.text.statistics.corpus import DocumentWords, Statistics, StatisticsBuilder, site_of
from esdedup.text.statistics.countmin import Shape

# Too high by at most .65 in a million of all phrases counted, but for 1.8 % of them: 2^22 x 4
# cells, 67 MB, and half as much for the sites. Enough for four million distinct phrases, thirty
# thousand articles; the sample counted exactly shows the error beyond that.
ERROR = 1e-6
DOUBT = 0.02


@dataclass(slots=True)
class CountingProgress:
    """Where a pass is."""

    counted: int = 0
    failed: int = 0
    without_words: int = 0


def count(
    documents: Iterable[Document | Failure],
    settings: Settings,
    *,
    shape: Shape | None = None,
    workers: int = 0,
    progress: Callable[[CountingProgress], None] = lambda progress: None,
    failed: Callable[[Failure], None] = lambda failure: None,
) -> Statistics:
    """Statistics of a stream of articles; those that cannot be read are reported and left out."""
    plain = replace(settings, words_file="", words_version="", leave_out_boilerplate=False)
    counter = StatisticsBuilder(settings.phrase_words, shape or Shape.of(ERROR, DOUBT))
    done = CountingProgress()
    with Workers(workers, count_documents, plain) as pool:
        for chunk in pool.map(documents, settings.batch):
            counted = []
            for item in chunk:
                if isinstance(item, Failure):
                    done.failed += 1
                    failed(item)
                elif item.words:
                    counted.append(item)
                else:
                    done.without_words += 1
            counter.add(counted)
            done.counted += len(counted)
            progress(done)
    if not done.counted:
        raise InputError(
            f"not one article to count: {done.failed} could not be read, {done.without_words} have "
            "no words; check the paths and the names of the fields (--field text=NAME)"
        )
    return counter.statistics()


def count_documents(
    documents: Sequence[Document], settings: Settings
) -> list[DocumentWords | Failure]:
    """Extract the text of pages, then count each document; runs in worker processes."""
    read = [read_page(document, settings) for document in documents]
    return map_documents(read, lambda texts: _count_words(texts, settings))


def _count_words(documents: Sequence[Document], settings: Settings) -> Iterator[DocumentWords]:
    if not documents:
        return
    batch = Batch(documents, settings)
    tokens, terms = batch.mixed_tokens, batch.terms
    stems = terms.hashes[terms.numbers]
    phrases = mix(tokens.shingles(settings.phrase_words))
    ranges = tokens.shingle_ranges(settings.phrase_words).tolist()
    for text, (start, end) in enumerate(ranges):
        yield DocumentWords(
            batch.term_languages[text],
            site_of(documents[text]),
            tokens.count(text),
            np.unique(stems[tokens.first[text] : tokens.first[text + 1]]),
            np.unique(phrases[start:end]),
        )


def read_articles(store: Store) -> Iterator[Document]:
    """All articles of a store in the order of their ids, read in batches."""
    for records in scan(store.documents):
        yield from (record.document for record in records)
