"""Merges two ranked lists of hits as the engine would have ranked them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any

from esdedup.model import JSON


def merge_hits(first: Sequence[JSON], second: Sequence[JSON], sort: Sequence[Any]) -> list[JSON]:
    """All hits by their sort values; texts compare by code point, as in UTF-8."""
    descending = [_is_descending(entry) for entry in sort]
    missing_first = [_is_missing_first(entry) for entry in sort]

    def compare(a: JSON, b: JSON) -> int:
        columns = zip(a["sort"], b["sort"], descending, missing_first, strict=False)
        for left, right, falling, nulls_first in columns:
            if left == right:
                continue
            if left is None or right is None:
                return -1 if (left is None) == nulls_first else 1
            smaller = -1 if left < right else 1
            return -smaller if falling else smaller
        return 0

    return sorted([*first, *second], key=cmp_to_key(compare))


def _is_descending(entry: Any) -> bool:
    if isinstance(entry, str):
        return entry == "_score"
    ((name, spec),) = entry.items()
    order = spec.get("order") if isinstance(spec, Mapping) else spec
    return str(order or ("desc" if name == "_score" else "asc")) == "desc"


def _is_missing_first(entry: Any) -> bool:
    if isinstance(entry, str):
        return False
    (spec,) = entry.values()
    return isinstance(spec, Mapping) and spec.get("missing") == "_first"
