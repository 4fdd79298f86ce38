"""Searches that show one result per story against plain ones, and folded lists against datasketch.

`python -m tests.bench searching` fills both servers with 100,000 articles, of which 30 % are
copies; ESDEDUP_BENCH_DOCUMENTS sets another number.
"""

from __future__ import annotations

import base64
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from esdedup.model import JSON
from esdedup.search.fold import fold
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Target, path_of
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import folding as requests
from esdedup.stores.cluster.store import ClusterStore
from tests.bench.articles import Newsroom
from tests.bench.rivals import fill_datasketch_index
from tests.bench.timing import headline, line, products_wanted
from tests.servers import Product, start

DOCUMENTS = int(os.environ.get("ESDEDUP_BENCH_DOCUMENTS", "100000"))
WORDS = 110
QUERIES = 60
ROUNDS = 3
LIST = 1_000
# Shares of the documents a word is in.
ORDINARY, COMMON = (0.0005, 0.05), (0.10, 0.40)


def run() -> None:
    _folding()
    for product in products_wanted():
        with start(product, heap="2g", as_installed=True) as server:
            _searching(product, server.url)


# --- searches -------------------------------------------------------------------------------------


class Wire(Newsroom):
    """Articles with the group each belongs to."""

    def __init__(self) -> None:
        super().__init__(words=WORDS)
        self._names: dict[int, str] = {}
        self._latest = ""

    def grouped(self, count: int) -> Iterator[tuple[str, str, str, str]]:
        """(id, group, title, text)"""
        for number in range(count):
            id_ = f"a{number}"
            if self._is_copy():
                original = self._random.choice(self._recent)
                group, words = self._names[id(original)], list(original)
                for word in self._random.choices(self._vocabulary, k=6):
                    words[self._random.randrange(12, len(words))] = word
            else:
                group, words = id_, self._fresh()
                self._names[id(words)] = id_
            yield id_, group, " ".join(words[:12]), " ".join(words[12:])


def _searching(product: Product, url: str) -> None:
    headline(f"{product}: searches of {DOCUMENTS:,} articles of {WORDS} words, 30 % copies")
    settings = Settings.load(environment={})
    store = ClusterStore(Target.parse(f"{url}/portal", {}), settings)
    _fill(store)
    words = Wire()._vocabulary
    for name, span, collapse_bar, canonical_bar in (
        ("ordinary words (.05 to 5 %)", ORDINARY, "bar 1.3", "bar 1.2"),
        ("very common words (10 to 40 %)", COMMON, "bar 1.8", "bar 1.7"),
    ):
        chosen = _words_in(store, words, span)
        print(f"{name}, {len(chosen)} of them", flush=True)
        _compare(store, chosen, collapse_bar, canonical_bar)
    store.close()


def _compare(
    store: ClusterStore, words: Sequence[str], collapse_bar: str, canonical_bar: str
) -> None:
    searcher = Searcher(store)
    asked = [{"query": {"match": {"text": word}}} for word in words]
    bare: dict[str, Any] = {"total": "none", "copies": False}
    searcher.search(asked[0], **bare)  # the look whether all articles have a group
    kinds: dict[str, Callable[[JSON], object]] = {
        "plain": partial(_plain, store),
        "folded, the request": lambda body: _plain(store, _folded(body)),
        "canonical, the request": lambda body: _plain(store, _canonical(body)),
        "through Searcher: all": lambda body: searcher.search(body, mode="all", **bare),
        "through Searcher: folded": lambda body: searcher.search(body, mode="collapse", **bare),
        "through Searcher: canonical": lambda body: searcher.search(body, mode="canonical", **bare),
        "folded, copies counted": lambda body: searcher.search(body, mode="collapse", total="none"),
        "folded, with the total, asked before": lambda body: searcher.search(
            body, mode="collapse", copies=False
        ),
        "folded, page 2 with the total": lambda body: searcher.search(
            body, mode="collapse", copies=False, offset=10
        ),
        "facet over stories, asked before": lambda body: searcher.facets(body, ["source"]),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    pick = random.Random(11)
    for round_ in range(ROUNDS + 1):  # the first warms up
        for body in asked:
            # In another order each time: a request also pays for what the one before left behind.
            for kind, work in pick.sample(list(kinds.items()), len(kinds)):
                spent = _seconds(work, body)
                if round_:
                    times[kind].append(spent)
    cold = []
    for body in asked:
        store.connection.send(
            "POST", path_of(store.target.index, "_cache", "clear"), params={"request": "true"}
        )
        cold.append(_seconds(lambda b: searcher.search(b, mode="collapse", copies=False), body))
    times["folded, with the total, for the first time"] = cold
    floor = statistics.median(times.pop("plain"))
    line("  plain", f"{floor * 1e3:.2f} ms p50")
    bars = {
        "folded, the request": collapse_bar,
        "through Searcher: folded": collapse_bar,
        "canonical, the request": canonical_bar,
        "through Searcher: canonical": canonical_bar,
    }
    for kind, spent_ in times.items():
        middle = statistics.median(spent_)
        line(f"  {kind}", f"{middle * 1e3:.2f} ms p50", middle / floor, bars.get(kind, ""))


def _folded(body: JSON) -> JSON:
    """As `Searcher` sends it."""
    return requests.with_collapse(requests.with_tie_breakers(body), "group")


def _canonical(body: JSON) -> JSON:
    wanted = requests.canonical_filter("group", all_grouped=True)
    return {**requests.with_filter(body, wanted), "track_total_hits": False}


def _seconds(work: Callable[[JSON], object], body: JSON) -> float:
    begin = time.perf_counter()
    work(body)
    return time.perf_counter() - begin


def _plain(store: ClusterStore, body: JSON) -> None:
    params = {"allow_partial_search_results": "false"}
    store.connection.send("POST", path_of(store.target.index, "_search"), params=params, body=body)


def _words_in(
    store: ClusterStore, vocabulary: Sequence[str], span: tuple[float, float]
) -> list[str]:
    """Words that so many documents have, drawn from the whole range."""
    ranks = list(range(10, 200)) if span == COMMON else list(range(200, 12_000, 37))
    words = list(dict.fromkeys(vocabulary[rank] for rank in ranks))
    counts = store.searches.many(
        [
            {"size": 0, "query": {"match": {"text": word}}, "track_total_hits": True}
            for word in words
        ]
    )
    low, high = span[0] * DOCUMENTS, span[1] * DOCUMENTS
    fitting = [
        word
        for word, answer in zip(words, counts, strict=True)
        if low <= answer["hits"]["total"]["value"] <= high
    ]
    return random.Random(5).sample(fitting, min(QUERIES, len(fitting)))


def _fill(store: ClusterStore) -> None:
    """Straight to the index: the groups are known, and keys matter to no search."""
    pick = random.Random(3)
    lines: list[JSON] = []
    for number, (id_, group, title, text) in enumerate(Wire().grouped(DOCUMENTS)):
        moment = 1_760_000_000_000_000 + number
        dedup = {
            "group": group, "gid": document_requests.group_number(group), "story": group,
            "role": "original" if id_ == group else "duplicate", "canonical": id_ == group,
            "moment": moment, "first_seen": moment, "words": WORDS,
            "sketch": [f"s{i:02}:{pick.getrandbits(48):012x}" for i in range(20)],
            "shingles": base64.b64encode(pick.randbytes(4 * WORDS)).decode("ascii"),
        }  # fmt: skip
        source = {"title": title, "text": text, "source": f"Source {number % 40}", "dedup": dedup}
        lines += [{"index": {"_index": store.target.index, "_id": id_}}, source]
        if len(lines) == 4_000:
            store.connection.send("POST", "/_bulk", body=lines)
            lines = []
    if lines:
        store.connection.send("POST", "/_bulk", body=lines)
    path = path_of(store.target.index, "_forcemerge")
    store.connection.send("POST", path, params={"max_num_segments": 1})
    store.concurrency.make_visible()


# --- lists ----------------------------------------------------------------------------------------


def _folding() -> None:
    headline(f"a list of {LIST:,} results folded, against datasketch (MinHash 128 and its LSH)")
    for what, length, field in (
        ("texts of 400 words", 400, "text"),
        ("texts of 110 words", 110, "text"),
        ("snippets of 30 words", 42, "snippet"),
    ):
        articles = Newsroom(words=length).articles(LIST)
        items: list[Any] = [{"id": a.id, "title": a.title, field: a.text} for a in articles]
        ours, theirs = [], []
        kept = 0
        for round_ in range(4):
            begin = time.process_time()
            kept = len(fold(items).kept)
            middle = time.process_time()
            fill_datasketch_index(set(item[field].split()) for item in items)
            if round_:
                ours.append(middle - begin)
                theirs.append(time.process_time() - middle)
        mine, peer = statistics.median(ours), statistics.median(theirs)
        line(f"{what}, {kept} kept", f"{mine * 1e3:.0f} ms", mine / peer, "bar 0.5")


if __name__ == "__main__":
    run()
