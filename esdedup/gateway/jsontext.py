"""JSON changed in its text: members added, replaced or taken out, all else left as it was written.

Numbers, the order of names, white space and whatever a parser would lose stay byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_decoder = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
# Reads the value at a place of a text: the value, and its end.
Reader = Callable[[str, int], tuple[Any, int]]
NO_READERS: Mapping[str, Reader] = {}
# Begin and end of a piece of text, and what is put in its place.
Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class JsonMember:
    """One name and its value, and where they stand."""

    name: str
    value: Any
    start: int  # of the name
    at: int  # of the value
    end: int


def members(
    text: str, start: int = 0, readers: Mapping[str, Reader] = NO_READERS
) -> list[JsonMember]:
    """The members of the object that begins at `start`; ValueError where there is none.

    A member that `readers` names is read by that function, in place of being decoded in one step,
    during which no other thread has a turn.
    """
    return read_members(text, start, readers)[0]


def read_members(
    text: str, start: int, readers: Mapping[str, Reader] = NO_READERS
) -> tuple[list[JsonMember], int]:
    """The members of an object, and its end."""
    at = _enter(text, start, "{")
    found: list[JsonMember] = []
    while text[at : at + 1] != "}" or found:
        name, colon = _decoder.raw_decode(text, at)
        colon = _skip(text, colon)
        if not isinstance(name, str) or text[colon : colon + 1] != ":":
            raise ValueError("not a JSON object")
        value_at = _skip(text, colon + 1)
        value, end = readers.get(name, _decoder.raw_decode)(text, value_at)
        found.append(JsonMember(name, value, at, value_at, end))
        at = _skip(text, end)
        if text[at : at + 1] == "}":
            break
        at = _enter(text, at, ",")
    return found, at + 1


def object_reader(readers: Mapping[str, Reader] = NO_READERS) -> Reader:
    """Reads an object into its members; any other value is decoded."""

    def read(text: str, at: int) -> tuple[Any, int]:
        if text[at : at + 1] != "{":
            return _decoder.raw_decode(text, at)
        return read_members(text, at, readers)

    return read


def array_reader(reader: Reader | None = None, *, is_kept: bool = True) -> Reader:
    """Reads an array into (value, begin, end) of each element, one at a time; any other value is
    decoded. `is_kept` is False where only the end of the array matters."""
    read_one = reader or _decoder.raw_decode

    def read(text: str, at: int) -> tuple[Any, int]:
        if text[at : at + 1] != "[":
            return _decoder.raw_decode(text, at)
        at = _enter(text, at, "[")
        found: list[tuple[Any, int, int]] = []
        while text[at : at + 1] != "]":
            value, end = read_one(text, at)
            if is_kept:
                found.append((value, at, end))
            at = _skip(text, end)
            if text[at : at + 1] != "]":
                at = _enter(text, at, ",")
        return found, at + 1

    return read


def with_last(text: bytes, name: str, value: bytes, *, is_empty: bool) -> bytes:
    """The object with one more member at its end; `text` must be one object."""
    body = text.rstrip(b" \t\r\n")
    rest = text[len(body) :]
    comma = b"" if is_empty else b","
    return b"".join((body[:-1], comma, b'"', name.encode(), b'":', value, b"}", rest))


def remove_members(text: str, found: list[JsonMember], *names: str) -> str:
    """The text without all members of these names."""
    return replace_pieces(text, removals(found, *names))


def removals(found: list[JsonMember], *names: str) -> list[Edit]:
    """The edits that take these members out, with the commas that go with them."""
    if not found:
        return []
    end = next((m.end for m in reversed(found) if m.name not in names), found[0].start)
    edits = [
        (member.start, after.start, "")
        for member, after in pairwise(found)
        if member.name in names and member.start < end
    ]
    return [*edits, (end, found[-1].end, "")]


def replace_pieces(text: str, edits: Iterable[Edit]) -> str:
    """Pieces of a text exchanged; the places do not overlap."""
    out, at = [], 0
    for start, end, new in sorted(edits):
        out += [text[at:start], new]
        at = end
    return "".join([*out, text[at:]])


def _enter(text: str, at: int, sign: str) -> int:
    """Where the text goes on behind a sign that must stand here."""
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"not JSON: {sign} is missing")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
