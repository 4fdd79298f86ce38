"""A long bulk in parts: while the cluster writes one of them, the next is signed and decided.

Only where parts say what the whole would have said. The cluster takes or refuses some bulks as a
whole (a missing last newline, an id that is too long, a parameter it does not know), and with
others it does something once (`refresh`): these are sent as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from esdedup.gateway.bulk import Bulk, Operation
from esdedup.model import JSON, MAX_ID_BYTES

# Every part costs the cluster a search and a bulk more: of 500 articles in four parts it had a
# third more to do than of the whole, in two a sixth (turns on a busy machine: two were quickest).
_PARTS = 2
_SMALLEST = 100
_LARGEST = 500
# What a request may say besides its lines.
_PARAMETERS = frozenset({"timeout", "wait_for_active_shards"})
_META = frozenset({"_index", "_id"})


def divide(bulk: Bulk) -> list[Bulk]:
    """Parts of about the same length; one, where it is short."""
    operations = bulk.operations
    total = len(operations)
    count = max(1, min(total // _SMALLEST, max(_PARTS, -(-total // _LARGEST))))
    ends = [total * (number + 1) // count for number in range(count)]
    return [
        _part(bulk, operations[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def _part(bulk: Bulk, operations: list[Operation]) -> Bulk:
    first, last = operations[0].action_line, operations[-1].source_line
    return replace(
        bulk, lines=[*bulk.lines[first : last + 1], b""], operations=operations, first_line=first
    )


def is_divisible(bulk: Bulk, parameters: Iterable[str], accept: str) -> bool:
    """Whether the answers to its parts are those to the whole; `accept` is the request's header."""
    return (
        len(bulk.operations) >= 2 * _SMALLEST
        and _PARAMETERS.issuperset(parameters)
        and (not accept or "json" in accept or "*/*" in accept)
        # Two lines each, the last one ended.
        and len(bulk.lines) == 2 * len(bulk.operations) + 1
        and not bulk.lines[-1]
        and all(map(_is_plain, bulk.operations))
        and _are_distinct(bulk.operations)
    )


def _is_plain(operation: Operation) -> bool:
    return (
        operation.verb in ("create", "index")
        and _META.issuperset(operation.meta)
        and operation.source is not None
        and len((operation.id or "").encode("utf-8", "surrogatepass")) <= MAX_ID_BYTES
    )


def _are_distinct(operations: Sequence[Operation]) -> bool:
    """Of two writes of one document the second is decided on what the first one wrote."""
    named = [(op.index, op.id) for op in operations if op.id is not None]
    return len(set(named)) == len(named)


def join(answers: Sequence[JSON]) -> JSON:
    """The answers to all parts as one."""
    items = [item for answer in answers for item in answer["items"]]
    took = {
        name: sum(answer.get(name, 0) for answer in answers)
        for name in ("took", "ingest_took")
        if any(name in answer for answer in answers)
    }
    errors = any(answer["errors"] for answer in answers)
    return {"errors": errors, **took, "items": items}


def is_answer(said: JSON | None) -> bool:
    """Whether it tells what became of every operation."""
    return said is not None and isinstance(said.get("items"), list) and "errors" in said


def part_answer(part: Bulk | None, status: int, said: JSON | None) -> JSON:
    """What the cluster said of a part, or of each of its items that it refused the part."""
    if said is not None and is_answer(said):
        return said
    error = (said or {}).get("error") or {"type": "esdedup_gateway_exception"}
    return _refuse_all(part, max(status, 500) if status < 300 else status, error)


def lost_answer(part: Bulk | None, reason: str) -> JSON:
    """Of a part whose answer did not come: whether it was written nobody knows."""
    return _refuse_all(part, 502, {"type": "esdedup_gateway_exception", "reason": reason})


def _refuse_all(part: Bulk | None, status: int, error: Any) -> JSON:
    items = [
        {op.verb: {"_index": op.index, "_id": op.id, "status": status, "error": error}}
        for op in (part.operations if part else ())
    ]
    return {"errors": True, "items": items}
