"""What every store promises: candidates and successors. The same tests run on each backend."""

from __future__ import annotations

from dataclasses import replace

from esdedup.model import Link
from esdedup.stores import CandidateQuery, Store
from tests.stores.contract import FORMAT, found, probe, put, record, sketch_keys, update


def test_candidates_with_counts_the_most_shared_first(store: Store) -> None:
    put(
        store,
        record("three", 1, [1, 2, 3, 0]),
        record("four", 2, [1, 2, 3, 4]),
        record("two", 3, [1, 2, 0, 0]),
        record("moved", 4, [0, 1, 2, 3]),
    )
    question = probe("x", 9, [1, 2, 3, 4], needed=3)
    assert found(store, question) == {"four": {"sketch": 4}, "three": {"sketch": 3}}
    assert list(found(store, question)) == ["four", "three"]


def test_candidates_that_share_equally_come_in_order(store: Store) -> None:
    put(store, record("b", 2, [1, 2]), record("z", 1, [1, 2]), record("a", 2, [1, 2]))
    assert list(found(store, probe("x", 9, [1, 2]))) == ["z", "a", "b"]


def test_a_candidate_carries_what_verification_needs(store: Store) -> None:
    put(store, record("o", 1, [1]))
    whole = record("a", 2, [1, 2], of="o")
    signature = replace(whole.signature, digest="ab")
    put(store, replace(whole, signature=signature))
    ((candidate, _),) = store.candidates.find([probe("x", 9, [1, 2], representatives_only=False)])
    assert candidate.id == "a"
    assert candidate.order == (2, "a")
    assert candidate.link == Link("duplicate", "o", "o", "o")
    assert (candidate.document.title, candidate.document.text) == (whole.document.title, "text")
    assert (candidate.signature.digest, candidate.signature.format) == ("ab", FORMAT)


def test_only_leaders_are_candidates_unless_all_are_asked_for(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 2, [1], of="a"), update("u", 3, "a", "a"))
    put(store, replace(update("u", 3, "a", "a"), signature=record("u", 3, [1]).signature))
    assert set(found(store, probe("x", 9, [1]))) == {"a", "u"}
    assert set(found(store, probe("x", 9, [1], representatives_only=False))) == {"a", "b", "u"}


def test_candidates_come_before_in_the_order_ties_by_id(store: Store) -> None:
    put(store, *(record(id_, moment, [1]) for id_, moment in [("a", 5), ("c", 5), ("b", 6)]))
    assert set(found(store, probe("b", 5, [1]))) == {"a"}
    assert set(found(store, probe("d", 5, [1]))) == {"a", "c"}
    assert set(found(store, probe("a", 7, [1]))) == {"b", "c"}, (
        "its own older version is no candidate"
    )


def test_candidates_before_1970_are_in_order_too(store: Store) -> None:
    put(store, record("a", -5, [1]), record("b", 5, [1]))
    assert set(found(store, probe("x", 0, [1]))) == {"a"}
    assert store.candidates.successors([probe("x", 0, [1])]) == {"b"}


def test_candidates_within_the_window_only(store: Store) -> None:
    put(store, *(record(f"m{moment}", moment, [1]) for moment in (10, 19, 20, 21, 30)))
    assert set(found(store, probe("x", 30, [1], window=10))) == {"m20", "m21", "m30"}
    assert store.candidates.successors([probe("a", 10, [1], window=10)]) == {"m10", "m19", "m20"}


def test_each_method_has_its_own_number_of_needed_keys(store: Store) -> None:
    put(
        store, record("few", 1, [1, 2], exact_key="x:1"), record("none", 2, [1, 2], exact_key="x:2")
    )
    question = CandidateQuery(
        "x",
        {"sketch": sketch_keys([1, 2, 3]), "exact": ("x:1",)},
        {"sketch": 3, "exact": 1},
        (9, "x"),
    )
    assert found(store, question) == {"few": {"exact": 1}}
    enough = replace(question, min_shared_keys={"sketch": 2, "exact": 1})
    assert found(store, enough) == {"few": {"sketch": 2, "exact": 1}, "none": {"sketch": 2}}


def test_probes_are_answered_one_by_one_and_none_without_keys(store: Store) -> None:
    put(store, record("a", 1, [1]), record("b", 1, [2]))
    empty = CandidateQuery("x", {}, {}, (9, "x"))
    answers = store.candidates.find([probe("x", 9, [2]), empty, probe("y", 9, [1])])
    assert [[c.id for c in answer] for answer in answers] == [["b"], [], ["a"]]
    assert store.candidates.find([]) == []


def test_more_candidates_than_a_statement_takes(store: Store) -> None:
    """A story of thousands of copies, all of them attracting."""
    put(store, *(record(f"d{i:05d}", i, [1, 2, i]) for i in range(1, 2500)))
    (candidates,) = store.candidates.find([probe("x", 9999, [1, 2, 2000], needed=2)])
    assert candidates[0].id == "d02000", "the one that shares most is among those returned"
    assert len(store.candidates.successors([probe("a", 0, [1, 2, 3], needed=2)])) == 2499


def test_later_documents_leaders_or_not(store: Store) -> None:
    put(
        store,
        record("a", 1, [1, 2]),
        record("b", 2, [1, 2]),
        record("c", 3, [1, 2], of="b"),
        record("d", 4, [1, 0]),
    )
    assert store.candidates.successors([probe("b", 2, [1, 2], needed=2)]) == {"c"}
    assert store.candidates.successors(
        [probe("a", 1, [1, 2], needed=2), probe("x", 0, [1], needed=1)]
    ) == {
        "a",
        "b",
        "c",
        "d",
    }
    assert store.candidates.successors([]) == set()
