"""Whether other writers were at work: positions of an index, told by its sequence numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from esdedup.model import JSON

POSITION_FIELDS = (
    "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.routing.node,"
    "indices.*.shards.*.seq_no.max_seq_no"
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far the indices behind a name have come.

    Every write takes the next number of its shard, so that their sum tells how many there were.
    Where a primary moved to another node numbers may have been given twice.
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
class Mark:
    """A position, and what this store itself had done by then."""

    position: Position
    own_operations: int
    repeated: int
    said: Any = None  # the version of what people said


def position_of(indices: Mapping[str, JSON]) -> Position:
    primaries: dict[tuple[str, str], str] = {}
    operations = 0
    for name, entry in indices.items():
        for shard, copies in entry.get("shards", {}).items():
            for copy in copies:
                if copy["routing"]["primary"]:
                    primaries[name, shard] = copy["routing"]["node"]
                    operations += copy["seq_no"]["max_seq_no"] + 1
    return Position({n: entry["uuid"] for n, entry in indices.items()}, primaries, operations)
