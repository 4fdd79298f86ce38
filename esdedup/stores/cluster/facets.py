"""What a cluster knows beyond a page: members of a group, facets over stories, a front page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from esdedup.errors import QueryError
from esdedup.model import JSON
from esdedup.model.queries import DEEPEST, By, Options, Query
from esdedup.model.results import Bucket, Facet, Member, Members, Section
from esdedup.stores.cluster import search_requests as requests
from esdedup.stores.cluster.hits import Asked, hit_of, story_hits

if TYPE_CHECKING:
    from esdedup.stores.cluster.search import ClusterSearch

_MANY_SECTIONS = 20


def members(finder: ClusterSearch, value: str, by: By, *, size: int, offset: int) -> Members:
    finder.require_fields()
    if size + offset > DEEPEST:
        raise QueryError(
            f"members {offset} to {offset + size} lie deeper than {DEEPEST:,}; "
            "search with mode `all` and a filter on the group, page by page"
        )
    (answer,) = finder.ask([requests.members_page(by, value, size=size, offset=offset)])
    found = []
    for hit in answer["hits"]["hits"]:
        made = hit_of(finder, hit, None)
        score = hit["_source"]["dedup"].get("score") or 0.0
        found.append(
            Member(made.document, made.group or "", made.story or "", made.role, score, made.update)
        )
    return Members(tuple(found), answer["hits"]["total"]["value"])


def facets(
    finder: ClusterSearch,
    query: Query | Mapping[str, Any],
    fields: Sequence[str],
    options: Options,
    size: int,
) -> tuple[Facet, ...]:
    asked = finder.asked(query, options)
    if not asked.is_counted_apart:
        raise QueryError("facets of a vector search count its k nearest; send `aggs` with it")
    exact = [finder.exact_field(name) for name in fields]
    if options.total == "exact" and asked.mode != "canonical":
        return tuple(
            _exact_facet(finder, asked, name, field, size)
            for name, field in zip(fields, exact, strict=True)
        )
    body = requests.facet_counts(
        asked.body, exact, size, asked.by, canonical=asked.mode == "canonical"
    )
    (answer,) = finder.ask([body])
    return tuple(
        _facet(name, answer["aggregations"][f"f{place}"], is_canonical=asked.mode == "canonical")
        for place, name in enumerate(fields)
    )


def _exact_facet(finder: ClusterSearch, asked: Asked, name: str, field: str, size: int) -> Facet:
    articles = requests.facet_counts(asked.body, [field], size, asked.by, canonical=True)
    (answer,) = finder.ask([articles])
    stories: dict[Any, int] = {}
    for key in finder.distinct(asked.body, {"value": field, "group": f"dedup.{asked.by}"}):
        stories[key["value"]] = stories.get(key["value"], 0) + 1
    buckets = [
        Bucket(
            _text(b),
            stories.get(b["key"], 0) + b["ungrouped"]["doc_count"],
            b["doc_count"],
        )
        for b in answer["aggregations"]["f0"]["buckets"]
    ]
    return Facet(name, _most_first(buckets))


def front(
    finder: ClusterSearch, category: str, categories: Sequence[str], *, size: int, by: By
) -> tuple[Section, ...]:
    """Newest originals and updates of each category; copies that trickle in move nothing."""
    finder.require_fields()
    field = finder.exact_field(category)
    canonical = requests.canonical_filter("group")
    base: JSON = {"query": {"bool": {"filter": [canonical]}}}
    wanted = list(categories)
    if not wanted:
        listing = {"terms": {"field": field, "size": _MANY_SECTIONS}}
        (answer,) = finder.ask([{**base, "size": 0, "aggs": {"categories": listing}}])
        wanted = [_text(b) for b in answer["aggregations"]["categories"]["buckets"]]
    body = {**base, "sort": [{"dedup.moment": "desc"}], "size": size}
    entries = []
    for value in wanted:
        one = requests.with_filter(requests.ordered(body), {"term": {field: value}})
        one = requests.with_filter(one, {"exists": {"field": "dedup.group"}})
        entries.append(requests.collapsed(one, by))
    answers = finder.ask(entries) if entries else []
    asked = Asked(base, None, "canonical", size, 0, Options(by=by, copies=False))
    return tuple(
        Section(value, story_hits(finder, asked, answer["hits"]["hits"]))
        for value, answer in zip(wanted, answers, strict=True)
    )


def _facet(name: str, answer: JSON, *, is_canonical: bool) -> Facet:
    buckets = []
    for bucket in answer["buckets"]:
        stories = bucket["stories"]
        number = (
            stories["doc_count"]
            if is_canonical
            else stories["value"] + bucket["ungrouped"]["doc_count"]
        )
        buckets.append(Bucket(_text(bucket), min(number, bucket["doc_count"]), bucket["doc_count"]))
    return Facet(name, _most_first(buckets), exact=is_canonical)


def _most_first(buckets: Iterable[Bucket]) -> tuple[Bucket, ...]:
    return tuple(sorted(buckets, key=lambda b: (-b.stories, -b.articles, b.value)))


def _text(bucket: JSON) -> str:
    return str(bucket.get("key_as_string", bucket["key"]))
