"""The store in memory. It shows in a few dictionaries what every store promises.

`MemoryData` holds what a file or a cluster would. Each `MemoryStore` opened on it is a client:

    memory = MemoryData(delayed=True)
    one, other = MemoryStore(memory), MemoryStore(memory)

With immediate visibility it behaves like SQLite: a transaction is isolated and all or nothing.
With delayed visibility it behaves like a search cluster. A write is visible to searches only after
`make_visible`, every write is conditional on the version that was read, and other clients write at
any time. `on_request` is called before every request; a test interleaves other clients there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from esdedup.errors import StoreMissing
from esdedup.matching.constraints import Constraints
from esdedup.model import JSON, Candidate, Decision, Failure, microseconds
from esdedup.model.queries import By
from esdedup.model.revisions import ArticleVersion, keep_version
from esdedup.settings import Settings
from esdedup.stores import CandidateQuery, Record, WriteReport
from esdedup.stores.memory_data import MemoryData
from esdedup.stores.ports import EVENTUAL, TRANSACTIONAL, Versioned
from esdedup.stores.sqlite.maintenance import SQLiteMaintenance
from esdedup.stores.sqlite.search import SQLiteSearch
from esdedup.stores.sqlite.store import SQLiteStore
from esdedup.stores.topical import Clock


class MemoryStore:
    """See `ports.Store`; searches and maintenance are answered by an embedded SQLite store."""

    topics = None

    def __init__(
        self,
        memory: MemoryData,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
        on_request: Callable[[str], None] = lambda name: None,
    ) -> None:
        recorded = memory.settings
        if recorded is None and mode == "read":
            raise StoreMissing("there is no store at memory; `esdedup index` makes one")
        self.settings = settings or recorded or Settings()
        memory.settings = recorded or self.settings
        self.settings.check_against(memory.settings.shaping(), store="memory")
        self.documents = self.candidates = self.concurrency = self
        self.constraints = self.quarantine = self
        self.consistency = EVENTUAL if memory.delayed else TRANSACTIONAL
        self.refuses_existing_ids = memory.delayed
        self._memory = memory
        self._on_request = on_request
        self.revisions = MemoryRevisions(self)
        self._own_writes = 0
        self._depth = 0  # of transactions
        self._view: tuple[int, SQLiteStore] | None = None

    def close(self) -> None:
        if self._view:
            self._view[1].close()

    @contextmanager
    def request(self, name: str) -> Iterator[MemoryData]:
        self._on_request(name)
        with self._memory.lock:
            yield self._memory

    # --- Concurrency ---------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        return nullcontext() if self._memory.delayed or self._depth else self._isolate()

    @contextmanager
    def _isolate(self) -> Iterator[None]:
        with self._memory.lock:
            documents, failures = dict(self._memory.documents), dict(self._memory.failures)
            versions = dict(self._memory.versions)
            self._depth += 1
            try:
                yield
            except BaseException:
                self._memory.unrefreshed = {*documents, *self._memory.documents}
                self._memory.documents, self._memory.failures = documents, failures
                self._memory.versions = versions
                self._memory.refresh()
                raise
            finally:
                self._depth -= 1

    def snapshot(self, *, visible: bool = True) -> tuple[int, int]:
        if not visible:
            return self._foreign_writes()
        with self.request("position"):
            snapshot = self._foreign_writes()
        self.make_visible()
        return snapshot

    def unchanged_since(self, snapshot: tuple[int, int]) -> bool:
        with self.request("position"):
            return self._foreign_writes() == snapshot

    def _foreign_writes(self) -> tuple[int, int]:
        """How many writes others made, and the version of the constraints."""
        return self._memory.writes - self._own_writes, self._memory.constraints.version

    def make_visible(self, *, own_only: bool = False) -> None:
        with self.request("refresh") as memory:
            memory.refresh()

    # --- CandidateIndex ------------------------------------------------------------------------

    def find(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        with self.request("find") as memory:
            return [memory.visible.find(query) for query in queries]

    def successors(self, queries: Sequence[CandidateQuery]) -> set[str]:
        with self.request("successors") as memory:
            return {id_ for query in queries for id_ in memory.visible.successors(query)}

    def dependents(self, ids: Iterable[str]) -> set[str]:
        with self.request("dependents") as memory:
            return memory.visible.dependents(set(ids))

    # --- Documents -----------------------------------------------------------------------------

    def get(self, ids: Iterable[str]) -> dict[str, Record]:
        with self.request("get") as memory:
            return {id_: memory.documents[id_] for id_ in ids if id_ in memory.documents}

    def put(self, records: Sequence[Record]) -> WriteReport:
        return self._write("put", records)

    def relink(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        return self._write("relink", [record.with_decision(d) for record, d in changes])

    def rewrite(self, records: Sequence[Record]) -> WriteReport:
        return self._write("rewrite", records)

    def _write(self, name: str, records: Sequence[Record]) -> WriteReport:
        conflicts, is_conditional = set(), self._memory.delayed or name != "put"
        with self.request(name) as memory:
            for record in records:
                id_ = record.document.id
                stored = memory.documents.get(id_)
                if is_conditional and record.version != (stored and stored.version):
                    conflicts.add(id_)
                    continue
                if name == "put" or stored is None:
                    memory.write(id_, record)
                else:  # only the link, or the keys and the place
                    memory.write(id_, replace(record, document=stored.document))
                self._own_writes += 1
        return WriteReport(conflicts=frozenset(conflicts))

    def delete(
        self, ids: Iterable[str], is_wanted: Callable[[Record], bool] = lambda record: True
    ) -> set[str]:
        wanted = set(ids)
        self.remove(wanted)
        with self.request("delete") as memory:
            stored = wanted & memory.documents.keys()
            removed = {id_ for id_ in stored if is_wanted(memory.documents[id_])}
            for id_ in removed:
                memory.write(id_, None)
            self._own_writes += len(removed)
        self.revisions.remove(wanted - (stored - removed))
        self.make_visible()
        return removed

    def changed_ids(self, since: datetime | None = None) -> set[str]:
        low = 0 if since is None else microseconds(since)
        with self.request("changed") as memory:
            return {id_ for id_ in memory.visible.records if memory.changed[id_] >= low}

    def scan_by_time(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        return iter(list(self._embedded.documents.scan_by_time(clock, low)))

    def latest(self, clock: Clock) -> int | None:
        return self._embedded.documents.latest(clock)

    def members(self, value: str, by: By = "group") -> list[Record]:
        with self.request("members") as memory:
            records = memory.visible.records.values()
            members = [r for r in records if getattr(r.decision, by) == value]
        return sorted(members, key=lambda r: r.order)

    def ids_in(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        return self._embedded.documents.ids_in(by, values, since)

    # --- ConstraintStore and Quarantine ----------------------------------------------------------

    def recent(self) -> Constraints:
        return self._memory.constraints.value

    def read(self) -> Versioned[Constraints]:
        return self._memory.constraints

    def replace(self, new: Constraints, expected: int) -> bool:
        with self.request("constraints") as memory:
            if memory.constraints.version != expected:
                return False
            memory.constraints = Versioned(new, expected + 1)
        return True

    def add(self, failures: Sequence[Failure]) -> None:
        with self.request("quarantine") as memory:
            memory.failures |= {failure.id: failure for failure in failures}
            memory.generation += 1

    def entries(self) -> list[Failure]:
        return list(self._memory.failures.values())

    def remove(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            if self._memory.failures.pop(id_, None):
                self._memory.generation += 1

    # --- SearchIndex and Maintenance -------------------------------------------------------------

    @property
    def _embedded(self) -> SQLiteStore:
        """An embedded SQLite store that holds the visible records."""
        with self.request("search") as memory:
            if self._view is None or self._view[0] != memory.generation:
                self.close()
                self._view = memory.generation, SQLiteStore(":memory:", self.settings)
                self._view[1].documents.put(list(memory.visible.records.values()))
                self._view[1].quarantine.add(list(memory.failures.values()))
            return self._view[1]

    @property
    def search(self) -> SQLiteSearch:
        return self._embedded.search

    @property
    def maintenance(self) -> MemoryMaintenance:
        view = self._embedded
        return MemoryMaintenance(view.database, view.documents, self._memory, self.settings)


@dataclass(frozen=True, slots=True)
class MemoryRevisions:
    """Implements the `Revisions` port; a version is numbered by the write that made it."""

    store: MemoryStore

    def add(self, replaced: Sequence[Record], at: datetime) -> None:
        limit = self.store.settings.revisions
        with self.store.request("revisions") as memory:
            for record in replaced if limit else ():
                kept = memory.versions.get(record.document.id, ())
                version = ArticleVersion.of(record.document, at, record.version)
                memory.versions[record.document.id] = keep_version(kept, version, limit)

    def get(self, ids: Iterable[str]) -> dict[str, tuple[ArticleVersion, ...]]:
        with self.store.request("revisions") as memory:
            return {id_: memory.versions[id_] for id_ in ids if id_ in memory.versions}

    def remove(self, ids: Iterable[str]) -> None:
        with self.store.request("revisions") as memory:
            for id_ in ids:
                memory.versions.pop(id_, None)


@dataclass(frozen=True, slots=True)
class MemoryMaintenance(SQLiteMaintenance):
    """Reads a copy of the visible records, as of the moment the attribute was read."""

    memory: MemoryData
    settings: Settings

    def record_settings(self) -> None:
        self.memory.settings = self.settings

    def read_state(self, name: str) -> JSON | None:
        return self.memory.states.get(name)

    def write_state(self, name: str, values: JSON | None) -> None:
        self.memory.states |= {name: values}
