"""Earlier versions of articles that clients replace through the gateway, on real servers."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model.revisions import earlier_versions
from esdedup.stores import get_record
from tests.gateway.articles import random_article
from tests.gateway.running import Running
from tests.servers import Server

pytestmark = pytest.mark.servers

JSON = dict[str, Any]


@pytest.fixture
def made(server: Server, index: str) -> str:
    assert server.http("PUT", f"/{index}", {"settings": {"number_of_replicas": 0}}).status == 200
    return index


def texts(server: Server, index: str, id_: str) -> list[str]:
    """Of the versions before the current one."""
    with Deduplicator.open(f"{server.product}+{server.url}/{index}", mode="read") as news:
        kept = news.store.revisions.get([id_]).get(id_, ())
        current = get_record(news.store, id_).document
        return [version.document.text for version in earlier_versions(kept, current)]


def article(text: str) -> JSON:
    return {**random_article(1), "text": f"{text} {random_article(1)['text']}"}


def test_every_way_to_replace_a_text_keeps_the_one_before(
    gateway: Running, server: Server, made: str
) -> None:
    one, two, three, four, five, six = (article(f"version{n}") for n in range(6))
    assert gateway.http("PUT", f"/{made}/_doc/a", one).status == 201
    assert gateway.http("PUT", f"/{made}/_doc/a", two).status == 200
    assert gateway.http("PUT", f"/{made}/_doc/a", two).status == 200, "a retry"
    assert not gateway.bulk(f"/{made}/_bulk", {"index": {"_id": "a"}}, three).json()["errors"]
    update = {"doc": {"text": four["text"]}}
    assert gateway.http("POST", f"/{made}/_update/a", update).status == 200
    beside = {"doc": {"views": 7}}
    assert gateway.http("POST", f"/{made}/_update/a", beside).status == 200
    versions = [one, two, three, four]
    if server.product == "opensearch":  # the other one is started without a language for scripts
        source = {"source": "ctx._source.text = params.t", "params": {"t": five["text"]}}
        assert gateway.http("POST", f"/{made}/_update/a", {"script": source}).status == 200
        versions.append(five)
    gateway.settled()
    assert gateway.http("PUT", f"/{made}/_doc/a", six).status == 200
    gateway.settled()
    assert texts(server, made, "a") == [v["text"] for v in versions]


def test_versions_within_one_bulk(gateway: Running, server: Server, made: str) -> None:
    versions = [article(f"version{n}") for n in range(4)]
    lines = [line for v in versions for line in ({"index": {"_id": "a"}}, v)]
    assert not gateway.bulk(f"/{made}/_bulk", *lines).json()["errors"]
    gateway.settled()
    assert texts(server, made, "a") == [v["text"] for v in versions[:-1]]


def test_clients_that_replace_at_once_lose_no_version(
    gateway: Running, server: Server, made: str
) -> None:
    """Their writes are not conditional: both may have seen the same version before."""
    first = article("first")
    assert gateway.http("PUT", f"/{made}/_doc/a", first).status == 201
    others = [article(f"client{n}") for n in range(6)]
    clients = [
        threading.Thread(target=gateway.http, args=("PUT", f"/{made}/_doc/a", one))
        for one in others
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    gateway.settled()
    current = server.http("GET", f"/{made}/_doc/a").json()["_source"]["text"]
    kept = texts(server, made, "a")
    assert kept[0] == first["text"]
    assert sorted([*kept[1:], current]) == sorted(one["text"] for one in others)


def test_deleting_removes_the_versions(gateway: Running, server: Server, made: str) -> None:
    for n in range(2):
        gateway.http("PUT", f"/{made}/_doc/a", article(f"version{n}"))
    gateway.settled()
    assert len(texts(server, made, "a")) == 1
    assert gateway.http("DELETE", f"/{made}/_doc/a").status == 200
    gateway.settled()
    assert gateway.http("PUT", f"/{made}/_doc/a", article("again")).status == 201
    gateway.settled()
    assert texts(server, made, "a") == []
