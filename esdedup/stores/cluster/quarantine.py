"""The quarantine of a cluster store: an index of its own, never among the articles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from esdedup.errors import StoreError
from esdedup.model import JSON, MAX_ID_BYTES, Document, Failure, iso
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.connection import Connection, path_of
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.requests import mapping as mapping_requests


@dataclass(slots=True)
class ClusterQuarantine:
    """Implements the `Quarantine` port: entries by the id of what failed.

    The index is created with the first entry.
    """

    connection: Connection
    index: str
    _exists: bool | None = None  # None: not known yet

    def add(self, failures: Sequence[Failure]) -> None:
        if not failures:
            return
        if not self._exists:
            self.connection.create_index(
                self.index, {"mappings": mapping_requests.quarantine_mapping()}
            )
            self._exists = True
        now = iso(datetime.now(UTC))
        actions = [
            Action.of(
                f.id,
                {"index": {"_index": self.index, "_id": _entry_id(f.id)}},
                {**f.to_json(), "at": now, "document": f.document and f.document.to_json()},
            )
            for f in failures
        ]
        refused = bulk.write(self.connection, actions).failures
        if refused:
            id_, reason = next(iter(refused.items()))
            raise StoreError(f"{self.index}: cannot keep {id_}: {reason}")

    def entries(self) -> list[Failure]:
        """All of them, the oldest first, from one point in time."""
        if self.connection.send_or_none("POST", path_of(self.index, "_refresh")) is None:
            return []
        searches = Searches(self.connection, replace(self.connection.target, index=self.index))
        return [_failure(hit["_source"]) for hit in searches.scan({"sort": [{"at": "asc"}]})]

    def remove(self, ids: Iterable[str]) -> None:
        """Delete without looking first: a delete is cheap, and a search for every batch is not."""
        wanted = list(ids)
        if self._exists is None:
            mapping = self.connection.send_or_none("GET", path_of(self.index, "_mapping"))
            self._exists = mapping is not None
        if wanted and self._exists:
            actions = [
                Action.of(id_, {"delete": {"_index": self.index, "_id": _entry_id(id_)}})
                for id_ in wanted
            ]
            bulk.write(self.connection, actions)


def _failure(source: JSON) -> Failure:
    document = source.get("document")
    return Failure(
        source["id"],
        source["where"],
        source["reason"],
        source["final"],
        Document.from_json(document) if document else None,
    )


def _entry_id(id_: str) -> str:
    """File names can be longer than an id may be."""
    if len(id_.encode()) <= MAX_ID_BYTES:
        return id_
    return hashlib.blake2b(id_.encode(), digest_size=16).hexdigest()
