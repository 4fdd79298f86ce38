"""What only clusters have: aliases and rollover, foreign documents, mappings, other writers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import SettingsMismatch, StoreError, StoreMissing, StoreUnavailable
from esdedup.model import JSON, Document, Link
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, WriteReport
from esdedup.stores.cluster import candidates as neighbours
from esdedup.stores.cluster import maintenance
from esdedup.stores.cluster.concurrency import ClusterConcurrency
from esdedup.stores.cluster.connection import Target
from esdedup.stores.cluster.documents import ClusterDocuments
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.requests.mapping import side_index
from esdedup.stores.cluster.store import ClusterStore
from tests.servers import Cluster, Server
from tests.support.articles import story_article
from tests.support.backends import new_index

pytestmark = pytest.mark.servers


@pytest.fixture
def index(server: Server) -> Iterator[str]:
    """A name, and after the test nothing of it or of its generations is left."""
    name = new_index()
    yield name
    there = server.http("GET", f"/{name}*/_mapping").json()
    names = [side_index("quarantine", store) for store in (name, f"{name}*")]
    for one in [*there, *names]:
        server.http("DELETE", f"/{one}")


def url(server: Server, index: str) -> str:
    return f"{server.product}+{server.url}/{index}"


def add(deduplicator: Deduplicator, *documents: Document) -> dict[str, str]:
    return {o.decision.id: o.decision.group for o in deduplicator.add_many(documents)}


def links_of_one_writer(documents: Sequence[Document]) -> dict[str, Link]:
    """As the embedded store has them, where nobody else writes."""
    with Deduplicator.open(settings=Settings(batch=10)) as alone:
        list(alone.add_many(documents))
        there = alone.store.documents.get(d.id for d in documents)
        return {id_: record.decision.link for id_, record in there.items()}


def request(server: Server, method: str, path: str, body: object = None) -> Any:
    answer = server.http(method, path, body)
    assert answer.status < 300, answer.text
    return answer.json()


def rolled_over(server: Server, index: str) -> None:
    """An alias with a write index, and after it another: no template knows our fields."""
    body = {"aliases": {index: {"is_write_index": True}}}
    request(server, "PUT", f"/{index}-000001", body)


def index_of(server: Server, alias: str) -> dict[str, str]:
    request(server, "POST", f"/{alias}/_refresh")
    hits = request(server, "GET", f"/{alias}/_search?size=100")["hits"]["hits"]
    assert len(hits) == len({hit["_id"] for hit in hits}), "a document is there twice"
    return {hit["_id"]: hit["_index"][-1] for hit in hits}


# --- aliases and rollover ----------------------------------------------------------------------


def test_groups_span_the_generations_of_an_alias(server: Server, index: str) -> None:
    """Candidates of an older index are found, and changed where they lie; nothing is doubled."""
    rolled_over(server, index)
    with Deduplicator.open(url(server, index)) as deduplicator:
        add(deduplicator, story_article("copy", 1, 3), story_article("other", 2, 3))
        request(server, "POST", f"/{index}/_rollover")
        assert add(deduplicator, story_article("first", 1, 1), story_article("second", 2, 5)) == {
            "first": "first",
            "copy": "first",
            "second": "other",
        }
        where = {"copy": "1", "other": "1", "first": "2", "second": "2"}
        assert index_of(server, index) == where
        assert add(deduplicator, story_article("copy", 1, 3)) == {"copy": "first"}, (
            "known by its id"
        )
        assert index_of(server, index) == where
        deduplicator.delete(["first"])
        assert deduplicator.store.documents.get(["copy"])["copy"].decision.role == "original"
        assert deduplicator.store.maintenance.find_problems() == []
    mapping = request(server, "GET", f"/{index}-000002/_mapping")[f"{index}-000002"]["mappings"]
    assert mapping["properties"]["dedup"]["properties"]["group"] == {"type": "keyword"}


def test_a_document_written_just_before_a_rollover_is_not_written_again(
    server: Server, index: str
) -> None:
    rolled_over(server, index)
    request(server, "PUT", f"/{index}/_settings", {"index": {"refresh_interval": "-1"}})
    with (
        Deduplicator.open(url(server, index)) as one,
        Deduplicator.open(url(server, index)) as other,
    ):
        one.write(prepared(one, story_article("a", 1, 1)))
        request(server, "POST", f"/{index}/_rollover")
        other.write(prepared(other, story_article("a", 1, 1)))
    assert index_of(server, index) == {"a": "1"}


def prepared(deduplicator: Deduplicator, *documents: Document) -> Any:
    from esdedup.ingest.sign import prepare

    return prepare(documents, deduplicator.settings)


def test_a_pattern_reads_and_links_but_takes_nothing_new(server: Server, index: str) -> None:
    for number, document in enumerate([story_article("a", 1, 1), story_article("b", 1, 2)]):
        with Deduplicator.open(url(server, f"{index}-{number}")) as deduplicator:
            add(deduplicator, document)
    began = datetime.now(UTC) - timedelta(minutes=1)
    with Deduplicator.open(url(server, f"{index}-*")) as deduplicator:
        assert {i: d.group for i, d in deduplicator.sweep(began).items()} == {"b": "a"}
        assert deduplicator.check(story_article("x", 1, 3)).group == "a"
        with pytest.raises(StoreError, match=r"is a pattern.*an alias with a write index"):
            add(deduplicator, story_article("c", 1, 3))


def test_a_pattern_that_one_index_fits(server: Server, index: str) -> None:
    """No document can be got by the name of a pattern, however many indices there are."""
    with Deduplicator.open(url(server, f"{index}-0")) as deduplicator:
        add(deduplicator, story_article("a", 1, 1), story_article("b", 1, 2))
    with Deduplicator.open(url(server, f"{index}-*")) as deduplicator:
        found = deduplicator.store.documents.get(["a", "b", "none"])
        assert {id_: one.decision.group for id_, one in found.items()} == {"a": "a", "b": "a"}
        deduplicator.delete(["a"])
        assert deduplicator.store.documents.get(["b"])["b"].decision.role == "original"


def test_a_pattern_that_matches_nothing_makes_nothing(server: Server, index: str) -> None:
    with pytest.raises(StoreMissing, match="a pattern that no index matches"):
        Deduplicator.open(url(server, f"{index}-*"))


# --- points in time ------------------------------------------------------------------------------


@pytest.fixture
def two_indices(server: Server, index: str) -> Iterator[ClusterStore]:
    """A store over both, with forty documents in each."""
    for number in (1, 2):
        lines = [f'{{"index": {{"_id": "{number}-{n}"}}}}\n{{"title": "x"}}\n' for n in range(40)]
        answer = server.http("POST", f"/{index}-{number}/_bulk?refresh=true", "".join(lines))
        assert answer.status == 200, answer.text
    store = ClusterStore(Target.parse(url(server, f"{index}-*")))
    yield store
    store.close()


def test_all_hits_are_all_of_them_or_an_error(
    server: Server, index: str, two_indices: ClusterStore
) -> None:
    """An index goes away under way. By default Elasticsearch tells of the other one's hits alone,
    as it does where a shard is lost, and a group would lose its members."""
    everything: JSON = {"query": {"match_all": {}}, "size": 10}
    assert len(list(two_indices.searches.scan(everything))) == 80
    hits = two_indices.searches.scan(everything)
    next(hits)
    request(server, "DELETE", f"/{index}-2")
    with pytest.raises(StoreUnavailable, match=r"lost the point in time.*run the same command"):
        list(hits)


def test_a_lost_point_in_time_is_told_as_something_that_passes(
    server: Server, index: str, two_indices: ClusterStore
) -> None:
    """As after a restart of the server, which `sweep --watch` outlives."""
    hits = two_indices.searches.scan({"query": {"match_all": {}}, "size": 10})
    foreign = two_indices.maintenance.foreign_index
    pages = foreign.pages({"match_all": {}}, size=10, source=["title"])
    next(hits)
    next(pages)
    for deed in ("_close", "_open"):
        for number in (1, 2):
            request(server, "POST", f"/{index}-{number}/{deed}")
    for reading in (hits, pages):
        with pytest.raises(StoreUnavailable, match="lost the point in time"):
            list(reading)


# --- the index of somebody else ------------------------------------------------------------------


def test_an_index_and_its_mapping_are_respected(server: Server, index: str) -> None:
    own = {"dynamic": "strict", "_meta": {"owner": "them"}, "properties": {
        "title": {"type": "text"}, "text": {"type": "text"}, "lang": {"type": "keyword"},
        "published": {"type": "date"}, "note": {"type": "keyword"}}}  # fmt: skip
    request(server, "PUT", f"/{index}", {"mappings": own})
    for _ in range(2):
        with Deduplicator.open(url(server, index)) as deduplicator:
            add(deduplicator, story_article("a", 1, 1))
    mapping = request(server, "GET", f"/{index}/_mapping")[index]["mappings"]
    assert mapping["_meta"]["owner"] == "them"
    assert {k: v for k, v in mapping["properties"].items() if k != "dedup"} == own["properties"]
    assert mapping["dynamic"] == "strict"


def test_a_document_without_our_fields_is_replaced_by_its_id(server: Server, index: str) -> None:
    with Deduplicator.open(url(server, index)) as deduplicator:
        body = {"title": "by another route", "published": "2024-01-01"}
        request(server, "PUT", f"/{index}/_doc/a", body)
        assert deduplicator.store.documents.get(["a"])["a"].decision.role == "unprocessed"
        assert add(deduplicator, story_article("a", 1, 1), story_article("b", 1, 2)) == {
            "a": "a",
            "b": "a",
        }
        assert deduplicator.store.maintenance.find_problems() == []


def test_a_group_that_is_text_names_reindexing(server: Server, index: str) -> None:
    request(server, "PUT", f"/{index}/_doc/1", {"dedup": {"group": "came before the mapping"}})
    message = "dedup.group is mapped as text, esdedup needs keyword.*reindex"
    with pytest.raises(StoreError, match=message):
        Deduplicator.open(url(server, index))


def test_other_settings_are_refused_by_name(server: Server, index: str) -> None:
    Deduplicator.open(url(server, index)).close()
    with pytest.raises(SettingsMismatch, match="shingle_words is 4 there and 5 here"):
        Deduplicator.open(url(server, index), Settings(shingle_words=5))


def test_an_index_deleted_under_way_does_not_come_back(server: Server, index: str) -> None:
    """A write to a missing index would make it, with a mapping guessed from the document."""
    with Deduplicator.open(url(server, index)) as deduplicator:
        add(deduplicator, story_article("a", 1, 1))
        read = deduplicator.store.documents.get(["a"])["a"]
        request(server, "DELETE", f"/{index}")
        with pytest.raises(StoreError, match="deleted while esdedup was at work; run the same"):
            add(deduplicator, story_article("b", 1, 2))
        with pytest.raises(StoreError, match="deleted while esdedup was at work"):
            deduplicator.store.documents.relink([(read, read.decision)])
        assert server.http("GET", f"/{index}/_mapping").status == 404
    with Deduplicator.open(url(server, index)) as deduplicator:
        assert add(deduplicator, story_article("b", 1, 2)) == {"b": "b"}


def test_an_alias_that_is_gone_does_not_come_back_as_an_index(server: Server, index: str) -> None:
    rolled_over(server, index)
    with Deduplicator.open(url(server, index)) as deduplicator:
        add(deduplicator, story_article("a", 1, 1))
        request(server, "DELETE", f"/{index}-000001/_alias/{index}")
        with pytest.raises(StoreError, match="deleted while"):
            add(deduplicator, story_article("b", 1, 2))
    assert server.http("GET", f"/{index}/_mapping").status == 404


# --- other writers -------------------------------------------------------------------------------


def test_a_store_knows_whether_it_was_alone(server: Server, index: str) -> None:
    with (
        Deduplicator.open(url(server, index)) as one,
        Deduplicator.open(url(server, index)) as other,
    ):
        store = one.store
        mark = store.concurrency.snapshot()
        assert store.concurrency.unchanged_since(mark)
        add(one, story_article("a", 1, 1), story_article("b", 1, 2))
        assert store.concurrency.unchanged_since(mark), "its own writes do not count"
        add(other, story_article("a", 1, 1))
        assert store.concurrency.unchanged_since(mark), "a known document writes nothing"
        add(other, story_article("c", 1, 3))
        assert not store.concurrency.unchanged_since(mark)
        mark = store.concurrency.snapshot()
        assert store.concurrency.unchanged_since(mark)
        other.delete(["c"])
        assert not store.concurrency.unchanged_since(mark)


def test_what_another_writer_slips_in_is_settled(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our question for candidates and our write the original arrives."""
    with (
        Deduplicator.open(url(server, index)) as one,
        Deduplicator.open(url(server, index)) as other,
    ):
        put = one.store.documents.put

        def late(records: Any) -> Any:
            monkeypatch.undo()
            add(other, story_article("original", 1, 1))
            return put(records)

        monkeypatch.setattr(one.store.documents, "put", late)
        assert add(one, story_article("copy", 1, 2)) == {"copy": "original"}


def test_candidates_of_one_moment_do_not_hide_the_ones_before(server: Server, index: str) -> None:
    """Fifty leaders of the same day share more keys than the one original, which has their date
    and the smallest id."""
    from tests.stores.contract import found, probe, put, record

    with Deduplicator.open(url(server, index)) as deduplicator:
        store = deduplicator.store
        put(store, record("a", 5, [1, 2, 0]), *(record(f"x{i}", 5, [1, 2, 3]) for i in range(50)))
        assert found(store, probe("m", 5, [1, 2, 3])) == {"a": {"sketch": 2}}


def test_the_hottest_keys_are_told_of_where_there_are_many(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of stories with many copies are frequent too, and come first by their names."""
    from tests.stores.contract import put, record

    monkeypatch.setattr(maintenance, "MAX_FREQUENT_KEYS", 2)
    with Deduplicator.open(url(server, index)) as deduplicator:
        store = deduplicator.store
        copied = [record(f"c{i:02d}", i, [1, 2, 3, 4, 5], of="c00") for i in range(1, 14)]
        originals = [record(f"o{i:02d}", i, [100 + i] * 5 + [9]) for i in range(30)]
        put(store, record("c00", 0, [1, 2, 3, 4, 5]), *copied, *originals)
        (hot,) = store.maintenance.over_frequent_keys(10).items()
        assert hot[1] == 30
        assert hot[0].startswith("s05:")


def test_candidates_are_the_same_gathered_and_counted(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one question for all, in one for each, and counted by the server, where these bring too
    many."""
    from tests.stores.contract import probe, put, record

    with Deduplicator.open(url(server, index)) as deduplicator:
        store = deduplicator.store
        put(store, *(record(f"r{i}", i % 7, [i % 5, i % 3, i % 2, 9]) for i in range(60)))
        put(store, *(record(f"c{i}", i, [1, 1, 1, 9], of="r1") for i in range(5)))
        probes = [probe(f"p{i}", i % 9, [i % 5, 1, i % 2, 8], needed=2) for i in range(12)]
        answers = []
        for asked, gathered in (([probes], 4000), ([[p] for p in probes], 4000), ([probes], 10)):
            monkeypatch.setattr(neighbours, "_GATHERED", gathered)
            found = [
                [(c.id, c.shared, c.order, c.link) for c in candidates[:24]]
                for part in asked
                for candidates in store.candidates.find(part)
            ]
            answers.append(
                (found, {id_ for part in asked for id_ in store.candidates.successors(part)})
            )
        assert answers[0] == answers[1] == answers[2]
        assert any(answers[0][0])
        assert answers[0][1]


def test_candidates_of_several_methods_are_the_same_gathered_and_counted(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that meet by chance are counted by the server, the rest is gathered."""
    from tests.stores.contract import put, record

    def signed(number: int, own: int) -> Record:
        made = record(f"r{number:02d}", number % 7, [own % 5, own % 3, own % 2, 9])
        keys = {
            **made.signature.keys,
            "simhash": (f"h0:{own % 2}", f"h1:{own % 4}", f"h2:{number}"),
            "phrases": tuple(f"p:{(own + i) % 40}" for i in range(6)),
        }
        return replace(made, signature=replace(made.signature, keys=keys))

    needed = {"sketch": 3, "simhash": 1, "phrases": 4}
    settings = Settings(verified_candidates=2, methods=("sketch", "simhash", "phrases"))
    with Deduplicator.open(url(server, index), settings) as deduplicator:
        store = deduplicator.store
        put(store, *(signed(i, 7 * i) for i in range(60)))
        probes = [
            CandidateQuery(f"p{i}", signed(90 + i, 3 * i).signature.keys, needed, (i % 9, f"p{i}"))
            for i in range(12)
        ]
        answers = []
        for few in (1, 100):
            monkeypatch.setattr(neighbours, "_FEW_QUERIES", few)
            found = [
                [(c.id, c.shared, c.order, c.link) for c in candidates]
                for candidates in store.candidates.find(probes)
            ]
            answers.append((found, store.candidates.successors(probes)))
        assert answers[0] == answers[1]
        assert any(len(shared) > 1 for found in answers[0][0] for _, shared, *_ in found)
        assert any("simhash" not in shared for found in answers[0][0] for _, shared, *_ in found)


def test_a_long_stream_is_refreshed_seldom_and_decided_as_by_one(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies come before their originals, in other batches of an epoch, and in older ones."""
    documents = [
        story_article(f"d{n:03d}", n % 61, (n * 37) % 90, 12 + n // 200) for n in range(400)
    ]
    refreshes = 0
    make_visible = ClusterConcurrency.make_visible

    def counted(concurrency: ClusterConcurrency, *, own_only: bool = False) -> None:
        nonlocal refreshes
        refreshes += 1
        make_visible(concurrency, own_only=own_only)

    monkeypatch.setattr(ClusterConcurrency, "make_visible", counted)
    with Deduplicator.open(url(server, index), Settings(batch=10)) as deduplicator:
        outcomes = list(deduplicator.add_many(documents))
        last = {o.decision.id: o.decision.link for o in outcomes}
        found = {
            id_: r.decision.link
            for id_, r in deduplicator.store.documents.get(d.id for d in documents).items()
        }
        assert deduplicator.store.maintenance.find_problems() == []
    assert found == links_of_one_writer(documents)
    assert last == found
    assert [o.decision.id for o in outcomes if o.status == "new"] == [d.id for d in documents]
    assert refreshes < 80, "two a batch"


@pytest.mark.parametrize("disturbed", [False, True])
def test_a_stream_in_order_goes_on_while_it_is_refreshed(
    server: Server, index: str, monkeypatch: pytest.MonkeyPatch, disturbed: bool
) -> None:
    """The batch that is decided when an epoch ends is sent before the refresh. Somebody else may
    write the original of one of its articles just before it is sent, wherever in the epoch."""
    documents = [story_article(f"d{n:03d}", n % 300, 1 + n // 6) for n in range(500)]
    numbers = range(100, 300, 23) if disturbed else ()
    others = {f"d{n}": story_article(f"other{n}", n, 0) for n in numbers}
    put = ClusterDocuments.put

    def put_after_another(store: ClusterDocuments, records: Sequence[Record]) -> WriteReport:
        if store is deduplicator.store.documents:
            for record in records:
                if (other := others.get(record.document.id)) is not None:
                    another.add(other)
        return put(store, records)

    monkeypatch.setattr(ClusterDocuments, "put", put_after_another)
    with (
        Deduplicator.open(url(server, index), Settings(batch=10)) as deduplicator,
        Deduplicator.open(url(server, index), Settings(batch=10)) as another,
    ):
        list(deduplicator.add_many(documents))
        everything = [*documents, *others.values()]
        found = deduplicator.store.documents.get(d.id for d in everything)
        assert deduplicator.store.maintenance.find_problems() == []
    assert {i: r.decision.link for i, r in found.items()} == links_of_one_writer(everything)
    assert {found[id_].decision.group for id_ in others} == {o.id for o in others.values()}


def test_what_was_there_before_the_stream_is_noticed(server: Server, index: str) -> None:
    """Ids are not asked for while none is known; the store refuses those that are."""
    documents = [story_article(f"d{n:03d}", n % 50, n % 7) for n in range(150)]
    with Deduplicator.open(url(server, index), Settings(batch=10)) as deduplicator:
        add(deduplicator, documents[77], documents[120])
        outcomes = list(deduplicator.add_many(documents))
        by_id = {o.decision.id: o.status for o in outcomes if o.status != "relinked"}
        assert {id_ for id_, status in by_id.items() if status != "new"} == {"d077", "d120"}
        found = deduplicator.store.documents.get(d.id for d in documents)
        assert deduplicator.store.maintenance.find_problems() == []
    assert {i: r.decision.link for i, r in found.items()} == links_of_one_writer(documents)


@pytest.mark.parametrize("cluster", ["opensearch_cluster"], indirect=True)
def test_segment_replication_is_read_from_the_primary(cluster: Cluster) -> None:
    """There a replica lacks what a refresh has made visible: of searches sent right after it, those
    that meet a replica miss the article just written."""
    index = new_index()
    body = {
        "settings": {"index": {"replication.type": "SEGMENT", "number_of_replicas": 2}},
        "mappings": mapping_requests.news_mapping(Settings()),
    }
    assert cluster.http("PUT", f"/{index}", body).status == 200
    cluster.wait_for("green", nodes=3)
    hosts = ",".join(one.removeprefix("http://") for one in cluster.urls)
    try:
        with Deduplicator.open(f"opensearch+http://{hosts}/{index}") as deduplicator:
            store = deduplicator.store
            assert isinstance(store, ClusterStore)
            for number in range(8):
                original = story_article(f"a{number}", number, 1)
                copy = story_article(f"b{number}", number, 2)
                add(deduplicator, original)
                store.concurrency.make_visible()
                assert deduplicator.check(copy).group == original.id
                assert add(deduplicator, copy) == {copy.id: original.id}
                store.concurrency.make_visible()
                assert store.candidates.dependents([original.id]) == {copy.id}
            assert store.maintenance.find_problems() == []
    finally:
        cluster.http("DELETE", f"/{index}")
