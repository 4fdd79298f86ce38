"""Detects other writers on a cluster by sequence numbers, and makes writes visible by refreshes.

Every write takes the next sequence number of its shard. If the numbers of all shards rose by
exactly as many as this store wrote, nobody else wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.stores.cluster.bulk import Written
from esdedup.stores.cluster.causes import cause_of
from esdedup.stores.cluster.connection import ClusterRefused, path_of
from esdedup.stores.cluster.constraints import ClusterConstraints
from esdedup.stores.cluster.index import Index
from esdedup.stores.ports import EVENTUAL

_POSITION_FIELDS = (
    "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.routing.node,"
    "indices.*.shards.*.seq_no.max_seq_no"
)


@dataclass(frozen=True, slots=True)
class Position:
    """The sequence numbers of the indices behind a name.

    Their sum is the number of writes so far. If a primary moved to another node, numbers may have
    been given twice.
    """

    indices: Mapping[str, str]  # name -> uuid
    primaries: Mapping[tuple[str, str], str]  # index and shard -> node
    operations: int

    def is_followed_by(self, other: Position, operations: int) -> bool:
        return (self.indices, self.primaries) == (
            other.indices,
            other.primaries,
        ) and self.operations + operations == other.operations


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A position, and the writes of this store itself up to it."""

    position: Position
    own_operations: int
    repeated: int
    constraints: Any = None  # their version


_NOWHERE = Snapshot(Position({}, {}, 0), 0, 0)


class ClusterConcurrency:
    """Implements the `Concurrency` port.

    Two threads use it: one decides (`snapshot`, `unchanged_since`, `make_visible`), one
    writes (`check_position` before a bulk, `count_writes` after it). The state below is read and
    replaced under one lock; no request is sent while it is held.

        _position         of the shards, as of the last request
        _own_operations   writes of this store that the cluster has confirmed
        _shown            _position and _own_operations as of before the last refresh: what
                          searches are known to show
    """

    consistency = EVENTUAL

    def __init__(
        self, index: Index, constraints: ClusterConstraints, on_refresh: Callable[[], None]
    ) -> None:
        """`on_refresh` is called whenever the results of searches may have changed."""
        self._index = index
        self._connection = index.connection
        self._target = index.target
        self._constraints = constraints
        self._on_refresh = on_refresh
        self._lock = Lock()
        self._position: Position | None = None
        self._own_operations = 0
        self._shown: tuple[Position | None, int] = (None, 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A cluster has none; `reconcile` stands in for it."""
        yield

    # --- visibility ----------------------------------------------------------------------------

    def make_visible(self, *, own_only: bool = False) -> None:
        with self._lock:
            before = self._position, self._own_operations
            if own_only and self._shown[1] == self._own_operations:
                return
        answer = self._connection.send("POST", path_of(self._target.index, "_refresh"))
        if answer.get("_shards", {}).get("failed"):
            why = cause_of(answer["_shards"])
            raise StoreUnavailable(f"{self._target.shown}: a shard did not refresh{why}; run again")
        with self._lock:
            self._shown = before  # the other thread may have written since
        self._on_refresh()

    # --- other writers -------------------------------------------------------------------------

    def snapshot(self, *, visible: bool = True) -> Snapshot:
        """A refresh costs 25 to 70 ms: only where something was written since the last one.

        A store opened for reading takes what is visible: a refresh needs more rights than reading.
        """
        if self._index.mode == "read":
            return _NOWHERE
        if visible:
            position = self.check_position()
            with self._lock:
                is_shown = position == self._shown[0]
            if not is_shown:
                self.make_visible()
            self._on_refresh()
            self._constraints.read()
        with self._lock:
            assert self._position is not None, "`check_position` comes first"
            return Snapshot(
                self._position,
                self._own_operations,
                self._connection.repeated,
                self._constraints.version,
            )

    def unchanged_since(self, snapshot: Snapshot) -> bool:
        """If two writers each write between the other's snapshot and its call of this method, both
        get False."""
        with self._lock:
            own = self._own_operations - snapshot.own_operations
        position = self.check_position()
        self._constraints.read()
        return (
            self._connection.repeated == snapshot.repeated
            and snapshot.position.is_followed_by(position, own)
            and self._constraints.version == snapshot.constraints
        )

    def count_writes(self, written: Written) -> None:
        """Count the writes of this store, which are not those of another writer."""
        with self._lock:
            self._connection.repeated += written.repeated
            self._own_operations += written.operations

    def check_position(self) -> Position:
        """Read the position; detects an index that was deleted, or that a rollover added.

        Only writers call it: an added index gets our fields before the first search.
        """
        shards = self._started_shards()
        position = _position_of(shards)
        with self._lock:
            before = self._position.indices if self._position else {}
            if any(position.indices.get(name, uuid) != uuid for name, uuid in before.items()):
                raise self._deletion_error()
            self._position = position
        self._index.take_up(shards)
        return position

    def _started_shards(self) -> dict[str, JSON]:
        """Index -> its started shards; waits for the first, which a new index does not have yet.

        Only this request proves that an index is gone: a cluster that has just elected
        a leader does not know its indices yet, and answers 404 to others.
        """
        deadline = time.monotonic() + self._target.retry_seconds
        while True:
            try:
                answer = self._connection.send(
                    "GET",
                    path_of(self._target.index, "_stats", "docs"),
                    params={"level": "shards", "filter_path": _POSITION_FIELDS},
                )
            except ClusterRefused as refusal:
                if refusal.status == 404:
                    raise self._deletion_error() from refusal
                raise
            if indices := answer.get("indices"):
                return dict(indices)
            if time.monotonic() > deadline:
                if self._index.mappings() is None:
                    raise self._deletion_error()
                raise StoreUnavailable(
                    f"{self._target.shown}: no shard has started; look at the health of the "
                    "cluster and run the same command again"
                )
            self._connection.pause(0.1)

    def _deletion_error(self) -> StoreError:
        return StoreError(
            f"{self._target.shown}: the index was deleted while esdedup was at work; run the same "
            "command again to make it anew"
        )


def _position_of(indices: Mapping[str, JSON]) -> Position:
    primaries: dict[tuple[str, str], str] = {}
    operations = 0
    for name, entry in indices.items():
        for shard, copies in entry.get("shards", {}).items():
            for copy in copies:
                if copy["routing"]["primary"]:
                    primaries[name, shard] = copy["routing"]["node"]
                    operations += copy["seq_no"]["max_seq_no"] + 1
    return Position({n: entry["uuid"] for n, entry in indices.items()}, primaries, operations)
