"""One name over indices that map the field with the time in several ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from esdedup.errors import InputError
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.model import Document
from esdedup.stores.cluster.foreign_index import Part, TimeField, TimeOrder, _by_length
from tests.maintenance.foreign_index import (
    FIELDS,
    MAPPING,
    START,
    Newsroom,
    articles,
    as_theirs,
    expected_groups,
    run,
)
from tests.servers import Server

WHY = "published_at is mapped as text"


def mapping_with(published: str) -> dict[str, Any]:
    return {**MAPPING, "properties": {**MAPPING["properties"], "published_at": {"type": published}}}


@pytest.fixture
def rooms(newsroom: Newsroom) -> Iterator[Newsroom]:
    """An index each with a date, a keyword and a text, behind one pattern."""
    made = Newsroom(newsroom.server, f"{newsroom.index}-*")
    for type_ in ("date", "keyword", "text"):
        made.create(mapping_with(type_), index=f"{newsroom.index}-{type_}")
    yield made
    made.names += [f"esdedup-{kind}-{newsroom.index}" for kind in ("state", "quarantine")]
    made.index = newsroom.index
    made.drop()


def spread(rooms: Newsroom, documents: list[Document]) -> None:
    for number, type_ in enumerate(("date", "keyword", "text")):
        rooms.fill(documents[number::3], index=rooms.index.replace("*", type_))


def test_names_of_many_indices_fit_into_addresses() -> None:
    names = [f"news-{n:05}" for n in range(2_000)]
    parts = list(_by_length(names))
    assert [name for part in parts for name in part] == names
    assert max(len(",".join(part)) for part in parts) <= 3_000


@pytest.mark.servers
class TestMixedMappings:
    def test_each_index_is_read_in_its_own_order(self, rooms: Newsroom) -> None:
        with rooms.open() as deduplicator:
            index = Backfill(deduplicator, BackfillPlan(fields=FIELDS)).index
            orders = index.orders(["published_at"])
        by_type = {
            type_: (rooms.index.replace("*", type_),) for type_ in ("date", "keyword", "text")
        }
        assert orders == [
            TimeOrder(TimeField("published_at", "date"), by_type["date"]),
            TimeOrder(TimeField("published_at", "keyword"), by_type["keyword"]),
            TimeOrder(None, by_type["text"]),
        ]

    def test_whichever_index_comes_first(self, newsroom: Newsroom) -> None:
        """Servers list indices in an order of their own."""
        documents = articles(20, copies=0.5)
        for names in (("a", "b"), ("b", "a")):
            rooms = Newsroom(newsroom.server, f"{newsroom.index}-{names[0]}-*")
            for type_, name, part in zip(("date", "text"), names, (0, 10), strict=True):
                index = rooms.index.replace("*", name)
                rooms.create(mapping_with(type_), index=index)
                rooms.fill(documents[part : part + 10], index=index)
            assert rooms.backfill()["documents"] == 20
            assert rooms.groups() == expected_groups(documents)
            rooms.names.append(f"esdedup-state-{newsroom.index}-{names[0]}")
            rooms.index = newsroom.index
            rooms.drop()

    def test_backfill_sweep_and_doctor(self, rooms: Newsroom) -> None:
        documents = articles(60, copies=0.5)
        spread(rooms, documents[:45])
        text = rooms.index.replace("*", "text")
        options = ("--field", "text=article.body")
        preview = run("backfill", rooms.url, *options, "--dry-run", "--json")
        assert json.loads(preview.stdout)["arrival_order"] == {text: WHY}
        done = run("backfill", rooms.url, *options, "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert (told["documents"], told["arrival_order"]) == (45, {text: WHY})
        assert rooms.groups() == expected_groups(documents[:45])

        spread(rooms, documents[45:])
        self._put(rooms, text, Document("odd", "odd", "nothing like it " * 20), "01/02/2026")
        swept = run("sweep", "--store", rooms.url)
        assert swept.exit_code == 0, swept.output
        assert f"{text} was read in the order of arrival: {WHY}" in swept.stdout
        assert "1 article had a date that cannot be read" in swept.stdout
        assert "odd: 01/02/2026" in swept.stdout
        groups = rooms.groups()
        assert groups.pop("odd") == "odd"
        assert groups == expected_groups(documents)

        checked = json.loads(run("doctor", "--store", rooms.url, "--json").stdout)
        (order,) = [c for c in checked["checks"] if c["name"] == "order of time"]
        assert order["detail"] == f"in the order of arrival: {text}: {WHY}"

    def test_dates_of_many_kinds_put_articles_in_order(self, rooms: Newsroom) -> None:
        """Where the server cannot sort, the date in the article still decides."""
        text = rooms.index.replace("*", "text")
        story = "word " * 3 + " ".join(f"term{n}" for n in range(80))
        for id_, published in [
            ("b", "Sun, 02 Mar 2025 10:00:00 GMT"),
            ("a", "1-MAR-2025 11:06:57.66"),
            ("c", "3 March 2025 5 pm EST"),
        ]:
            self._put(rooms, text, Document(id_, "title", story), published)
        told = rooms.backfill()
        assert told["unread_dates"] == {"count": 0, "examples": {}}
        assert rooms.groups() == {"a": "a", "b": "a", "c": "a"}

    def test_parts_and_restarts(self, rooms: Newsroom) -> None:
        documents = articles(45, copies=0.5, seed=3)
        spread(rooms, documents)
        for number in (1, 2):
            rooms.backfill(BackfillPlan(fields=FIELDS, part=Part(number, 2)))
        assert rooms.groups() == expected_groups(documents)
        assert rooms.backfill(BackfillPlan(fields=FIELDS, restart=True))["documents"] == 45
        assert rooms.groups() == expected_groups(documents)

    def test_dates_as_limits_need_dates_everywhere(self, rooms: Newsroom) -> None:
        with rooms.open() as deduplicator, pytest.raises(InputError, match=WHY):
            Backfill(deduplicator, BackfillPlan(fields=FIELDS, since=START))

    def test_an_index_without_the_field_holds_nothing_between_dates(
        self, newsroom: Newsroom
    ) -> None:
        bare = f"{newsroom.index}-bare"
        newsroom.create({"properties": {"headline": {"type": "text"}}}, index=bare)
        documents = articles(10)
        newsroom.fill([replace(d, published=START) for d in documents])
        both = Newsroom(newsroom.server, f"{newsroom.index},{bare}")
        with both.open() as deduplicator:
            job = Backfill(deduplicator, BackfillPlan(fields=FIELDS, since=START))
            assert job.preview().unsigned == 10

    def _put(self, rooms: Newsroom, index: str, document: Document, published: str) -> None:
        source = {**as_theirs(document), "published_at": published}
        answer = _put(rooms.server, index, document.id, source)
        assert answer in (200, 201)


def _put(server: Server, index: str, id_: str, source: dict[str, Any]) -> int:
    return server.http("PUT", f"/{index}/_doc/{id_}?refresh=true", source).status
