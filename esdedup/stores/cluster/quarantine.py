"""The quarantine of a cluster store: an index of its own, never among the articles."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.errors import StoreError
from esdedup.model import JSON, MAX_ID_BYTES, Document, Failure, iso
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.connection import ClusterRefused, Connection, path_of

_PAGE = 1_000


@dataclass(slots=True)
class Quarantine:
    """Entries by the id of what failed; the index is made with the first."""

    connection: Connection
    index: str
    _exists: bool | None = None  # not asked yet

    def add(self, failures: Sequence[Failure]) -> None:
        if not failures:
            return
        self._make()
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
        """All of them, the oldest first."""
        sources: list[JSON] = []
        body: JSON = {"size": _PAGE, "sort": [{"at": "asc"}, {"_doc": "asc"}]}
        try:
            self.connection.send("POST", path_of(self.index, "_refresh"))
            while True:
                answer = self.connection.send("POST", path_of(self.index, "_search"), body=body)
                hits = answer["hits"]["hits"]
                sources += (hit["_source"] for hit in hits)
                if len(hits) < _PAGE:
                    break
                body["search_after"] = hits[-1]["sort"]
        except ClusterRefused as refusal:
            if refusal.status != 404:
                raise
        return [_failure(source) for source in sources]

    def remove(self, ids: Iterable[str]) -> None:
        """Deleting blindly is cheap, asking for each batch is not; nearly always there is none."""
        wanted = list(ids)
        if self._exists is None:
            self._exists = self._is_there()
        if wanted and self._exists:
            actions = [
                Action.of(id_, {"delete": {"_index": self.index, "_id": _entry_id(id_)}})
                for id_ in wanted
            ]
            bulk.write(self.connection, actions)

    def _make(self) -> None:
        if self._exists:
            return
        body = {"mappings": bodies.quarantine_mapping()}
        try:
            self.connection.send("PUT", path_of(self.index), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise
        self._exists = True

    def _is_there(self) -> bool:
        try:
            self.connection.send("GET", path_of(self.index, "_mapping"))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return False
            raise
        return True


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
