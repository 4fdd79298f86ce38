"""An index full of somebody's news, given groups in place."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from esdedup.cli.backfill import parse_store_url
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.clustering.epoch import Epoch
from esdedup.errors import InputError, StoreError
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.model import Document
from esdedup.search.searcher import Searcher
from esdedup.settings import Settings
from esdedup.stores import open_store
from esdedup.stores.cluster.foreign_index import Part, TimeField, unsigned_query
from tests.maintenance.foreign_index import (
    FIELDS,
    MAPPING,
    START,
    Newsroom,
    articles,
    as_theirs,
    expected_groups,
    ids,
    run,
)
from tests.support.waiting import PATIENCE, wait_for_next_time, wait_until


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
        Backfill(deduplicator, BackfillPlan())


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
    assert parse_store_url(given, store) == expected


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
        assert (
            newsroom.backfill(BackfillPlan()) == {}
        )  # no batch at all, and the names need no telling
        assert newsroom.sources() == before

    def test_stored_articles_read_and_search_under_their_names(self, newsroom: Newsroom) -> None:
        documents = articles(20)
        newsroom.fill(documents)
        newsroom.backfill()
        store = open_store(newsroom.url, mode="read")
        record = store.documents.get([documents[3].id])[documents[3].id]
        assert record.document.text == documents[3].text
        assert record.document.title == documents[3].title
        assert record.document.published == documents[3].published
        found = Searcher(store).search(" ".join(documents[3].text.split()[:4]))
        assert documents[3].id in {
            m.document.id for h in found.hits for m in store.documents.members(str(h.group))
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
            assert deduplicator.store.maintenance.find_problems() == []

    def test_slices_in_parallel_come_to_the_same_groups(self, newsroom: Newsroom) -> None:
        documents = articles(160, copies=0.5, seed=3)
        undated = [replace(d, published=None) for d in documents[:30]]
        documents = [*undated, *documents[30:]]
        newsroom.fill(documents)
        plans = [BackfillPlan(fields=FIELDS, part=Part(n, 3)) for n in (1, 2, 3)]
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(newsroom.backfill, plans))
        assert sum(r["documents"] for r in results) == len(documents)
        in_slices = newsroom.groups()
        with newsroom.open() as deduplicator:
            assert deduplicator.store.maintenance.find_problems() == []
        dated = [d for d in documents if d.published]
        assert set(in_slices) == set(ids(documents))
        # All at once, from the beginning: the same.
        newsroom.backfill(BackfillPlan(restart=True))
        assert newsroom.groups() == in_slices
        assert len(set(in_slices.values())) < len(dated)

    def test_stopped_runs_go_on(self, newsroom: Newsroom) -> None:
        documents = articles(100)
        newsroom.fill(documents)
        settings = Settings(batch=20)
        with newsroom.open(settings) as deduplicator:
            steps = Backfill(deduplicator, BackfillPlan(fields=FIELDS)).run()
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

    def test_a_batch_cut_short_is_settled_by_the_next_run(
        self, newsroom: Newsroom, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The worker dies between writing a batch and settling it."""
        documents = articles(60, copies=0.6, seed=5)
        newsroom.fill(documents)
        with newsroom.open(Settings(batch=60)) as deduplicator:
            job = Backfill(deduplicator, BackfillPlan(fields=FIELDS))

            def dies(*_: object) -> None:
                raise KeyboardInterrupt

            with monkeypatch.context() as killed:
                # Decisions that know of no other document, so that all is left to reconciliation.
                killed.setattr(Epoch, "place", lambda epoch, records, **how: list(records))
                killed.setattr(Epoch, "reconcile", dies)
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
            steps = Backfill(deduplicator, BackfillPlan(fields=FIELDS)).run()
            next(steps)
            rewritten = replace(early[0], title="rewritten")
            newsroom.fill([rewritten, *late])
            assert [step.passes for step in steps][-1] >= 2
        assert newsroom.groups() == expected_groups([rewritten, *early[1:], *late])

    def test_since_and_until(self, newsroom: Newsroom) -> None:
        documents = articles(60)
        newsroom.fill(documents)
        since, until = START + timedelta(hours=2), START + timedelta(hours=4)
        newsroom.backfill(BackfillPlan(fields=FIELDS, since=since, until=until))
        inside = [d for d in documents if d.published and since <= d.published < until]
        groups = {id_: group for id_, group in newsroom.groups().items() if group}
        assert groups == expected_groups(inside)

    def test_since_needs_a_date(self, newsroom: Newsroom) -> None:
        with (
            newsroom.open() as deduplicator,
            pytest.raises(InputError, match="field of type date"),
        ):
            Backfill(deduplicator, BackfillPlan(fields={"published": "desk"}, since=START))

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
        wait_for_next_time()
        result = newsroom.backfill(BackfillPlan(restart=True))
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
        plan = BackfillPlan(fields=FIELDS, restart=True)
        with newsroom.open(Settings(batch=10)) as deduplicator:
            steps = Backfill(deduplicator, plan).run()
            assert next(steps).done == 10
            assert next(steps).done == 20
            steps.close()  # type: ignore[attr-defined]  # it is a generator
        result = newsroom.backfill(plan)
        assert result["resumed"] is True
        assert 20 <= result["documents"] <= 22  # the same minute once more

    def test_throttle(self, newsroom: Newsroom) -> None:
        newsroom.fill(articles(30))
        waited: list[float] = []
        with newsroom.open() as deduplicator:
            job = Backfill(
                deduplicator, BackfillPlan(fields=FIELDS, throttle=10), sleep=waited.append
            )
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
def test_ctrl_c_tells_how_to_go_on(newsroom: Newsroom) -> None:
    documents = articles(60)
    newsroom.fill(documents)
    command = [sys.executable, "-m", "esdedup", "backfill", newsroom.url]
    options = ["--field", "text=article.body", "--throttle", "1"]
    running = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)

    def has_signed() -> bool:
        assert running.poll() is None, running.communicate()[1]
        return any(newsroom.groups().values())

    wait_until(has_signed)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "run the same command again to go on" in said
    assert not all(newsroom.groups().values())
    newsroom.backfill()
    assert newsroom.groups() == expected_groups(documents)
