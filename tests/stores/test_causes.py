"""What is told of a refusal: status, index and the cause beneath, from answers of real servers."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import StoreError
from esdedup.model import Document
from esdedup.service.problems import problem_of
from esdedup.stores import open_store
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.causes import cause_of, denial_of, describe_error
from esdedup.stores.cluster.connection import ClusterRefused, PrivilegeMissing, Target, connect
from esdedup.stores.cluster.store import ClusterStore
from tests.gateway.running import commanded
from tests.servers import PASSWORD, USERNAME, Server
from tests.servers.fixtures import READER, READER_PASSWORD

# Given by the two servers, with another index and user.
OF_ELASTICSEARCH = (
    "action [indices:admin/create] is unauthorized for user [reader] with effective roles "
    "[read-all] on indices [news,news-2], this action is granted by the index privileges "
    "[create_index,manage,all]"
)
OF_OPENSEARCH = (
    "no permissions for [indices:data/read/search] and User [name=reader, backend_roles=[], "
    "requestedTenant=null]"
)


def refusal(reason: str) -> dict[str, Any]:
    error = {"type": "security_exception", "reason": reason}
    return {"error": {"root_cause": [error], **error}, "status": 403}


def test_a_missing_privilege_by_name() -> None:
    found = denial_of(refusal(OF_ELASTICSEARCH), "PUT /news", "store")
    assert str(found) == (
        "the privilege indices:admin/create on news, news-2 (granted by create_index, manage, all) "
        "is missing"
    )
    other = denial_of(refusal(OF_OPENSEARCH), "POST /news%2Da/_search?size=1", "store")
    assert str(other) == "the privilege indices:data/read/search on news-a is missing"
    assert denial_of(refusal(OF_OPENSEARCH), "POST /_msearch", "store").indices == "store"
    assert str(denial_of("Forbidden", "GET /", "store")) == (
        "the privilege for this request is missing"
    )


def test_what_the_service_says_of_it() -> None:
    """The privilege, not the host; the log has the rest."""
    target = Target.parse("http://inside.example:9200/news", {})
    error = PrivilegeMissing(403, refusal(OF_OPENSEARCH), "POST /news/_search", target)
    problem = problem_of(error)
    assert (problem.status_code, problem.code) == (500, "store-error")
    assert "the privilege indices:data/read/search" in problem.detail
    assert "inside.example" not in problem.detail
    assert "inside.example:9200/news: POST /news/_search: the privilege" in str(error)


def test_failures_of_shards() -> None:
    answer = {
        "failed": 1,
        "failures": [
            {
                "index": "news",
                "shard": 0,
                "reason": {
                    "type": "engine_closed",
                    "reason": "closed",
                    "caused_by": {"type": "i_o_exception", "reason": "No space left on device"},
                },
            }
        ],
    }
    assert cause_of(answer) == (
        " (index news: engine_closed: closed <- i_o_exception: No space left on device)"
    )
    assert describe_error("a page of a proxy") == "a page of a proxy"
    assert describe_error({"error": {"type": "x", "reason": None, "root_cause": None}}) == "x"


@pytest.mark.servers
@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
class TestCauses:
    @pytest.fixture
    def store(self, product: str, request: pytest.FixtureRequest) -> Iterator[ClusterStore]:
        """Two indices behind one name: what is a date in one is a text in the other."""
        server: Server = request.getfixturevalue(f"{product}_server")
        name = f"cause-{uuid.uuid4().hex[:8]}"
        for kind in ("date", "text"):
            body = {"mappings": {"properties": {"day": {"type": kind}}}}
            assert server.http("PUT", f"/{name}-{kind}", body).status == 200
            day = {"day": "2026-03-01"}
            path = f"/{name}-{kind}/_doc/a?refresh=true"
            assert server.http("PUT", path, day).status == 201
        opened = open_store(f"{server.url}/{name}-*", mode="read")
        assert isinstance(opened, ClusterStore)
        yield opened
        opened.close()
        for kind in ("date", "text"):
            server.http("DELETE", f"/{name}-{kind}")

    def test_of_a_search(self, store: ClusterStore) -> None:
        text = store.target.index.replace("*", "text")
        body = {"sort": [{"day": "asc"}]}
        for ask in (
            lambda: store.searches.one(body),
            lambda: list(store.searches.many([body] * 2)),
        ):
            with pytest.raises(ClusterRefused) as error:
                ask()
            message = str(error.value)
            assert "400 search_phase_execution_exception" in message
            assert f"index {text}: illegal_argument_exception: " in message
            assert "ields are not optimised for" in message
            assert len(message) < 1_500

    def test_of_a_document(self, store: ClusterStore) -> None:
        date = store.target.index.replace("*", "date")
        action = Action.of("b", {"index": {"_index": date, "_id": "b"}}, {"day": "some day"})
        (reason,) = store.documents.write([action]).failures.values()
        assert "failed to parse field [day] of type [date]" in reason
        assert "failed to parse date field [some day]" in reason


@pytest.mark.servers
class TestDenials:
    """On a real server with security."""

    @pytest.fixture
    def news(
        self, secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[str]:
        server, name = secure_elasticsearch_server, f"denied-{uuid.uuid4().hex[:8]}"
        monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
        url = f"elasticsearch+https://{USERNAME}:{PASSWORD}@localhost:{server.port}/{name}"
        with Deduplicator.open(url) as deduplicator:
            deduplicator.add(Document("a", text="one two three four five six seven"))
        yield name
        server.http("DELETE", f"/{name}")

    def test_of_a_search_and_of_a_write(
        self, secure_elasticsearch_server: Server, news: str
    ) -> None:
        server = secure_elasticsearch_server
        target = Target.parse(
            f"elasticsearch+https://{READER}:{READER_PASSWORD}@localhost:{server.port}/{news}"
        )
        connection = connect(target)
        try:
            action = Action.of("b", {"index": {"_index": news, "_id": "b"}}, {"text": "x"})
            with pytest.raises(PrivilegeMissing) as error:
                bulk.write(connection, [action])
            assert f"the privilege indices:data/write/bulk on {news} (granted by" in str(
                error.value
            )
            assert "write" in error.value.denial.granted_by
            assert error.value.status == 403
            with pytest.raises(PrivilegeMissing, match=f"indices:admin/delete on {news} "):
                connection.send("DELETE", f"/{news}")
        finally:
            connection.close()

    def test_through_the_gateway(self, secure_elasticsearch_server: Server, news: str) -> None:
        """Its log tells what the caller lacks."""
        packed = base64.b64encode(f"{READER}:{READER_PASSWORD}".encode()).decode()
        reader = {"authorization": f"Basic {packed}"}
        url = f"elasticsearch+{secure_elasticsearch_server.url}"
        with commanded("--upstream", url, "--index", news) as gateway:
            document = json.dumps({"text": "one two three four five six"})
            said = gateway.http("PUT", f"/{news}/_doc/b", document, reader)
            assert said.status == 403
        assert "the privilege indices:" in gateway.told
        assert f" on {news}" in gateway.told
        assert "(403)" in gateway.told


def test_a_refusal_is_an_error_of_the_store() -> None:
    assert issubclass(PrivilegeMissing, StoreError)
