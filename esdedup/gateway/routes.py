"""What a request is: a write to enrich, a search to fold, or none of our business.

A name that is not plainly the name of an index (wildcards, lists, dates to be computed, anything
encoded that decodes to a separator) is never taken for one: such a request passes as it came, and
the cluster decides about it, with the caller's rights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote_to_bytes

Kind = Literal["bulk", "index", "create", "update", "delete", "search", "msearch", "count", "other"]

# As both engines have it: lower case, no separators, not beginning with - _ + .
_INDEX = re.compile(r"""[^A-Z\\/*?"<>|\s,#:+_.\x00-\x20-][^A-Z\\/*?"<>|\s,#:\x00-\x20]{0,254}""")
_WRITES = ("POST", "PUT")
_READS = ("GET", "POST")


@dataclass(frozen=True, slots=True)
class Route:
    """A request's kind, the index expression in its path (decoded), and the id."""

    kind: Kind
    index: str = ""
    id: str | None = None


OTHER = Route("other")


def route_of(method: str, path: str) -> Route:
    """`path` as it came, without the query; the engines do not look at slashes at its end."""
    parts: list[str] = []
    for raw in path.rstrip("/").split("/")[1:]:
        part = _decode(raw)
        if not part:
            return OTHER
        parts.append(part)
    return _route(method, parts)


def _route(method: str, parts: Sequence[str]) -> Route:
    match parts:
        case [verb]:
            if verb == "_bulk" and method in _WRITES:
                return Route("bulk")
            return _search_route(method, verb, "")
        case [index, verb, *ids] if is_index(index) and verb not in _SEARCHES:
            kind = _WRITE_ROUTES.get((method, verb, len(ids)))
            return Route(kind, index, ids[0] if ids else None) if kind else OTHER
        case [index, verb]:
            return _search_route(method, verb, index)
    return OTHER


def _search_route(method: str, verb: str, index: str) -> Route:
    kind = _SEARCHES.get(verb) if method in _READS else None
    return Route(kind, index) if kind else OTHER


# Method, the word after the index, and whether an id follows.
_WRITE_ROUTES: dict[tuple[str, str, int], Kind] = {
    ("POST", "_bulk", 0): "bulk",
    ("PUT", "_bulk", 0): "bulk",
    ("POST", "_doc", 0): "index",
    ("POST", "_doc", 1): "index",
    ("PUT", "_doc", 1): "index",
    ("POST", "_create", 1): "create",
    ("PUT", "_create", 1): "create",
    ("POST", "_update", 1): "update",
    ("DELETE", "_doc", 1): "delete",
}
_SEARCHES: dict[str, Kind] = {"_search": "search", "_msearch": "msearch", "_count": "count"}


def is_index(name: str) -> bool:
    """Whether this names one index, alias or stream, and cannot be read as anything else."""
    return _INDEX.fullmatch(name) is not None


def pattern_of(name: str, patterns: Sequence[str]) -> str | None:
    """The first configured pattern that covers a name."""
    return next((p for p in patterns if fnmatchcase(name, p)), None)


def covers(pattern: str, expression: str) -> bool:
    """Whether all that an index expression can stand for is covered by a pattern.

    A wildcard in the expression is met by one in the pattern; what is taken out again by a minus
    only narrows.
    """
    parts = [part for part in expression.split(",") if not part.startswith("-")]
    return bool(parts) and all(
        part not in ("_all", "") and fnmatchcase(part, pattern) for part in parts
    )


def split_target(target: str) -> tuple[str, str]:
    path, _, query = target.partition("?")
    return path, query


def parameters(query: str) -> list[tuple[str, str]]:
    """In their order; a name alone has an empty value."""
    return parse_qsl(query, keep_blank_values=True, errors="surrogateescape")


def query_of(pairs: Sequence[tuple[str, str]]) -> str:
    def quoted(text: str) -> str:
        return quote(text, safe=",*-._~:()", errors="surrogateescape")

    return "&".join(f"{quoted(k)}={quoted(v)}" if v else quoted(k) for k, v in pairs)


def without_parameter(query: str, name: str) -> tuple[str, str | None]:
    """The query as it was written but for one parameter; and that one's last value."""
    if name not in query:
        return query, None
    kept, found = [], None
    for piece in query.split("&"):
        key, _, value = piece.partition("=")
        if _decode(key) == name:
            found = _decode(value.replace("+", " ")) or ""
        else:
            kept.append(piece)
    return "&".join(kept), found


def _decode(part: str) -> str | None:
    """None where it is no UTF-8 or holds what no name has: the cluster may make sense of it."""
    if "%" not in part and part.isascii():
        return part
    try:
        text = unquote_to_bytes(part.encode("latin-1")).decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        return None
    return text
