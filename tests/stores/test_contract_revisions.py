"""What every store promises of earlier versions; the same tests on each backend."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance.backfill import Backfill, BackfillPlan
from esdedup.maintenance.retention import RetentionRule, expire
from esdedup.maintenance.rethreshold import rethreshold
from esdedup.maintenance.upgrade import Upgrade
from esdedup.model import Document
from esdedup.model.revisions import ArticleVersion, earlier_versions, has_same_text
from esdedup.settings import Settings
from esdedup.stores import Record, Store, open_store
from tests.stores.contract import put, record
from tests.support.articles import DAY_ONE
from tests.support.backends import Backend, backend_in_memory

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def stored(store: Store, id_: str) -> Record:
    return store.documents.get([id_])[id_]


def replace_text(store: Store, text: str, at: datetime = AT) -> None:
    """As the write path does: the version before is kept, then it is replaced."""
    store.revisions.add([stored(store, "a")], at)
    put(store, record("a", 1, [1], text=text))


def texts(store: Store, id_: str = "a") -> list[str]:
    return [version.document.text for version in store.revisions.get([id_]).get(id_, ())]


def test_a_version_comes_back_as_it_was_without_extra_fields(store: Store) -> None:
    document = Document(
        id="a",
        title="Ferry fire \N{FIRE}",
        text="Twelve died.\n\nMore.",
        url="https://example.org/a",
        source="Tollmere Post",
        lang="en",
        published=AT,
        extra={"views": 7},
    )
    put(store, replace(record("a", 1, [1]), document=document))
    store.revisions.add([stored(store, "a")], AT + timedelta(hours=1))
    (version,) = store.revisions.get(["a", "unknown"])["a"]
    assert version.document == replace(document, extra={})
    assert version.replaced == AT + timedelta(hours=1)
    assert store.revisions.get(["unknown"]) == {}
    assert store.revisions.get([]) == {}


def test_versions_are_kept_in_order_and_the_oldest_go(backend: Backend) -> None:
    store = backend.open(Settings(revisions=3))
    put(store, record("a", 1, [1], text="0"), record("b", 2, [2], text="other"))
    for n in range(1, 6):
        replace_text(store, str(n), AT + timedelta(hours=n))
    assert texts(store) == ["2", "3", "4"]
    assert [v.replaced.hour for v in store.revisions.get(["a"])["a"]] == [15, 16, 17]
    assert texts(store, "b") == []
    store.close()
    again = backend.open()
    assert again.settings.revisions == 3
    assert texts(again) == ["2", "3", "4"]


def test_a_version_that_is_added_again_is_there_once(store: Store) -> None:
    put(store, record("a", 1, [1], text="one"))
    for _ in range(3):
        store.revisions.add([stored(store, "a")], AT)
    assert texts(store) == ["one"]
    # Its link changed meanwhile, its text did not.
    was = stored(store, "a")
    assert not store.documents.relink([(was, replace(was.decision, reason="other"))]).conflicts
    replace_text(store, "two")
    replace_text(store, "one")
    replace_text(store, "two")
    assert texts(store) == ["one", "two", "one"]


def test_none_are_kept_if_the_setting_says_so(backend: Backend) -> None:
    store = backend.open(Settings(revisions=0))
    put(store, record("a", 1, [1], text="one"))
    replace_text(store, "two")
    assert texts(store) == []


def test_deleting_removes_the_versions(store: Store) -> None:
    put(store, record("a", 1, [1], text="one"))
    replace_text(store, "two")
    store.documents.delete(["a"])
    assert texts(store) == []
    put(store, record("a", 1, [1], text="one"))
    replace_text(store, "two")
    store.revisions.remove(["a", "unknown"])
    assert texts(store) == []
    assert stored(store, "a").document.text == "two"


def test_retention_removes_the_versions(store: Store) -> None:
    with Deduplicator(store) as news:
        for text in ("The river rose in Tollmere.", "The river fell in Tollmere."):
            news.add(Document(id="a", text=text, published=DAY_ONE))
        assert texts(store) == ["The river rose in Tollmere."]
        list(expire(news, RetentionRule(DAY_ONE + timedelta(days=1))))
        assert store.documents.get(["a"]) == {}
        assert texts(store) == []


def test_very_long_versions_are_bounded(store: Store) -> None:
    put(store, record("a", 1, [1], text="a" * 3_000_000))
    replace_text(store, "b" * 3_000_000)
    replace_text(store, "short")
    assert [text[:1] for text in texts(store)] == ["b"]


# --- through the write path --------------------------------------------------------------------

LEAD = "A ferry caught fire off the coast of Tollmere on Tuesday"
REST = "The port authority said that the engine room burned first, and that all boats helped."


def article(dead: int, id_: str = "a") -> Document:
    text = f"{LEAD}. At least {dead} people died in the blaze, officials said. {REST}"
    return Document(id=id_, title="Ferry fire", text=text, published=DAY_ONE)


def test_a_changed_count_is_a_revision(store: Store) -> None:
    with Deduplicator(store) as news:
        assert [o.revision for o in news.add_many([article(12)])] == [None]
        (outcome,) = news.add_many([article(17)])
        assert outcome.status == "changed"
        assert outcome.revision is not None
        assert outcome.revision.degree == "numbers"
        assert [(c.old, c.new) for c in outcome.revision.numbers] == [("12", "17")]
        assert (outcome.revision.added, outcome.revision.removed) == (("17",), ("12",))
        assert texts(store) == [article(12).text]
        # The same again, and a change beside the text, are none.
        assert [o.revision for o in news.add_many([article(17)])] == [None]
        moved = replace(article(17), url="https://example.org/moved")
        assert [(o.status, o.revision) for o in news.add_many([moved])] == [("changed", None)]
        assert texts(store) == [article(12).text]


def test_groups_follow_the_newest_version(store: Store) -> None:
    with Deduplicator(store) as news:
        copy = replace(article(12, "b"), published=DAY_ONE + timedelta(hours=1))
        list(news.add_many([article(12), copy]))
        assert stored(store, "b").decision.role == "duplicate"
        list(news.add_many([replace(article(17, "b"), published=copy.published)]))
        assert stored(store, "b").decision.role == "update"
        list(news.add_many([copy]))
        assert stored(store, "b").decision.role == "duplicate"
        assert texts(store, "b") == [article(12).text, article(17).text]


def test_versions_in_one_batch_replace_each_other(store: Store) -> None:
    with Deduplicator(store) as news:
        outcomes = list(news.add_many([article(n) for n in (12, 17, 17, 23)]))
        assert [o.status for o in outcomes] == ["new", "changed", "unchanged", "changed"]
        assert [o.revision and str(o.revision.numbers[0].new) for o in outcomes] == [
            None,
            "17",
            None,
            "23",
        ]
        assert texts(store) == [article(12).text, article(17).text]


def test_maintenance_makes_no_versions_and_leaves_them(backend: Backend) -> None:
    """Sweep, other thresholds and the upgrade of format 1; on a cluster backfill, too."""
    store = backend.open(Settings(format=1, methods=("sketch",)))
    with Deduplicator(store) as news:
        list(news.add_many([article(12), article(12, "b")]))
        list(news.add_many([article(17)]))
        before = store.revisions.get(["a", "b"])
        assert list(before) == ["a"]
        news.sweep(datetime.now(UTC) - timedelta(hours=1))
        rethreshold(store)
        list(Upgrade(news).run())
        if store.maintenance.foreign_index is not None:
            list(Backfill(news, BackfillPlan()).run())
        assert stored(store, "a").signature.format == store.settings.fingerprint_of_format()
        assert store.settings.format == 2
        assert store.revisions.get(["a", "b"]) == before


SENTENCES = ["The river rose.", "The river fell.", "  The river\n rose. ", "Nobody was hurt."]


@pytest.mark.parametrize("delayed", [False, True])
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12), st.integers(1, 4))
@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_of_replacements_in_memory(
    delayed: bool, written: list[str], limit: int
) -> None:
    _check_sequence(backend_in_memory(delayed=delayed).open(Settings(revisions=limit)), written)


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=12), st.integers(1, 4))
@hypothesis_settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_of_replacements_in_sqlite(written: list[str], limit: int) -> None:
    _check_sequence(open_store("sqlite://:memory:", Settings(revisions=limit)), written)


def test_a_sequence_of_replacements(backend: Backend) -> None:
    _check_sequence(backend.open(Settings(revisions=3)), [SENTENCES[n] for n in (0, 1, 0, 2, 3, 1)])


def _check_sequence(store: Store, written: list[str]) -> None:
    """The last versions in order, none twice in a row; equal texts make no revision."""
    documents = [Document(id="a", text=text, published=DAY_ONE) for text in written]
    revised = 0
    with Deduplicator(store) as news:
        for document in documents:
            revised += sum(o.revision is not None for o in news.add_many([document]))
        distinct = [
            d for d, before in zip(documents, [None, *documents], strict=False)
            if before is None or not has_same_text(d, before)
        ]  # fmt: skip
        kept = store.revisions.get(["a"]).get("a", ())
        assert revised == len(distinct) - 1
        expected = distinct[:-1][-store.settings.revisions :]
        assert [v.document.text.split() for v in kept] == [d.text.split() for d in expected]
        assert earlier_versions(kept, stored(store, "a").document) == kept


# --- two writers -------------------------------------------------------------------------------


def test_a_writer_that_was_overtaken_adds_nothing(cluster_backend: Backend) -> None:
    _check_overtaken(cluster_backend.open())


def test_a_writer_that_was_overtaken_in_memory() -> None:
    _check_overtaken(backend_in_memory(delayed=True).open())


def _check_overtaken(store: Store) -> None:
    put(store, record("a", 1, [1], text="one"))
    stale = stored(store, "a")
    replace_text(store, "two")
    replace_text(store, "three")
    store.revisions.add([stale], AT)
    assert store.documents.put([replace(record("a", 1, [1], text="x"), version=stale.version)])
    assert texts(store) == ["one", "two"]


def test_a_version_whose_replacement_failed_is_not_an_earlier_one(store: Store) -> None:
    put(store, record("a", 1, [1], text="one"))
    replace_text(store, "two")
    store.revisions.add([stored(store, "a")], AT)  # and then the process was killed
    kept, current = store.revisions.get(["a"])["a"], stored(store, "a").document
    assert [v.document.text for v in kept] == ["one", "two"]
    assert [v.document.text for v in earlier_versions(kept, current)] == ["one"]
    replace_text(store, "three")
    assert texts(store) == ["one", "two"]


def test_a_version_has_the_same_form_in_every_store() -> None:
    version = ArticleVersion.of(article(12), AT, 7)
    assert ArticleVersion.from_json(version.to_json()) == version
