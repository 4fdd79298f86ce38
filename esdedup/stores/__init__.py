"""Where signed documents live: the ports every backend implements, and how a store is opened."""

from __future__ import annotations

import re
from typing import Literal

from esdedup.errors import StoreMissing, UnknownDocument
from esdedup.settings import Settings
from esdedup.stores.ports import CandidateQuery, Record, Store, WriteReport

__all__ = [
    "CandidateQuery",
    "Record",
    "Store",
    "WriteReport",
    "get_record",
    "open_store",
    "recorded_settings",
]


def open_store(
    url: str, settings: Settings | None = None, *, mode: Literal["write", "read"] = "write"
) -> Store:
    """The store behind a URL: `sqlite:///news.db`, a file name, `sqlite://:memory:`, or
    `https://host:9200/index` of a cluster, with the product in front if it is to be stated.

    Mode `write` creates a missing store. Without `settings` an existing store opens with the ones
    recorded in it. It refuses other settings of the kind that shapes keys.
    """
    # Not by `urlsplit`, whose errors may show a password. One letter is a drive.
    scheme = re.match(r"[A-Za-z][\w+.-]+(?=:)", url, re.ASCII)
    if scheme is None or scheme[0] == "sqlite":
        from esdedup.stores.sqlite.store import SQLiteStore

        return SQLiteStore(_sqlite_path(url), settings, mode=mode)
    from esdedup.stores.cluster.connection import Target
    from esdedup.stores.cluster.store import ClusterStore

    return ClusterStore(Target.parse(url), settings, mode=mode)


def recorded_settings(url: str) -> Settings | None:
    """The settings a store was made with; None if there is no store yet."""
    try:
        store = open_store(url, mode="read")
    except StoreMissing:
        return None
    store.close()
    return store.settings


def get_record(store: Store, id_: str) -> Record:
    """One stored article; an id that the store does not have raises `UnknownDocument`."""
    record = store.documents.get([id_]).get(id_)
    if record is None:
        raise UnknownDocument(f"there is no article {id_[:600]} in this store; a search shows ids")
    return record


def _sqlite_path(url: str) -> str:
    """sqlite:///relative.db, sqlite:////absolute.db, sqlite://:memory: or a file name."""
    if not url.startswith("sqlite://"):
        return url
    rest = url.removeprefix("sqlite://")
    return rest.removeprefix("/") if rest != "/" else rest
