"""What people said of the articles of a cluster store: one document in an index of its own.

One, because it is read and replaced as a whole: a reader never sees half of what was said, and of
two people who speak at once the second is told and looks again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.matching.constraints import NOTHING_SAID, Correction, Corrections
from esdedup.model import JSON, iso
from esdedup.stores.cluster.connection import ClusterRefused, Connection, path_of

_ID = "corrections"
# Who only reads may be this far behind, in seconds.
_FRESH = 2.0
_Version = tuple[int, int] | None


@dataclass(slots=True)
class WordsOfPeople:
    connection: Connection
    index: str
    _said: Corrections = NOTHING_SAID
    _version: _Version = None
    _read_at: float | None = None

    @property
    def version(self) -> _Version:
        return self._version

    def recent(self) -> Corrections:
        """As of now, or of a moment ago."""
        if self._read_at is None or time.monotonic() - self._read_at > _FRESH:
            self.read()
        return self._said

    def read(self) -> Corrections:
        """As of this moment: a document is read by its id in real time. The words themselves come
        only where their version is another than the one read before."""
        version = self._ask_version()
        if version != self._version:
            answer = self._get(source=True)
            words = answer["_source"]["said"]["list"] if answer else []
            self._said = Corrections.of(map(Correction.from_json, words))
            version = (answer["_seq_no"], answer["_primary_term"]) if answer else None
        self._version = version
        self._read_at = time.monotonic()
        return self._said

    def replace(self, said: Corrections) -> bool:
        """False where somebody else spoke since they were read."""
        params: dict[str, object] = {"op_type": "create"}
        if self._version is None:
            self._make()
        else:
            params = {"if_seq_no": self._version[0], "if_primary_term": self._version[1]}
        body = {
            "at": iso(datetime.now(UTC)),
            "said": {"list": [c.to_json() for c in said.said]},
        }
        try:
            answer = self.connection.send(
                "PUT", path_of(self.index, "_doc", _ID), params=params, body=body
            )
        except ClusterRefused as refusal:
            if refusal.status == 409:
                return False
            raise
        self._said, self._version = said, (answer["_seq_no"], answer["_primary_term"])
        self._read_at = time.monotonic()
        return True

    def _ask_version(self) -> _Version:
        answer = self._get(source=False)
        return (answer["_seq_no"], answer["_primary_term"]) if answer else None

    def _get(self, *, source: bool) -> JSON | None:
        path = path_of(self.index, "_doc", _ID)
        try:
            answer = self.connection.send(
                "GET", path, params={"_source": "true" if source else "false"}
            )
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise
        return answer if answer.get("found") else None

    def _make(self) -> None:
        body = {
            "settings": {"number_of_shards": 1, "auto_expand_replicas": "0-1"},
            "mappings": {
                "dynamic": False,
                "properties": {
                    "at": {"type": "date"},
                    "said": {"type": "object", "enabled": False},
                },
            },
        }
        try:
            self.connection.send("PUT", path_of(self.index), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise
