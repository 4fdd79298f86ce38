"""Elasticsearch 8 with the client of its own version, which the range of versions allows for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installed import Installed
from tests.servers import Server
from tests.soak import of_one_writer
from tests.stores.test_faults import stream

ROOT = Path(__file__).parents[2]


@pytest.mark.servers
def test_everything_once_by_commands(elasticsearch_8_server: Server, tmp_path: Path) -> None:
    """Index, index again, sweep, doctor, takedown, search: the groups of the embedded store."""
    installed = Installed(tmp_path / "env", "elasticsearch<9", "elastic-transport<9", str(ROOT))
    version = "import elasticsearch; print(elasticsearch.__version__[0])"
    assert installed.run("python", "-c", version).strip() == "8"
    server, documents = elasticsearch_8_server, stream(60)
    early, late = documents[:45], documents[45:]
    file = tmp_path / "news.ndjson"
    file.write_text("".join(json.dumps(d.to_json()) + "\n" for d in early), "utf-8")

    def esdedup(*words: str) -> str:
        return installed.run("esdedup", *words, "--store", f"{server.url}/news")

    def groups() -> dict[str, str]:
        assert server.http("POST", "/news/_refresh").status == 200
        hits = server.http("GET", "/news/_search?size=100").json()["hits"]["hits"]
        return {hit["_id"]: hit["_source"]["dedup"]["group"] for hit in hits}

    def expected(left: int = 0) -> dict[str, str]:
        links = of_one_writer(documents[left:])
        return {id_: link.group for id_, link in links.items()}

    for _ in range(2):
        esdedup("index", str(file), "--workers", "2", "--quiet")
        assert len(groups()) == len(early)
    for document in late:
        source = {k: v for k, v in document.to_json().items() if k != "id"}
        assert server.http("PUT", f"/news/_doc/{document.id}", source).status == 201
    assert server.http("POST", "/news/_refresh").status == 200
    esdedup("sweep")
    assert groups() == expected()
    esdedup("delete", documents[0].id)
    assert groups() == expected(left=1)
    esdedup("doctor")
    assert documents[0].id not in esdedup("search", documents[0].title or "people", "--json")
    assert server.http("DELETE", "/news").status == 200
