"""Reads the reason out of an error of a cluster.

Both products wrap the reason. `all shards failed` has it in `failed_shards`, a refresh in
`failures`, others in `root_cause` or in a chain of `caused_by`. A 403 names the action that is not
allowed, and where it comes from Elasticsearch also the indices and what would allow it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

_LONGEST = 500
_ACTION = re.compile(r"(?:action|no permissions for) \[([^\]]+)\]")
_INDICES = re.compile(r"on (?:restricted )?indices \[([^\]]+)\]")
_REQUESTED = re.compile(r" /([^_/?][^/?]*)")  # in `GET /news/_search`
_GRANTED = re.compile(r"granted by the (?:index|cluster) privileges \[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Denial:
    """A privilege that is missing, as the server names it; what it does not name is empty."""

    action: str = ""
    indices: str = ""
    granted_by: str = ""

    def __str__(self) -> str:
        action = self.action or "for this request"
        where = f" on {self.indices.replace(',', ', ')}" if self.indices else ""
        by = f" (granted by {self.granted_by.replace(',', ', ')})" if self.granted_by else ""
        return f"the privilege {action}{where}{by} is missing"


def denial_of(body: Any, what: str, store: str) -> Denial:
    """The privilege that a 403 names. OpenSearch names no index: it is taken from the request."""
    _, reason = error_of(body)
    found = (pattern.search(reason) for pattern in (_ACTION, _INDICES, _GRANTED))
    action, indices, granted_by = (match[1] if match else "" for match in found)
    if not indices and action.startswith("indices:"):
        requested = _REQUESTED.search(what)
        indices = unquote(requested[1]) if requested else store
    return Denial(action, indices, granted_by)


def error_of(body: Any) -> tuple[str, str]:
    """Type and reason of an answer's first sentence."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(error, Mapping):
        return str(error.get("type") or ""), str(error.get("reason") or "")
    return "", str(error or body or "")[:_LONGEST]


def describe_error(body: Any) -> str:
    """Type and reason, then the index and the innermost cause if they add something."""
    kind, reason = error_of(body)
    text = f"{kind} {reason}".strip()[:_LONGEST]
    error = body.get("error") if isinstance(body, Mapping) else None
    return f"{text}{cause_of(error, known=text)}" if isinstance(error, Mapping) else text


def cause_of(error: Mapping[str, Any], known: str = "") -> str:
    """The innermost cause as ` (index news-2: type: reason)`; empty if `known` has it all."""
    index, text = "", known
    parts = []
    for inner in _inner(error):
        index = index or str(inner.get("index") or "")
        kind, reason = str(inner.get("type") or ""), str(inner.get("reason") or "")
        if reason and reason not in text:
            parts.append(f"{kind}: {reason}" if kind else reason)
            text = f"{text} {reason}"
    named = f"index {index}" if index and f"[{index}]" not in known else ""
    shown = ": ".join(filter(None, [named, " <- ".join(parts)[:_LONGEST]]))
    return f" ({shown})" if shown else ""


def _inner(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The error itself, its first failed shard, root cause and chain of causes, outermost first."""
    yield {"index": error.get("index")}
    for name in ("failed_shards", "failures", "root_cause"):
        for first in list(error.get(name) or ())[:1]:
            reason = first.get("reason")
            if isinstance(reason, Mapping):  # of a shard: its index stands beside the cause
                yield {"index": first.get("index"), **reason}
                yield from _chain(reason)
            else:
                yield first
                yield from _chain(first)
    yield from _chain(error)


def _chain(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    while isinstance(error := error.get("caused_by") or {}, Mapping) and error:
        yield error
