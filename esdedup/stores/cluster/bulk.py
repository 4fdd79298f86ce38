"""Bulk writes: send, read the answer for every document, send again what met a passing fault.

HTTP 200 says nothing about the documents inside. What their answers mean, on both products:

    201, 200                             written
    409                                  another version is there, or our own first try: read again
    404 of an update, of a delete        gone: read again; as wanted
    429, 500, 502-504                    passing (queue full, node lost): again after a pause
    429 or 403 cluster_block_exception   disk full or read-only: waiting does not help
    400 and the rest                     this document is refused, for the reason given
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Self

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.stores import WriteReport
from esdedup.stores.cluster.causes import cause_of, describe_error
from esdedup.stores.cluster.connection import (
    Connection,
    PrivilegeMissing,
    Unanswered,
    is_lasting_block,
    lines,
)

_DOCUMENTS = 1_000
_BYTES = 8 << 20
_ANSWER = "items.*.status,items.*.result,items.*.error"
_PASSING = (429, 500, 502, 503, 504)
# A queue that is full now may have room the next moment, and others wait for it as well.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Action:
    """One document to write: the action line and the source line, encoded."""

    id: str
    lines: bytes

    @classmethod
    def of(cls, id_: str, line: JSON, source: JSON | None = None) -> Self:
        return cls(id_, lines([line] if source is None else [line, source]))


@dataclass(slots=True)
class Written:
    """The result of a bulk; with `repeated` some of the `operations` may have been done twice."""

    operations: int = 0
    repeated: bool = False
    conflicts: set[str] = field(default_factory=set)
    failures: dict[str, str] = field(default_factory=dict)
    passing: str = ""  # the last fault that may pass, for the error after the last retry

    def report(self) -> WriteReport:
        return WriteReport(frozenset(self.conflicts), self.failures)


def write(
    connection: Connection,
    actions: Sequence[Action],
    find_stored: Callable[[Sequence[str]], Set[str]] = lambda ids: frozenset(),
) -> Written:
    """Send every action, in requests of bounded size.

    `find_stored` is asked before an action is sent again. Ids that are stored by then count as
    conflicts: behind a rollover another index would take them once more.
    """
    written, patience = Written(), connection.target.retry_seconds
    for part in _parts(actions):
        left = _send(connection, part, written)
        deadline = time.monotonic() + patience
        pause = _FIRST_PAUSE
        while left:
            written.repeated = True
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"{connection.target.shown}: {len(left)} documents, {left[0].id} among them, "
                    f"were not taken for {patience:.0f} s ({written.passing}); "
                    "run the same command when the cluster is back or less busy"
                )
            connection.pause(pause * (0.5 + random.random() / 2))
            pause = min(pause * 2, _LONGEST_PAUSE)
            stored = find_stored([action.id for action in left])
            written.conflicts |= stored
            left = _send(connection, [a for a in left if a.id not in stored], written)
    return written


def _send(connection: Connection, actions: Sequence[Action], written: Written) -> list[Action]:
    """Send one request; returns the actions to send again."""
    if not actions:
        return []
    body = b"".join([action.lines for action in actions])
    # If a primary is missing, the server waits a whole minute by default.
    params = {"timeout": "10s", "filter_path": _ANSWER}
    try:
        answer = connection.send_once("POST", "/_bulk", params=params, body=body)
    except Unanswered as lost:
        written.passing = str(lost)
        return list(actions)
    again = []
    for action, item in zip(actions, answer["items"], strict=True):
        ((verb, result),) = item.items()
        if result["status"] < 300:
            written.operations += result.get("result") != "noop"
        elif _is_passing(result):
            again.append(action)
            written.passing = f"{result['status']} {describe_error(result)}"
        else:
            _note(connection, action, verb, result, written)
    return again


def _is_passing(result: JSON) -> bool:
    status = result["status"]
    return status in _PASSING and not is_lasting_block(status, _error(result)[0])


def _note(
    connection: Connection, action: Action, verb: str, result: JSON, written: Written
) -> None:
    status, (kind, reason) = result["status"], _error(result)
    shown = connection.target.shown
    if kind in ("cluster_block_exception", "index_closed_exception"):
        raise StoreUnavailable(
            f"{shown} does not take writes: {reason}; free disk space or remove the block, then "
            "run the same command again"
        )
    if kind == "index_not_found_exception":
        raise StoreError(f"{shown}: the index is gone ({reason}); run again to make a new one")
    if status == 403 and kind == "security_exception":
        raise PrivilegeMissing(status, result, f"{verb} of {action.id}", connection.target)
    if status == 409 or (status == 404 and verb == "update"):
        written.conflicts.add(action.id)
    elif status != 404:
        written.failures[action.id] = f"{kind}: {reason or status}"


def _error(result: JSON) -> tuple[str, str]:
    """Type and reason, with the causes beneath: the last names the value that was refused."""
    error = result.get("error") or {}
    reason = str(error.get("reason", ""))
    return str(error.get("type", "")), f"{reason}{cause_of({**error, 'index': None}, reason)}"


def _parts(actions: Sequence[Action]) -> Iterator[list[Action]]:
    part: list[Action] = []
    size = 0
    for action in actions:
        part.append(action)
        size += len(action.lines)
        if len(part) >= _DOCUMENTS or size >= _BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
