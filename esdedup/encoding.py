"""JSON for the wire: quick, and as tolerant as what callers send."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson


class Ready:
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
    if isinstance(part, Ready):
        return orjson.Fragment(part.json)
    raise TypeError(f"{type(part).__name__} has no form in JSON")


def _value(part: Any) -> Any:
    if isinstance(part, Ready):
        return part.value
    raise TypeError(f"{type(part).__name__} has no form in JSON")


# What orjson refuses: halves of surrogate pairs, as a query may hold them, and whole numbers of
# more than 64 bits. Both are the server's to refuse.
_tolerant = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), default=_value
).encode


def encoded(value: Any) -> bytes:
    """One line of JSON, as UTF-8: a third of the time that the standard encoder takes."""
    try:
        return orjson.dumps(value, default=_fragment)
    except orjson.JSONEncodeError:
        return _tolerant(value).encode("utf-8", "surrogatepass")


# A number that may have more than 64 bits: orjson makes a float of it.
_LONG_NUMBER = re.compile(r"[:\[,]\s*-?\d{19}", re.ASCII)
_LONG_NUMBER_IN_BYTES = re.compile(_LONG_NUMBER.pattern.encode())


def decoded(answer: bytes | str) -> Any:
    """A JSON object or list as `json.loads` reads it, in half the time."""
    if isinstance(answer, bytes):
        long = _LONG_NUMBER_IN_BYTES.search(answer) is not None
    else:
        long = _LONG_NUMBER.search(answer) is not None
    if not long:
        try:
            return orjson.loads(answer)
        except orjson.JSONDecodeError:  # of NaN and halves of surrogate pairs too
            pass
    return json.loads(answer)
