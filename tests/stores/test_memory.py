"""What the store in memory does otherwise than the others."""

from __future__ import annotations

import pytest

from esdedup.errors import StoreError
from esdedup.search.searcher import Searcher
from esdedup.stores.memory import MemoryData, MemoryStore
from tests.stores.contract import record


def test_a_searcher_sees_what_was_written_after_it_was_made() -> None:
    store = MemoryStore(MemoryData())
    searcher = Searcher(store)
    store.documents.put([record("a", text="ferry")])
    assert [hit.id for hit in searcher.search("ferry").hits] == ["a"]
    store.documents.put([record("b", text="ferry")])
    assert {hit.id for hit in searcher.search("ferry").hits} == {"a", "b"}


def test_keys_of_a_further_method_are_refused() -> None:
    store = MemoryStore(MemoryData())
    with pytest.raises(StoreError, match="index the articles again"):
        store.maintenance.key_backfill("sketch", 10, None)
