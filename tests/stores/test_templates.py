"""Templates, roles and the comparison of a cluster with what it should have."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esdedup.cli import app
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.settings import Settings
from esdedup.stores.cluster import templates
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.requests.mapping import side_index
from tests.docs.mappings import FOLDER, files
from tests.servers import Server
from tests.servers.fixtures import INSTALLER, INSTALLER_PASSWORD, LEAST, LEAST_PASSWORD

THEIRS: dict[str, Any] = {
    "dynamic": "strict",
    "_meta": {"owner": "newsroom", "version": 7},
    "properties": {
        "headline": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
        "body": {"type": "text"},
        "rank": {"type": "float"},
    },
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


# --- without a server ------------------------------------------------------------------------


def test_committed_files_are_the_generated_ones() -> None:
    """After a change of the mapping: python -m tests.docs.mappings"""
    found = {
        str(path.relative_to(FOLDER)): path.read_text("utf-8")
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }
    assert found == files()


def test_templates_carry_version_format_and_settings() -> None:
    component = templates.component(Settings())
    index = templates.index(Settings(), store="news")
    assert component["version"] == index["version"] == mapping_requests.TEMPLATE_VERSION
    assert component["_meta"]["format"] == index["_meta"]["format"]
    recorded = component["template"]["mappings"]["_meta"]["esdedup"]
    assert recorded["settings"] == Settings().to_json()
    assert list(component["template"]["mappings"]["properties"]) == ["dedup"]
    assert index["composed_of"] == ["esdedup"]


def test_only_opensearch_is_told_not_to_wait_for_merges() -> None:
    for scheme, waits in (
        ("http", {}),
        ("opensearch+http", {"merge_on_flush": {"enabled": False}}),
    ):
        shown = run("templates", "show", "index", "--store", f"{scheme}://nowhere.invalid/press")
        index = json.loads(shown.stdout)["template"]["settings"]["index"]
        assert index == {"number_of_shards": 1, "number_of_replicas": 1, **waits}


@pytest.mark.parametrize(
    ("store", "expected"),
    [("news", ["news", "news-*"]), ("news-*", ["news-*"]), ("a,b-*", ["a", "b-*"])],
)
def test_patterns(store: str, expected: list[str]) -> None:
    assert templates.patterns(store) == expected


def test_no_pattern_of_the_store_matches_our_own_indices() -> None:
    for store in ("news", "news-*", "a,b-*"):
        assert side_index("state", store).startswith("esdedup-state-")
        assert "*" not in side_index("state", store)
        assert "," not in side_index("state", store)


def test_answers_of_both_engines_compare_equal() -> None:
    """GET leaves `type: object` out where there are properties, and says "false" for false."""
    wanted = {"dedup": {"type": "object", "dynamic": False, "properties": {"a": {"type": "long"}}}}
    have = {"dedup": {"dynamic": "false", "properties": {"a": {"type": "long"}}}}
    assert templates.changes(wanted, have) == []
    have["dedup"]["properties"]["a"]["type"] = "keyword"  # type: ignore[index]  # it is a dict
    assert templates.changes(wanted, have) == ["dedup.properties.a.type is keyword, not long"]
    assert templates.changes({"x": 1}, {"y": "1"}) == ["x is missing", "y is not ours"]
    assert templates.changes(wanted, None) == ["is not there"]
    assert templates.changes({"n": 1}, {"n": "1", "created_date_millis": 5}) == []


def test_show_needs_no_cluster() -> None:
    for part in ("component", "index", "mapping", "elasticsearch-role", "opensearch-roles"):
        shown = run("templates", "show", part, "--store", "https://nowhere.invalid:9200/press")
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout)
    assert "press-*" in run("templates", "show", "index", "--store", "http://x/press").stdout


def test_files_have_no_templates() -> None:
    for verb in ("install", "diff"):
        refused = run("templates", verb, "--store", "sqlite:///news.db")
        assert refused.exit_code == 4
        assert "no search cluster" in refused.output


# --- on real servers -------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Names on a server that nobody else uses."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        return f"{self.server.url}/{self.name}"

    def mapping(self) -> Any:
        return self.server.http("GET", f"/{self.name}/_mapping").json()[self.name]["mappings"]


@pytest.fixture
def place(server: Server) -> Iterator[Place]:
    name = f"bf-t{os.getpid()}-{random.randrange(10**9)}"
    yield Place(server, name)
    for path in (f"/{name}", f"/{name}-000001", f"/_index_template/{name}"):
        server.http("DELETE", path)
    server.http("DELETE", f"/_component_template/{name}")


@pytest.mark.servers
class TestOnServers:
    def test_install_diff_and_a_new_index(self, place: Place) -> None:
        options = ("--store", place.url, "--name", place.name)
        missing = run("templates", "diff", *options)
        assert missing.exit_code == 1
        assert missing.stdout.count("is not there") == 2
        for _ in range(2):  # again is harmless
            done = run("templates", "install", *options)
            assert done.exit_code == 0, done.output
            same = run("templates", "diff", *options)
            assert (same.exit_code, same.stdout) == (0, "no difference\n")
        place.server.http("PUT", f"/{place.name}-000001")
        generation = place.server.http("GET", f"/{place.name}-000001/_mapping").json()
        mapping = generation[f"{place.name}-000001"]["mappings"]
        assert templates.mapping_changes(mapping, Settings()) == []
        assert mapping["properties"]["published"]["type"] == "date"

    def test_no_index_of_ours_lets_a_refresh_wait_for_merges(self, place: Place) -> None:
        """As OpenSearch would, for ten seconds."""
        Deduplicator.open(place.url).close()
        run("templates", "install", "--store", place.url, "--name", place.name)
        place.server.http("PUT", f"/{place.name}-000001")
        waits = {"merge_on_flush": {"enabled": "false"}}
        expected = waits if place.server.product == "opensearch" else {}
        for name in (place.name, f"{place.name}-000001"):
            settings = place.server.http("GET", f"/{name}/_settings").json()[name]["settings"]
            assert {k: v for k, v in settings["index"].items() if k in waits} == expected

    def test_diff_names_what_is_otherwise(self, place: Place) -> None:
        options = ("--store", place.url, "--name", place.name)
        run("templates", "install", *options)
        changed = templates.component(Settings())
        changed["version"] = 99
        changed["template"]["mappings"]["properties"]["dedup"]["properties"]["extra"] = {
            "type": "keyword"
        }
        path = f"/_component_template/{place.name}"
        assert place.server.http("PUT", path, changed).status == 200
        found = run("templates", "diff", *options, "--json")
        assert found.exit_code == 1
        (one, other) = json.loads(found.stdout)["differences"]
        assert "dedup.properties.extra is not ours" in one
        assert f"version is 99, not {mapping_requests.TEMPLATE_VERSION}" in other

    def test_the_users_index_keeps_everything(self, place: Place) -> None:
        assert place.server.http("PUT", f"/{place.name}", {"mappings": THEIRS}).status == 200
        for _ in range(2):
            done = run("templates", "install", "--store", place.url, "--mapping-only")
            assert done.exit_code == 0, done.output
            mapping = place.mapping()
            ours = mapping["properties"].pop("dedup")
            assert mapping["properties"] == THEIRS["properties"]
            assert mapping["dynamic"] == "strict"
            assert {k: v for k, v in mapping["_meta"].items() if k != "esdedup"} == THEIRS["_meta"]
            assert set(ours["properties"]) == set(
                mapping_requests.properties()["dedup"]["properties"]
            )
        diff = run("templates", "diff", "--store", place.url, "--name", place.name, "--json")
        assert not any("index bf-" in line for line in json.loads(diff.stdout)["differences"])

    def test_install_tells_of_an_index_without_our_fields(self, place: Place) -> None:
        place.server.http("PUT", f"/{place.name}", {"mappings": THEIRS})
        done = run("templates", "install", "--store", place.url, "--name", place.name)
        assert done.exit_code == 0
        assert "--mapping-only" in done.output
        diff = run("templates", "diff", "--store", place.url, "--name", place.name)
        assert diff.exit_code == 1
        assert "properties.dedup is missing" in diff.stdout

    def test_mapping_only_needs_an_index(self, place: Place) -> None:
        refused = run("templates", "install", "--store", place.url, "--mapping-only")
        assert refused.exit_code == 4
        assert place.server.http("GET", f"/{place.name}").status == 404


@pytest.mark.servers
def test_the_least_privileged_role_is_enough(
    secure_elasticsearch_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything but the templates, as a user who has the role in mappings/ and no other."""
    server = secure_elasticsearch_server
    monkeypatch.setenv("ES_CA_CERTS", str(server.ca))
    url = f"{server.url}/news"
    body = {"mappings": {"properties": {"body": {"type": "text"}}}}
    assert server.http("PUT", "/news", body).status == 200
    for number in range(6):
        text = f"the same story of {number // 2} told in words that are long enough for it"
        server.http("PUT", f"/news/_doc/{number}?refresh=true", {"body": text})
    monkeypatch.setenv("ES_USERNAME", LEAST)
    monkeypatch.setenv("ES_PASSWORD", LEAST_PASSWORD)
    with Deduplicator.open(url) as deduplicator:
        *_, progress = Backfill(deduplicator, BackfillPlan()).run()
        assert progress.done == 6
        assert deduplicator.store.maintenance.find_problems() == []
        deduplicator.delete(["0"])
    for command in (["sweep"], ["stats"], ["doctor"], ["search", "story"], ["retry"]):
        done = run(*command, "--store", url)
        assert done.exit_code == 0, done.output
    refused = run("templates", "install", "--store", url)
    assert refused.exit_code == 4
    assert "mappings/roles" in refused.output
    assert server.http("GET", "/other/_search", auth=(LEAST, LEAST_PASSWORD)).status == 403
    monkeypatch.setenv("ES_USERNAME", INSTALLER)
    monkeypatch.setenv("ES_PASSWORD", INSTALLER_PASSWORD)
    done = run("templates", "install", "--store", url)
    assert done.exit_code == 0, done.output
    assert server.http("DELETE", "/news").status == 200
