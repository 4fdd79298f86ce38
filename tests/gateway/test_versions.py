"""Writes whose order matters: arrival, deletes, versions and conditions of the caller's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.gateway import bulk
from esdedup.model import Document
from tests.gateway.articles import random_article, stored_groups, stored_sources
from tests.gateway.running import Running, running
from tests.servers import Server

pytestmark = pytest.mark.servers

JSON = dict[str, Any]


@pytest.fixture
def made(server: Server, index: str) -> str:
    """The index is there already, without our fields."""
    body = {"settings": {"number_of_replicas": 0}}
    assert server.http("PUT", f"/{index}", body).status == 200
    return index


def undated(number: int, *, of: int | None = None) -> JSON:
    return {k: v for k, v in random_article(number, of=of).items() if k != "published"}


def test_undated_articles_of_the_write_that_makes_the_index_came_first(
    gateway: Running, server: Server, index: str
) -> None:
    """Arrival is when the request came, and the order of its lines: not when it was signed, nor
    the order of ids."""
    first = gateway.bulk(f"/{index}/_bulk", {"index": {"_id": "m"}}, undated(1),
                         {"index": {"_id": "l"}}, undated(2, of=1),
                         {"index": {}}, undated(3),
                         {"index": {"_id": "k"}}, undated(4, of=3))  # fmt: skip
    assert not first.json()["errors"]
    second = gateway.bulk(f"/{index}/_bulk", {"index": {"_id": "a"}}, undated(5, of=1),
                          {"index": {"_id": "b"}}, undated(6, of=3))  # fmt: skip
    assert not second.json()["errors"]
    gateway.settled()
    own = first.json()["items"][2]["index"]["_id"]
    assert stored_groups(server, index) == {
        "m": "m", "l": "m", "a": "m", own: own, "k": own, "b": own,
    }  # fmt: skip


def test_a_document_that_is_written_after_its_delete_is_reconciled(
    server: Server, made: str
) -> None:
    """Between two refreshes, and while another program writes the article that it is a copy of."""
    url = f"{server.product}+{server.url}"
    with running(url, indices=(made,), settle_seconds=3_600) as gateway:
        assert gateway.http("PUT", f"/{made}/_doc/a", random_article(8)).status == 201
        assert gateway.http("PUT", f"/{made}/_doc/b", random_article(9, of=8)).status == 201
        (session,) = gateway.gateway.sessions._sessions.values()
        session.end_epoch()
        assert stored_groups(server, made) == {"a": "a", "b": "a"}
        assert gateway.http("DELETE", f"/{made}/_doc/a").status == 200
        lines = [{"index": {"_id": "a"}}, random_article(5, of=1)]
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        sent = bulk.parse(body, made, {})
        with session.write(sent.operations) as write:
            enriched = sent.assembled(write.decide())
            with Deduplicator.open(f"{url}/{made}") as other:
                other.add(Document.from_json({"id": "c", **random_article(1)}))
            answer = server.http("POST", f"/{made}/_bulk", enriched.decode()).json()
            write.confirm({0: answer["items"][0]["index"]})
        session.end_epoch()
        assert stored_groups(server, made) == {"a": "c", "b": "b", "c": "c"}


def test_a_version_of_the_callers_own_stays(gateway: Running, server: Server, made: str) -> None:
    """Such a document is left as it came: reconciling it would raise its version."""
    external = "version_type=external"

    def put(version: int, source: JSON) -> int:
        path = f"/{made}/_doc/copy?{external}&version={version}"
        return gateway.http("PUT", path, source).status

    assert put(5, random_article(9, of=1)) == 201
    assert gateway.http("PUT", f"/{made}/_doc/a", random_article(1)).status == 201
    gateway.settled()
    assert "dedup" not in stored_sources(server, made)["copy"]
    assert server.http("GET", f"/{made}/_doc/copy").json()["_version"] == 5
    assert put(6, random_article(9, of=1)) == 200
    assert put(6, random_article(9, of=1)) == 409
    third = gateway.bulk(f"/{made}/_bulk", {"index": {"_id": "copy", "version": 7,
                        "version_type": "external"}}, random_article(9, of=1))  # fmt: skip
    assert [item["index"]["_version"] for item in third.json()["items"]] == [7]
    assert gateway.gateway.counts["detection_failed"] == 0


def test_a_document_that_gets_a_version_leaves_its_group(
    gateway: Running, server: Server, made: str
) -> None:
    for id_, source in {"a": random_article(1), "b": random_article(2, of=1)}.items():
        assert gateway.http("PUT", f"/{made}/_doc/{id_}", source).status == 201
    gateway.settled()
    assert stored_groups(server, made) == {"a": "a", "b": "a"}
    path = f"/{made}/_doc/a?version_type=external&version=50"
    assert gateway.http("PUT", path, random_article(1)).status == 200
    gateway.settled()
    assert stored_groups(server, made) == {"a": None, "b": "b"}


def test_a_condition_on_a_sequence_number_is_the_clusters(
    gateway: Running, server: Server, made: str
) -> None:
    """Reconciling is a write: a number from before it is refused, one that is read again holds."""
    written = gateway.http("PUT", f"/{made}/_doc/copy", random_article(9, of=1)).json()
    assert gateway.http("PUT", f"/{made}/_doc/a", random_article(1)).status == 201
    gateway.settled()
    assert stored_groups(server, made) == {"copy": "a", "a": "a"}

    def put(state: JSON) -> int:
        condition = f"if_seq_no={state['_seq_no']}&if_primary_term={state['_primary_term']}"
        return gateway.http("PUT", f"/{made}/_doc/copy?{condition}", random_article(3)).status

    assert put(written) == 409
    gateway.settled()
    assert stored_groups(server, made) == {"copy": "a", "a": "a"}
    assert put(gateway.http("GET", f"/{made}/_doc/copy").json()) == 200
    gateway.settled()
    assert stored_groups(server, made) == {"copy": "copy", "a": "a"}
