"""The index in memory, against comparing every record with every other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from esdedup.model import Decision, Document, Link, Order, Signature
from esdedup.stores import CandidateQuery, Record
from esdedup.stores.key_index import KeyIndex

KEYS = st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4)
NEEDED = {"sketch": 2, "imatch": 1}


def record(number: int, moment: int, sketch: set[str], imatch: set[str]) -> Record:
    id_ = f"d{number}"
    keys = {
        "sketch": tuple(sorted(f"s{key}" for key in sketch)),
        "imatch": tuple(sorted(f"i{key}" for key in imatch)),
    }
    signature = Signature("f", keys)
    decision = Decision(id_, "duplicate" if number % 3 == 0 else "original", id_, id_)
    return Record(Document(id_), signature, (moment, id_), moment, decision)


RECORDS = st.lists(st.tuples(st.integers(0, 5), KEYS, KEYS), max_size=12).map(
    lambda rows: [record(n, *row) for n, row in enumerate(rows)]
)


def shared_by_hand(a: Record, b: Record) -> dict[str, int]:
    counts = {m: len(set(a.signature.keys[m]) & set(b.signature.keys[m])) for m in a.signature.keys}
    return {method: n for method, n in counts.items() if n >= NEEDED[method]}


@given(RECORDS, st.integers(0, 3), st.booleans())
def test_records_are_found_as_a_store_would_find_them(
    records: list[Record], window: int, representatives_only: bool
) -> None:
    index = KeyIndex()
    for one in records:
        index.put(one)
    assert index.records.keys() == {one.document.id for one in records}
    for one in records:
        asked = CandidateQuery(
            one.document.id, one.signature.keys, NEEDED, one.order, window, representatives_only
        )
        near = [
            (other, shared)
            for other in records
            if (shared := shared_by_hand(one, other))
            and (not window or abs(other.order[0] - one.order[0]) <= window)
        ]
        before = {
            other.document.id: (shared, other.order, other.decision.link)
            for other, shared in near
            if other.order < one.order
            and (_attracts(other.decision.link) or not representatives_only)
        }
        shown_before, shown_after = index.find_with_successors(asked)
        found: dict[str, tuple[object, Order, Link]] = {
            c.id: (dict(c.shared), c.order, c.link) for c in shown_before
        }
        assert found == before
        assert shown_after == {o.document.id for o, _ in near if o.order > one.order}


def test_of_two_versions_the_later_is_found_once() -> None:
    index = KeyIndex()
    first, second = record(1, 0, {"a", "b"}, {"a"}), record(1, 1, {"b", "c"}, {"a"})
    for version in (first, second):
        index.put(version)
    asked = record(2, 2, {"a", "b", "c"}, {"f"})
    probe = CandidateQuery(asked.document.id, asked.signature.keys, NEEDED, asked.order)
    (found,), after = index.find_with_successors(probe)
    assert (found.id, found.order, found.signature) == ("d1", second.order, second.signature)
    assert found.shared == {"sketch": 2}, "not the key of the version before"
    assert not after
    assert index.records.keys() == {"d1"}


@given(RECORDS, st.data())
def test_discarded_records_leave_no_trace(records: list[Record], data: st.DataObject) -> None:
    index, fresh = KeyIndex(), KeyIndex()
    gone = data.draw(st.sets(st.sampled_from(records or [record(0, 0, {"a"}, {"a"})]).map(id)))
    for one in records:
        index.put(one)
    for one in records:
        if id(one) in gone:
            index.discard(one.document.id)
        else:
            fresh.put(one)
    for one in records:
        asked = CandidateQuery(one.document.id, one.signature.keys, NEEDED, one.order)
        assert index.find(asked) == fresh.find(asked)
        assert index.successors(asked) == fresh.successors(asked)


def _attracts(link: Link) -> bool:
    return link.role != "duplicate" or link.branch
