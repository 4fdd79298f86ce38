"""What ten times the articles cost: the same requests in stores of several sizes, in turns.

`python -m tests.bench growth` has SQLite files, and indices on one server, of 100,000 and 1,000,000
articles. Their signatures are of random keys, and they have a title but no text, so that a million
is written in minutes; a request meets as many keys, postings and groups as it would with texts.
ESDEDUP_BENCH_SIZES=100000,1000000,10000000 sets other sizes (SQLite takes those up to a million),
ESDEDUP_BENCH_PRODUCTS=opensearch takes one product only, and an empty name none. Ten times as many
articles may cost 1.2 times as much, except searches for words that ten times as many have.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import queries_of
from esdedup.ingest.sign import sign_many
from esdedup.methods.key_text import ALPHABET, write_keys
from esdedup.model import Decision, Document, Evidence, Signature, microseconds
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stores.cluster.connection import Target, path_of
from esdedup.stores.cluster.store import ClusterStore
from esdedup.stores.sqlite.store import SQLiteStore
from tests.bench.articles import Newsroom
from tests.bench.timing import Spent, headline, line, processor_seconds, products_wanted
from tests.servers import Server, start

SIZES = tuple(map(int, os.environ.get("ESDEDUP_BENCH_SIZES", "100000,1000000").split(",")))
SQLITE_MOST = 1_000_000
ROUNDS = 7
PROBES = 100  # requests of a kind in a round
COPIES = 10_000  # of the one large story
MOVES = 2  # how often the large story gets another original and loses it again
_BATCH = 5_000
_SAMPLED_BATCHES = 30
# A fill that is lost begins again.
_WHILE_FILLED = {"refresh_interval": "60s", "translog.durability": "async"}
# After everything that is stored.
_LAST = (1 << 61, "")
_MORNING = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        sizes = [size for size in SIZES if size <= SQLITE_MOST]
        _grow("SQLite", sizes, partial(_embedded, Path(folder), opened), time.process_time)
    for product in products_wanted():
        with start(product, heap="2g", as_installed=True) as server, ExitStack() as opened:
            processor = partial(_processor_of, server)
            _grow(product, SIZES, partial(_on_server, server, opened), processor)


def _processor_of(server: Server) -> float:
    """Of the server and of this process, which sends the requests."""
    return time.process_time() + processor_seconds(server.pids)


# --- articles ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Archive:
    """Articles with random keys, each of which can be made again from its number.

    Of every ten articles in a row the last three are copies of the first. Every thousand in a row
    have a word of their own, and there is a word in every hundredth.
    """

    settings: Settings

    def records(self, first: int, places: Iterable[int]) -> Iterator[Record]:
        """Some articles of the batch that begins with this number: its keys are drawn together."""
        sketch, contexts = self.settings.permutations, self.settings.entity_keys
        chance = np.random.default_rng(first)
        minima = chance.integers(0, 1 << 48, (_BATCH, sketch), np.uint64)
        for place in range(7, 10):
            minima[place::10, :12] = minima[::10, :12]
        sketches = write_keys("", minima.ravel(), self.settings)
        entities = chance.integers(0, 1 << 48, _BATCH * contexts, np.uint64)
        entity_keys = write_keys("e", entities, self.settings)
        blocks = chance.integers(0, 1 << 16, (_BATCH, 4)).tolist()
        format_ = self.settings.fingerprint_of_format()
        for place in places:
            digits = sketches[place * sketch : (place + 1) * sketch]
            keys = {
                "sketch": tuple([f"s{ALPHABET[i]}{own}" for i, own in enumerate(digits)]),
                "simhash": tuple([f"b{i}:{bits:04x}" for i, bits in enumerate(blocks[place])]),
                "entities": entity_keys[place * contexts : (place + 1) * contexts],
            }
            number, in_ten = first + place, place % 10
            title = f"{word_of_thousand(number // 1_000)} {word_of_hundredth(number // 7 % 100)}"
            document = Document(id=f"a{number}", title=title, text="")
            at = microseconds(_MORNING) + number
            decision = _decide(document.id, f"a{number - in_ten}" if in_ten >= 7 else None)
            yield Record(document, Signature(format_, keys, "", 2), (at, document.id), at, decision)

    def sample(self, size: int, dice: random.Random) -> list[Record]:
        """Originals from all over an archive of this size."""
        out: list[Record] = []
        for _ in range(_SAMPLED_BATCHES):
            first = dice.randrange(0, size, _BATCH)
            originals = range(0, min(_BATCH, size - first), 10)
            out += self.records(first, dice.sample(originals, min(10, len(originals))))
        return out


def word_of_thousand(number: int) -> str:
    return f"thousand{number}"


def word_of_hundredth(number: int) -> str:
    return f"hundredth{number}"


def _decide(id_: str, original: str | None) -> Decision:
    if original is None:
        return Decision(id_, "original", id_, id_)
    found = Evidence(original, overlap=0.95, verdict="duplicate")
    return Decision(id_, "duplicate", original, original, 0.95, "sketch", (found,))


def _large_story(settings: Settings) -> tuple[Document, list[Record]]:
    """A text, and its copies with one other word each; the first copy is the original."""
    newsroom = Newsroom(words=120, copies=0, seed=9)
    (article,) = newsroom.articles(1, prefix="earlier")
    words = article.text.split()
    # Neither numbers nor names: these would make an update of a copy.
    places = [i for i, word in enumerate(words) if word.isalpha() and word.islower()]
    dice = random.Random(9)
    documents = []
    for number in range(COPIES):
        own = list(words)
        if number:
            own[dice.choice(places)] = f"{dice.choice(words).rstrip('.').lower()}x"
        at = _MORNING + timedelta(days=1, seconds=number)
        text = " ".join(own)
        documents.append(Document(f"copy{number}", article.title, text, lang="en", published=at))
    records = []
    for part in range(0, COPIES, 500):
        for signed in sign_many(documents[part : part + 500], settings):
            document = signed.document
            assert document.published is not None
            moment = microseconds(document.published)
            decision = _decide(document.id, None if document.id == "copy0" else "copy0")
            order = (moment, document.id)
            records.append(Record(document, signed.signature, order, moment, decision))
    return Document("earlier", article.title, article.text, lang="en", published=_MORNING), records


# --- stores ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grown:
    """A store of some size, with what is asked of it."""

    size: int
    store: Store
    earlier: Document  # the article that becomes the original of the large story


def _embedded(folder: Path, opened: ExitStack, size: int) -> Grown:
    path = folder / f"{size}.db"
    store = opened.enter_context(closing(SQLiteStore(str(path), Settings.load(environment={}))))
    grown = _fill(store, size)
    store.database.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    line("  on disk", f"{path.stat().st_size / size:,.0f} bytes each")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line("  largest size of this process so far", f"{peak:,.0f} MB")
    return grown


def _on_server(server: Server, opened: ExitStack, size: int) -> Grown:
    target = Target.parse(f"{server.url}/grown{size}", {})
    store = opened.enter_context(closing(ClusterStore(target, Settings.load(environment={}))))
    send, index = store.connection.send, store.target.index
    send("PUT", path_of(index, "_settings"), body={"index": _WHILE_FILLED})
    grown = _fill(store, size)
    store.concurrency.make_visible()
    while send("GET", path_of(index, "_stats", "merge"))["_all"]["total"]["merges"]["current"]:
        time.sleep(1)
    send("POST", path_of(index, "_flush"))
    sizes = send("GET", path_of(index, "_stats", "store,segments"))["_all"]["primaries"]
    line("  on disk", f"{sizes['store']['size_in_bytes'] / size:,.0f} bytes each")
    line("  segments", f"{sizes['segments']['count']}")
    (node,) = send("GET", "/_nodes/stats/jvm")["nodes"].values()
    line("  heap of the server in use", f"{node['jvm']['mem']['heap_used_in_bytes'] / 1e6:,.0f} MB")
    return grown


def _fill(store: Store, size: int) -> Grown:
    archive = Archive(store.settings)
    begin = time.perf_counter()
    for first in range(0, size, _BATCH):
        store.documents.put(list(archive.records(first, range(min(_BATCH, size - first)))))
    earlier, records = _large_story(store.settings)
    for first in range(0, len(records), 1_000):
        store.documents.put(records[first : first + 1_000])
    spent = time.perf_counter() - begin
    line(f"{size:,} articles written", f"{size / spent:,.0f} articles/s")
    return Grown(size, store, earlier)


# --- requests ----------------------------------------------------------------------------------

Requests = Iterator[Callable[[], object]]


def _grow(
    what: str,
    sizes: Sequence[int],
    make: Callable[[int], Grown],
    processor: Callable[[], float],
) -> None:
    """Measured whenever a store is filled, all of them anew: the next one may take hours."""
    stores: list[Grown] = []
    for size in sizes:
        headline(f"{what}, {size:,} articles")
        stores.append(make(size))
        _ask(stores, processor)


def _ask(stores: Sequence[Grown], processor: Callable[[], float]) -> None:
    kinds: dict[str, Callable[[Grown, random.Random], Requests]] = {
        "candidates of one article": partial(_find_candidates, articles=1),
        "candidates of 100 articles at once": partial(_find_candidates, articles=100),
        "folded search, 1,000 articles match": _search_thousand,
        "plain search, every hundredth article matches": partial(_search_hundredth, mode="all"),
        "folded search, the same": partial(_search_hundredth, mode="collapse"),
    }
    for kind, make in kinds.items():
        requests = [make(grown, random.Random(grown.size)) for grown in stores]
        _compare(kind, stores, requests, processor, rounds=ROUNDS, each=PROBES)
    what = f"a story of {COPIES:,} copies gets an earlier original, or loses it"
    moves = [_move_story(grown) for grown in stores]
    _compare(what, stores, moves, processor, rounds=2 * MOVES, each=1)


def _compare(
    kind: str,
    stores: Sequence[Grown],
    requests: Sequence[Requests],
    processor: Callable[[], float],
    *,
    rounds: int,
    each: int,
) -> None:
    """All stores take turns, so that a busy machine slows all of them."""
    clock: list[list[float]] = [[] for _ in stores]
    work: list[list[float]] = [[] for _ in stores]
    for round_ in range(-1, rounds):  # the first warms up
        for place, own in enumerate(requests):
            begun = processor()
            taken = [_seconds(next(own)) for _ in range(each)]
            if round_ >= 0:
                work[place].append((processor() - begun) / each)
                clock[place].append(statistics.median(taken))
    print(f"{kind}: processor time, and time by the clock", flush=True)
    before = Spent(0, 0)
    for place, grown in enumerate(stores):
        spent = Spent(statistics.median(work[place]), statistics.median(clock[place]))
        line(
            f"  {grown.size:,} articles",
            f"{spent.processor * 1e3:,.2f}, {spent.clock * 1e3:,.2f} ms",
            spent.processor / before.processor if place else None,
            f"by the clock {spent.clock / before.clock:.2f}x" if place else "",
        )
        before = spent


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _find_candidates(grown: Grown, dice: random.Random, *, articles: int) -> Requests:
    """Of stored articles, from all over the archive, as if they came once more."""
    archive = Archive(grown.store.settings)
    stored = archive.sample(grown.size, dice)
    queries = [replace(q, id="", order=_LAST) for q in queries_of(stored, grown.store.settings)]
    while True:
        yield partial(grown.store.candidates.find, dice.choices(queries, k=articles))


def _search_thousand(grown: Grown, dice: random.Random) -> Requests:
    """A hundred words at every size: no store answers more of them from a cache than another."""
    words = [dice.randrange(max(1, grown.size // 1_000)) for _ in range(100)]
    while True:
        yield partial(_search, grown, word_of_thousand(dice.choice(words)), "collapse")


def _search_hundredth(grown: Grown, dice: random.Random, *, mode: str) -> Requests:
    while True:
        yield partial(_search, grown, word_of_hundredth(dice.randrange(100)), mode)


def _search(grown: Grown, word: str, mode: str) -> None:
    """With the number of copies of each result."""
    page = Searcher(grown.store).search(word, mode=mode, total="none")
    if not page.hits:
        raise AssertionError(f"{grown.size:,} articles, {word}: nothing found")


def _move_story(grown: Grown) -> Requests:
    """All copies are linked to an article that came late and was published first, then back."""
    news = Deduplicator(grown.store)
    while True:
        yield partial(_add_earlier, grown, news)
        yield partial(_delete_earlier, grown, news)


def _add_earlier(grown: Grown, news: Deduplicator) -> None:
    news.add(grown.earlier)
    _check_group(grown, grown.earlier.id)


def _delete_earlier(grown: Grown, news: Deduplicator) -> None:
    news.delete([grown.earlier.id])
    _check_group(grown, "copy0")


def _check_group(grown: Grown, original: str) -> None:
    last = f"copy{COPIES - 1}"
    group = grown.store.documents.get([last])[last].decision.group
    if group != original:
        raise AssertionError(f"{grown.size:,} articles: {last} is in the group of {group}")


if __name__ == "__main__":
    run()
