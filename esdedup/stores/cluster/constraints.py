"""The constraints of a cluster store: one document in an index of its own.

One document is read and replaced as a whole. A reader never sees half of a change, and of two
concurrent changes the second gets a conflict.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.matching.constraints import NO_CONSTRAINTS, Constraint, Constraints
from esdedup.model import JSON, iso
from esdedup.stores.cluster.connection import Connection, path_of
from esdedup.stores.ports import Versioned

_ID = "corrections"
# Age in seconds up to which `recent` answers without a request.
_FRESH = 2.0
_INDEX: JSON = {
    "settings": {"number_of_shards": 1, "auto_expand_replicas": "0-1"},
    "mappings": {
        "dynamic": False,
        "properties": {"at": {"type": "date"}, "said": {"type": "object", "enabled": False}},
    },
}
_Version = tuple[int, int] | None
_UNREAD = Versioned(NO_CONSTRAINTS, None)


@dataclass(slots=True)
class ClusterConstraints:
    """Implements the `ConstraintStore` port."""

    connection: Connection
    index: str
    _last: Versioned[Constraints] = _UNREAD
    _read_at: float | None = None

    @property
    def version(self) -> _Version:
        """As of the last `read`."""
        found: _Version = self._last.version
        return found

    def recent(self) -> Constraints:
        if self._read_at is None or time.monotonic() - self._read_at > _FRESH:
            self.read()
        return self._last.value

    def read(self) -> Versioned[Constraints]:
        """In real time, by id. The constraints themselves are sent only if their version changed
        since the last time."""
        if _version_of(self._get(source=False)) != self._last.version:
            answer = self._get(source=True)
            stored = answer["_source"]["said"]["list"] if answer else []
            constraints = Constraints.of(map(Constraint.from_json, stored))
            self._last = Versioned(constraints, _version_of(answer))
        self._read_at = time.monotonic()
        return self._last

    def replace(self, new: Constraints, expected: _Version) -> bool:
        if expected is None:
            self.connection.create_index(self.index, _INDEX)
        body = {
            "at": iso(datetime.now(UTC)),
            "said": {"list": [c.to_json() for c in new.items]},
        }
        answer = self.connection.put_if(self.index, _ID, body, expected)
        if answer is None:
            return False
        self._last = Versioned(new, _version_of(answer))
        self._read_at = time.monotonic()
        return True

    def _get(self, *, source: bool) -> JSON | None:
        answer: JSON | None = self.connection.send_or_none(
            "GET",
            path_of(self.index, "_doc", _ID),
            params={"_source": "true" if source else "false"},
        )
        return answer if answer and answer.get("found") else None


def _version_of(answer: JSON | None) -> _Version:
    return (answer["_seq_no"], answer["_primary_term"]) if answer else None
