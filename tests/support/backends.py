"""Fixtures for the backends: memory, SQLite and both cluster products. A new one is a fixture here.

`backend` is each of them, `persistent_backend` each that has a URL, `server` each cluster product.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from esdedup.settings import Settings
from esdedup.stores import Store, open_store
from esdedup.stores.memory import MemoryStore
from esdedup.stores.memory_data import MemoryData
from tests.servers import Cluster, Server


@dataclass
class Backend:
    """A place for one store, how to empty it, and how to damage it behind the store's back.

    `damages` maps what `check` must say to the deed; each is done to a fresh store that holds an
    original `a`, its duplicate `b` and another original `c`.
    """

    url: str
    damages: Mapping[str, Callable[[], None]]
    wipe: Callable[[], None]
    opener: Callable[..., Store] = open_store
    _opened: list[Store] = field(default_factory=list)

    def open(
        self, settings: Settings | None = None, mode: Literal["write", "read"] = "write"
    ) -> Store:
        store = self.opener(self.url, settings, mode=mode)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


_CLUSTERS = [
    pytest.param("elasticsearch", marks=pytest.mark.servers),
    pytest.param("opensearch", marks=pytest.mark.servers),
]
_PERSISTENT = ["sqlite", *_CLUSTERS]


@pytest.fixture(params=["memory", "delayed_memory", *_PERSISTENT])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from _opened_backend(request)


@pytest.fixture(params=_PERSISTENT)
def persistent_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """A backend that another process can open by its URL, and that implements full-text search."""
    yield from _opened_backend(request)


@pytest.fixture(params=_CLUSTERS)
def cluster_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    yield from _opened_backend(request)


@pytest.fixture
def store_url(persistent_backend: Backend) -> str:
    """The URL of a store that does not exist yet."""
    return persistent_backend.url


@pytest.fixture(params=["elasticsearch", "opensearch"])
def server(request: pytest.FixtureRequest) -> Server:
    """One node of each product."""
    found: Server = request.getfixturevalue(f"{request.param}_server")
    return found


def _opened_backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    made: Backend = request.getfixturevalue(f"{request.param}_backend")
    yield made
    made.close()


@pytest.fixture
def store(backend: Backend) -> Store:
    """An empty store."""
    return backend.open()


@pytest.fixture
def sqlite_backend(tmp_path: Path) -> Backend:
    file = tmp_path / "news.db"

    def run(statement: str) -> Callable[[], None]:
        def deed() -> None:
            db = sqlite3.connect(file)
            with db:
                db.execute(statement)
            db.close()

        return deed

    def wipe() -> None:
        for part in tmp_path.glob("news.db*"):
            part.unlink()

    return Backend(
        url=f"sqlite:///{file}",
        wipe=wipe,
        damages={
            "group without an original: a": run("DELETE FROM documents WHERE id = 'a'"),
            "leader outside its own group: c": run(
                """UPDATE documents SET "group" = 'a' WHERE id = 'c'"""
            ),
            "duplicate that leads: c": run(
                "UPDATE documents SET role = 'duplicate' WHERE id = 'c'"
            ),
            "story other than its group's: b": run(
                "UPDATE documents SET story = 'c' WHERE id = 'b'"
            ),
            "keys of a missing document: 999": run("INSERT INTO keys VALUES ('s00:1', 1, 999)"),
            "document without its keys: a": run("DELETE FROM keys WHERE seq = 1"),
            "keys that attract for a copy, or do not for a leader: a": run(
                "UPDATE keys SET leader = 0 WHERE seq = 1"
            ),
            "topic of a missing document: 999": run("INSERT INTO topics VALUES (999, x'')"),
            "documents have format 0123456789ab": run(
                "UPDATE documents SET format = '0123456789ab'"
            ),
        },
    )


@pytest.fixture
def memory_backend() -> Backend:
    return backend_in_memory(delayed=False)


@pytest.fixture
def delayed_memory_backend() -> Backend:
    return backend_in_memory(delayed=True)


def backend_in_memory(*, delayed: bool) -> Backend:
    memory = MemoryData(delayed)

    def change(id_: str, **values: Any) -> Callable[[], None]:
        def deed() -> None:
            record = memory.documents[id_]
            decision = replace(record.decision, **values)
            memory.write(id_, record.with_decision(decision))
            memory.refresh()

        return deed

    def take_away() -> None:
        memory.write("a", None)
        memory.refresh()

    def change_format() -> None:
        record = memory.documents["c"]
        signature = replace(record.signature, format="0123456789ab")
        memory.write("c", replace(record, signature=signature))
        memory.refresh()

    def wipe() -> None:
        memory.settings = None
        for id_ in list(memory.documents):
            memory.write(id_, None)
        memory.versions.clear()
        memory.refresh()

    def open_memory(
        url: str, settings: Settings | None, *, mode: Literal["write", "read"]
    ) -> MemoryStore:
        return MemoryStore(memory, settings, mode=mode)

    return Backend(
        url="memory://",
        wipe=wipe,
        opener=open_memory,
        damages={
            "group without an original: a": take_away,
            "leader outside its own group: c": change("c", group="a"),
            "duplicate that leads: c": change("c", role="duplicate"),
            "story other than its group's: b": change("b", story="c"),
            "documents have format 0123456789ab": change_format,
        },
    )


@pytest.fixture
def elasticsearch_backend(elasticsearch_server: Server) -> Iterator[Backend]:
    yield from backend_on(elasticsearch_server)


@pytest.fixture
def opensearch_backend(opensearch_server: Server) -> Iterator[Backend]:
    yield from backend_on(opensearch_server)


def backend_on(server: Server | Cluster) -> Iterator[Backend]:
    index = new_index()

    def change(id_: str, **values: object) -> Callable[[], None]:
        def deed() -> None:
            body = {"doc": {"dedup": values}}
            answer = server.http("POST", f"/{index}/_update/{id_}?refresh=true", body)
            assert answer.status == 200, answer.text

        return deed

    def wipe() -> None:
        drop_index(server, index)

    def take_away() -> None:
        assert server.http("DELETE", f"/{index}/_doc/a?refresh=true").status == 200

    def add_foreign() -> None:
        server.http("PUT", f"/{index}/_doc/z?refresh=true", {"title": "by another route"})

    yield Backend(
        url=f"{server.product}+{server.url}/{index}",
        wipe=wipe,
        damages={
            "group without an original: a": take_away,
            "leader outside its own group: c": change("c", group="a"),
            "duplicate that leads: c": change("c", role="duplicate"),
            "story other than its group's: b": change("b", story="c"),
            "canonical is True for a duplicate: b": change("b", canonical=True),
            "1 documents have no group": add_foreign,
            "documents have format 0123456789ab": change("c", format="0123456789ab"),
        },
    )
    wipe()


def new_index() -> str:
    """A name that no other test uses."""
    return f"own-{uuid.uuid4().hex[:12]}"


def drop_index(server: Server | Cluster, index: str) -> None:
    """Delete an index and its side indices, as far as they exist."""
    assert server.http("DELETE", f"/{index}").status in (200, 404)
    drop_side_indices(server, index)


def drop_side_indices(server: Server | Cluster, index: str) -> None:
    """Delete what a store keeps beside its index."""
    for side in ("state", "quarantine", "corrections", "revisions"):
        assert server.http("DELETE", f"/esdedup-{side}-{index}").status in (200, 404)
