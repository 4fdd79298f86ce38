"""Fixtures of the tests of stores."""

from __future__ import annotations

from tests.stores.contract import searchable_store

__all__ = ["searchable_store"]
