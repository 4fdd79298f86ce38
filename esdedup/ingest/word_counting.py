"""One streaming pass over articles: from files or from a store to statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from esdedup.errors import InputError
from esdedup.ingest.sign import read_page
from esdedup.ingest.workers import Workers
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Store
from esdedup.text.batch import Batch
from esdedup.text.hashing import mix
from esdedup.text.statistics.corpus import Counted, Counter, Statistics, site_of
from esdedup.text.statistics.countmin import Shape

# Too high by at most .65 in a million of all phrases counted, but for 1.8 % of them: 2^22 x 4
# cells, 67 MB, and half as much for the sites. Enough for four million distinct phrases, thirty
# thousand articles; the sample counted exactly tells when it is not.
ERROR = 1e-6
DOUBT = 0.02
_MANY = 500


@dataclass(slots=True)
class Progress:
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
    progress: Callable[[Progress], None] = lambda progress: None,
    failed: Callable[[Failure], None] = lambda failure: None,
) -> Statistics:
    """Statistics of a stream of articles; what cannot be read is told of and left out."""
    plain = replace(settings, words_file="", words_version="", leave_out_boilerplate=False)
    counter = Counter(settings.phrase_words, shape or Shape.of(ERROR, DOUBT))
    done = Progress()
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


def count_documents(documents: Sequence[Document], settings: Settings) -> list[Counted | Failure]:
    """What a worker process does: extract what is still a page, then count one document each."""
    read = [read_page(document, settings) for document in documents]
    counted = iter(_counted([item for item in read if isinstance(item, Document)], settings))
    return [item if isinstance(item, Failure) else next(counted) for item in read]


def _counted(documents: Sequence[Document], settings: Settings) -> Iterator[Counted]:
    if not documents:
        return
    batch = Batch(documents, settings)
    tokens, terms = batch.mixed_tokens, batch.terms
    stems = terms.hashes[terms.numbers]
    phrases = mix(tokens.shingles(settings.phrase_words))
    ranges = tokens.shingle_ranges(settings.phrase_words).tolist()
    for text, (start, end) in enumerate(ranges):
        yield Counted(
            batch.term_languages[text],
            site_of(documents[text]),
            tokens.count(text),
            np.unique(stems[tokens.first[text] : tokens.first[text + 1]]),
            np.unique(phrases[start:end]),
        )


def articles_of(store: Store) -> Iterator[Document]:
    """All articles of a store, in the order of their ids, some at a time."""
    ids = sorted(store.changed_since(datetime.fromtimestamp(0, UTC)))
    for start in range(0, len(ids), _MANY):
        records = store.get_many(ids[start : start + _MANY])
        yield from (records[id_].document for id_ in sorted(records))
