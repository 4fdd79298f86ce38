"""Long bulks in parts: which are divided, and that all parts together are the whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esdedup.gateway import bulk, bulk_split

JSON = dict[str, Any]


def body(count: int, **meta: Any) -> bytes:
    lines: list[JSON] = []
    for n in range(count):
        lines += [{"create": {"_id": f"a{n}", **meta}}, {"text": f"text {n}"}]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def parsed(raw: bytes) -> bulk.Bulk:
    return bulk.parse(raw, "news", {})


def is_divisible(raw: bytes, parameters: tuple[str, ...] = (), accept: str = "") -> bool:
    return bulk_split.is_divisible(parsed(raw), parameters, accept)


@given(st.integers(1, 2_600))
def test_all_parts_are_the_whole(count: int) -> None:
    whole = parsed(body(count))
    divided = bulk_split.divide(whole)
    assert [op for part in divided for op in part.operations] == whole.operations
    assert b"".join(part.assembled({}) for part in divided) == whole.assembled({})
    sizes = [len(part.operations) for part in divided]
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == 1 or min(sizes) >= 100
    assert max(sizes) <= 500


def test_lines_are_changed_by_their_number_in_the_whole() -> None:
    whole = parsed(body(1_600))
    changes = {op.source_line: b'{"n":%d}' % op.source_line for op in whole.operations}
    divided = bulk_split.divide(whole)
    assert len(divided) == 4
    assert b"".join(part.assembled(changes) for part in divided) == whole.assembled(changes)


def test_a_long_bulk_of_plain_writes_is_divided() -> None:
    assert is_divisible(body(200))
    assert is_divisible(body(200, _index="other"), ("timeout",), "application/json")
    assert is_divisible(body(200), accept="application/vnd.elasticsearch+json;compatible-with=9")


@pytest.mark.parametrize(
    "raw",
    [
        body(199),
        body(200).rstrip(b"\n"),
        body(200) + b"\n",
        body(200, routing="r"),
        body(200, if_seq_no=1),
        body(200) + b'{"create":{"_id":"a7"}}\n{"text":"again"}\n',
        body(200) + b'{"create":{"_id":"' + b"x" * 513 + b'"}}\n{"text":"long"}\n',
        body(200) + b'{"delete":{"_id":"b"}}\n',
        body(200) + b'{"update":{"_id":"b"}}\n{"doc":{}}\n',
        body(200) + b'{"index":{"_id":"b"}}\n[]\n',
    ],
    ids=[
        "short", "no last newline", "a blank line", "routed", "conditional", "an id twice",
        "an id too long", "a delete", "an update", "no document",
    ],
)  # fmt: skip
def test_what_the_cluster_takes_or_refuses_as_a_whole_is_not(raw: bytes) -> None:
    assert not is_divisible(raw)


@pytest.mark.parametrize("name", ["refresh", "filter_path", "pretty", "pipeline", "what"])
def test_nor_what_is_said_of_the_whole(name: str) -> None:
    assert not is_divisible(body(200), (name,))
    assert not is_divisible(body(200), accept="application/yaml")


def item(id_: str, status: int = 201) -> JSON:
    return {"create": {"_id": id_, "status": status}}


def test_answers_are_joined_in_order() -> None:
    first: JSON = {"errors": False, "took": 3, "items": [item("a"), item("b")]}
    second = {"errors": True, "took": 4, "ingest_took": 2, "items": [item("c", 409)]}
    assert bulk_split.join([first, first]) == {
        "errors": False,
        "took": 6,
        "items": 2 * first["items"],
    }
    assert bulk_split.join([first, second]) == {
        "errors": True,
        "took": 7,
        "ingest_took": 2,
        "items": [item("a"), item("b"), item("c", 409)],
    }


def test_items_of_a_part_that_was_refused_tell_so() -> None:
    part = parsed(body(2))
    error = {"type": "es_rejected_execution_exception", "reason": "full"}
    said = bulk_split.part_answer(part, 429, {"error": error, "status": 429})
    told = {"_index": "news", "status": 429, "error": error}
    assert said["items"] == [{"create": {**told, "_id": f"a{n}"}} for n in range(2)]
    assert said["errors"]
    assert bulk_split.join([{"errors": False, "took": 1, "items": []}, said])["errors"]


@pytest.mark.parametrize("said", [None, {}, {"items": 3}])
def test_an_answer_that_cannot_be_read_is_none(said: JSON | None) -> None:
    assert not bulk_split.is_answer(said)
    ((told,),) = (i.values() for i in bulk_split.part_answer(parsed(body(1)), 200, said)["items"])
    assert told["status"] == 500


def test_of_a_part_that_was_lost_nobody_knows() -> None:
    ((told,),) = (i.values() for i in bulk_split.lost_answer(parsed(body(1)), "closed")["items"])
    assert (told["status"], told["error"]["reason"]) == (502, "closed")
