"""Every supported version of both servers, once through all that esdedup does with one.

The servers beside the two that all tests share are started for this file, one at a time. Last come
those that are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.search.searcher import Searcher
from esdedup.stores.cluster.store import ClusterStore
from esdedup.stores.cluster.versions import NAMES, OLDEST
from tests.gateway.running import running
from tests.servers import DEFAULT_VERSIONS, Proxy, Server, ServerError, distribution, start
from tests.servers.distribution import JAVA, SUPPORTED, TOO_OLD, Product
from tests.soak import of_one_writer
from tests.stores.test_faults import stream
from tests.support.commands import Cli, ndjson, store_commands
from tests.support.installed import Installed

ROOT = Path(__file__).parents[2]


def served(request: pytest.FixtureRequest) -> Iterator[Server]:
    product, version = request.param
    if version == DEFAULT_VERSIONS[product]:
        yield request.getfixturevalue(f"{product}_server")
        return
    with start(product, version=version) as server:
        yield server


def named(one: object) -> str:
    return "-".join(one) if isinstance(one, tuple) else str(one)


server = pytest.fixture(scope="module", params=SUPPORTED, ids=named)(served)
old_server = pytest.fixture(scope="module", params=TOO_OLD, ids=named)(served)


@pytest.fixture
def clean(server: Server) -> Iterator[None]:
    """No index `own-…` and no template is left."""
    yield
    names = server.http("GET", "/own-*,esdedup-*?expand_wildcards=all").json()
    for name in names:
        assert server.http("DELETE", f"/{name}").status == 200
    for path in ("_index_template/esdedup", "_component_template/esdedup"):
        assert server.http("DELETE", f"/{path}").status in (200, 404)


def done(cli: Cli, *words: str) -> str:
    result = cli(*words)
    assert result.exit_code == 0, f"{words}: {result.output}{result.exception}"
    return result.stdout


def sources(server: Server, index: str) -> dict[str, dict[str, Any]]:
    assert server.http("POST", f"/{index}/_refresh").status == 200
    hits = server.http("GET", f"/{index}/_search?size=1000").json()["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def groups(server: Server, index: str) -> dict[str, str]:
    return {id_: source["dedup"]["group"] for id_, source in sources(server, index).items()}


@pytest.mark.servers
@pytest.mark.usefixtures("clean")
def test_commands(server: Server, cli: Cli) -> None:
    """The groups are those of the embedded store, by whatever command they come about."""
    documents = stream(60)
    expected = {id_: link.group for id_, link in of_one_writer(documents).items()}
    early, late = documents[:40], documents[40:]
    # The product is found by asking, except where the test server has no root document.
    cli.environment["ESDEDUP_STORE"] = f"{server.url}/own-news"

    done(cli, "templates", "install")
    done(cli, "templates", "diff")
    done(cli, "index", cli.file("a", ndjson(*(d.to_json() for d in early))), "--workers", "1")
    done(cli, "templates", "diff")
    checked = cli.json("check", cli.file("b", ndjson({**documents[0].to_json(), "id": "new"})))
    assert checked[0]["group"] == expected[documents[0].id]
    for document in late:
        source = {k: v for k, v in document.to_json().items() if k != "id"}
        assert server.http("PUT", f"/own-news/_doc/{document.id}", source).status == 201
    assert server.http("POST", "/own-news/_refresh").status == 200
    done(cli, "sweep")
    assert groups(server, "own-news") == expected
    done(cli, "doctor")

    words = (documents[0].title or documents[0].text).split()[0]
    all_ = ids(cli.json("search", words, "--all", "-n", "100"))
    assert len(all_) > 1
    for options in ([], ["--by", "story"], ["--exact"], ["--window", "30d"], ["--expand"]):
        folded = ids(cli.json("search", words, *options, "-n", "100"))
        assert {expected[id_] for id_ in folded} == {expected[id_] for id_ in all_}, options
        assert len(folded) == len({expected[id_] for id_ in all_}), options
    canonical = ids(cli.json("search", words, "--canonical", "-n", "100"))
    assert set(canonical) == {id_ for id_ in all_ if expected[id_] == id_}

    done(cli, "delete", documents[0].id)
    left = {id_: link.group for id_, link in of_one_writer(documents[1:]).items()}
    assert groups(server, "own-news") == left
    done(cli, "doctor")


def ids(found: list[Any]) -> list[str]:
    return [hit["id"] for page in found for hit in page["hits"]]


@pytest.mark.servers
@pytest.mark.usefixtures("clean")
def test_backfill(server: Server, cli: Cli) -> None:
    """An index of somebody else, with names of their own."""
    documents = stream(45)
    lines = []
    for document in documents:
        lines += [{"index": {"_id": document.id}}, {"body": document.text, "headline": "one"}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    assert not server.http("POST", "/own-archive/_bulk?refresh=true", body).json()["errors"]
    cli.environment["ESDEDUP_STORE"] = f"{server.product}+{server.url}/own-archive"
    done(cli, "backfill", "--field", "text=body", "--field", "title=headline", "--quiet")
    found = groups(server, "own-archive")
    assert len(found) == len(documents)
    assert len(set(found.values())) == 30  # every third is a copy
    done(cli, "doctor")


@pytest.mark.servers
@pytest.mark.usefixtures("clean")
def test_nothing_is_lost_or_doubled_by_ties(server: Server) -> None:
    """Three indices of one to four shards, all articles of one moment, groups of four; pages so
    small that ties lie across their ends."""
    expected, copies = set(), 4
    for shards, name in ((1, "own-a"), (4, "own-b"), (3, "own-c")):
        settings = {"number_of_shards": shards, "number_of_replicas": 0}
        with Deduplicator.open(f"{server.product}+{server.url}/{name}"):
            pass  # makes the index with our fields
        mapping = server.http("GET", f"/{name}/_mapping").json()[name]["mappings"]
        assert server.http("DELETE", f"/{name}").status == 200
        made = {"settings": settings, "mappings": mapping}
        assert server.http("PUT", f"/{name}", made).status == 200
        lines: list[dict[str, Any]] = []
        for n in range(200):
            id_ = f"{name}-{n}"
            group = f"{name}-{n - n % copies}"
            fields = {"group": group, "story": group, "moment": 1, "first_seen": 1}
            role = {"canonical": group == id_, "role": "original" if group == id_ else "duplicate"}
            lines += [{"index": {"_id": id_}}, {"title": "flood", "dedup": {**fields, **role}}]
            expected.add(id_)
        bulk = "".join(json.dumps(line) + "\n" for line in lines)
        assert not server.http("POST", f"/{name}/_bulk?refresh=true", bulk).json()["errors"]
    stories = {id_ for id_ in expected if int(id_.rpartition("-")[2]) % copies == 0}

    body: dict[str, Any] = {"query": {"match_all": {}}}  # all of one score
    with Searcher.open(f"{server.product}+{server.url}/own-*") as searcher:
        store = searcher.store
        assert isinstance(store, ClusterStore)
        for size in (2, 50, 1_000):
            for sort in ([], [{"dedup.moment": "asc"}]):
                search = {**body, "size": size, "sort": sort}
                read = [hit["_id"] for hit in store.searches.scan(search)]
                assert len(read) == len(expected), (size, sort)
                assert set(read) == expected
        for mode, size, wanted in (("all", 130, expected), ("collapse", 60, stories)):
            by_cursor, cursor = [], None
            while True:
                page = searcher.search(body, mode=mode, deep=True, size=size, cursor=cursor)
                by_cursor += [story_of(hit.id, mode, copies) for hit in page.hits]
                if (cursor := page.cursor) is None:
                    break
                assert len(page.hits) == size
            assert sorted(by_cursor) == sorted(wanted)
            paged = searcher.pages(body, mode=mode, size=size)
            shown = [story_of(hit.id, mode, copies) for page in paged for hit in page.hits]
            assert sorted(shown) == sorted(wanted)
        month = timedelta(days=30)
        (tied,) = searcher.pages(body, mode="collapse", window=month, size=1_000)
        assert len(tied.hits) == len(stories)


def story_of(id_: str, mode: str, copies: int) -> str:
    """Which of the copies stands for a story is not said: they tie."""
    name, _, number = id_.rpartition("-")
    return id_ if mode == "all" else f"{name}-{int(number) // copies * copies}"


@pytest.mark.servers
@pytest.mark.usefixtures("clean")
def test_gateway(server: Server) -> None:
    documents = stream(30)
    expected = {id_: link.group for id_, link in of_one_writer(documents).items()}
    assert server.http("PUT", "/own-gate").status == 200
    with running(server.url, indices=("own-*",), folds={"own-*": "group"}) as gateway:
        for part in (documents[:20], documents[20:]):
            lines: list[Any] = []
            for document in part:
                source = {k: v for k, v in document.to_json().items() if k != "id"}
                lines += [{"index": {"_index": "own-gate", "_id": document.id}}, source]
            answer = gateway.bulk("/_bulk", *lines)
            assert answer.status == 200
            assert not answer.json()["errors"]
        gateway.settled()
        assert groups(server, "own-gate") == expected
        everything = {"query": {"match_all": {}}, "size": 100}
        folded = gateway.http("POST", "/own-gate/_search", everything)
        assert folded.headers["x-esdedup-fold"] == "group"
        hits = folded.json()["hits"]
        assert {expected[hit["_id"]] for hit in hits["hits"]} == set(expected.values())
        assert len(hits["hits"]) == hits["total"]["value"] == len(set(expected.values()))


@pytest.mark.servers
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize("server", [SUPPORTED[0]], ids=named, indirect=True)
def test_elasticsearch_8_with_its_own_client(server: Server, tmp_path: Path) -> None:
    """The range of dependencies allows the client of version 8: index, index again, sweep, delete,
    doctor and search with it."""
    installed = Installed(tmp_path / "env", "elasticsearch<9", "elastic-transport<9", str(ROOT))
    version = "import elasticsearch; print(elasticsearch.__version__[0])"
    assert installed.run("python", "-c", version).strip() == "8"
    documents = stream(60)
    file = tmp_path / "news.ndjson"
    file.write_text(ndjson(*(d.to_json() for d in documents[:45])), "utf-8")

    def esdedup(*words: str) -> str:
        return installed.run("esdedup", *words, "--store", f"{server.url}/own-news")

    def expect_groups_of(articles: list[Document]) -> None:
        links = of_one_writer(articles)
        assert groups(server, "own-news") == {id_: link.group for id_, link in links.items()}

    for _ in range(2):
        esdedup("index", str(file), "--workers", "2", "--quiet")
        assert len(groups(server, "own-news")) == 45
    for document in documents[45:]:
        source = {k: v for k, v in document.to_json().items() if k != "id"}
        assert server.http("PUT", f"/own-news/_doc/{document.id}", source).status == 201
    assert server.http("POST", "/own-news/_refresh").status == 200
    esdedup("sweep")
    expect_groups_of(documents)
    esdedup("delete", documents[0].id)
    expect_groups_of(documents[1:])
    esdedup("doctor")
    assert documents[0].id not in esdedup("search", documents[0].title or "people", "--json")


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.servers
def test_an_older_server_is_refused(
    old_server: Server, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By every command that opens a store, by the gateway, and by one that runs already."""
    server = old_server
    file = cli.file("a", ndjson({"id": "a", "text": "one"}))
    (cli.folder / "gold").mkdir()
    cli.file("gold/docs.jsonl", ndjson({"id": "a", "text": "one"}, {"id": "b", "text": "two"}))
    cli.file("gold/clusters.csv", "id,cluster\na,1\nb,1\n")
    # What makes these open their store; all others do so with what `store_commands` gives them.
    given = {"search": ["flood"], "copies": [file], "eval": [str(cli.folder / "gold")]}
    every_way = [(c[0], *given[c[0]], c[-1]) if c[0] in given else c for c in store_commands()]
    other_ways = [
        ("events", "--watch", "--once", "--store"),
        ("copies", file, "--watch", "--once", "--store"),
        ("backfill", "--dry-run", "--store"),
        ("backfill", "--only", "lengths", "--store"),
        ("rethreshold", "--apply", "--store"),
        ("doctor", "--fix", "--store"),
        ("serve", "--read-only", "--store"),
        ("templates", "install", "--mapping-only", "--store"),
        ("fold", file, "--stream", "--known"),
    ]
    told = f"is {NAMES[server.product]} {server.version}; esdedup works with Elasticsearch 8.19"
    # A doctor says so among what else it finds, and `templates show` asks no cluster.
    codes = {("doctor",): 1, ("templates", "show"): 0}
    for scheme in ("", f"{server.product}+"):
        store, folder = f"{scheme}{server.url}", cli.folder / f"work-{scheme}"
        folder.mkdir()
        monkeypatch.chdir(folder)  # a watch writes its checkpoint there
        for words in (*every_way, *other_ways):
            result = cli(*words, f"{store}/own-old")
            code = codes.get(words[:-1], 4)
            assert (result.exit_code, told in result.output) == (code, code != 0), (
                words,
                result.output,
            )
    assert server.http("GET", "/own-old").status == 404

    result = cli("gateway", "--upstream", server.url, "--listen", "127.0.0.1:0")
    assert (result.exit_code, told in result.stderr) == (4, True), result.output
    with Proxy(server.url) as proxy:
        proxy.refuse()
        with running(proxy.url, indices=("own-*",), folds={"own-*": "group"}) as gateway:
            proxy.restore()
            written = gateway.http("PUT", "/own-old/_doc/1", {"text": "one"})
            read = gateway.http("GET", "/own-old/_search")
            assert gateway.http("GET", "/_cluster/health").status == 200
    for refused in (written, read):
        assert refused.status == 503
        assert told in refused.json()["error"]["reason"]
    assert server.http("GET", "/own-old").status == 404


# --- what the documentation says ------------------------------------------------------------------


def test_the_table_of_versions_is_the_one_that_is_tested() -> None:
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    rows = re.findall(r"^\| (Elasticsearch|OpenSearch) (\S+) \| ([\d–+]+) \| (.*) \|$", page, re.M)
    assert rows == [
        (NAMES[product], version, _java(product, version), _tested(product, version))
        for product, version in (*SUPPORTED, *TOO_OLD)
    ]
    for product, oldest in OLDEST.items():
        versions = [_numbers(v) for p, v in SUPPORTED if p == product]
        assert min(versions)[:2] == oldest
        assert all(_numbers(v)[:2] < oldest for p, v in TOO_OLD if p == product)


def test_a_java_that_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "_system_java_homes", lambda: iter(()))
    with pytest.raises(ServerError, match=r"9\.5\.4 needs a full Java .*openjdk-21-jre-headless"):
        distribution.find_java.__wrapped__("elasticsearch", "9.5.4")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _java(product: Product, version: str) -> str:
    runs = JAVA[product, _numbers(version)[0]]
    return f"{runs.start}+" if runs.stop == 100 else f"{runs.start}–{runs.stop - 1}"


def _tested(product: Product, version: str) -> str:
    if (product, version) in TOO_OLD:
        return "is refused"
    return (
        "all tests" if version == DEFAULT_VERSIONS[product] else "the main commands and the gateway"
    )
