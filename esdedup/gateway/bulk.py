"""The body of a bulk request: read into operations, put together again line by line.

Only lines that we change are changed. Blank lines, carriage returns and a missing last newline
stay, so that the cluster says of them what it always says.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from esdedup.errors import InputError
from esdedup.gateway import jsontext
from esdedup.gateway.limits import TooMuch, lines_of
from esdedup.model import JSON
from esdedup.model.encoding import has_many_values, parse_json

Verb = Literal["index", "create", "update", "delete"]
_VERBS: tuple[Verb, ...] = ("index", "create", "update", "delete")
# Left to the cluster: a document with a routing of its own cannot be found by its id alone.
_ROUTED = ("routing", "_routing", "parent", "_parent")
# A version of the caller's own: reconciling the document would raise it, and the caller's next
# write would be refused.
_VERSIONED = ("version", "_version", "version_type", "_version_type")


class Malformed(InputError):
    """The body is no bulk: the cluster will say so."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One action. `source` is None where its line is no JSON object, of a delete, and of an index
    whose documents are not read."""

    verb: Verb
    index: str
    id: str | None
    meta: Mapping[str, Any] = field(default_factory=dict)
    action_line: int = 0
    source_line: int = 0
    text: bytes = b""
    source: JSON | None = None

    @property
    def is_routed(self) -> bool:
        return any(name in self.meta for name in _ROUTED)

    @property
    def is_versioned(self) -> bool:
        return any(name in self.meta for name in _VERSIONED)


@dataclass(frozen=True, slots=True)
class Bulk:
    """`first_line` is the number of the first of these lines in the body that came."""

    lines: list[bytes]
    operations: list[Operation]
    first_line: int = 0

    def assembled(self, changes: Mapping[int, bytes]) -> bytes:
        """The body with these lines exchanged."""
        numbered = enumerate(self.lines, self.first_line)
        return b"\n".join([changes.get(number, line) for number, line in numbered])


def parse(
    body: bytes,
    default_index: str,
    default_meta: Mapping[str, Any],
    is_read: Callable[[str], bool] = lambda index: True,
    most: int = 100_000,
) -> Bulk:
    """`default_meta`: what the request's parameters say for every action; `is_read`: whether the
    documents of an index are of interest, since reading them is most of the work. TooMuch where
    there are more actions than `most`."""
    lines = lines_of(body, most, "actions", "--max-actions")
    operations: list[Operation] = []
    number = 0
    while number < len(lines):
        if not lines[number].strip():
            number += 1
            continue
        if len(operations) >= most:
            raise TooMuch(f"the bulk has more than {most:,} actions", "--max-actions")
        verb, meta = _action(lines[number], number)
        source_line = number + (verb != "delete")
        if source_line >= len(lines) or (verb != "delete" and not lines[source_line].strip()):
            raise Malformed(f"bulk: line {number + 1} has no document after it")
        text = lines[source_line] if verb != "delete" else b""
        index = _text(meta.get("_index")) or default_index
        operations.append(
            Operation(
                verb,
                index,
                _id(meta.get("_id")),
                {**default_meta, **meta},
                number,
                source_line,
                text,
                sent_object(text) if text and is_read(index) else None,
            )
        )
        number = source_line + 1
    return Bulk(lines, operations)


def _action(line: bytes, number: int) -> tuple[Verb, JSON]:
    action = sent_object(line)
    if action is None or len(action) != 1:
        raise Malformed(f"bulk: line {number + 1} is no action")
    ((given, meta),) = action.items()
    verb = next((known for known in _VERBS if known == given), None)
    if verb is None or not isinstance(meta, dict):
        raise Malformed(f"bulk: line {number + 1} is no action")
    return verb, meta


def sent_object(text: bytes) -> JSON | None:
    """One that a caller sent; None also where reading it would keep all other requests waiting."""
    return None if has_many_values(text) else json_object(text)


def json_object(text: bytes) -> JSON | None:
    """None for everything else: what it means is the cluster's to say."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def action_with_id(operation: Operation, id_: str) -> bytes:
    """The same action under an id: our fields name it, so it cannot be made by the cluster."""
    given = {k: v for k, v in operation.meta.items() if v is not _FROM_REQUEST}
    return json.dumps({operation.verb: {**given, "_id": id_}}, ensure_ascii=False).encode()


# Marks what came from the parameters of the request, and is not to be written into a line.
_FROM_REQUEST = object()


def request_meta(names: Iterable[str]) -> dict[str, Any]:
    """Of the request's parameters those that matter for every action."""
    return {name: _FROM_REQUEST for name in names if name in (*_ROUTED, *_VERSIONED)}


def new_id() -> str:
    """20 characters, as long as those the engines make."""
    return base64.urlsafe_b64encode(os.urandom(15)).decode()


def with_dedup(text: bytes, source: JSON, dedup: bytes) -> bytes:
    """A document with our object; one it had is taken out. All else is not touched."""
    if "dedup" in source:
        written = text.decode()
        text = jsontext.remove_members(written, jsontext.members(written), "dedup").encode()
        source = {k: v for k, v in source.items() if k != "dedup"}
    return jsontext.with_last(text, "dedup", dedup, is_empty=not source)


def update_with_dedup(text: bytes, part: Literal["doc", "upsert"], dedup: bytes) -> bytes:
    """A partial update whose `doc`, or `upsert`, carries our object."""
    written = text.decode()
    found = {m.name: m for m in jsontext.members(written)}[part]
    inner = written[found.at : found.end].encode()
    new = with_dedup(inner, found.value, dedup).decode()
    return jsontext.replace_pieces(written, [(found.at, found.end, new)]).encode()


def merge_update(source: Mapping[str, Any], doc: Mapping[str, Any]) -> JSON:
    """As the engines merge a partial update: objects by name, all else replaced."""
    out = dict(source)
    for name, value in doc.items():
        old = out.get(name)
        out[name] = (
            merge_update(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return out


def parse_answer(body: bytes) -> JSON | None:
    """The answer to a write; its items are decoded one at a time, so other threads have turns."""
    try:
        text = body.decode("utf-8", "surrogatepass")
        found = jsontext.members(text, 0, {"items": jsontext.array_reader()})
    except (ValueError, RecursionError):
        return None
    answer = {m.name: m.value for m in found}
    if isinstance(answer.get("items"), list):
        answer["items"] = [value for value, _, _ in answer["items"]]
    return answer


def results_of(answer: JSON) -> list[JSON] | None:
    """What became of each action of a bulk; None where the answer does not tell."""
    items = answer.get("items")
    if not isinstance(items, list):
        return None
    results = [value for item in items if isinstance(item, dict) for value in item.values()]
    return results if all(isinstance(result, dict) for result in results) else None


def operation_done(result: Mapping[str, Any]) -> int | None:
    """A delete of nothing takes a sequence number as well; an update to the same does not."""
    if "_seq_no" not in result or result.get("error"):
        return None
    return int(result.get("result") != "noop")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _id(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, list | dict):
        raise Malformed("bulk: an _id is neither a text nor a number")
    return value if isinstance(value, str) else json.dumps(value)
