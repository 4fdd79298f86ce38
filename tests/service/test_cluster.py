"""The same service over real clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from esdedup.service.config import ServiceConfig
from tests.servers import Server
from tests.service.conftest import Running, running
from tests.service.described import checked
from tests.support.articles import BRIDGE, FERRY
from tests.support.backends import drop_index, new_index

pytestmark = pytest.mark.servers


@pytest.fixture
def service(server: Server) -> Iterator[Running]:
    index = new_index()
    with running(ServiceConfig(store=f"{server.url}/{index}", workers=1, readers=2)) as made:
        yield made
    drop_index(server, index)


def test_the_verbs_on_a_cluster(service: Running) -> None:
    first = service.post("/v1/articles", {"id": "a", "text": FERRY, "source": "Wire"})
    assert first.status_code == 201
    articles: list[dict[str, Any]] = [
        {"id": "b", "text": FERRY + " More soon."},
        {"id": "c", "text": FERRY.replace("12", "17")},
        {"id": "d", "text": BRIDGE},
    ]
    answer = service.bulk("\n".join(map(json.dumps, articles)))
    *decided, end = map(json.loads, answer.text.splitlines())
    assert end["summary"]["complete"]
    roles = {one["id"]: one["role"] for one in decided if one["status"] != "relinked"}
    assert roles == {"b": "duplicate", "c": "update", "d": "original"}
    found = service.client.get("/v1/search", params={"words": "ferry", "by": "story"}).json()
    assert found["total"]["stories"] == 1
    assert service.post("/v1/check", {"text": BRIDGE}).json()["group"] == "d"
    explained = service.client.get("/v1/explain", params={"id": "c"}).json()
    assert (explained["old"], explained["new"]) == ("a", "c")
    assert service.client.get("/v1/stats").json()["documents"] == 4
    report = service.client.delete("/v1/articles", params={"id": "a"}).json()
    assert report["promoted"] == ["b"]
    assert "esdedup_store_up 1" in service.client.get("/metrics").text


@pytest.mark.parametrize("name", ["../x", "_all", "*", "%2e%2e", "a,b", "..%2f_cluster"])
def test_tricks_in_ids_stay_ids(service: Running, name: str) -> None:
    assert service.client.get("/v1/articles", params={"id": name}).status_code == 404
    stored = service.post("/v1/articles", {"id": name, "text": FERRY})
    assert stored.status_code == 201
    shown = service.client.get("/v1/articles", params={"id": name}).json()
    assert shown["document"]["id"] == name
    assert service.client.get("/v1/stats").json()["documents"] == 1


def test_answers_of_a_cluster_are_those_described(service: Running) -> None:
    for id_, text in (("a", FERRY), ("b", FERRY), ("c", FERRY.replace("12", "17"))):
        checked(service, "POST", "/v1/articles", json={"id": id_, "text": text, "source": "Wire"})
    checked(service, "POST", "/v1/articles", json={"id": "p", "html": "<html></html>"})
    checked(service, "POST", "/v1/corrections/split", json={"ids": ["a", "c"]})
    for path in ("/v1/stats", "/v1/quarantine", "/v1/corrections", "/v1/groups", "/v1/events"):
        checked(service, "GET", path)
    for path in ("/v1/articles", "/v1/copies", "/v1/group", "/v1/similar", "/v1/story"):
        checked(service, "GET", path, params={"id": "b"})
    checked(service, "GET", "/v1/explain", params={"id": "b"})
    checked(service, "GET", "/v1/front", params={"field": "source"})
    checked(service, "GET", "/v1/search", params={"words": "ferry", "facet": "source"})
    checked(service, "GET", "/v1/search", params={"deep": "true", "expand": "true"})
    assert checked(service, "DELETE", "/v1/articles", params={"id": "a"}).json()["promoted"]
