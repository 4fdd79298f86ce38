"""The roles of mappings/roles on an OpenSearch with its security plugin, command by command."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.running import commanded
from tests.maintenance.foreign_index import MAPPING, Newsroom, articles, expected_groups
from tests.servers import Server
from tests.servers.opensearch_security import NoPlugin, start_secured
from tests.support.commands import ARTICLES, Cli, ndjson

pytestmark = pytest.mark.servers

ROLES = Path(__file__).parents[2] / "mappings" / "roles" / "opensearch.json"
PASSWORD = "Kx7-vermilion-otter-91"  # the plugin refuses weak ones
# User -> roles; the last has none that is of use here.
USERS = {"desk": ["esdedup"], "installer": ["esdedup_templates"], "stranger": ["other"]}


@pytest.fixture(scope="module")
def secured() -> Iterator[Server]:
    """With our roles as the file has them, and a user each."""
    try:
        with start_secured() as server:
            api = "/_plugins/_security/api"
            made = server.http("PATCH", f"{api}/roles", json.loads(ROLES.read_text()))
            assert made.status == 200, made.text
            other = {"index_permissions": [{"index_patterns": ["x"], "allowed_actions": ["read"]}]}
            assert server.http("PUT", f"{api}/roles/other", other).status in (200, 201)
            for user, roles in USERS.items():
                made = server.http("PUT", f"{api}/internalusers/{user}", {"password": PASSWORD})
                assert made.status in (200, 201), made.text
                for role in roles:
                    body = {"users": [user]}
                    assert server.http("PUT", f"{api}/rolesmapping/{role}", body).status in (
                        200,
                        201,
                    )
            yield server
    except NoPlugin as error:
        pytest.skip(str(error))


@pytest.fixture
def cli(secured: Server, tmp_path: Path) -> Cli:
    return acting(secured, tmp_path, "desk")


def acting(server: Server, folder: Path, user: str, index: str = "news") -> Cli:
    made = Cli(folder)
    made.store = f"opensearch+{server.url}/{index}"
    made.environment |= {
        "ESDEDUP_STORE": made.store,
        "ES_USERNAME": user,
        "ES_PASSWORD": PASSWORD,
        "ES_CA_CERTS": str(server.ca),
    }
    return made


def did(cli: Cli, *arguments: str, exit_code: int = 0) -> str:
    result = cli(*arguments)
    assert result.exit_code == exit_code, result.output
    return result.output


def test_templates(secured: Server, tmp_path: Path) -> None:
    """Whoever installs them may do nothing else; also where the index is there already."""
    installer = acting(secured, tmp_path, "installer", "news-7")
    did(installer, "templates", "install", "--name", "seven")
    assert "no difference" in did(installer, "templates", "diff", "--name", "seven")
    secured.http("PUT", "/news-7", {})
    assert "templates seven are installed" in did(
        installer, "templates", "install", "--name", "seven"
    )
    did(installer, "templates", "diff", "--name", "seven")
    refused = did(installer, "search", "ferry", exit_code=4)
    assert "the privilege indices:data/read/" in refused


@pytest.mark.parametrize("index", ["news", "news-2"])
def test_commands(secured: Server, tmp_path: Path, index: str) -> None:
    """The same for an index of a pattern, whose side indices have names of their own."""
    cli = acting(secured, tmp_path, "desk", index)
    bad = {"id": "bad", "html": "<html></html>"}
    did(cli, "index", cli.file("news.ndjson", ndjson(*ARTICLES, bad)))
    assert "1 failed" in did(cli, "retry")
    assert "bad" in did(cli, "quarantine")
    assert "Headline first" in did(cli, "search", "ferry")
    changed = {**ARTICLES[-1], "text": f"{ARTICLES[-1]['text']} More soon."}
    did(cli, "index", cli.file("again.ndjson", ndjson(changed)))
    assert "version 1 -> version 2" in did(cli, "revisions", changed["id"])
    did(cli, "stats")
    did(cli, "groups", "split", "copy", "another")
    did(cli, "groups", "forget", "copy", "another")
    did(cli, "sweep", "--since", "1d")
    did(cli, "doctor")
    did(cli, "delete", "copy")
    did(cli, "backfill", cli.store, "--restart")
    assert json.loads(did(cli, "stats", "--json"))["documents"] == 5


def test_backfill_of_an_index_that_others_made(secured: Server, tmp_path: Path) -> None:
    room = Newsroom(secured, "news-old")
    room.create(MAPPING)
    documents = articles(30, copies=0.5)
    room.fill(documents)
    cli = acting(secured, tmp_path, "desk", "news-old")
    did(cli, "backfill", cli.store, "--field", "text=article.body")
    assert room.groups() == expected_groups(documents)
    did(acting(secured, tmp_path, "desk", "news-*"), "doctor")


def test_gateway(secured: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a caller may is enough for the gateway to enrich, to settle and to fold."""
    index = "news-gate"
    packed = base64.b64encode(f"desk:{PASSWORD}".encode()).decode()
    desk = {"authorization": f"Basic {packed}"}
    monkeypatch.setenv("ES_CA_CERTS", str(secured.ca))
    with commanded("--upstream", f"opensearch+{secured.url}", "--index", index) as gateway:
        lines = []
        for article in ARTICLES:
            own = {k: v for k, v in article.items() if k != "id"}
            lines += [{"index": {"_id": article["id"]}}, own]
        written = gateway.bulk(f"/{index}/_bulk?refresh=true", *lines, headers=desk)
        assert not written.json()["errors"], written.body
        gateway.settled()
        found = gateway.http("GET", f"/{index}/_doc/copy", headers=desk).json()
        assert found["_source"]["dedup"]["group"] == "first"
        folded = {**desk, "x-esdedup-fold": "group"}
        seen = gateway.http("POST", f"/{index}/_search", {}, folded).json()
        assert {hit["_id"] for hit in seen["hits"]["hits"]} == {"first", "update", "bridge"}


def test_what_is_missing_is_told(secured: Server, tmp_path: Path) -> None:
    """A 403 names the privilege; a 401 is about the credentials."""
    stranger = acting(secured, tmp_path, "stranger")
    refused = did(stranger, "search", "ferry", exit_code=4)
    assert "the privilege indices:admin/mappings/get on news is missing (403)" in refused
    assert "mappings/roles" in refused
    assert "credentials" not in refused
    plain = stranger(  # asked which product it is
        "search", "ferry", "--store", f"{secured.url}/news"
    )
    assert "the privilege cluster:monitor/main is missing (403)" in plain.output
    stranger.environment["ES_PASSWORD"] = "wr0ng"
    refused = did(stranger, "search", "ferry", exit_code=4)
    assert "refused the credentials (401)" in refused
    assert "wr0ng" not in refused
