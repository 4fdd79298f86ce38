"""JSON for the wire: quick, and as tolerant as what callers send."""

from __future__ import annotations

import json
from typing import Any

import orjson

# What orjson refuses: halves of surrogate pairs, as a query may hold them, and whole numbers of
# more than 64 bits. Both are the server's to refuse.
_tolerant = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def encoded(value: Any) -> bytes:
    """One line of JSON, as UTF-8: a third of the time that the standard encoder takes."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _tolerant(value).encode("utf-8", "surrogatepass")
