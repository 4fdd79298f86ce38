"""JSON in requests and responses: fast, tolerant of what callers send, limited in depth."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

# Lists and objects inside each other, the outermost one included. Everything behind the readers
# may recurse that far: pickle ends at 490 levels, orjson writes 254, OpenSearch takes 20 lists.
MAX_DEPTH = 200
_NESTING = (dict, list, tuple)
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class TooDeep(ValueError):
    """Lists and objects inside each other, more than `MAX_DEPTH` of them."""

    def __init__(self) -> None:
        super().__init__(TOO_DEEP)


# Brackets and commas of one JSON text that is read. Python reads a text in one step, during which
# no other thread runs: 200,000 of them take about 30 ms.
MOST_VALUES = 200_000


def is_too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than `MAX_DEPTH`; walks level by level, never recurses."""
    level = [value] if isinstance(value, _NESTING) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        inner: list[Any] = []
        for item in level:
            inner += item.values() if isinstance(item, dict) else item
        level = [item for item in inner if isinstance(item, _NESTING)]
    return bool(level)


def has_many_values(text: bytes) -> bool:
    """Whether reading it as one JSON text would keep all other threads waiting."""
    return len(text) > MOST_VALUES and sum(map(text.count, (b"[", b"{", b","))) > MOST_VALUES


def parse_json(text: str | bytes, **options: Any) -> Any:
    """`json.loads` for what others send; `TooDeep`, a ValueError, for a value nested too deeply."""
    try:
        value = json.loads(text, **options)
    except RecursionError:
        raise TooDeep from None
    if is_too_deep(value):
        raise TooDeep
    return value


class RawJson:
    """A part of a value that is JSON already, to be sent as it is.

    No dataclass: of these the encoder makes objects.
    """

    __slots__ = ("json",)

    def __init__(self, json: str) -> None:
        self.json = json

    @property
    def value(self) -> Any:
        return json.loads(self.json)


def _fragment(part: Any) -> orjson.Fragment:
    if isinstance(part, RawJson):
        return orjson.Fragment(part.json)
    raise TypeError(f"{type(part).__name__} has no form in JSON")


def _value(part: Any) -> Any:
    if isinstance(part, RawJson):
        return part.value
    raise TypeError(f"{type(part).__name__} has no form in JSON")


# What orjson refuses: halves of surrogate pairs, as a query may hold them, and whole numbers of
# more than 64 bits. Both are the server's to refuse.
_tolerant = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), default=_value
).encode


def encode_json(value: Any) -> bytes:
    """One line of JSON, as UTF-8: a third of the time that the standard encoder takes."""
    try:
        return orjson.dumps(value, default=_fragment)
    except orjson.JSONEncodeError:
        return _tolerant(value).encode("utf-8", "surrogatepass")


# Shorter answers are read by the standard decoder.
_SHORT = 16_000
# Digits of -2^63; 2^64 has one more.
_LONG = 19


def decode_json(answer: bytes) -> Any:
    """JSON as `json.loads` reads it, in half the time."""
    if len(answer) > _SHORT and not _has_long_number(answer):
        try:
            return orjson.loads(answer)
        except orjson.JSONDecodeError:  # of NaN and halves of surrogate pairs too
            pass
    try:
        return json.loads(answer)
    except RecursionError:  # orjson reads 1,024 levels, and the engines keep 1,000 of a document
        return orjson.loads(answer)


def _has_long_number(answer: bytes) -> bool:
    """Whether there is a number of more than 64 bits, of which orjson would make a float; be it
    inside a text. Hashes of 64 bits are in every answer and no reason."""
    codes = np.frombuffer(answer, np.uint8)
    digits = codes - np.uint8(ord("0")) < 10
    for known, wanted in ((1, 2), (2, 4), (4, 8), (8, 16), (16, _LONG)):  # so many in a row
        digits = digits[wanted - known :] & digits[: known - wanted]
    if (digits[1:] & digits[:-1]).any():
        return True
    lowest = digits & (codes[: len(digits)] == ord("9"))
    return any(
        answer[place - 1 : place] == b"-" and int(answer[place : place + _LONG]) > 1 << 63
        for place in np.flatnonzero(lowest).tolist()
    )
