"""Similar news against a candidate request, and event detection against indexing.

Each pair of figures is from one run, alternating; processor time of this process for what runs in
it alone. ESDEDUP_BENCH_CLUSTERS=0 leaves the clusters out.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import queries_of
from esdedup.features.topics import term_vectors, topic_version, vector_and_words
from esdedup.matching.diff import align
from esdedup.model import Document, TermVector
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.topical import TopicIndex, TopicQuery
from esdedup.stories.events import EventDetector, EventItem
from esdedup.stories.events.history import items_of
from esdedup.stories.similar import similar_to_record
from tests.bench.articles import Newsroom
from tests.bench.timing import headline, line, products_wanted
from tests.servers import start

_DAY = datetime(2024, 3, 1, tzinfo=UTC)
ARTICLES = 10_000
ASKED = 100
ASKED_BEFORE = 50
ON_CLUSTER = 5_000
BATCH = 1_000
CROWD = 6_000
ALIGNED = 5_000


def run() -> None:
    settings = replace(Settings(), event_time="published")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'news.db'}"
        headline(f"Breaking events: {ARTICLES:,} articles of 400 words, ten a minute")
        with Deduplicator.open(url, settings) as news:
            _events(news, list(_stream()))
            _crowded_window(settings)
            headline("Similar news, SQLite")
            _similar(news)
    headline(f"Alignment of {ALIGNED:,} words")
    _alignment()
    for product in products_wanted() if os.environ.get("ESDEDUP_BENCH_CLUSTERS") != "0" else ():
        headline(f"Similar news, {product}, {ON_CLUSTER:,} articles")
        with (
            start(product, heap="1g", as_installed=True) as server,
            Deduplicator.open(f"{product}+{server.url}/news", settings) as news,
        ):
            list(news.add_many(_stream()[:ON_CLUSTER]))
            _similar(news)


class _EnglishNewsroom(Newsroom):
    """English words as often as in English: made-up ones would all be as rare."""

    def __init__(self, *, seed: int) -> None:
        import wordfreq

        super().__init__(seed=seed)
        counts = wordfreq.get_frequency_dict("en", "small")
        self._vocabulary = sorted(counts, key=lambda word: (-counts[word], word))
        self._weights = list(accumulate(counts[word] for word in self._vocabulary))


def _stream() -> list[Document]:
    """Ten a minute; every tenth article is about one thing in its own words."""
    room = _EnglishNewsroom(seed=5)
    own = random.Random(5)
    subject = [f"zq{word}" for word in ("or", "al", "in", "et", "us", "im", "ok", "ar", "ul")]
    out = []
    for n, article in enumerate(room.articles(ARTICLES)):
        text = article.text
        if n % 10 == 0:
            words = text.split()
            places = own.sample(range(len(words)), 80)
            for place in places:
                words[place] = own.choice(subject)
            text = " ".join(words)
        at = _DAY + timedelta(seconds=6 * n)
        out.append(replace(article, text=text, source=f"s{n % 50}", published=at))
    return out


def _events(news: Deduplicator, stream: Sequence[Document]) -> None:
    """Indexing and detection take turns, batch by batch."""
    detector = EventDetector(news.settings, keep_members=False)
    indexing, detecting, most = [], [], 0
    for low in range(0, len(stream), BATCH):
        batch = stream[low : low + BATCH]
        indexing.append(_seconds(partial(_index, news, batch)))
        records = list(news.store.documents.get(d.id for d in batch).values())
        detecting.append(_seconds(partial(_detect, detector, records, news)))
        most = max(most, detector.held)
    first = detecting.pop(0) / indexing.pop(0)
    line(f"first {BATCH:,}, tables of words read", f"{first:.1%}")
    share, count = sum(detecting) / sum(indexing), len(stream) - BATCH
    line("indexing, one process", f"{count / sum(indexing):,.0f} /s")
    line("detection", f"{count / sum(detecting):,.0f} /s")
    line("detection, of the cost of indexing", f"{share:.1%}", bar="bar 15 %")
    ratios = [d / i for d, i in zip(detecting, indexing, strict=True)]
    line("  by batch, least to most", f"{min(ratios):.1%} to {max(ratios):.1%}")
    line("articles held at most", f"{most:,}", bar="4 h and 1 h of lateness: 3,000")
    line("events", f"{len(detector.events())}")
    _memory(news, stream)


def _index(news: Deduplicator, batch: Sequence[Document]) -> None:
    for _ in news.add_batches(batch):
        pass


def _detect(detector: EventDetector, records: Sequence[Record], news: Deduplicator) -> None:
    detector.add(items_of(records, news.settings))


def _memory(news: Deduplicator, stream: Sequence[Document]) -> None:
    """What a detector holds after a third of the stream, and after all of it."""
    detector = EventDetector(news.settings, keep_members=False)
    sizes = []
    tracemalloc.start()
    for low in range(0, len(stream), 500):
        ids = [d.id for d in stream[low : low + 500]]
        detector.add(items_of(list(news.store.documents.get(ids).values()), news.settings))
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    third = sizes[len(sizes) // 3]
    line("memory after all, against after a third", f"{sizes[-1] / 1e6:.1f} MB", sizes[-1] / third)


def _crowded_window(settings: Settings) -> None:
    """A crowded window, some or all of its articles in one event."""
    for share in (0.3, 1.0):
        items, own = [], np.random.default_rng(3)
        subject = own.integers(0, 1 << 62, 10).astype(np.uint64)
        for n in range(CROWD):
            terms = own.integers(0, 1 << 62, 40).astype(np.uint64)
            weights = np.full(40, 1.0)
            if own.random() < share:
                terms[:10], weights[:10] = subject, 4.0
            vector = TermVector(terms, (weights / np.linalg.norm(weights)).astype(np.float32))
            items.append(EventItem(f"a{n}", 2_000_000 * n, f"a{n}", f"a{n}", f"s{n % 50}", vector))
        taken = _seconds(partial(EventDetector(settings).add, items))
        line(f"{CROWD:,} articles, {share:.0%} in one event", f"{taken:.2f} s")


def _similar(news: Deduplicator) -> None:
    """By the clock on a cluster, which works in another process; the first questions of each kind
    are not counted. The topic index of an embedded store is up to date by then."""
    timed = _seconds if news.store.concurrency.consistency.read_your_writes else _clocked
    drawn = random.Random(1).sample(range(ON_CLUSTER), ASKED_BEFORE + ASKED)
    records = news.store.documents.get(f"a{n}" for n in drawn)
    kept = news.store.topics
    if kept is not None:
        _keep_topics(kept, news)
    taken: dict[str, list[float]] = {"candidates": [], "words": [], "similar": []}
    answers = []
    for id_, record in records.items():
        probes = queries_of([record], news.settings)
        words = list(vector_and_words(record.document, news.settings, 8)[1].values())
        asked = TopicQuery(words, group=id_, size=20)
        taken["candidates"].append(timed(partial(news.store.candidates.find, probes)))
        if kept is None:
            taken["words"].append(timed(partial(news.store.search.find_by_words, asked)))
        taken["similar"].append(timed(partial(similar_to_record, record, news.store)))
        answers.append(len(similar_to_record(record, news.store).found))
    counted = {what: seconds[ASKED_BEFORE:] for what, seconds in taken.items()}
    usual = statistics.median(counted["candidates"])
    line("candidate request", f"{usual * 1e3:.2f} ms")
    if kept is None:
        _against(usual, "request by words", counted["words"])
    _against(usual, "similar, ranked", counted["similar"], "bar 2x")
    pairs = zip(counted["similar"], answers[ASKED_BEFORE:], strict=True)
    full = [seconds for seconds, found in pairs if found == max(answers)]
    _against(usual, f"  of the {len(full)} with {max(answers)} answers", full)


def _against(usual: float, what: str, taken: Sequence[float], bar: str = "") -> None:
    middle = statistics.median(taken)
    line(what, f"{middle * 1e3:.2f} ms", middle / usual, bar)


def _keep_topics(kept: TopicIndex, news: Deduplicator) -> None:
    """All of them, as after an import; with other settings before, so that tables of words are
    read."""
    for settings in (replace(news.settings, signed_text="body"), news.settings):
        compute = partial(term_vectors, settings=settings)
        taken = _seconds(partial(kept.catch_up, topic_version(settings), compute, 600.0))
    line("topic index of all articles", f"{ARTICLES / taken:,.0f} /s")


def _alignment() -> None:
    own = random.Random(7)
    old = own.choices([f"w{i}" for i in range(8000)], [1 / (i + 1) for i in range(8000)], k=ALIGNED)
    paragraphs = [old[i : i + 80] for i in range(0, ALIGNED, 80)]
    own.shuffle(paragraphs)
    pairs = {
        "edited": [w for w in old if own.random() > 0.2],
        "shuffled": [w for p in paragraphs for w in p],
        "unrelated": own.choices(old, k=ALIGNED),
    }
    for name, new in pairs.items():
        taken = _seconds(partial(align, " ".join(old), " ".join(new)))
        line(name, f"{taken * 1e3:.0f} ms", bar="bar 1 s")


def _clocked(work: Callable[[], object]) -> float:
    start_ = time.perf_counter()
    work()
    return time.perf_counter() - start_


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
