"""The store in memory. It shows in a few dictionaries what every store promises.

`Memory` holds the data, as a file or a cluster does. Each `MemoryStore` opened on it is a client:

    memory = Memory(delayed=True)
    one, other = MemoryStore(memory), MemoryStore(memory)

With immediate visibility it behaves like SQLite: a transaction is isolated and all or nothing.
With delayed visibility it behaves like a search cluster. A write is visible to searches only after
`refresh`, every write is conditional on the version that was read, and other clients write at any
time. `on_request` is called before every request; a test interleaves other clients there.

Full-text search, statistics and checks run on an embedded SQLite store filled with the visible
records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from typing import Any, Literal, NamedTuple

from esdedup.errors import StoreMissing
from esdedup.matching.constraints import NOTHING_SAID, Corrections
from esdedup.model import Candidate, Decision, Failure, microseconds
from esdedup.model.queries import By
from esdedup.settings import Settings
from esdedup.stores import KEPT_EVIDENCE, Fold, Probe, Record, SearchResult, WriteReport
from esdedup.stores.key_index import KeyIndex
from esdedup.stores.sqlite.rows import clock
from esdedup.stores.sqlite.search import SQLiteSearch
from esdedup.stores.sqlite.store import SQLiteStore
from esdedup.stores.topical import Asked, Clock, Found


class Stored(NamedTuple):
    """A record at its current version, and when it was written."""

    record: Record
    changed: int


class Mark(NamedTuple):
    """How many writes there were, how many of them by this client, and the constraints."""

    writes: int
    own_writes: int
    constraints: int


@dataclass(slots=True)
class Memory:
    """The data that several clients share."""

    delayed: bool = False
    settings: Settings | None = None
    documents: dict[str, Stored] = field(default_factory=dict)
    visible: KeyIndex = field(default_factory=KeyIndex)
    changed: dict[str, int] = field(default_factory=dict)  # of visible records
    unrefreshed: set[str] = field(default_factory=set)
    writes: int = 0  # a record's version is the number of the write that made it
    refreshes: int = 0
    failures: dict[str, Failure] = field(default_factory=dict)
    constraints: Corrections = NOTHING_SAID
    constraints_version: int = 0
    lock: RLock = field(default_factory=RLock)

    def write(self, id_: str, record: Record | None) -> None:
        """Store a record, or with None remove it."""
        self.writes += 1
        if record is None:
            del self.documents[id_]
        else:
            kept = replace(record.decision, evidence=record.decision.evidence[:KEPT_EVIDENCE])
            versioned = replace(record, decision=kept, version=self.writes)
            self.documents[id_] = Stored(versioned, clock())
        self.unrefreshed.add(id_)
        if not self.delayed:
            self.refresh()

    def refresh(self) -> None:
        for id_ in self.unrefreshed:
            if stored := self.documents.get(id_):
                self.visible.put(stored.record)
                self.changed[id_] = stored.changed
            else:
                self.visible.discard(id_)
                self.changed.pop(id_, None)
        if self.unrefreshed:
            self.refreshes += 1
        self.unrefreshed.clear()


class MemoryStore:
    """See `Store`."""

    kept_topics = None

    def __init__(
        self,
        memory: Memory,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
        on_request: Callable[[str], None] = lambda name: None,
    ) -> None:
        recorded = memory.settings
        if recorded is None and mode == "read":
            raise StoreMissing("there is no store at memory; `esdedup index` makes one")
        self.settings = settings or recorded or Settings()
        if recorded is None:
            memory.settings = self.settings
        else:
            self.settings.check_against(recorded.shaping(), store="memory")
        self.serial = not memory.delayed
        self._memory = memory
        self._on_request = on_request
        self._own_writes = 0
        self._depth = 0  # of transactions
        self._constraints_read = 0  # their version
        self._view: tuple[int, SQLiteStore] | None = None

    @property
    def refuses_known_ids(self) -> bool:
        return self._memory.delayed

    def adopt(self, settings: Settings) -> None:
        self.settings = settings

    def record_settings(self) -> None:
        self._memory.settings = self.settings

    def close(self) -> None:
        if self._view:
            self._view[1].close()

    @contextmanager
    def _request(self, name: str) -> Iterator[Memory]:
        self._on_request(name)
        with self._memory.lock:
            yield self._memory

    # --- visibility and other clients ----------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        """Isolated and all or nothing; with delayed visibility there are no transactions."""
        return nullcontext() if self._memory.delayed or self._depth else self._isolated()

    @contextmanager
    def _isolated(self) -> Iterator[None]:
        with self._memory.lock:
            documents, failures = dict(self._memory.documents), dict(self._memory.failures)
            self._depth += 1
            try:
                yield
            except BaseException:
                self._memory.unrefreshed = {*documents, *self._memory.documents}
                self._memory.documents, self._memory.failures = documents, failures
                self._memory.refresh()
                raise
            finally:
                self._depth -= 1

    def refresh(self) -> None:
        with self._request("refresh") as memory:
            memory.refresh()

    def see_own_writes(self) -> None:
        self.refresh()

    def begin(self) -> Mark:
        with self._request("position"):
            mark = self.marked()
        self.refresh()
        return mark

    def marked(self) -> Mark:
        memory = self._memory
        return Mark(memory.writes, self._own_writes, memory.constraints_version)

    def undisturbed(self, mark: Mark) -> bool:
        with self._request("position") as memory:
            return (
                memory.writes - mark.writes == self._own_writes - mark.own_writes
                and memory.constraints_version == mark.constraints
            )

    # --- candidates ----------------------------------------------------------------------------

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        with self._request("find") as memory:
            return [memory.visible.find(probe) for probe in probes]

    def later(self, probes: Sequence[Probe]) -> set[str]:
        with self._request("successors") as memory:
            return {id_ for probe in probes for id_ in memory.visible.successors(probe)}

    def followers(self, ids: Iterable[str]) -> set[str]:
        wanted = set(ids)
        return {
            r.document.id
            for r in self._visible("dependents")
            if r.decision.group in wanted or r.decision.link.parent in wanted
        } - wanted

    # --- documents -----------------------------------------------------------------------------

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]:
        with self._request("get") as memory:
            return {id_: memory.documents[id_].record for id_ in ids if id_ in memory.documents}

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        return self._write("put", records, is_conditional=self._memory.delayed)

    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        return self._write("relink", [record.with_decision(d) for record, d in changes])

    def rewrite_many(self, records: Sequence[Record]) -> WriteReport:
        return self._write("rewrite", records)

    def _write(
        self, name: str, records: Sequence[Record], *, is_conditional: bool = True
    ) -> WriteReport:
        conflicts = set()
        with self._request(name) as memory:
            for record in records:
                id_ = record.document.id
                stored = memory.documents.get(id_)
                if is_conditional and record.version != (stored and stored.record.version):
                    conflicts.add(id_)
                else:
                    memory.write(id_, record)
                    self._own_writes += 1
        return WriteReport(conflicts=frozenset(conflicts))

    def delete(self, ids: Iterable[str]) -> set[str]:
        with self._request("delete") as memory:
            removed = set(ids) & memory.documents.keys()
            for id_ in removed:
                memory.write(id_, None)
                memory.failures.pop(id_, None)
                self._own_writes += 1
        self.refresh()
        return removed

    def members(self, group: str) -> list[Record]:
        members = (r for r in self._visible("members") if r.decision.group == group)
        return sorted(members, key=lambda r: r.order)

    def story(self, story: str) -> list[Record]:
        members = (r for r in self._visible("story") if r.decision.story == story)
        return sorted(members, key=lambda r: r.order)

    def changed_since(self, moment: datetime) -> set[str]:
        low = microseconds(moment)
        with self._request("changed") as memory:
            return {id_ for id_, changed in memory.changed.items() if changed >= low}

    def _visible(self, name: str) -> list[Record]:
        with self._request(name) as memory:
            return list(memory.visible.records.values())

    # --- constraints and quarantine --------------------------------------------------------------

    @property
    def corrections(self) -> Corrections:
        with self._memory.lock:
            self._constraints_read = self._memory.constraints_version
            return self._memory.constraints

    def correct(self, said: Corrections) -> bool:
        with self._request("constraints") as memory:
            if memory.constraints_version != self._constraints_read:
                return False
            memory.constraints = said
            memory.constraints_version += 1
            self._constraints_read = memory.constraints_version
        return True

    def quarantine(self, failures: Sequence[Failure]) -> None:
        with self._request("quarantine") as memory:
            memory.failures |= {failure.id: failure for failure in failures}

    def quarantined(self) -> list[Failure]:
        return list(self._memory.failures.values())

    def release(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            self._memory.failures.pop(id_, None)

    # --- questions answered by SQLite ------------------------------------------------------------

    @property
    def _embedded(self) -> SQLiteStore:
        """An embedded store that holds the visible records."""
        with self._request("search") as memory:
            if self._view is None or self._view[0] != memory.refreshes:
                self.close()
                view = SQLiteStore(":memory:", self.settings)
                view.put_many(list(memory.visible.records.values()))
                self._view = memory.refreshes, view
            return self._view[1]

    @property
    def finder(self) -> SQLiteSearch:
        return self._embedded.finder

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        return self._embedded.search(query, fold=fold, size=size, offset=offset)

    def topical(self, asked: Asked) -> list[Found]:
        return self._embedded.topical(asked)

    def in_order(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        return iter(list(self._embedded.in_order(clock, low)))

    def latest(self, clock: Clock) -> int | None:
        return self._embedded.latest(clock)

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        return self._embedded.groups(smallest=smallest, size=size)

    def aged(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        return iter(list(self._embedded.aged(before, leading, keyed=keyed)))

    def gathered(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        return self._embedded.gathered(by, values, since)

    def stats(self) -> dict[str, Any]:
        return {**self._embedded.stats(), "quarantine": len(self._memory.failures)}

    def hot_keys(self, above: int) -> dict[str, int]:
        return self._embedded.hot_keys(above)

    def check(self) -> list[str]:
        return self._embedded.check()

    def misplaced(self) -> set[str]:
        return self._embedded.misplaced()
