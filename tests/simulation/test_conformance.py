"""One script of requests gives the same answers on the model and on both real servers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.servers import Server
from tests.simulation.engine import Engine

JSON = dict[str, Any]
Send = Callable[[str, str, Any], tuple[int, Any]]

MAPPING: JSON = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"},
    "mappings": {
        "properties": {
            "dedup": {
                "properties": {
                    "keys": {"type": "keyword"},
                    "group": {"type": "keyword"},
                    "moment": {"type": "long"},
                    "leads": {"type": "boolean"},
                    "rank": {"type": "integer"},
                    "at": {"type": "date"},
                }
            }
        }
    },
}


def stored_source(group: str, moment: int, *keys: str, **more: Any) -> JSON:
    at = f"2026-03-01T10:{moment:02}:00.500Z"
    return {"dedup": {"keys": list(keys), "group": group, "moment": moment, "at": at, **more}}


def counted(*keys: str, least: int = 1) -> JSON:
    terms = [
        {"constant_score": {"filter": {"term": {"dedup.keys": key}}, "boost": 4}} for key in keys
    ]
    return {"bool": {"minimum_should_match": least, "should": terms}}


SEARCHES: dict[str, JSON] = {
    "scores": {"query": {"bool": {"should": [counted("k1", "k2", "k3", least=2)]}}},
    "terms": {"query": {"terms": {"dedup.keys": ["k3", "k9"]}}},
    "range": {"query": {"range": {"dedup.moment": {"gte": 2, "lt": 4}}}},
    "dates": {"query": {"range": {"dedup.at": {"gte": "2026-03-01T10:03:00.500Z"}}}},
    "ids": {"query": {"ids": {"values": ["a", "c", "none"]}}},
    "exists": {"query": {"bool": {"must_not": [{"exists": {"field": "dedup.leads"}}]}}},
    "filters": {
        "query": {
            "bool": {
                "filter": [
                    {"term": {"dedup.leads": True}},
                    {"bool": {"should": [{"terms": {"dedup.group": ["a", "d"]}}]}},
                ]
            }
        }
    },
    "sorted": {
        "sort": [{"dedup.moment": "desc"}],
        "size": 2,
        "_source": ["dedup.group"],
        "docvalue_fields": ["dedup.moment"],
    },
    "after": {"sort": [{"dedup.moment": "asc"}], "search_after": [2]},
    "missing": {
        "sort": [{"dedup.rank": {"order": "asc", "missing": 0}}, {"dedup.moment": "asc"}],
    },
    "best first": {
        "query": counted("k1", "k2", "k3"),
        "sort": [{"_score": "desc"}, {"dedup.moment": "asc"}],
        "track_scores": True,
    },
    "excluded": {
        "query": {"ids": {"values": ["a"]}},
        "_source": {"includes": ["dedup"], "excludes": ["dedup.keys"]},
    },
    "versions": {"query": {"ids": {"values": ["a"]}}, "seq_no_primary_term": True},
    "latest": {"size": 0, "aggs": {"latest": {"max": {"field": "dedup.moment"}}}},
    "groups": {"size": 0, "aggs": {"groups": {"terms": {"field": "dedup.group"}}}},
}


class Script:
    """Sends requests and notes what their answers say that esdedup reads."""

    def __init__(self, send: Send, index: str) -> None:
        self._send, self.index = send, index
        self.notes: list[Any] = []

    def http(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self._send(method, f"/{self.index}{path}", body)
        self.notes.append((method, path, status, self._read(answer)))
        return answer

    def bulk(self, *lines: JSON) -> None:
        named = [
            {verb: {"_index": self.index, **about} for verb, about in line.items()}
            if set(line) & {"index", "create", "update", "delete"}
            else line
            for line in lines
        ]
        body = "".join(json.dumps(line) + "\n" for line in named)
        status, answer = self._send("POST", "/_bulk", body)
        items = [
            (verb, item["status"], item.get("result"), item.get("error", {}).get("type"))
            for entry in answer["items"]
            for verb, item in entry.items()
        ]
        self.notes.append(("bulk", status, answer["errors"], items))

    def get_from_anywhere(self, *docs: JSON) -> None:
        body = {"docs": [{"_index": self.index, **doc} for doc in docs]}
        status, answer = self._send("POST", "/_mget", body)
        self.notes.append(("mget", status, self._read(answer)))

    def search_all(self) -> None:
        for name, search in SEARCHES.items():
            answer = self.http("POST", "/_search", search)
            self.notes.append((name, self._hits(answer), answer.get("aggregations", {})))

    def _read(self, answer: Any) -> Any:
        names = ("_seq_no", "_primary_term", "_source", "found", "result")
        kept = {name: answer[name] for name in names if name in answer}
        if "docs" in answer:
            kept["docs"] = [{n: doc.get(n) for n in (*names, "_id")} for doc in answer["docs"]]
        if isinstance(error := answer.get("error"), dict):
            kept["error"] = error["type"]
        return kept

    def _hits(self, answer: JSON) -> list[Any]:
        names = ("_id", "_source", "_seq_no", "_primary_term", "sort", "fields")
        hits = answer["hits"]["hits"]
        out = [{name: hit[name] for name in names if name in hit} for hit in hits]
        has_order = any("sort" in hit for hit in hits)
        scores = [hit["_score"] for hit in hits]
        if not has_order and len(set(scores)) == 1:  # then they come in any order
            out.sort(key=lambda hit: str(hit["_id"]))
        return [scores if not has_order else None, out]


def run(script: Script) -> list[Any]:
    script.http("GET", "/_mapping")
    script.http("PUT", "", MAPPING)
    script.http("PUT", "", MAPPING)  # is there already
    script.bulk(
        {"create": {"_id": "a"}}, stored_source("a", 1, "k1", "k2", "k3", leads=True),
        {"create": {"_id": "b"}}, stored_source("a", 2, "k1", "k2", leads=False),
        {"index": {"_id": "c"}}, stored_source("c", 3, "k3", rank=-1),
        {"index": {"_id": "d"}}, stored_source("d", 4, "k4", leads=True),
        {"create": {"_id": "a"}}, stored_source("a", 9),  # a conflict
        {"update": {"_id": "none"}}, {"doc": {"dedup": {"group": "x"}}},  # a missing document
        {"delete": {"_id": "none"}},
    )  # fmt: skip
    script.search_all()  # nothing is visible yet
    script.http("POST", "/_mget", {"ids": ["a", "none"]})  # and all can be got
    script.http("POST", "/_refresh")
    script.search_all()
    script.bulk(
        {"update": {"_id": "b", "if_seq_no": 1, "if_primary_term": 1}},
        {"doc": {"dedup": {"group": "b", "evidence": {"list": [1]}}}},
        {"update": {"_id": "b", "if_seq_no": 1, "if_primary_term": 1}},
        {"doc": {"dedup": {"group": "z"}}},  # its version is another by now
        {"update": {"_id": "d"}},
        {"doc": {"dedup": {"group": "d"}}},  # changes nothing
        {"index": {"_id": "c", "if_seq_no": 2, "if_primary_term": 1}},
        stored_source("c", 5, "k1", "k3"),
        {"delete": {"_id": "a"}},
    )
    script.search_all()  # as before the writes
    script.http("GET", "/_doc/b")
    script.http("GET", "/_doc/a")
    script.get_from_anywhere({"_id": "b"}, {"_id": "a"}, {"_id": "c", "_source": ["dedup.group"]})
    script.http("PUT", "/_doc/e?op_type=create", stored_source("e", 6, "k9"))
    script.http("PUT", "/_doc/e?op_type=create", stored_source("e", 6, "k9"))
    script.http("PUT", "/_doc/e?if_seq_no=99&if_primary_term=1", stored_source("e", 7))
    script.http("POST", "/_refresh")
    script.search_all()
    position = script.http("GET", "/_stats/docs?level=shards")
    (entry,) = position["indices"].values()
    script.notes.append([copy["seq_no"]["max_seq_no"] for copy in entry["shards"]["0"]])
    script.http("DELETE", "")
    script.http("POST", "/_search", {})
    script.http("POST", "/_refresh")
    return script.notes


def run_rollover(script: Script) -> list[Any]:
    """An id is unique in one index, not behind an alias."""
    alias, first, second = (f"{script.index}{tail}" for tail in ("-a", "-a-000001", "-a-000002"))
    body = {**MAPPING, "aliases": {alias: {"is_write_index": True}}}
    script.http("PUT", "-a-000001", body)
    created = {"create": {"_index": alias, "_id": "a", "require_alias": True}}
    script.bulk(created, stored_source("a", 1))
    script.bulk(created, stored_source("a", 1))
    script.http("POST", "-a/_rollover")
    script.bulk(created, stored_source("a", 1))  # taken once more
    script.bulk({"create": {"_index": first, "_id": "a"}}, stored_source("a", 1))
    script.http("POST", "-a/_refresh")
    answer = script.http("POST", "-a/_search", {"sort": [{"_index": "asc"}]})
    script.notes.append([hit["_index"].removeprefix(alias) for hit in answer["hits"]["hits"]])
    for seq_no in (7, 0, 0):  # another version; this one; which is gone
        version = {"_index": second, "_id": "a", "if_seq_no": seq_no, "if_primary_term": 1}
        script.bulk({"delete": version})
    script.bulk({"delete": {"_index": alias, "_id": "a"}})  # not the one in the first index
    script.http("GET", "-a-000001/_doc/a")
    script.bulk({"create": {"_index": "none", "_id": "a", "require_alias": True}}, {})
    script.http("DELETE", f"-a-000001,{second}")
    return script.notes


@pytest.mark.servers
@pytest.mark.parametrize("steps", [run, run_rollover], ids=["one index", "rollover"])
@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
def test_the_model_answers_as_the_servers_do(
    product: str, steps: Callable[[Script], list[Any]], request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(f"{product}_server")
    index = f"conformance-{uuid.uuid4().hex[:8]}"

    def send(method: str, path: str, body: Any) -> tuple[int, Any]:
        answer = server.http(method, path, body)
        return answer.status, answer.json()

    engine = Engine()
    real = steps(Script(send, index))
    modelled = steps(Script(lambda m, p, b: engine.request(m, p, None, _bytes(b)), index))
    for expected, found in zip(real, modelled, strict=True):
        assert found == expected


def _bytes(body: Any) -> Any:
    return body.encode() if isinstance(body, str) else body
