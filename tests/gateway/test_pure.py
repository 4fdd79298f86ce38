"""Bulk bodies and JSON texts changed in place, against a parser; folded bodies and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import bulk, folding, jsontext

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=5)
INDENTS = st.sampled_from([None, 1, 3])


@given(OBJECTS, INDENTS)
def test_members_are_those_of_a_parser(value: dict[str, Any], indent: int | None) -> None:
    text = f"  {json.dumps(value, indent=indent)} "
    found = jsontext.members(text)
    assert {m.name: m.value for m in found} == value
    for member in found:
        assert json.loads(text[member.at : member.end]) == member.value
        rest = {k: v for k, v in value.items() if k != member.name}
        assert json.loads(jsontext.remove_members(text, found, member.name)) == rest


@given(OBJECTS, INDENTS, st.sampled_from(["", " ", "\r"]))
def test_our_object_goes_last(value: dict[str, Any], indent: int | None, tail: str) -> None:
    text = (json.dumps(value, indent=indent) + tail).encode()
    out = bulk.with_dedup(text, value, b'{"group":"a"}')
    assert json.loads(out) == {**value, "dedup": {"group": "a"}}
    if "dedup" not in value:
        assert out.startswith(text.rstrip()[:-1])


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from(["\n", "\n\n", "\r\n"]))
def test_unchanged_bulk_is_the_same_bytes(sources: list[dict[str, Any]], end: str) -> None:
    lines = [json.dumps(x) for s in sources for x in ({"index": {"_id": "a"}}, s)]
    body = "".join(line + ("\n" if end == "\n\n" and i % 2 == 0 else end)
                   for i, line in enumerate(lines)).encode()  # fmt: skip
    parsed = bulk.parse(body, "news", {})
    assert parsed.assembled({}) == body
    assert [op.source for op in parsed.operations] == sources


@pytest.mark.parametrize(
    "body",
    [b"x\n", b"{}\n", b'{"index":5}\n{}\n', b'{"index":{}}\n', b'{"drop":{}}\n{}\n', b"[]\n"],
)
def test_no_bulk(body: bytes) -> None:
    with pytest.raises(bulk.Malformed):
        bulk.parse(body, "news", {})


def test_hostile_documents_are_left_alone() -> None:
    for text in (b"[" * 100_000, b"\xff\xfe", b"1" * 10_000, b'{"a":' * 50_000):
        body = b'{"index":{}}\n' + text + b"\n"
        (operation,) = bulk.parse(body, "news", {}).operations
        assert operation.source is None


def test_documents_of_other_indices_are_not_read() -> None:
    body = (
        b'{"index":{}}\n{"a":1}\n{"create":{"_index":"other"}}\n{"b":2}\n{"delete":{"_id":"c"}}\n'
    )
    operations = bulk.parse(body, "news", {}, lambda index: index == "news").operations
    assert [(op.verb, op.index, op.source) for op in operations] == [
        ("index", "news", {"a": 1}), ("create", "other", None), ("delete", "news", None)
    ]  # fmt: skip
    assert [op.text for op in operations] == [b'{"a":1}', b'{"b":2}', b""]


@given(OBJECTS)
def test_an_update_carries_our_object(doc: dict[str, Any]) -> None:
    text = json.dumps({"x": 1, "doc": doc, "detect_noop": True}).encode()
    out = json.loads(bulk.update_with_dedup(text, "doc", b'{"g":1}'))
    assert out == {"x": 1, "doc": {**doc, "dedup": {"g": 1}}, "detect_noop": True}


def test_operations_that_an_answer_tells_of() -> None:
    ok = {"index": {"_seq_no": 1, "result": "created", "status": 201}}
    noop = {"update": {"_seq_no": 1, "result": "noop", "status": 200}}
    refused = {"index": {"status": 400, "error": {"type": "x"}}}
    answer = bulk.parse_answer(json.dumps({"took": 1, "items": [ok, noop, refused]}).encode())
    assert answer == {"took": 1, "items": [ok, noop, refused]}
    assert bulk.results_of(answer) == [ok["index"], noop["update"], refused["index"]]
    assert [bulk.operation_done(result) for result in bulk.results_of(answer) or ()] == [1, 0, None]
    assert bulk.results_of({"errors": False}) is None
    assert bulk.results_of({"items": 3}) is None
    assert bulk.parse_answer(b"no json") is None


def test_a_folded_answer_keeps_its_text() -> None:
    answer = (
        '{"took": 3, "hits": {"total": {"value":9,"relation":"eq"}, "max_score": 1.00, "hits": []},'
        ' "aggregations": {"mine": {"value": 1e2}, "esdedup_fold": {"doc_count": 9, '
        '"stories": {"value": 4}, "ungrouped": {"doc_count": 0}}}}'
    )
    assert folding.restore(answer) == (
        folding.StoryCount(4, 0),
        '{"took": 3, "hits": {"total": {"value":4,"relation":"eq"}, "max_score": 1.00, "hits": []},'
        ' "aggregations": {"mine": {"value": 1e2}}}',
    )


def test_what_only_our_count_needed_is_taken_out() -> None:
    count = '{"doc_count": 9, "stories": {"value": 4}, "ungrouped": {"doc_count": 2}}'
    answer = f'{{"hits": {{"total": 9}}, "aggregations": {{"filter#esdedup_fold": {count}}}}}'
    assert folding.restore(answer, wants_total=False) == (folding.StoryCount(6, 2), "{}")
    assert folding.restore(answer) == (folding.StoryCount(6, 2), '{"hits": {"total": 6}}')
    assert folding.restore('{"error": 1}') == (None, '{"error": 1}')


def test_folded_bodies() -> None:
    body = {"query": {"match": {"t": "x"}}, "aggs": {"a": {}}, "size": 3}
    out = folding.fold_search(body, "story", "collapse")
    assert out["collapse"] == {"field": "dedup.story"}
    assert set(out["aggs"]) == {"a", folding.COUNT}
    assert body["aggs"] == {"a": {}}, "the caller's own is not changed"
    assert folding.fold_search(body, "group", "filter")["query"]["bool"]["must"] == [body["query"]]


@pytest.mark.parametrize(
    ("given_", "wants"),
    [(None, True), ("hits", True), ("hits.total", True), ("hits.hits._id", False), ("took", False),
     ("-hits.hits", True), ("hits.total.value", True), ("**", True),
     ("responses.hits.hits", False)],
)  # fmt: skip
def test_totals_that_a_filter_path_leaves_in(given_: str | None, wants: bool) -> None:
    assert folding.wants_total(given_) is wants


def test_lines_of_an_msearch() -> None:
    lines = b'\n{"index":["a","b"]}\n{"size":1}\n\n{"size":2}\n\n'.split(b"\n")
    found = folding.parse_msearch(lines, "news", 10)
    assert [(e.index, e.body) for e in found] == [("a,b", {"size": 1}), ("news", {"size": 2})]
