"""JSON as it goes out: any text that came in can go out again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

NDJSON = "application/x-ndjson"
# Of streams: proxies hand them on as they come.
UNBUFFERED = {"X-Accel-Buffering": "no"}


def encoded(value: Any) -> bytes:
    """UTF-8. Escaped where a text holds half of a surrogate pair, without NaN and infinities."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), separators=(",", ":")).encode()


def line(value: Any) -> bytes:
    return encoded(value) + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


class Answer(Response):
    """A JSON answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encoded(content)
