"""JSON changed in its text: members added, replaced or taken out, all else left as it was written.

Numbers, the order of names, white space and whatever a parser would lose stay byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Member:
    """One name and its value, and where they stand."""

    name: str
    value: Any
    start: int  # of the name
    at: int  # of the value
    end: int


def members(text: str, start: int = 0) -> list[Member]:
    """The members of the object that begins at `start`; ValueError where there is none."""
    return list(_members(text, start))


def _members(text: str, start: int) -> Iterator[Member]:
    at = _skip(text, start)
    if text[at : at + 1] != "{":
        raise ValueError("not a JSON object")
    at = _skip(text, at + 1)
    if text[at : at + 1] == "}":
        return
    while True:
        name, colon = _decoder.raw_decode(text, at)
        colon = _skip(text, colon)
        if not isinstance(name, str) or text[colon : colon + 1] != ":":
            raise ValueError("not a JSON object")
        value_at = _skip(text, colon + 1)
        value, end = _decoder.raw_decode(text, value_at)
        yield Member(name, value, at, value_at, end)
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            return
        if text[at : at + 1] != ",":
            raise ValueError("not a JSON object")
        at = _skip(text, at + 1)


def elements(text: str, start: int) -> Iterator[tuple[Any, int, int]]:
    """Value, begin and end of each element of the array that begins at `start`."""
    at = _skip(text, start)
    if text[at : at + 1] != "[":
        raise ValueError("not a JSON array")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        value, end = _decoder.raw_decode(text, at)
        yield value, at, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != "]":
            raise ValueError("not a JSON array")


def with_last(text: bytes, name: str, value: bytes, *, is_empty: bool) -> bytes:
    """The object with one more member at its end; `text` must be one object."""
    body = text.rstrip(b" \t\r\n")
    rest = text[len(body) :]
    comma = b"" if is_empty else b","
    return b"".join((body[:-1], comma, b'"', name.encode(), b'":', value, b"}", rest))


def without(text: str, found: list[Member], name: str) -> str:
    """Without all members of a name and the commas that go with them."""
    if not found:
        return text
    end = next((m.end for m in reversed(found) if m.name != name), found[0].start)
    edits = [
        (member.start, after.start, "")
        for member, after in pairwise(found)
        if member.name == name and member.start < end
    ]
    return replaced(text, [*edits, (end, found[-1].end, "")])


def replaced(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Pieces of a text exchanged; the places do not overlap."""
    out, at = [], 0
    for start, end, new in sorted(edits):
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
