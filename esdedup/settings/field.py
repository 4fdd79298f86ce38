"""How a setting is written down: its default with bounds, unit, source and reason beside it."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def setting(
    default: Any,
    text: str,
    *,
    unit: str,
    source: str,
    shapes: bool = False,
    method: str | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A field with its documentation beside it; `low` and `high` bound it inclusively.

    A field with a `method` concerns only that one: it shapes what is stored where the method is on.
    """
    return field(
        default=default,
        metadata={
            "text": text,
            "unit": unit,
            "source": source,
            "shapes": shapes,
            "method": method,
            "low": low,
            "high": high,
        },
    )
