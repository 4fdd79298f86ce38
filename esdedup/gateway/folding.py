"""Searches folded on the way in, answers set right on the way out: pure functions.

collapse   one request more costs nothing: the search itself carries `collapse` and a count of
           stories, which is taken out of the answer again and put where the total stands
filter     copies are left out by a filter; nothing of the answer has to be changed. Taken where a
           search cannot be collapsed, where its answer is no JSON, and where articles without our
           fields match, which a collapse would fold into one
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from esdedup.errors import QueryError
from esdedup.gateway import jsontext
from esdedup.gateway.limits import TooMuch
from esdedup.model import JSON
from esdedup.model.encoding import MOST_VALUES, has_many_values, parse_json
from esdedup.model.queries import By
from esdedup.stores.cluster import search_requests as requests

Fold = Literal["off", "group", "story", "canonical"]
FOLDS: tuple[Fold, ...] = ("off", "group", "story", "canonical")
How = Literal["collapse", "filter"]

# The name of the aggregation we add; with typed_keys it comes back as filter#esdedup_fold.
COUNT = "esdedup_fold"
# Parameters of a search in the address, as members of a `query_string`.
_QUERY_STRING = {
    "df": "default_field",
    "analyzer": "analyzer",
    "analyze_wildcard": "analyze_wildcard",
    "default_operator": "default_operator",
    "lenient": "lenient",
}
# What the address of a count may say that a search does not know.
_ONLY_COUNT = ("min_score",)


def fold_named(text: str) -> Fold:
    name = text.strip().lower()
    for fold in FOLDS:
        if name == fold:
            return fold
    raise QueryError(f"esdedup_fold is {name[:40]!r}; use {', '.join(FOLDS)}")


def by_of(fold: Fold) -> By:
    return "story" if fold == "story" else "group"


@dataclass(frozen=True, slots=True)
class Asked:
    """A search of which everything stands in its body: a `q` or `source` of the address too."""

    body: JSON
    pairs: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str | None:
        return next((v for k, v in reversed(self.pairs) if k == name), None)


def asked(body: bytes, pairs: Sequence[tuple[str, str]]) -> Asked:
    """QueryError where the body is no search."""
    given = dict(pairs)
    text = body.strip() or given.get("source", "").encode("utf-8", "surrogateescape")
    checked = search_of(_loaded(text) if text else {}).body
    dropped = {"source", "source_content_type"}
    if "q" in given:
        query = {"query": given["q"]}
        query |= {ours: given[name] for name, ours in _QUERY_STRING.items() if name in given}
        checked["query"] = {"query_string": query}
        dropped |= {"q", *_QUERY_STRING}
    return Asked(checked, tuple((k, v) for k, v in pairs if k not in dropped))


def search_of(value: Any) -> Asked:
    """One of which nothing stands in an address; QueryError where it is none."""
    return Asked(requests.checked(value), ())


def _loaded(text: bytes) -> Any:
    if has_many_values(text):
        raise QueryError(f"the search has more than {MOST_VALUES:,} values")
    try:
        return parse_json(text)
    except ValueError as error:
        raise QueryError("the search is no JSON") from error


def how(search: Asked, fold: Fold, product: str, *, is_json: bool) -> How:
    """Collapse where it is possible. From cursors it is not, and the first page of one must show
    the same as the next: a scroll, a point in time and search_after are filtered all along."""
    if fold == "canonical" or not is_json or search.value("scroll") is not None:
        return "filter"
    if "pit" in search.body or requests.why_not_collapsible(search.body, product):
        return "filter"
    return "collapse"


def folded(body: JSON, fold: Fold, how_: How) -> JSON:
    by = by_of(fold)
    if how_ == "filter":
        return requests.with_filter(body, requests.canonical_filter(by))
    name = "aggregations" if "aggregations" in body else "aggs"
    out = requests.collapsed(body, by)
    out[name] = {**body.get(name, {}), COUNT: _count(body, by)}
    return out


def _count(body: JSON, by: By) -> JSON:
    """Over what the hits are: an aggregation by itself would not see the post_filter."""
    aggs = requests.story_count({}, by)["aggs"]
    return {"filter": body.get("post_filter", {"match_all": {}}), "aggs": aggs}


def filter_path_for(value: str | None) -> str | None:
    """The caller's `filter_path`, made to let our count through; an exclusion of all
    aggregations is taken out, since ours are removed here."""
    if value is None:
        return None
    parts = [part for part in value.split(",") if part]
    kept = [p for p in parts if not p.startswith("-aggregations")]
    if any(not part.startswith("-") for part in kept):
        kept += ["hits.total", f"aggregations.*{COUNT}", f"responses.aggregations.*{COUNT}"]
    return ",".join(kept)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the count in an answer told."""

    stories: int
    ungrouped: int


def counted(answer: Mapping[str, Any]) -> Counted | None:
    """None where the answer has no count: an error, most of the time."""
    found = answer.get("aggregations")
    for name, value in found.items() if isinstance(found, dict) else ():
        if name.rpartition("#")[2] == COUNT:
            inner = {key.rpartition("#")[2]: v for key, v in value.items() if "#" in key} | value
            ungrouped = int(inner["ungrouped"]["doc_count"])
            stories = min(int(inner["stories"]["value"]) + ungrouped, int(value["doc_count"]))
            return Counted(stories, ungrouped)
    return None


def shown(text: str, wants_total: bool = True, start: int = 0, end: int | None = None) -> str:
    """The answer with the number of stories as its total, and without our count.

    `wants_total` is False where a `filter_path` of the caller leaves the total out.
    """
    text = text[start:end]
    found = jsontext.members(text)
    values = {m.name: m for m in found}
    number = counted({name: m.value for name, m in values.items()})
    if number is None:
        return text
    edits = [_aggregations_edit(text, values["aggregations"])]
    if "hits" in values:
        edits += _total_edits(text, values["hits"], number.stories, wants_total)
    out = jsontext.replaced(text, [e for e in edits if e is not None])
    for name in ("aggregations", "hits"):
        again = jsontext.members(out)
        if any(m.name == name and m.value == {} for m in again):
            out = jsontext.without(out, again, name)
    return out


def _aggregations_edit(text: str, aggregations: jsontext.Member) -> tuple[int, int, str]:
    inner = text[aggregations.at : aggregations.end]
    found = jsontext.members(inner)
    name = next(m.name for m in found if m.name.rpartition("#")[2] == COUNT)
    return aggregations.at, aggregations.end, jsontext.without(inner, found, name)


def _total_edits(
    text: str, hits: jsontext.Member, stories: int, wants_total: bool
) -> list[tuple[int, int, str]]:
    inner = text[hits.at : hits.end]
    found = jsontext.members(inner)
    total = next((m for m in found if m.name == "total"), None)
    if total is None:
        return []
    if not wants_total:
        return [(hits.at, hits.end, jsontext.without(inner, found, "total"))]
    if not isinstance(total.value, dict):  # rest_total_hits_as_int
        new = str(stories)
    else:
        new = json.dumps({"value": stories, "relation": "eq"}, separators=(",", ":"))
    return [(hits.at + total.at, hits.at + total.end, new)]


def wants_total(filter_path: str | None) -> bool:
    """Whether a `filter_path` leaves the total in; asked where we had to ask for it."""
    parts = [p for p in (filter_path or "").split(",") if p and not p.startswith("-")]
    return not parts or any(
        p in ("*", "**", "hits", "hits.*", "hits.**") or p.startswith(("hits.total", "**.total"))
        for p in (part.removeprefix("responses.").removeprefix("*.") for part in parts)
    )


# --- several searches -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """One search of an _msearch: the line with its index, and the line with its body."""

    index: str
    body_line: int
    body: JSON


def entries(lines: Sequence[bytes], default_index: str, most: int) -> list[Entry]:
    """QueryError where the body is no _msearch, TooMuch where it has more searches than `most`."""
    found: list[Entry] = []
    number = int(bool(lines) and not lines[0].strip())  # as the engines: a first blank line
    while number + 1 < len(lines):
        if not lines[number].strip() and not lines[number + 1].strip():
            break
        if len(found) >= most:
            raise TooMuch(f"the _msearch has more than {most:,} searches", "--max-searches")
        header = _object(lines[number]) if lines[number].strip() else {}
        index = header.get("index", default_index)
        index = ",".join(map(str, index)) if isinstance(index, list) else str(index)
        body = _object(lines[number + 1]) if lines[number + 1].strip() else {}
        found.append(Entry(index or default_index, number + 1, body))
        number += 2
    return found


def _object(line: bytes) -> JSON:
    value = _loaded(line)
    if not isinstance(value, dict):
        raise QueryError("a line of the _msearch is no object")
    return value


def responses_shown(text: str, folded_places: Container[int], *, wants_total: bool) -> str:
    """An _msearch answer with the totals of the collapsed ones of its searches set right."""
    top = next((m for m in jsontext.members(text) if m.name == "responses"), None)
    if top is None:
        return text
    edits = [
        (start, end, shown(text, wants_total, start, end))
        for place, (value, start, end) in enumerate(jsontext.elements(text, top.at))
        if place in folded_places and isinstance(value, dict)
    ]
    return jsontext.replaced(text, edits)


# --- counts ---------------------------------------------------------------------------------------


def count_search(search: Asked, fold: Fold) -> Asked:
    """A `_count` as a search that counts stories."""
    body: JSON = {**search.body, "size": 0, "track_total_hits": True}
    if (least := search.value("min_score")) is not None:
        body["min_score"] = _number(least, "min_score")
    body["aggs"] = {COUNT: _count({}, by_of(fold))}
    pairs = tuple((k, v) for k, v in search.pairs if k not in _ONLY_COUNT)
    return Asked(body, pairs)


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise QueryError(f"{name} must be a number") from error


def count_answer(text: str) -> str | None:
    """`{"count": …, "_shards": …}` from the answer of `count_search`; None from an error."""
    found = {m.name: m for m in jsontext.members(text)}
    number = counted({name: m.value for name, m in found.items()})
    if number is None:
        return None
    shards = found.get("_shards")
    told = text[shards.at : shards.end] if shards else "{}"
    return f'{{"count":{number.stories},"_shards":{told}}}'
