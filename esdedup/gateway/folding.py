"""Searches folded on the way in, answers set right on the way out: pure functions.

collapse   one request more costs nothing: the search itself carries `collapse` and a count of
           stories, which is taken out of the answer again and put where the total stands
filter     copies are left out by a filter; nothing of the answer has to be changed. Taken where a
           search cannot be collapsed, where its answer is no JSON, and where articles without our
           fields match, which a collapse would fold into one
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from esdedup.errors import QueryError
from esdedup.gateway import jsontext
from esdedup.gateway.limits import TooMuch
from esdedup.model import JSON
from esdedup.model.encoding import MOST_VALUES, has_many_values, parse_json
from esdedup.model.queries import By
from esdedup.stores.cluster.requests import folding as requests

Fold = Literal["off", "group", "story", "canonical"]
FOLDS: tuple[Fold, ...] = ("off", "group", "story", "canonical")
Means = Literal["collapse", "filter"]

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
class SearchCall:
    """A search of which everything stands in its body: a `q` or `source` of the address too."""

    body: JSON
    pairs: tuple[tuple[str, str], ...]

    def value(self, name: str) -> str | None:
        return next((v for k, v in reversed(self.pairs) if k == name), None)


def parse_search(body: bytes, pairs: Sequence[tuple[str, str]]) -> SearchCall:
    """QueryError where the body is no search."""
    given = dict(pairs)
    text = body.strip() or given.get("source", "").encode("utf-8", "surrogateescape")
    checked = check_search(_load(text) if text else {}).body
    dropped = {"source", "source_content_type"}
    if "q" in given:
        query = {"query": given["q"]}
        query |= {ours: given[name] for name, ours in _QUERY_STRING.items() if name in given}
        checked["query"] = {"query_string": query}
        dropped |= {"q", *_QUERY_STRING}
    return SearchCall(checked, tuple((k, v) for k, v in pairs if k not in dropped))


def check_search(value: Any) -> SearchCall:
    """One of which nothing stands in an address; QueryError where it is none."""
    return SearchCall(requests.check_body(value), ())


def _load(text: bytes) -> Any:
    if has_many_values(text):
        raise QueryError(f"the search has more than {MOST_VALUES:,} values")
    try:
        return parse_json(text)
    except ValueError as error:
        raise QueryError("the search is no JSON") from error


def choose_means(search: SearchCall, fold: Fold, product: str, *, is_json: bool) -> Means:
    """Collapse where it is possible. From cursors it is not, and the first page of one must show
    the same as the next: a scroll, a point in time and search_after are filtered all along."""
    if fold == "canonical" or not is_json or search.value("scroll") is not None:
        return "filter"
    if "pit" in search.body or requests.why_not_collapsible(search.body, product):
        return "filter"
    return "collapse"


def fold_search(body: JSON, fold: Fold, means: Means) -> JSON:
    by = by_of(fold)
    if means == "filter":
        return requests.with_filter(body, requests.canonical_filter(by))
    name = "aggregations" if "aggregations" in body else "aggs"
    out = requests.with_collapse(body, by)
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
class StoryCount:
    """What our count in an answer tells."""

    stories: int
    ungrouped: int


# Answers are read one hit and one aggregation at a time: decoding all of a long one in one step
# would keep every other request waiting.
_ANSWER = {
    "hits": jsontext.object_reader({"hits": jsontext.array_reader(is_kept=False)}),
    "aggregations": jsontext.object_reader(),
}
_ANSWERS = {"responses": jsontext.array_reader(jsontext.object_reader(_ANSWER))}


def restore(text: str, *, wants_total: bool = True) -> tuple[StoryCount | None, str]:
    """Our count in the answer to a collapsed search, None where it has none (an error, mostly);
    and the answer with the number of stories as its total, without our count.

    `wants_total` is False where a `filter_path` of the caller leaves the total out.
    """
    count, edits = _restore(jsontext.members(text, 0, _ANSWER), wants_total)
    return count, jsontext.replace_pieces(text, edits)


def _restore(
    found: list[jsontext.JsonMember], wants_total: bool
) -> tuple[StoryCount | None, list[jsontext.Edit]]:
    values = {m.name: m for m in found}
    count = _story_count(values)
    if count is None:
        return None, []
    emptied: list[str] = []
    edits: list[jsontext.Edit] = []
    aggregations: list[jsontext.JsonMember] = values["aggregations"].value
    ours = [m.name for m in aggregations if _is_ours(m.name)]
    if len(ours) == len(aggregations):
        emptied.append("aggregations")
    else:
        edits += jsontext.removals(aggregations, *ours)
    hits: list[jsontext.JsonMember] = values["hits"].value if "hits" in values else []
    total = next((m for m in hits if m.name == "total"), None)
    if total is not None and wants_total:
        edits.append((total.at, total.end, _written_total(total.value, count.stories)))
    elif total is not None and len(hits) > 1:
        edits += jsontext.removals(hits, "total")
    elif total is not None:
        emptied.append("hits")
    return count, edits + (jsontext.removals(found, *emptied) if emptied else [])


def _is_ours(name: str) -> bool:
    return name.rpartition("#")[2] == COUNT


def _story_count(values: Mapping[str, jsontext.JsonMember]) -> StoryCount | None:
    aggregations = values["aggregations"].value if "aggregations" in values else None
    for member in aggregations if isinstance(aggregations, list) else ():
        if _is_ours(member.name):
            value = member.value
            inner = {key.rpartition("#")[2]: v for key, v in value.items() if "#" in key} | value
            ungrouped = int(inner["ungrouped"]["doc_count"])
            stories = min(int(inner["stories"]["value"]) + ungrouped, int(value["doc_count"]))
            return StoryCount(stories, ungrouped)
    return None


def _written_total(total: Any, stories: int) -> str:
    if not isinstance(total, dict):  # rest_total_hits_as_int
        return str(stories)
    return json.dumps({"value": stories, "relation": "eq"}, separators=(",", ":"))


def wants_total(filter_path: str | None) -> bool:
    """Whether a `filter_path` leaves the total in; asked where we had to ask for it."""
    parts = [p for p in (filter_path or "").split(",") if p and not p.startswith("-")]
    return not parts or any(
        p in ("*", "**", "hits", "hits.*", "hits.**") or p.startswith(("hits.total", "**.total"))
        for p in (part.removeprefix("responses.").removeprefix("*.") for part in parts)
    )


# --- several searches -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MsearchEntry:
    """One search of an _msearch: the line with its index, and the line with its body."""

    index: str
    body_line: int
    body: JSON


def parse_msearch(lines: Sequence[bytes], default_index: str, most: int) -> list[MsearchEntry]:
    """QueryError where the body is no _msearch, TooMuch where it has more searches than `most`."""
    found: list[MsearchEntry] = []
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
        found.append(MsearchEntry(index or default_index, number + 1, body))
        number += 2
    return found


def _object(line: bytes) -> JSON:
    value = _load(line)
    if not isinstance(value, dict):
        raise QueryError("a line of the _msearch is no object")
    return value


@dataclass(frozen=True, slots=True)
class OneAnswer:
    """One of the answers to an _msearch: its status, our count, and the edits that restore it."""

    status: Any
    count: StoryCount | None
    edits: list[jsontext.Edit]


def read_answers(text: str, *, wants_total: bool) -> list[OneAnswer]:
    """The answers to an _msearch, in their order; none where it was refused as a whole."""
    top = next((m for m in jsontext.members(text, 0, _ANSWERS) if m.name == "responses"), None)
    answers = []
    for found, _, _ in top.value if top else ():
        values = {m.name: m.value for m in found}
        answers.append(OneAnswer(values.get("status"), *_restore(found, wants_total)))
    return answers


# --- counts ---------------------------------------------------------------------------------------


def count_search(search: SearchCall, fold: Fold) -> SearchCall:
    """A `_count` as a search that counts stories."""
    body: JSON = {**search.body, "size": 0, "track_total_hits": True}
    if (least := search.value("min_score")) is not None:
        body["min_score"] = _number(least, "min_score")
    body["aggs"] = {COUNT: _count({}, by_of(fold))}
    pairs = tuple((k, v) for k, v in search.pairs if k not in _ONLY_COUNT)
    return SearchCall(body, pairs)


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise QueryError(f"{name} must be a number") from error


def count_answer(text: str) -> str | None:
    """`{"count": …, "_shards": …}` from the answer of `count_search`; None from an error."""
    found = {m.name: m for m in jsontext.members(text, 0, _ANSWER)}
    number = _story_count(found)
    if number is None:
        return None
    shards = found.get("_shards")
    told = text[shards.at : shards.end] if shards else "{}"
    return f'{{"count":{number.stories},"_shards":{told}}}'
