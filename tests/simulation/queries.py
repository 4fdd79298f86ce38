"""Searches of the model: the queries, sorts and aggregations that esdedup sends."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol

JSON = dict[str, Any]


class NotModelled(Exception):
    """The model does not know this request, query or aggregation: extend it, and the conformance
    script with it, before esdedup sends one. A guess would hide what the servers do."""


class Found(Protocol):
    """What is searched: one version of a document."""

    @property
    def index(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def source(self) -> JSON: ...
    @property
    def seq_no(self) -> int: ...
    @property
    def primary_term(self) -> int: ...
    @property
    def cache(self) -> dict[Hashable, Any]: ...


Score = float | None  # None: it does not match
Matcher = Callable[[Found], Score]


def search(documents: Sequence[Found], body: JSON) -> JSON:
    score_of = matcher(body.get("query", {"match_all": {}}))
    scored = []
    for place, document in enumerate(documents):
        score = score_of(document)
        if score is not None:
            scored.append((document, score, place))
    sort = body.get("sort", ())
    keyed = [(_sort_values(sort, *hit), *hit) for hit in scored]
    if sort:
        order = _order(sort)
        keyed.sort(key=lambda entry: order(entry[0]))
        if "search_after" in body:
            after = order(body["search_after"])
            keyed = [entry for entry in keyed if order(entry[0]) > after]
    else:
        keyed.sort(key=lambda entry: (-entry[2], entry[3]))
    start = body.get("from", 0)
    page = keyed[start : start + body.get("size", 10)]
    out: JSON = {
        "hits": {
            "total": {"value": len(scored), "relation": "eq"},
            "hits": [
                _hit(document, score, values if sort else None, body)
                for values, document, score, _ in page
            ],
        }
    }
    if "aggs" in body:
        found = [document for document, _, _ in scored]
        out["aggregations"] = {name: _aggregate(found, a) for name, a in body["aggs"].items()}
    return out


def matcher(query: JSON) -> Matcher:  # noqa: PLR0911  (a table of queries)
    """What scores a document by a query; made once for a search."""
    ((kind, what),) = query.items()
    match kind:
        case "match_all":
            return lambda document: 1.0
        case "bool":
            return _bool_matcher(what)
        case "constant_score":
            filter_, boost = matcher(what["filter"]), float(what.get("boost", 1.0))
            return lambda document: None if filter_(document) is None else boost
        case "term":
            ((name, value),) = what.items()
            return lambda document: _matched(value in values_at(document, name))
        case "terms":
            ((name, values),) = what.items()
            wanted = frozenset(values)
            return lambda document: _matched(not wanted.isdisjoint(values_at(document, name)))
        case "ids":
            ids = frozenset(what["values"])
            return lambda document: _matched(document.id in ids)
        case "exists":
            field = what["field"]
            return lambda document: _matched(bool(values_at(document, field)))
        case "range":
            ((name, bounds),) = what.items()
            return lambda document: _matched(
                any(_is_within(value, bounds) for value in values_at(document, name))
            )
    raise NotModelled(f"query {kind}")


def _bool_matcher(what: JSON) -> Matcher:
    filters, musts, must_nots, shoulds = (
        [matcher(clause) for clause in _clauses(what, name)]
        for name in ("filter", "must", "must_not", "should")
    )
    is_alone = not filters and not musts
    needed = what.get("minimum_should_match", 1 if shoulds and is_alone else 0)

    def score_of(document: Found) -> Score:
        for clause in filters:
            if clause(document) is None:
                return None
        for clause in must_nots:
            if clause(document) is not None:
                return None
        total = 0.0
        for clause in musts:
            score = clause(document)
            if score is None:
                return None
            total += score
        count = 0
        for clause in shoulds:
            score = clause(document)
            if score is not None:
                count += 1
                total += score
        return total if count >= needed else None

    return score_of


def _clauses(what: JSON, name: str) -> list[JSON]:
    given = what.get(name, [])
    return given if isinstance(given, list) else [given]


def _matched(is_match: bool) -> Score:
    return 1.0 if is_match else None


def values_at(document: Found, path: str) -> list[Any]:
    """All values under a path of names; objects inside lists are gone through."""
    if path not in document.cache:
        document.cache[path] = _find_values(document.source, path)
    values: list[Any] = document.cache[path]
    return values


def _find_values(source: JSON, path: str) -> list[Any]:
    found: list[Any] = [source]
    for name in path.split("."):
        found = [
            inner[name]
            for value in found
            for inner in (value if isinstance(value, list) else [value])
            if isinstance(inner, dict) and name in inner
        ]
    flat = [v for value in found for v in (value if isinstance(value, list) else [value])]
    return [value for value in flat if value is not None]


_COMPARISONS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def _is_within(value: Any, bounds: JSON) -> bool:
    return all(
        _COMPARISONS[name](*_comparable(value, bound))
        for name, bound in bounds.items()
        if name in _COMPARISONS
    )


def _comparable(value: Any, bound: Any) -> tuple[Any, Any]:
    """Dates as times: they are written with and without fractions of a second."""
    if isinstance(value, str) and isinstance(bound, str):
        return _time(value), _time(bound)
    return value, bound


@lru_cache(1000)
def _time(value: str) -> datetime | str:
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return value


# --- hits --------------------------------------------------------------------------------------


def _hit(document: Found, score: float, values: list[Any] | None, body: JSON) -> JSON:
    hit: JSON = {"_index": document.index, "_id": document.id, "_score": score}
    if values is not None:
        hit["sort"] = values
    wanted = body.get("_source", True)
    if wanted is not False:
        part = "_source" if wanted is True else _filter_name(wanted)
        if part not in document.cache:
            document.cache[part] = filtered(document.source, wanted)
        hit["_source"] = document.cache[part]
    if body.get("seq_no_primary_term"):
        hit |= {"_seq_no": document.seq_no, "_primary_term": document.primary_term}
    if fields := body.get("docvalue_fields"):
        hit["fields"] = {name: values for name in fields if (values := values_at(document, name))}
    return hit


def _filter_name(wanted: Any) -> Hashable:
    """By which a filtered source is found again."""
    return ("_source", *wanted) if isinstance(wanted, list | tuple) else f"_source {wanted}"


def filtered(source: JSON, wanted: Any) -> JSON:
    if wanted is True:
        return source
    if isinstance(wanted, dict):
        includes, excludes = wanted.get("includes", ["*"]), wanted.get("excludes", [])
    else:
        includes, excludes = list(wanted), []
    return _kept(source, "", includes, excludes)


def _kept(value: JSON, path: str, includes: Sequence[str], excludes: Sequence[str]) -> JSON:
    out: JSON = {}
    for name, inner in value.items():
        here = f"{path}{name}"
        below = f"{here}."
        if here in excludes:
            continue
        is_wanted = "*" in includes or here in includes
        if not isinstance(inner, dict):
            if is_wanted:
                out[name] = inner
        elif is_wanted:
            out[name] = _kept(inner, below, ("*",), excludes) if excludes else inner
        else:
            nested = [i for i in includes if i.startswith(below)]
            if nested and (part := _kept(inner, below, nested, excludes)):
                out[name] = part
    return out


# --- sorts -------------------------------------------------------------------------------------


def _fields(sort: Sequence[Any]) -> list[tuple[str, str, Any]]:
    """(field, direction, what stands for a missing value)."""
    out = []
    for entry in sort:
        ((name, how),) = entry.items() if isinstance(entry, dict) else ((entry, "asc"),)
        if isinstance(how, str):
            out.append((name, how, None))
        else:
            out.append((name, how.get("order", "asc"), how.get("missing")))
    return out


def _sort_values(sort: Sequence[Any], document: Found, score: float, place: int) -> list[Any]:
    values: list[Any] = []
    for name, _, missing in _fields(sort):
        if name == "_score":
            values.append(score)
        elif name == "_index":
            values.append(document.index)
        elif name == "_doc":
            values.append(place)
        else:
            found = values_at(document, name)
            values.append(found[0] if found else missing)
    return values


class _Reversed:
    """Compares the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def _order(sort: Sequence[Any]) -> Any:
    directions = [direction for _, direction, _ in _fields(sort)]

    def key(values: Sequence[Any]) -> list[Any]:
        out: list[Any] = []
        for value, direction in zip(values, directions, strict=True):
            is_missing = value is None  # last, whatever the direction
            shown = 0 if is_missing else value
            out.append((is_missing, _Reversed(shown) if direction == "desc" else shown))
        return out

    return key


# --- aggregations ------------------------------------------------------------------------------


def _aggregate(documents: Sequence[Found], aggregation: Mapping[str, Any]) -> JSON:
    ((kind, what),) = aggregation.items()
    values = [value for d in documents for value in values_at(d, what["field"])]
    if kind == "max":
        return {"value": float(max(values)) if values else None}
    if kind == "cardinality":
        return {"value": len(set(values))}
    if kind == "terms":
        counts = {value: values.count(value) for value in dict.fromkeys(values)}
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        buckets = [{"key": key, "doc_count": n} for key, n in ranked]
        return {"doc_count_error_upper_bound": 0, "sum_other_doc_count": 0, "buckets": buckets}
    raise NotModelled(f"aggregation {kind}")
