"""Keys of one more method for documents that are stored already: what each backend does for it.

Only these keys are written, and what the method keeps beside them; texts, links and the keys of
other methods stay. `switching` has the order of the steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from esdedup.model import JSON, Document, Failure, microseconds
from esdedup.model.methods import METHOD_SPECS
from esdedup.settings import Settings
from esdedup.stores import WriteReport
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.connection import path_of
from esdedup.stores.cluster.foreign_index import ExistingIndex, lacking_keys, ours_of, version_of
from esdedup.stores.sqlite.rows import RECORD_COLUMNS, key_numbers, record_from
from esdedup.stores.sqlite.store import SQLiteStore

_STATE = "added-method"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A stored document, the keys of the method it has now, and where a store finds it again."""

    document: Document | Failure
    keys: tuple[str, ...]
    kept: str
    place: Any


@dataclass(frozen=True, slots=True)
class Addition:
    """What a document gets: keys of the method, and what is kept beside them."""

    waiting: Waiting
    keys: tuple[str, ...]
    kept: str

    @property
    def is_news(self) -> bool:
        return (self.keys, self.kept) != (self.waiting.keys, self.waiting.kept)


class Added(Protocol):
    """Documents of a store to which keys of one method are added."""

    def count(self) -> int:
        """Documents without keys of the method; those too short to have any among them."""

    def pages(self, *, everything: bool, since: datetime | None) -> Iterator[list[Waiting]]:
        """Documents without keys of the method, or all; only those written since then."""

    def write(self, additions: Sequence[Addition]) -> WriteReport: ...
    def record(self, settings: Settings) -> None:
        """From now on the store is opened with these."""

    def state(self) -> JSON | None:
        """Where a run that did not come to its end is."""

    def save(self, state: JSON | None) -> None: ...


# --- an SQLite file ----------------------------------------------------------------------------


class AddedRows:
    """See `Added`."""

    def __init__(self, store: SQLiteStore, method: str, size: int) -> None:
        self._store = store
        self._db = store._db
        self._method = method
        self._size = size

    def count(self) -> int:
        query = f"SELECT count(*) FROM documents WHERE {self._lacking()}"
        with self._store._errors():
            (found,) = self._db.execute(query).fetchone()
        return int(found)

    def pages(self, *, everything: bool, since: datetime | None) -> Iterator[list[Waiting]]:
        wanted = "role != 'unprocessed'" if everything else self._lacking()
        last, oldest = -1, microseconds(since) if since else 0
        while True:
            with self._store._errors():
                rows = self._db.execute(
                    f"""SELECT seq, {RECORD_COLUMNS} FROM documents WHERE {wanted}
                        AND seq > ? AND changed >= ? ORDER BY seq LIMIT ?""",
                    (last, oldest, self._size),
                ).fetchall()
            if not rows:
                return
            last = rows[-1]["seq"]
            yield [self._waiting(row) for row in rows]

    def write(self, additions: Sequence[Addition]) -> WriteReport:
        conflicts = set()
        with self._store.transaction():
            for addition in additions:
                if not self._write_one(addition):
                    conflicts.add(addition.waiting.place.document.id)
        return WriteReport(conflicts=frozenset(conflicts))

    def record(self, settings: Settings) -> None:
        with self._store.transaction():
            for name, values in (("settings", settings.to_json()), ("shaping", settings.shaping())):
                self._put(name, values)

    def state(self) -> JSON | None:
        with self._store._errors():
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (_STATE,)).fetchone()
        return None if row is None else dict(json.loads(row["value"]))

    def save(self, state: JSON | None) -> None:
        with self._store.transaction():
            if state is None:
                self._db.execute("DELETE FROM meta WHERE name = ?", (_STATE,))
            else:
                self._put(_STATE, state)

    def _put(self, name: str, value: JSON) -> None:
        row = (name, json.dumps(value))
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)

    def _lacking(self) -> str:
        # The name of a method is one of ours, never the user's text.
        return f"role != 'unprocessed' AND json_extract(keys, '$.{self._method}') IS NULL"

    def _waiting(self, row: Any) -> Waiting:
        record = record_from(row)
        signature = record.signature
        kept = signature.kept.get(self._method, "")
        return Waiting(record.document, signature.keys.get(self._method, ()), kept, record)

    def _write_one(self, addition: Addition) -> bool:
        """False where somebody wrote the document since it was read."""
        record = addition.waiting.place
        keys = _with(record.signature.keys, self._method, addition.keys)
        kept = _with(record.signature.kept, self._method, addition.kept)
        found = self._db.execute(
            """UPDATE documents SET keys = ?, kept = ?, version = version + 1
               WHERE id = ? AND version = ? RETURNING seq""",
            (
                json.dumps(keys),
                json.dumps(kept) if kept else None,
                record.document.id,
                record.version,
            ),
        ).fetchone()
        if found is None:
            return False
        seq, leader = found["seq"], int(record.decision.link.attracts)
        self._db.executemany(
            "DELETE FROM keys WHERE key = ? AND leader IN (0, 1) AND seq = ?",
            [(key, seq) for key in key_numbers(addition.waiting.keys)],
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO keys VALUES (?, ?, ?)",
            [(key, leader, seq) for key in key_numbers(addition.keys)],
        )
        return True


def _with(values: Any, name: str, value: Any) -> dict[str, Any]:
    """The values with another one under this name; without the name where it is empty."""
    rest = {other: v for other, v in values.items() if other != name}
    return {**rest, name: value} if value else rest


# --- a search cluster --------------------------------------------------------------------------


class Pages(Protocol):
    """How `backfill` reads articles, whatever their fields are called."""

    def pages(self, query: JSON) -> Iterator[list[JSON]]: ...
    def document(self, hit: JSON) -> Document | Failure: ...


class AddedFields:
    """See `Added`."""

    def __init__(self, index: ExistingIndex, reader: Pages, method: str) -> None:
        self._index = index
        self._reader = reader
        self._method = method
        self._field = METHOD_SPECS[method].key_field

    def count(self) -> int:
        return self._index.count(self._query(everything=False, since=None))

    def pages(self, *, everything: bool, since: datetime | None) -> Iterator[list[Waiting]]:
        for hits in self._reader.pages(self._query(everything=everything, since=since)):
            yield [self._waiting(hit) for hit in hits]

    def write(self, additions: Sequence[Addition]) -> WriteReport:
        actions = []
        for addition in additions:
            dedup: JSON = {self._field: list(addition.keys) or None}
            if addition.kept or addition.waiting.kept:
                dedup["kept"] = {self._method: addition.kept or None}
            version = version_of(addition.waiting.place)
            actions.append(self._index.update(addition.waiting.place["_id"], version, dedup))
        return self._index.store.write(actions)

    def record(self, settings: Settings) -> None:
        """In the index that is read first last of all: till then the store is as it was."""
        store = self._index.store
        ours = bodies.meta(settings)["esdedup"]
        for name, mapping in reversed((store.index.mappings() or {}).items()):
            meta = mapping.get("_meta", {})
            body = {"_meta": {**meta, "esdedup": {**meta.get("esdedup", {}), **ours}}}
            store.connection.send("PUT", path_of(name, "_mapping"), body=body)

    def state(self) -> JSON | None:
        found = self._index.read_state(_STATE)
        return dict(found.values) if found is not None and found.values["phase"] else None

    def save(self, state: JSON | None) -> None:
        self._index.write_state(_STATE, state or {"phase": None})

    def _query(self, *, everything: bool, since: datetime | None) -> JSON:
        return lacking_keys(None if everything else self._field, since)

    def _waiting(self, hit: JSON) -> Waiting:
        ours = ours_of(hit)
        keys = tuple(ours.get(self._field) or ())
        kept = (ours.get("kept") or {}).get(self._method) or ""
        return Waiting(self._reader.document(hit), keys, kept, hit)
