"""What every store promises: documents and links. The same tests run on each backend."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from esdedup.features.numbers import NumberChange
from esdedup.model import Decision, Document, Evidence, Failure, Link, Signature
from esdedup.search.searcher import Searcher
from esdedup.stores import Record, Store
from tests.stores.contract import FORMAT, found, probe, put, record, sketch_keys, update
from tests.support.waiting import wait_for_next_time


def test_a_record_comes_back_as_it_went_in(store: Store) -> None:
    document = Document(
        id="https://example.org/a?b=ç",
        title="İstanbul'da yangın",
        text="On iki ölü.\n\n東京 \0 🙂",
        url="https://example.org/a",
        source="Example",
        lang="tr",
        published=datetime(2024, 5, 1, 12, 30, 15, 123456, UTC),
        extra={"score": 1.5, "tags": ["a", {"b": None}], "dedup_like": True, "ç": "ğ", "n": 2**60},
    )
    signature = Signature(
        FORMAT,
        {"sketch": sketch_keys(range(20)), "exact": ("x:0f",)},
        digest="00ff",
    )
    evidence = Evidence(
        "other",
        {"sketch": 7},
        "dice",
        0.75,
        0.5,
        1.0,
        {"min_overlap": 0.5},
        "update",
        "numbers",
        (NumberChange("12", "17", "ölü"),),
    )
    decision = Decision(
        document.id, "update", document.id, "other", 0.75, "sketch", (evidence,), "numbers"
    )
    record = Record(document, signature, (5, document.id), 7, decision)
    put(store, record)
    back = store.documents.get([document.id, "absent"])
    assert list(back) == [document.id]
    # Of the evidence: the match, its overlap, the reason, and what changed.
    short = Evidence(
        "other", overlap=0.75, verdict="update", reason="numbers", numbers=evidence.numbers
    )
    stored = replace(decision, evidence=(short,))
    assert replace(back[document.id], version=None) == replace(record, decision=stored)


def test_missing_optional_fields_stay_missing(store: Store) -> None:
    put(store, record("a"))
    assert store.documents.get(["a"])["a"].document.to_json() == {
        "id": "a",
        "title": "",
        "text": "text",
    }


def test_put_replaces_a_document_with_its_keys_and_words(store: Store) -> None:
    put(store, record("a", 1, [1, 2, 3], text="former words"))
    put(store, record("a", 1, [7, 8, 9], text="present words"))
    assert store.maintenance.stats()["documents"] == 1
    assert found(store, probe("x", 9, [1, 2, 3])) == {}
    assert found(store, probe("x", 9, [7, 8, 9])) == {"a": {"sketch": 3}}
    assert Searcher(store).search("former").total.articles == 0
    assert Searcher(store).search("present").total.articles == 1


def test_many_documents_in_one_call(store: Store) -> None:
    ids = [f"d{i}" for i in range(1203)]
    put(store, *(record(id_, i) for i, id_ in enumerate(ids)))
    assert sorted(store.documents.get(ids)) == sorted(ids)
    assert store.documents.delete(ids[:1200]) == set(ids[:1200])
    store.concurrency.make_visible()
    assert store.maintenance.stats()["documents"] == 3


def test_a_transaction_is_all_or_nothing_where_the_store_is_isolated(store: Store) -> None:
    """A store without transactions says so, and keeps what was written before the failure."""
    put(store, record("a", 1, [1]))

    def write_then_fail() -> None:
        with store.concurrency.transaction():
            store.documents.put([record("b", 2, [1])])
            store.documents.delete(["a"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    store.concurrency.make_visible()
    there = "a" if store.concurrency.consistency.isolated else "b"
    assert set(store.documents.get(["a", "b"])) == {there}
    assert found(store, probe("x", 9, [1])) == {there: {"sketch": 1}}


def test_a_link_changes_the_decision_and_who_leads(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 2, [1], text="unchanged"))
    stored = store.documents.get(["b"])["b"]
    demoted = record("b", 2, of="a").decision
    assert store.documents.relink([(stored, demoted)]).conflicts == frozenset()
    store.concurrency.make_visible()
    now = store.documents.get(["b"])["b"]
    assert now.decision.link == Link("duplicate", "a", "a", "a")
    assert now.document == stored.document
    assert now.signature == stored.signature
    assert set(found(store, probe("x", 9, [1]))) == {"a"}
    store.documents.relink([(now, record("b", 2).decision)])
    store.concurrency.make_visible()
    assert set(found(store, probe("x", 9, [1]))) == {"a", "b"}


def test_of_two_links_from_one_reading_the_second_conflicts(store: Store) -> None:
    put(store, record("a", 1), record("b", 2), record("c", 3))
    read = store.documents.get(["b", "c"])
    store.documents.relink([(read["b"], record("b", of="a").decision)])
    report = store.documents.relink(
        [(read["b"], record("b", of="c").decision), (read["c"], record("c", of="a").decision)]
    )
    assert report.conflicts == {"b"}
    now = store.documents.get(["b", "c"])
    assert {id_: r.decision.group for id_, r in now.items()} == {"b": "a", "c": "a"}


def test_linking_what_was_replaced_or_deleted_conflicts(store: Store) -> None:
    put(store, record("a", 1), record("b", 2), record("c", 3))
    read = store.documents.get(["b", "c"])
    put(store, record("b", 2, text="another version"))
    store.documents.delete(["c"])
    store.concurrency.make_visible()
    report = store.documents.relink([(r, record(id_, of="a").decision) for id_, r in read.items()])
    assert report.conflicts == {"b", "c"}
    assert store.documents.get(["b"])["b"].decision.role == "original"


def test_what_changed_since_a_moment(store: Store) -> None:
    put(store, record("a", 1), record("b", 2))
    moment = wait_for_next_time()
    assert store.documents.changed_ids(moment) == set()
    put(store, record("c", 3))
    store.documents.relink([(store.documents.get(["b"])["b"], record("b", of="a").decision)])
    store.concurrency.make_visible()
    assert store.documents.changed_ids(moment) == {"b", "c"}
    assert store.documents.changed_ids(moment - timedelta(minutes=1)) == {"a", "b", "c"}


def test_members_in_order_and_followers_by_group_and_parent(store: Store) -> None:
    put(
        store,
        record("late", 9, of="first"),
        record("first", 1),
        record("early", 5, of="first"),
        update("u", 6, "first", "first"),
        record("other", 2),
    )
    assert [r.document.id for r in store.documents.members("first")] == ["first", "early", "late"]
    assert [r.document.id for r in store.documents.members("u")] == ["u"]
    assert store.documents.members("absent") == []
    assert store.candidates.dependents(["first"]) == {"early", "late", "u"}
    assert store.candidates.dependents(["u", "other"]) == set()


def test_groups_largest_first(store: Store) -> None:
    put(
        store,
        *(
            record(id_, i, of=of)
            for i, (id_, of) in enumerate(
                zip("abcdef", [None, "a", "a", None, "d", None], strict=True)
            )
        ),
    )
    assert store.search.groups() == [("a", 3), ("d", 2)]
    assert store.search.groups(smallest=1, size=2) == [("a", 3), ("d", 2)]
    assert store.search.groups(smallest=3) == [("a", 3)]


def test_delete_tells_what_was_there_and_leaves_nothing(store: Store) -> None:
    put(store, record("a", 1, [1, 2], text="gone words"), record("b", 2, [1, 2]))
    store.quarantine.add([Failure("a", "a.html", "broken")])
    store.concurrency.make_visible()
    assert store.documents.delete(["a", "absent"]) == {"a"}
    store.concurrency.make_visible()
    assert store.documents.get(["a"]) == {}
    assert set(found(store, probe("x", 9, [1, 2]))) == {"b"}
    assert Searcher(store).search("gone").total.articles == 0
    assert store.quarantine.entries() == []
    assert store.maintenance.find_problems() == []
