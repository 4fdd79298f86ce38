"""The topic index of an embedded store, compared with the vectors of all its articles."""

from __future__ import annotations

import math
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import StoreUnavailable
from esdedup.features.topics import term_vectors, topic_version
from esdedup.model import Document, TermVector
from esdedup.settings import Settings
from esdedup.stores import Record
from esdedup.stores.sqlite import schema as sqlite_schema
from esdedup.stores.sqlite import topic_index
from esdedup.stores.sqlite.store import SQLiteStore
from esdedup.stores.topical import Near, TopicQuery
from esdedup.stories.similar import SimilarNews, similar_to_record
from tests.support.articles import ferry_articles, topical_text

DAY = datetime(2024, 3, 1, tzinfo=UTC)
# A bar that no cosine of a few terms meets exactly.
LEAST = 0.2137
NOUNS = [
    *("ferry", "harbour", "smoke", "captain", "tulip", "rose"),
    *("pavilion", "willow", "strike", "union", "wage", "ballot"),
]


def index_of(news: Deduplicator) -> topic_index.SQLiteTopicIndex:
    assert isinstance(news.store, SQLiteStore)
    return news.store.topics


def catch_up(news: Deduplicator, seconds: float = 60.0) -> bool:
    chosen = news.settings
    return index_of(news).catch_up(
        topic_version(chosen), partial(term_vectors, settings=chosen), seconds
    )


def records_of(news: Deduplicator) -> list[Record]:
    """In the order they were stored."""
    ids = [id_ for (id_,) in index_of(news).db.execute("SELECT id FROM documents ORDER BY seq")]
    found = news.store.documents.get(ids)
    return [found[id_] for id_ in ids]


def cosine(a: TermVector, b: TermVector) -> float:
    other = dict(zip(b.terms.tolist(), b.weights.tolist(), strict=True))
    pairs = zip(a.terms.tolist(), a.weights.tolist(), strict=True)
    return math.fsum(weight * other.get(term, 0.0) for term, weight in pairs)


def naive_found(news: Deduplicator, topic: TermVector, asked: TopicQuery) -> dict[str, float]:
    """All that may be an answer, with its cosine."""
    return {
        r.document.id: score
        for r in records_of(news)
        if r.decision.role != "duplicate"
        and r.decision.group != asked.group
        and r.document.id != asked.id
        and asked.low <= r.order[0] <= asked.high
        and (score := cosine(topic, term_vectors([r.document], news.settings)[0]))
        >= asked.min_cosine
        and score > 0
    }


def assert_right(found: Sequence[Near], expected: dict[str, float], size: int) -> None:
    """The highest cosines; which of equal ones is not asked here."""
    best = sorted(expected.values(), reverse=True)[:size]
    assert [near.cosine for near in found] == pytest.approx(best)
    assert [expected[near.document.id] for near in found] == pytest.approx(best)


def assert_tables_agree(news: Deduplicator) -> None:
    """Both tables say the same, of the documents that there are."""
    db = index_of(news).db
    by_article = {
        (seq, term & ~0xFFFF, round(weight, 6))
        for seq, blob in db.execute("SELECT seq, terms FROM topics")
        for topic in [topic_index._unpack(blob)]
        for term, weight in zip(
            topic.terms.view(np.int64).tolist(), topic.weights.tolist(), strict=True
        )
    }
    by_term = [
        (
            (place & 0xFFFF) << topic_index._BLOCK_BITS | row,
            place & ~0xFFFF,
            round(weight, 6),
        )
        for place, blob in db.execute("SELECT place, articles FROM topic_terms")
        for row, weight in np.frombuffer(blob, topic_index._ENTRY).tolist()
    ]
    assert len(by_term) == len(by_article)
    assert set(by_term) == by_article
    kept = {seq for (seq,) in db.execute("SELECT seq FROM topics")}
    assert kept <= {seq for (seq,) in db.execute("SELECT seq FROM documents")}


@contextmanager
def small_blocks() -> Iterator[None]:
    """Blocks of four articles, batches of three."""
    with patch.multiple(topic_index, _BLOCK_BITS=2, _IN_BLOCK=3, _BATCH=3):
        yield


ids = st.integers(0, 11).map(lambda n: f"d{n}")
texts = st.lists(st.sampled_from(NOUNS), min_size=1, max_size=9).map(" ".join)
documents = st.builds(
    lambda id_, text, hour: Document(
        id=id_, text=text, lang="en", published=DAY + timedelta(hours=hour)
    ),
    ids,
    texts,
    st.integers(0, 5),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(documents, min_size=1, max_size=6)),
        st.tuples(st.just("delete"), st.lists(ids, min_size=1, max_size=4)),
        st.tuples(st.just("ask"), st.none()),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(steps, texts, st.integers(1, 8), st.integers(0, 5))
def test_as_if_all_were_compared(
    steps: list[tuple[str, list[Document] | list[str] | None]], text: str, size: int, hour: int
) -> None:
    """After any articles that came, came again or went, asked in between or not."""
    with small_blocks(), Deduplicator.open("sqlite://:memory:") as news:
        (topic,) = term_vectors([Document(id="new", text=text, lang="en")], news.settings)
        high = int((DAY + timedelta(hours=hour)).timestamp()) * 1_000_000
        asked = TopicQuery(high=high, size=size, min_cosine=LEAST)
        for what, values in [*steps, ("ask", None)]:
            if what == "add":
                list(news.add_many(values))  # type: ignore[arg-type]  # documents here
            elif what == "delete":
                news.store.documents.delete(values)  # type: ignore[arg-type]  # ids here
            else:
                assert catch_up(news)
                found = index_of(news).find(topic, asked)
                assert_right(found, naive_found(news, topic, asked), size)
            assert_tables_agree(news)
        for record in records_of(news):
            own = replace(asked, group=record.decision.group, id=record.document.id)
            stored = index_of(news).get(record, topic_version(news.settings))
            (topic,) = term_vectors([record.document], news.settings)
            assert stored is not None
            assert (stored.terms == topic.terms).all()
            assert_right(index_of(news).find(stored, own), naive_found(news, topic, own), size)


def test_of_equal_ones_the_first_stored(tmp_path: Path) -> None:
    texts = [f"{NOUNS[n]} ferry harbour" for n in (2, 3, 4, 5)]
    with Deduplicator.open(str(tmp_path / "news.db")) as news:
        list(news.add_many(Document(id=f"z{9 - n}", text=t) for n, t in enumerate(texts)))
        assert catch_up(news)
        (topic,) = term_vectors([Document(id="new", text="ferry harbour")], news.settings)
        found = index_of(news).find(topic, TopicQuery(size=9, min_cosine=LEAST))
    for one, other in pairwise(found):
        assert one.cosine >= other.cosine
        assert one.cosine > other.cosine or one.document.id > other.document.id


def test_copies_far_more_than_are_looked_at_hide_nothing() -> None:
    first, second, third = ferry_articles(3, start=DAY)
    copies = [replace(second, id=f"zcopy{n}") for n in range(700)]
    with Deduplicator.open("sqlite://:memory:") as news:
        list(news.add_many([first, second, third, *copies]))
        assert ids_of(similar(news, first.id)) == {second.id, third.id}


# --- who brings in, and when -------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "news.db"
    with Deduplicator.open(str(path)) as news:
        list(news.add_many(stories()))
    return path


def stories() -> list[Document]:
    return [
        *ferry_articles(4, start=DAY),
        *(Document(id=f"garden{n}", text=topical_text("garden", n), lang="en") for n in range(3)),
    ]


def similar(news: Deduplicator, id_: str) -> SimilarNews:
    return similar_to_record(news.store.documents.get([id_])[id_], news.store)


def ids_of(found: SimilarNews) -> set[str]:
    return {one.document.id for one in found.found}


def kept_in(path: Path) -> int:
    db = sqlite3.connect(path)
    (count,) = db.execute("SELECT count(*) FROM topics").fetchone()
    db.close()
    return int(count)


FERRIES = {"ferry1", "ferry2", "ferry3"}


def test_nothing_is_kept_until_somebody_asks(file: Path) -> None:
    assert kept_in(file) == 0
    with Deduplicator.open(str(file)) as news:
        assert ids_of(similar(news, "ferry0")) == FERRIES
    assert kept_in(file) == 7


def test_a_store_opened_for_reading_has_it_written(file: Path) -> None:
    with Deduplicator.open(str(file), mode="read") as news:
        assert ids_of(similar(news, "ferry0")) == FERRIES
        assert kept_in(file) == 7
        with Deduplicator.open(str(file)) as writer:
            writer.add(Document(id="more", text=topical_text("ferry", 9), lang="en"))
        assert ids_of(similar(news, "ferry0")) == {*FERRIES, "more"}
        assert_tables_agree(news)


def test_where_nothing_can_be_written_words_answer(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, how: how != os.W_OK)
    with Deduplicator.open(str(file), mode="read") as news:
        assert ids_of(similar(news, "ferry0")) == FERRIES
    assert kept_in(file) == 0


@pytest.mark.parametrize("mode", ["read", "write"])
def test_where_somebody_else_writes_words_answer(file: Path, mode: sqlite_schema.Mode) -> None:
    with Deduplicator.open(str(file), mode=mode) as news:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert ids_of(similar(news, "ferry0")) == FERRIES
        other.execute("ROLLBACK")
        other.close()
        assert kept_in(file) == 0
        assert ids_of(similar(news, "ferry0")) == FERRIES
    assert kept_in(file) == 7


def test_where_it_takes_too_long_words_answer(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esdedup.stories.similar._SECONDS", -1.0)
    with Deduplicator.open(str(file)) as news:
        assert ids_of(similar(news, "ferry0")) == FERRIES
        assert kept_in(file) == 0
        assert ids_of(similar(news, "garden0")) == {"garden1", "garden2"}


def test_where_there_is_no_room_words_answer(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        list(
            news.add_many(
                Document(id=f"strike{n}", text=topical_text("strike", n)) for n in range(80)
            )
        )
        (pages,) = index_of(news).db.execute("PRAGMA page_count").fetchone()
        index_of(news).db.execute(f"PRAGMA max_page_count = {pages}")
        assert ids_of(similar(news, "ferry0")) == FERRIES
        with (
            pytest.raises(StoreUnavailable, match="Make room"),
            news.store.concurrency.transaction(),
        ):
            similar(news, "ferry0")
    assert kept_in(file) == 0


def test_interrupted_it_goes_on_where_it_was(file: Path) -> None:
    calls = 0

    def find(documents: Sequence[Document]) -> list[TermVector]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return term_vectors(documents, Settings())

    with small_blocks(), Deduplicator.open(str(file)) as news:
        with pytest.raises(KeyboardInterrupt):
            index_of(news).catch_up(topic_version(news.settings), find, 60.0)
        assert kept_in(file) == 3
        assert_tables_agree(news)
        assert ids_of(similar(news, "ferry0")) == FERRIES
        assert kept_in(file) == 7
        assert_tables_agree(news)


def test_other_settings_have_them_made_again(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        similar(news, "ferry0")
        before = index_of(news).db.execute("SELECT * FROM topics ORDER BY seq").fetchall()
    with Deduplicator.open(str(file)) as news:
        chosen = replace(news.settings, signed_text="body")
        find = partial(term_vectors, settings=chosen)
        assert index_of(news).catch_up(topic_version(chosen), find, 60.0)
        after = index_of(news).db.execute("SELECT * FROM topics ORDER BY seq").fetchall()
        assert [tuple(row) for row in after] != [tuple(row) for row in before]
        assert_tables_agree(news)


def test_several_at_once_bring_each_in_once(file: Path) -> None:
    answers = []

    def ask() -> None:
        with Deduplicator.open(str(file), mode="read") as news:
            answers.append(ids_of(similar(news, "ferry0")))

    with small_blocks():
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [FERRIES] * 4
        with Deduplicator.open(str(file)) as news:
            assert catch_up(news)
            assert_tables_agree(news)
    assert kept_in(file) == 7


def test_a_record_that_is_no_longer_stored_so_is_read_itself(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        old = news.store.documents.get(["ferry0"])["ferry0"]
        news.add(Document(id="ferry0", text=topical_text("garden", 7), lang="en", published=DAY))
        found = similar_to_record(old, news.store)
        assert {one.document.id for one in found.found} == FERRIES
        foreign = replace(old, version=object())
        assert ids_of(similar_to_record(foreign, news.store)) == FERRIES


def test_a_store_from_before_they_were_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "news.db"
    before = tuple(one for one in sqlite_schema.MIGRATIONS if one[0] != "topics")
    with monkeypatch.context() as earlier:
        earlier.setattr(sqlite_schema, "MIGRATIONS", before)
        earlier.setattr("esdedup.stores.sqlite.documents.forget", lambda db, seqs: None)
        with Deduplicator.open(str(path)) as news:
            list(news.add_many(stories()))
    with Deduplicator.open(str(path), mode="read") as news:
        assert ids_of(similar(news, "ferry0")) == FERRIES
        assert news.store.maintenance.find_problems() == []
    assert kept_in(path) == 7


def test_what_is_kept_of_nobody_is_found_and_repaired(file: Path) -> None:
    with Deduplicator.open(str(file)) as news:
        similar(news, "ferry0")
        db = index_of(news).db
        (seq,) = db.execute("SELECT seq FROM documents WHERE id = 'garden2'").fetchone()
        db.execute("DELETE FROM keys WHERE seq = ?", (seq,))
        db.execute("DELETE FROM documents WHERE seq = ?", (seq,))
        assert f"topic of a missing document: {seq}" in news.store.maintenance.find_problems()
        news.store.maintenance.repair_keys()
        assert news.store.maintenance.find_problems() == []
        assert_tables_agree(news)
