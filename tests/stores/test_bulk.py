"""What a bulk sends, without a server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from esdedup.model.encoding import RawJson
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.connection import Connection, Target

CREATE = {"create": {"_index": "news", "_id": "a"}}


def test_an_action_is_the_lines_that_are_sent() -> None:
    source = {"text": "Ölde", "numbers": {"list": RawJson('[["12"]]')}}
    lines = Action.of("a", CREATE, source).lines.decode().splitlines(keepends=True)
    assert [json.loads(line) for line in lines] == [
        CREATE,
        {"text": "Ölde", "numbers": {"list": [["12"]]}},
    ]
    assert all(line.endswith("\n") for line in lines)
    delete = {"delete": {"_index": "news", "_id": "a"}}
    assert Action.of("a", delete).lines == b'{"delete":{"_index":"news","_id":"a"}}\n'


def test_a_request_is_closed_by_its_bytes_or_its_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []

    def perform(method: str, path: str, params: Any, body: bytes) -> Any:
        sent.append(body)
        count = body.count(b'"create"')
        return 200, {"items": [{"create": {"status": 201, "result": "created"}}] * count}

    target = Target.parse("http://localhost:9200/news", {})
    connection = Connection("elasticsearch", target, perform, lambda: None)
    actions = [Action.of("a", CREATE, {"text": "x" * size}) for size in (10, 10, 10, 500, 10)]
    monkeypatch.setattr(bulk, "_DOCUMENTS", 2)
    monkeypatch.setattr(bulk, "_BYTES", 400)
    assert bulk.write(connection, actions).operations == len(actions)
    assert [body.count(b"\n") // 2 for body in sent] == [2, 2, 1]
    assert b"".join(sent) == b"".join(action.lines for action in actions)
