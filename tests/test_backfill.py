"""An index full of somebody's news, given groups in place: `backfill`, `sweep`, `doctor --fix`.

The judge is the embedded store: the same articles indexed there, in any order, have the groups
that the cluster must come to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from esdedup.backfill import Backfill, Plan, sweep
from esdedup.cli import app
from esdedup.cli.cluster import _named
from esdedup.errors import InputError, StoreError
from esdedup.model import Document
from esdedup.pipeline import Deduplicator
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.stores.existing import Part, TimeField, unsigned_query
from tests.servers import Server

JSON = dict[str, Any]
START = datetime(2024, 3, 1, tzinfo=UTC)
# Somebody's own mapping: other names, strict, with a note of their own.
MAPPING: JSON = {
    "dynamic": "strict",
    "_meta": {"owner": "newsroom"},
    "properties": {
        "headline": {"type": "text"},
        "article": {"properties": {"body": {"type": "text"}}},
        "published_at": {"type": "date"},
        "desk": {"type": "keyword"},
    },
}
FIELDS = {"text": "article.body"}


def articles(count: int = 120, *, copies: float = 0.3, seed: int = 1) -> list[Document]:
    """Stories of random words; a share of them copies with a few words changed, days later."""
    dice = random.Random(seed)
    vocabulary = [f"word{n}" for n in range(3_000)]
    made: list[Document] = []
    for number in range(count):
        words = dice.choices(vocabulary, k=90)
        if made and dice.random() < copies:
            words = dice.choice(made).text.split()
            for place in dice.sample(range(len(words)), 3):
                words[place] = dice.choice(vocabulary)
        published = START + timedelta(minutes=dice.randrange(count * 7))
        made.append(Document(f"d{number:04}", f"title {number}", " ".join(words), None,
                             published=published))  # fmt: skip
    return made


def as_theirs(document: Document) -> JSON:
    source: JSON = {"headline": document.title, "desk": "world"}
    if document.text:
        source["article"] = {"body": document.text}
    if document.published:
        source["published_at"] = document.published.isoformat()
    return source


def expected_groups(documents: Sequence[Document]) -> dict[str, str]:
    with Deduplicator.open() as judge:
        list(judge.add_many(documents))
        return {id_: r.decision.group for id_, r in judge.store.get_many(ids(documents)).items()}


def ids(documents: Sequence[Document]) -> list[str]:
    return [d.id for d in documents]


@dataclass
class Newsroom:
    """An index on a real server that knows nothing of us."""

    server: Server
    index: str
    names: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.server.url}/{self.index}"

    def create(self, mapping: Mapping[str, Any] = MAPPING, index: str | None = None) -> None:
        name = index or self.index
        self.names.append(name)
        settings = {"number_of_shards": 2, "number_of_replicas": 0}
        body = {"settings": settings, "mappings": mapping}
        assert self.server.http("PUT", f"/{name}", body).status == 200

    def fill(self, documents: Sequence[Document], index: str | None = None) -> None:
        lines = []
        for document in documents:
            lines += [{"index": {"_id": document.id}}, as_theirs(document)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        path = f"/{index or self.index}/_bulk?refresh=true"
        answer = self.server.http("POST", path, text)
        assert not answer.json()["errors"], answer.text

    def sources(self) -> dict[str, JSON]:
        self.server.http("POST", f"/{self.index}/_refresh")
        answer = self.server.http("POST", f"/{self.index}/_search", {"size": 5_000}).json()
        return {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}

    def groups(self) -> dict[str, str]:
        return {id_: s.get("dedup", {}).get("group") for id_, s in self.sources().items()}

    def groups_of_ours(self) -> dict[str, str]:
        """Where `dedup` may also be something of the user's."""
        found = {id_: source.get("dedup") for id_, source in self.sources().items()}
        return {id_: d["group"] for id_, d in found.items() if isinstance(d, dict)}

    def open(self, settings: Settings | None = None) -> Deduplicator:
        return Deduplicator.open(self.url, settings)

    def backfill(self, plan: Plan | None = None) -> JSON:
        with self.open() as deduplicator:
            result: JSON = {}
            for progress in Backfill(deduplicator, plan or Plan(fields=FIELDS)).run():
                result = progress.to_json()
        return result

    def damage(self, id_: str, dedup: JSON) -> None:
        path = f"/{self.index}/_update/{id_}?refresh=true"
        assert self.server.http("POST", path, {"doc": {"dedup": dedup}}).status == 200

    def drop(self) -> None:
        for name in (
            *self.names,
            f"esdedup-state-{self.index}",
            f"esdedup-quarantine-{self.index}",
        ):
            assert self.server.http("DELETE", f"/{name}").status in (200, 404)


@pytest.fixture(params=["elasticsearch", "opensearch"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


@pytest.fixture
def newsroom(server: Server) -> Iterator[Newsroom]:
    made = Newsroom(server, f"bf-{os.getpid()}-{random.randrange(10**9)}")
    made.create()
    yield made
    made.drop()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), prog_name="esdedup")


# --- without a server ------------------------------------------------------------------------


def test_parts_hold_every_id_once() -> None:
    parts = [Part(n, 8) for n in range(1, 9)]
    held = Counter(next(p for p in parts if p.holds(f"id{n}")).number for n in range(8_000))
    assert all(sum(p.holds(f"id{n}") for p in parts) == 1 for n in range(500))
    assert min(held.values()) > 800  # evenly


def test_queries_are_plain_dicts() -> None:
    time_field = TimeField("published_at", "date")
    assert time_field.sort() == {
        "published_at": {"order": "asc", "missing": "_last", "unmapped_type": "date"}
    }
    since = datetime(2024, 1, 1, tzinfo=UTC)
    assert time_field.range(since, None) == {
        "range": {"published_at": {"gte": "2024-01-01T00:00:00Z"}}
    }
    assert unsigned_query("f0", {"match_all": {}}) == {
        "bool": {
            "filter": [{"match_all": {}}],
            "must_not": [
                {
                    "bool": {
                        "filter": [
                            {"term": {"dedup.format": "f0"}},
                            {"exists": {"field": "dedup.group"}},
                        ]
                    }
                }
            ],
        }
    }


def test_an_embedded_store_needs_no_backfill(deduplicator: Deduplicator) -> None:
    with pytest.raises(StoreError, match="every article in an SQLite store is signed"):
        Backfill(deduplicator, Plan())


def test_wrong_options_are_told(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    assert run("backfill", store, "--slice", "9/8").exit_code == 2
    assert run("backfill", store, "--since", "yesterday-ish").exit_code == 2
    missing = run("backfill", store)
    assert missing.exit_code == 4
    assert "there is no store" in missing.output


@pytest.mark.parametrize(
    ("given", "store", "expected"),
    [
        (None, "https://host:9200/news", "https://host:9200/news"),
        ("press", "https://user:pw@host:9200/news", "https://user:pw@host:9200/press"),
        ("press-*", "opensearch+http://a:1,b:2", "opensearch+http://a:1,b:2/press-*"),
        ("http://other/x", "https://host/news", "http://other/x"),
        ("news.db", "sqlite:///esdedup.db", "news.db"),
    ],
)
def test_an_index_can_be_named_alone(given: str | None, store: str, expected: str) -> None:
    assert _named(given, store) == expected


def test_sweep_mends_an_embedded_store(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/news.db"
    with Deduplicator.open(store) as deduplicator:
        list(deduplicator.add_many(articles(20)))
    done = run("sweep", "--store", store, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["documents"] == 0


# --- on real servers -------------------------------------------------------------------------


@pytest.mark.servers
class TestBackfill:
    def test_groups_are_those_of_the_embedded_store(self, newsroom: Newsroom) -> None:
        documents = articles()
        newsroom.fill(documents)
        before = newsroom.sources()
        result = newsroom.backfill()
        assert newsroom.groups() == expected_groups(documents)
        assert result["documents"] == len(documents)
        assert result["failures"] == {}
        after = newsroom.sources()
        assert {
            id_: {k: v for k, v in s.items() if k != "dedup"} for id_, s in after.items()
        } == before
        assert len(set(newsroom.groups().values())) < len(documents)

    def test_the_mapping_is_the_users_and_ours(self, newsroom: Newsroom) -> None:
        newsroom.fill(articles(5))
        newsroom.backfill()
        answer = newsroom.server.http("GET", f"/{newsroom.index}/_mapping").json()
        mapping = answer[newsroom.index]["mappings"]
        assert mapping["dynamic"] == "strict"
        assert mapping["_meta"]["owner"] == "newsroom"
        assert mapping["_meta"]["esdedup"]["told"] == FIELDS
        kept = {k: v for k, v in mapping["properties"].items() if k != "dedup"}
        assert kept == MAPPING["properties"]

    def test_again_is_nothing_to_do(self, newsroom: Newsroom) -> None:
        newsroom.fill(articles(30))
        newsroom.backfill()
        before = newsroom.sources()
        assert newsroom.backfill(Plan()) == {}  # no batch at all, and the names need no telling
        assert newsroom.sources() == before

    def test_stored_articles_read_and_search_under_their_names(self, newsroom: Newsroom) -> None:
        documents = articles(20)
        newsroom.fill(documents)
        newsroom.backfill()
        store = open_store(newsroom.url, mode="read")
        record = store.get_many([documents[3].id])[documents[3].id]
        assert record.document.text == documents[3].text
        assert record.document.title == documents[3].title
        assert record.document.published == documents[3].published
        found = store.search(" ".join(documents[3].text.split()[:4]))
        assert documents[3].id in {
            m.document.id for h in found.hits for m in store.members(h.group)
        }
        store.close()

    def test_articles_without_text_keep_a_group_of_their_own(self, newsroom: Newsroom) -> None:
        documents = articles(12)
        empty = [Document(f"empty{n}", "only a title", published=START) for n in range(3)]
        newsroom.fill([*documents, *empty])
        result = newsroom.backfill()
        assert result["roles"]["unprocessed"] == 3
        groups = newsroom.groups()
        assert all(groups[d.id] == d.id for d in empty)
        assert newsroom.sources()["empty0"]["dedup"]["role"] == "unprocessed"
        assert "no text" in newsroom.sources()["empty0"]["dedup"]["reason"]
        with newsroom.open() as deduplicator:
            assert deduplicator.store.check() == []

    def test_slices_in_parallel_come_to_the_same_groups(self, newsroom: Newsroom) -> None:
        documents = articles(160, copies=0.5, seed=3)
        undated = [replace(d, published=None) for d in documents[:30]]
        documents = [*undated, *documents[30:]]
        newsroom.fill(documents)
        plans = [Plan(fields=FIELDS, part=Part(n, 3)) for n in (1, 2, 3)]
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(newsroom.backfill, plans))
        assert sum(r["documents"] for r in results) == len(documents)
        in_slices = newsroom.groups()
        with newsroom.open() as deduplicator:
            assert deduplicator.store.check() == []
        dated = [d for d in documents if d.published]
        assert set(in_slices) == set(ids(documents))
        # All at once, from the beginning: the same.
        newsroom.backfill(Plan(restart=True))
        assert newsroom.groups() == in_slices
        assert len(set(in_slices.values())) < len(dated)

    def test_stopped_runs_go_on(self, newsroom: Newsroom) -> None:
        documents = articles(100)
        newsroom.fill(documents)
        settings = Settings(batch=20)
        with newsroom.open(settings) as deduplicator:
            steps = Backfill(deduplicator, Plan(fields=FIELDS)).run()
            assert next(steps).done == 20
            steps.close()  # type: ignore[attr-defined]  # as Ctrl-C does, between two batches
        done = [id_ for id_, group in newsroom.groups().items() if group]
        assert len(done) == 20
        assert max(newsroom.sources()[i]["published_at"] for i in done) <= min(
            s["published_at"] for i, s in newsroom.sources().items() if i not in done
        )  # in the order of time
        result = newsroom.backfill()
        assert result["resumed"] is True
        assert result["documents"] == 80
        assert newsroom.groups() == expected_groups(documents)

    def test_a_batch_cut_short_is_settled_by_the_next_run(self, newsroom: Newsroom) -> None:
        """The worker dies between writing a batch and settling it."""
        documents = articles(60, copies=0.6, seed=5)
        newsroom.fill(documents)
        with newsroom.open(Settings(batch=60)) as deduplicator:
            job = Backfill(deduplicator, Plan(fields=FIELDS))

            def dies(*_: object) -> None:
                raise KeyboardInterrupt

            # A first guess that knows nothing of others, so that everything is left to settling.
            deduplicator._decide = list  # type: ignore[method-assign, assignment]
            deduplicator._settle = dies  # type: ignore[method-assign, assignment]
            with pytest.raises(KeyboardInterrupt):
                next(job.run())
        assert set(newsroom.groups()) == set(newsroom.groups().values())
        assert newsroom.backfill() == {}  # all are signed: only settling was left
        assert newsroom.groups() == expected_groups(documents)

    def test_articles_written_meanwhile_are_taken_too(self, newsroom: Newsroom) -> None:
        documents = articles(80)
        early, late = documents[:50], documents[50:]
        newsroom.fill(early)
        with newsroom.open(Settings(batch=25)) as deduplicator:
            steps = Backfill(deduplicator, Plan(fields=FIELDS)).run()
            next(steps)
            rewritten = replace(early[0], title="rewritten")
            newsroom.fill([rewritten, *late])
            assert [step.passes for step in steps][-1] >= 2
        assert newsroom.groups() == expected_groups([rewritten, *early[1:], *late])

    def test_since_and_until(self, newsroom: Newsroom) -> None:
        documents = articles(60)
        newsroom.fill(documents)
        since, until = START + timedelta(hours=2), START + timedelta(hours=4)
        newsroom.backfill(Plan(fields=FIELDS, since=since, until=until))
        inside = [d for d in documents if d.published and since <= d.published < until]
        groups = {id_: group for id_, group in newsroom.groups().items() if group}
        assert groups == expected_groups(inside)

    def test_since_needs_a_date(self, newsroom: Newsroom) -> None:
        with (
            newsroom.open() as deduplicator,
            pytest.raises(InputError, match="field of type date"),
        ):
            Backfill(deduplicator, Plan(fields={"published": "desk"}, since=START))

    def test_without_a_field_to_sort_by(self, newsroom: Newsroom) -> None:
        """The time in a text field cannot be sorted by; the groups are right nevertheless."""
        newsroom.drop()
        newsroom.create({"properties": {"published_at": {"type": "text"}}})
        documents = articles(50, copies=0.5)
        newsroom.fill(documents)
        newsroom.backfill()
        assert newsroom.groups() == expected_groups(documents)

    def test_refused_articles_are_named_and_do_not_stop_it(self, newsroom: Newsroom) -> None:
        """Fields mapped after an article was written: writing it again is refused."""
        newsroom.drop()
        newsroom.create({"dynamic": False, "properties": MAPPING["properties"]})
        documents = articles(20)
        newsroom.fill(documents)
        odd = {**as_theirs(documents[7]), "clicks": "many", "dedup": "yes"}
        newsroom.server.http("PUT", f"/{newsroom.index}/_doc/odd?refresh=true", odd)
        late = {"properties": {"clicks": {"type": "long"}}}
        assert newsroom.server.http("PUT", f"/{newsroom.index}/_mapping", late).status == 200
        result = newsroom.backfill()
        assert list(result["failures"]) == ["odd"]
        assert "clicks" in result["failures"]["odd"]
        assert {k: v for k, v in newsroom.groups_of_ours().items() if k != "odd"} == (
            expected_groups(documents)
        )

    def test_several_indices_behind_an_alias(self, newsroom: Newsroom) -> None:
        documents = articles(40, copies=0.6)
        other, alias = f"{newsroom.index}-old", f"{newsroom.index}-all"
        newsroom.create(index=other)
        newsroom.fill(documents[:20], other)
        newsroom.fill(documents[20:])
        actions = [{"add": {"index": n, "alias": alias}} for n in (newsroom.index, other)]
        assert newsroom.server.http("POST", "/_aliases", {"actions": actions}).status == 200
        whole = Newsroom(newsroom.server, alias)
        whole.backfill()
        assert whole.groups() == expected_groups(documents)
        whole.drop()

    def test_restart_signs_again(self, newsroom: Newsroom) -> None:
        documents = articles(40)
        newsroom.fill(documents)
        newsroom.backfill()
        first = newsroom.sources()
        time.sleep(0.01)
        result = newsroom.backfill(Plan(restart=True))
        assert result["documents"] == 40
        assert newsroom.groups() == expected_groups(documents)
        second = newsroom.sources()
        assert all(second[i]["dedup"]["at"] > first[i]["dedup"]["at"] for i in first)
        assert all(
            second[i]["dedup"]["first_seen"] == first[i]["dedup"]["first_seen"] for i in first
        )

    def test_a_restart_that_was_stopped_goes_on(self, newsroom: Newsroom) -> None:
        newsroom.fill(articles(40))
        newsroom.backfill()
        plan = Plan(fields=FIELDS, restart=True)
        with newsroom.open(Settings(batch=10)) as deduplicator:
            steps = Backfill(deduplicator, plan).run()
            assert next(steps).done == 10
            assert next(steps).done == 20
            steps.close()  # type: ignore[attr-defined]
        result = newsroom.backfill(plan)
        assert result["resumed"] is True
        assert 20 <= result["documents"] <= 22  # the same minute once more

    def test_throttle(self, newsroom: Newsroom) -> None:
        newsroom.fill(articles(30))
        waited: list[float] = []
        with newsroom.open() as deduplicator:
            job = Backfill(deduplicator, Plan(fields=FIELDS, throttle=10), sleep=waited.append)
            sizes = [progress.done for progress in job.run()]
        assert sizes == [10, 20, 30]
        assert all(0 < seconds <= 1 for seconds in waited)

    def test_command(self, newsroom: Newsroom) -> None:
        documents = articles(30)
        newsroom.fill(documents)
        preview = run("backfill", newsroom.url, "--field", "text=article.body", "--dry-run")
        assert preview.exit_code == 0, preview.output
        assert "30 articles, 30 to do" in preview.stdout
        assert "text from article.body" in preview.stdout
        assert "in the order of: published_at" in preview.stdout
        assert not any("dedup" in s for s in newsroom.sources().values())
        done = run("backfill", newsroom.url, "--field", "text=article.body")
        assert done.exit_code == 0, done.output
        assert "30 articles signed: " in done.stdout
        again = run("backfill", "--store", newsroom.url, "--json")
        assert json.loads(again.stdout)["documents"] == 0
        assert newsroom.groups() == expected_groups(documents)


@pytest.mark.servers
class TestSweep:
    def test_signs_what_came_by_another_route(self, newsroom: Newsroom) -> None:
        documents = articles(60, copies=0.5)
        newsroom.fill(documents[:30])
        newsroom.backfill()
        newsroom.fill(documents[30:])
        with newsroom.open() as deduplicator:
            assert sweep(deduplicator, datetime.now(UTC)).done == 30
            assert sweep(deduplicator, datetime.now(UTC)).done == 0
        assert newsroom.groups() == expected_groups(documents)

    def test_an_original_that_was_rewritten(self, newsroom: Newsroom) -> None:
        """Another program writes an original anew: its copies find another leader."""
        documents = articles(40, copies=0.6, seed=8)
        newsroom.fill(documents)
        newsroom.backfill()
        (leader, _), = Counter(newsroom.groups().values()).most_common(1)  # fmt: skip
        changed = [
            replace(d, text=" ".join(f"other{n}" for n in range(80))) if d.id == leader else d
            for d in documents
        ]
        newsroom.fill([d for d in changed if d.id == leader])
        with newsroom.open() as deduplicator:
            sweep(deduplicator, datetime.now(UTC))
        assert newsroom.groups() == expected_groups(changed)

    def test_command_mends_links(self, newsroom: Newsroom) -> None:
        documents = articles(40, copies=0.6)
        newsroom.fill(documents)
        newsroom.backfill()
        right = newsroom.groups()
        copy = next(id_ for id_, group in right.items() if group != id_)
        newsroom.damage(copy, {"group": copy, "role": "original", "canonical": True, "story": copy})
        done = run("sweep", "--store", newsroom.url, "--since", "1h", "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["relinked"] >= 1
        assert newsroom.groups() == right

    def test_daemon_ends_on_sigterm(self, newsroom: Newsroom) -> None:
        documents = articles(20)
        newsroom.fill(documents[:10])
        newsroom.backfill()
        command = [sys.executable, "-m", "esdedup", "sweep", "--store", newsroom.url]
        daemon = subprocess.Popen(
            [*command, "--watch", "0.2", "--json"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert daemon.stdout is not None
            newsroom.fill(documents[10:])
            seen = 0
            while seen < 10:
                seen += json.loads(daemon.stdout.readline())["documents"]
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(20) == 0
        finally:
            daemon.kill()
            daemon.communicate()
        assert newsroom.groups() == expected_groups(documents)


@pytest.mark.servers
def test_daemon_waits_for_its_index(server: Server) -> None:
    newsroom = Newsroom(server, f"bf-{os.getpid()}-{random.randrange(10**9)}")
    command = [sys.executable, "-m", "esdedup", "sweep", "--store", newsroom.url, "--watch", "0.2"]
    daemon = subprocess.Popen(
        [*command, "--field", "text=article.body"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert daemon.stderr is not None
        assert daemon.stdout is not None
        assert "waiting: there is no store" in daemon.stderr.readline()
        newsroom.create()
        newsroom.fill(articles(5))
        assert "5 articles signed" in daemon.stdout.readline()
        daemon.send_signal(signal.SIGINT)
        assert daemon.wait(20) == 0
    finally:
        daemon.kill()
        daemon.communicate()
        newsroom.drop()


@pytest.mark.servers
def test_ctrl_c_tells_how_to_go_on(newsroom: Newsroom) -> None:
    documents = articles(60)
    newsroom.fill(documents)
    command = [sys.executable, "-m", "esdedup", "backfill", newsroom.url]
    options = ["--field", "text=article.body", "--throttle", "10"]
    running = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not any(newsroom.groups().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "run the same command again to go on" in said
    assert not all(newsroom.groups().values())
    newsroom.backfill()
    assert newsroom.groups() == expected_groups(documents)


# --- doctor --fix ----------------------------------------------------------------------------


@pytest.mark.servers
class TestRepair:
    def test_everything_broken_at_once(self, newsroom: Newsroom) -> None:
        documents = articles(60, copies=0.6, seed=4)
        newsroom.fill(documents)
        newsroom.backfill()
        right = newsroom.groups()
        copies = [id_ for id_, group in right.items() if group != id_]
        (leader, _), = Counter(right.values()).most_common(1)  # fmt: skip
        leaders = [id_ for id_, group in right.items() if group == id_ != leader]
        newsroom.damage(copies[0], {"group": copies[0], "canonical": True, "role": "original"})
        newsroom.damage(copies[1], {"group": copies[1]})
        newsroom.damage(copies[2], {"format": "0123456789ab"})
        newsroom.damage(copies[3], {"group": "nobody"})
        newsroom.damage(leaders[0], {"canonical": False})
        newsroom.damage(leaders[1], {"group": leader})
        newsroom.fill([d for d in documents if d.id in (copies[4], leaders[2])])  # lose ours
        path = f"/{newsroom.index}/_doc/{leader}?refresh=true"
        assert newsroom.server.http("DELETE", path).status == 200
        found = run("doctor", "--store", newsroom.url)
        assert found.exit_code == 1
        assert "doctor --fix" in found.stdout
        fixed = run("doctor", "--fix", "--store", newsroom.url)
        assert fixed.exit_code == 0, fixed.output
        assert "3 articles without a group, or of another format, signed" in fixed.stdout
        assert "links computed anew" in fixed.stdout
        assert newsroom.groups() == expected_groups([d for d in documents if d.id != leader])
        again = run("doctor", "--fix", "--store", newsroom.url, "--json")
        assert json.loads(again.stdout)["fixed"] == []


DEEDS = [
    "DELETE FROM documents WHERE id = 'a'",
    """UPDATE documents SET "group" = 'a' WHERE id = 'c'""",
    "UPDATE documents SET role = 'duplicate' WHERE id = 'c'",
    "UPDATE documents SET story = 'c' WHERE id = 'b'",
    "INSERT INTO keys VALUES ('s00:1', 1, 999)",
    "DELETE FROM keys WHERE seq = 1",
    "UPDATE keys SET leader = 0 WHERE seq = 1",
    "UPDATE documents SET format = '0123456789ab'",
]


@pytest.mark.parametrize("deed", DEEDS)
def test_an_embedded_store_is_mended(tmp_path: Path, deed: str) -> None:
    file = tmp_path / "news.db"
    text = articles(2, copies=0)
    documents = [
        Document("a", "", text[0].text, published=START),
        Document("b", "", text[0].text, published=START + timedelta(hours=1)),
        Document("c", "", text[1].text, published=START + timedelta(hours=2)),
    ]
    with Deduplicator.open(f"sqlite:///{file}") as deduplicator:
        list(deduplicator.add_many(documents))
    db = sqlite3.connect(file)
    with db:
        db.execute(deed)
    db.close()
    assert run("doctor", "--store", str(file)).exit_code == 1
    fixed = run("doctor", "--fix", "--store", str(file))
    assert fixed.exit_code == 0, fixed.output
    left = (
        [d for d in documents if d.id != "a"] if deed.startswith("DELETE FROM doc") else documents
    )
    with Deduplicator.open(f"sqlite:///{file}") as deduplicator:
        records = deduplicator.store.get_many("abc")
        assert {i: r.decision.group for i, r in records.items()} == expected_groups(left)
