"""Where a story comes from: the first article, the agency, independent reports, outlets."""

from __future__ import annotations

import pytest

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.model.queries import Query
from esdedup.search.origins import owner_of
from esdedup.search.searcher import Searcher
from esdedup.stores import Store
from esdedup.stories.timeline import Story, story_of
from tests.support.articles import BRIDGE, FERRY, article
from tests.support.backends import Backend

ADDED = " A fund for the families was opened by the harbour board on Wednesday morning."
STORY = (
    article("wire", f"BRACKWATER (AP) — {FERRY}", 0.0, source="Wire"),
    article("copy", FERRY, 0.1, source="Courier"),
    article("longer", FERRY + ADDED, 0.2, source="Ledger"),
    article("update", FERRY.replace("12 people", "17 people"), 0.3, source="Post"),
    article("again", FERRY.replace("12 people", "17 people"), 0.4, source="Courier"),
    article("other", BRIDGE, 0.5, source="Post"),
)


@pytest.fixture
def story_store(persistent_backend: Backend) -> Store:
    store = persistent_backend.open()
    list(Deduplicator(store).add_many(STORY))
    return store


def read_story(store: Store, id_: str = "wire") -> Story:
    return story_of(store.documents.get([id_])[id_], store)


def test_a_story_says_who_was_first_and_whose_text_it_is(story_store: Store) -> None:
    story = read_story(story_store, "again")
    assert story.origin.origin.id == "wire"
    assert story.origin.agency == "AP"
    assert story.origin.independent == 2, "the agency and the Post; copies are not independent"


def test_outlets_that_only_copied_and_what_they_added(story_store: Store) -> None:
    outlets = {outlet.name: outlet for outlet in read_story(story_store).outlets}
    assert list(outlets) == ["Wire", "Courier", "Ledger", "Post"], "in the order they joined"
    assert (outlets["Wire"].only_copied, outlets["Wire"].added) == (False, None)
    assert outlets["Courier"].articles == 2
    assert outlets["Courier"].only_copied
    assert outlets["Courier"].added == pytest.approx(0.0, abs=0.02)
    assert outlets["Ledger"].added == pytest.approx(0.12, abs=0.06)
    assert not outlets["Post"].only_copied


def test_a_text_without_a_mark_comes_from_the_agency_that_its_copy_credits() -> None:
    with Deduplicator.open() as news:
        news.add(article("early", FERRY, 0.0, source="Courier"))
        news.add(article("late", f"{FERRY} (Reuters)", 0.1, source="Ledger"))
        story = read_story(news.store, "early")
    assert (story.origin.origin.source, story.origin.agency) == ("Courier", "Reuters")


def test_results_tell_the_origin_if_they_are_asked(story_store: Store) -> None:
    searcher = Searcher(story_store)
    (bare, *_) = searcher.search("ferry").hits
    assert bare.origin is None
    assert "origin" not in bare.to_json()
    for hit in searcher.search("ferry", origins=True).hits:
        assert hit.origin is not None
        shown = hit.to_json()
        assert shown["origin"]["id"] == "wire"
        assert (shown["agency"], shown["independent"]) == ("AP", 2)
    (bridge,) = searcher.search("lorries", origins=True).hits
    assert bridge.origin is not None
    assert (bridge.origin.agency, bridge.origin.independent) == (None, 1)


def test_agencies_are_a_facet_and_a_filter(story_store: Store) -> None:
    searcher = Searcher(story_store)
    (facet,) = searcher.facets("ferry", ["agency"])
    assert [(bucket.value, bucket.articles) for bucket in facet.buckets] == [("AP", 1)]
    found = searcher.search(Query(words="ferry", filters={"agency": ["AP"]}), mode="all")
    assert [hit.id for hit in found.hits] == ["wire"]
    assert story_store.documents.get(["wire"])["wire"].signature.agency == "AP"


def test_an_owner_of_several_sources_counts_once() -> None:
    one, other = (
        Document(id=name, text=FERRY, source=name, extra={"owner": "Harbour Group"})
        for name in ("Courier", "Ledger")
    )
    assert owner_of(one) == owner_of(other) == "Harbour Group"
    assert owner_of(Document(id="a", text=FERRY, url="https://www.courier.example/1")) == (
        "courier.example"
    )
    assert owner_of(Document(id="a", text=FERRY)) == "no source"
