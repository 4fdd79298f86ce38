"""What the store in memory does otherwise than the others."""

from __future__ import annotations

from esdedup.search.searcher import Searcher
from esdedup.stores.memory import MemoryStore
from esdedup.stores.memory_data import MemoryData
from tests.stores.contract import record


def test_a_searcher_sees_what_was_written_after_it_was_made() -> None:
    store = MemoryStore(MemoryData())
    searcher = Searcher(store)
    store.documents.put([record("a", text="ferry")])
    assert [hit.id for hit in searcher.search("ferry").hits] == ["a"]
    store.documents.put([record("b", text="ferry")])
    assert {hit.id for hit in searcher.search("ferry").hits} == {"a", "b"}
