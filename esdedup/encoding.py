"""JSON for the wire: quick, and as tolerant as what callers send."""

from __future__ import annotations

import json
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
