"""Keys of one more method for the documents of a cluster store.

Only these keys are written, and what the method keeps beside them; texts, links and the keys of
other methods stay. `maintenance.enable_method` has the order of the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from esdedup.model import JSON
from esdedup.model.methods import METHOD_SPECS
from esdedup.settings import Settings
from esdedup.stores.cluster.documents import update_of, version_of
from esdedup.stores.cluster.foreign_index import ForeignIndex, lacking_keys, ours_of
from esdedup.stores.ports import Addition, HitReader, Waiting, WriteReport

_STATE = "added-method"


class ClusterKeyBackfill:
    """See `ports.KeyBackfill`."""

    def __init__(self, index: ForeignIndex, reader: HitReader, method: str) -> None:
        self._index = index
        self._reader = reader
        self._method = method
        self._field = METHOD_SPECS[method].key_field

    def count(self) -> int:
        return self._index.count(self._query(everything=False, since=None))

    def pages(self, *, everything: bool, since: datetime | None) -> Iterator[list[Waiting]]:
        for hits in self._reader.pages(self._query(everything=everything, since=since)):
            yield [self._read_waiting(hit) for hit in hits]

    def write(self, additions: Sequence[Addition]) -> WriteReport:
        actions = []
        for addition in additions:
            dedup: JSON = {self._field: list(addition.keys) or None}
            if addition.query_seed or addition.waiting.query_seed:
                dedup["kept"] = {self._method: addition.query_seed or None}
            version = version_of(addition.waiting.handle)
            actions.append(update_of(addition.waiting.handle["_id"], version, dedup))
        return self._index.write(actions)

    def record(self, settings: Settings) -> None:
        self._index.index.record_settings(settings)

    def state(self) -> JSON | None:
        found = self._index.read_state(_STATE)
        return dict(found.values) if found is not None and found.values["phase"] else None

    def save(self, state: JSON | None) -> None:
        self._index.write_state(_STATE, state or {"phase": None})

    def _query(self, *, everything: bool, since: datetime | None) -> JSON:
        return lacking_keys(None if everything else self._field, since)

    def _read_waiting(self, hit: JSON) -> Waiting:
        ours = ours_of(hit)
        keys = tuple(ours.get(self._field) or ())
        kept = (ours.get("kept") or {}).get(self._method) or ""
        return Waiting(self._reader.document(hit), keys, kept, hit)
