"""Addresses and credentials as they are sent, and how long a server is waited for: a wrong address
is told soon, a lost server is waited for."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from esdedup.errors import StoreError, StoreUnavailable, UnsupportedVersion
from esdedup.stores.cluster import connection
from esdedup.stores.cluster.connection import Connection, Target, Unanswered, _refusal, connect
from esdedup.stores.cluster.versions import check_version

TARGET = Target.parse("elasticsearch+http://127.0.0.1:9/news", {"ES_OPENING_SECONDS": "0"})


def of(answers: list[object], target: Target = TARGET) -> Connection:
    def perform(method: str, path: str, params: Mapping[str, Any], body: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return 200, answer

    return Connection("elasticsearch", target, perform, lambda: None)


@pytest.mark.parametrize("product", ["elasticsearch", "opensearch"])
@pytest.mark.parametrize("host", ["127.0.0.1:9", "nobody.invalid:9200"])
def test_a_server_that_was_never_there_is_told_with_the_remedy(product: str, host: str) -> None:
    target = Target.parse(f"{product}+http://{host}/news", {"ES_OPENING_SECONDS": "0"})
    with pytest.raises(StoreUnavailable, match=r"cannot be reached.*host and port.*ES_OPENING"):
        connect(target).send("GET", "/")


def test_the_time_for_opening_can_be_set_and_is_never_longer_than_for_all_else() -> None:
    assert Target.parse("http://x/news", {}).opening_seconds == 10
    nobody = connection.Unreachable("refused")
    short = Target.parse("http://x/news", {"ES_RETRY_SECONDS": "0", "ES_OPENING_SECONDS": "60"})
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        of([nobody], short).send("GET", "/")


def test_a_server_that_answered_is_waited_for() -> None:
    lost = connection.Unreachable("refused")
    opened = of([{"first": True}, lost, lost, {"again": True}])
    assert opened.send("GET", "/") == {"first": True}
    assert opened.send("GET", "/") == {"again": True}
    assert opened.repeated == 2


def test_a_server_that_is_busy_while_it_is_opened_is_waited_for() -> None:
    busy, lost = connection.Unanswered("503"), connection.Unreachable("refused")
    assert of([busy, lost, {"up": True}]).send("GET", "/") == {"up": True}


# --- what is sent ----------------------------------------------------------------------------


class Recorder:
    """An address that answers as told, and remembers the headers it was asked with."""

    def __init__(self) -> None:
        self.heads: list[dict[str, str]] = []
        self.statuses: list[int] = []  # of the next answers; then 200
        self.product = ""
        self.number = "9.2.4"
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                recorder.heads.append({k.lower(): v for k, v in self.headers.items()})
                status = recorder.statuses.pop(0) if recorder.statuses else 200
                version = {"number": recorder.number, "distribution": recorder.product}
                body = json.dumps({"version": version} if status == 200 else {}).encode()
                self.send_response(status)
                if recorder.product == "elasticsearch" and status == 200:
                    self.send_header("X-Elastic-Product", "Elasticsearch")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture(params=["elasticsearch", "opensearch"])
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    made = Recorder()
    made.product = request.param
    yield made
    made.server.shutdown()
    made.server.server_close()


BASIC = "Basic " + base64.b64encode("désk:p@ss/şıfre".encode()).decode()


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize(
    ("user", "environment", "sent"),
    [
        ("", {}, None),
        ("", {"ES_API_KEY": "aWQ6a2V5"}, "ApiKey aWQ6a2V5"),
        ("", {"ES_USERNAME": "désk", "ES_PASSWORD": "p@ss/şıfre"}, BASIC),
        ("d%C3%A9sk:p%40ss%2F%C5%9F%C4%B1fre@", {}, BASIC),
    ],
)
def test_credentials_and_our_name_go_with_every_request(
    recorder: Recorder, stated: bool, user: str, environment: dict[str, str], sent: str | None
) -> None:
    scheme = f"{recorder.product}+http" if stated else "http"
    target = Target.parse(f"{scheme}://{user}{recorder.address}/news", environment)
    opened = connect(target)
    assert opened.product == recorder.product
    opened.send("GET", "/")
    opened.close()
    assert len(recorder.heads) == (2 if stated else 3)
    assert {head.get("authorization") for head in recorder.heads} == {sent}
    assert recorder.heads[-1]["x-opaque-id"] == "esdedup"


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_answer_is_tried_again(recorder: Recorder, stated: bool, status: int) -> None:
    """The question for the product too: a proxy before a server that is starting answers 502."""
    recorder.statuses = [status, status]
    scheme = f"{recorder.product}+http" if stated else "http"
    opened = connect(Target.parse(f"{scheme}://{recorder.address}/news", {}))
    assert opened.send("GET", "/")["version"]["distribution"] == recorder.product
    opened.close()
    assert len(recorder.heads) == (4 if stated else 5)


@pytest.mark.parametrize(
    ("status", "kind", "is_tried_again"),
    [
        (500, "search_phase_execution_exception", True),
        (500, "illegal_state_exception", False),
        (400, "search_phase_execution_exception", False),
        (503, "cluster_block_exception", True),
        (429, "cluster_block_exception", False),
        (429, "es_rejected_execution_exception", True),
    ],
)
def test_what_passes_and_what_lasts(status: int, kind: str, is_tried_again: bool) -> None:
    body = {"error": {"type": kind, "reason": "told by the server"}, "status": status}
    raised = _refusal(Target.parse("http://a:9200/news", {}), status, body, "POST /news/_search")
    assert isinstance(raised, Unanswered) == is_tried_again


def test_another_answer_is_not(recorder: Recorder) -> None:
    recorder.statuses = [404]
    recorder.product = ""
    with pytest.raises(StoreError, match="neither Elasticsearch nor OpenSearch"):
        connect(Target.parse(f"http://{recorder.address}/news", {}))
    assert len(recorder.heads) == 1


def test_a_server_of_any_product_is_waited_for_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without a port it is asked at the one that the clients take."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    target = Target.parse("http://nobody.invalid/news", {"ES_OPENING_SECONDS": "0.2"})
    with pytest.raises(StoreUnavailable, match=r"port=9200.*cannot|cannot.*port=9200"):
        connect(target)
    assert slept


def test_a_cloud_id_is_an_address() -> None:
    """Its middle part is the name of Elasticsearch there."""
    place = base64.b64encode(b"cloud.invalid:9243$abc123$def456").decode()
    environment = {"ES_CLOUD_ID": f"news:{place}", "ES_OPENING_SECONDS": "0"}
    for scheme in ("elasticsearch+cloud", "cloud"):
        target = Target.parse(f"{scheme}:///news", environment)
        with pytest.raises(StoreUnavailable, match=r"host='abc123\.cloud\.invalid', port=9243"):
            connect(target).send("GET", "/")


@pytest.mark.parametrize(
    ("url", "environment", "told"),
    [
        ("elasticsearch+cloud:///news", {}, "set ES_CLOUD_ID"),
        ("opensearch+cloud:///news", {"ES_CLOUD_ID": "x:y"}, r"elasticsearch\+cloud"),
        ("elasticsearch+cloud:///news", {"ES_CLOUD_ID": "nonsense"}, "check --store and ES_CLOUD"),
        ("http:///news", {}, "names no server"),
        ("https://a:9200,,b:9200/news", {}, "names no server"),
        ("https://a:many/news", {}, "names no server"),
        ("http://a/news", {"ES_REQUEST_SECONDS": "long"}, "ES_REQUEST_SECONDS is 'long'"),
    ],
)
def test_what_cannot_be_an_address_is_told(
    url: str, environment: dict[str, str], told: str
) -> None:
    with pytest.raises(StoreError, match=told):
        connect(Target.parse(url, environment))


# --- versions --------------------------------------------------------------------------------


def numbered(number: str, **more: str) -> dict[str, Any]:
    return {"version": {"number": number, **more}}


REFUSED = connection.ClusterRefused
NO_ROOT = REFUSED(405, {"error": "Incorrect HTTP method"}, "GET /")
DENIED = connection.PrivilegeMissing(403, {}, "GET /", connection.Target.parse("http://x/news"))
LOCAL = {"nodes": {"abc": {"version": "8.19.9"}}}
OLD_LOCAL = {"nodes": {"abc": {"version": "7.17.29"}}}


@pytest.mark.parametrize(
    ("answers", "number"),
    [
        ([numbered("8.19.0")], "8.19.0"),
        ([numbered("10.0.0-SNAPSHOT")], "10.0.0-SNAPSHOT"),
        ([NO_ROOT, LOCAL], "8.19.9"),
        ([NO_ROOT, {}], None),
        ([NO_ROOT, DENIED], None),
        ([DENIED], None),
        ([numbered("8.11.0", build_flavor="serverless")], None),
        (["<html>a page</html>"], None),
    ],
)
def test_the_version_is_found_where_it_may_be_asked_for(
    answers: list[object], number: str | None
) -> None:
    assert check_version(of(answers)) == number


def test_credentials_that_are_refused_are_told_at_opening() -> None:
    with pytest.raises(StoreError, match="wrong"):
        check_version(of([StoreError("wrong")]))


@pytest.mark.parametrize("answers", [[numbered("8.18.99")], [NO_ROOT, OLD_LOCAL]])
def test_an_old_version_is_refused_by_name(answers: list[object]) -> None:
    with pytest.raises(UnsupportedVersion, match=r"is Elasticsearch .*8\.19 or later.*2\.19"):
        check_version(of(answers))


def test_nothing_stays_open_to_an_old_server(recorder: Recorder) -> None:
    recorder.number = "2.18.0"
    with pytest.raises(UnsupportedVersion, match=r"2\.18\.0; esdedup works with"):
        connect(Target.parse(f"http://{recorder.address}/news", {}))
