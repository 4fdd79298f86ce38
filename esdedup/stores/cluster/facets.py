"""Members of a group, and facets that count stories, on a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from esdedup.errors import QueryError
from esdedup.model import JSON
from esdedup.model.queries import DEEPEST, By, SearchOptions, StoreQuery
from esdedup.model.results import Bucket, Facet, Member, Members
from esdedup.stores.cluster.hits import hit_of
from esdedup.stores.cluster.requests import folding as requests

if TYPE_CHECKING:
    from esdedup.stores.cluster.search import ClusterSearch


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
    query: StoreQuery,
    fields: Sequence[str],
    options: SearchOptions,
    size: int,
) -> tuple[Facet, ...]:
    plan = finder.plan(query, options)
    if not plan.is_counted_apart:
        raise QueryError("facets of a vector search count its k nearest; send `aggs` with it")
    exact_fields = [finder.exact_field(name) for name in fields]
    is_canonical = plan.mode == "canonical"
    is_listed = options.total == "exact" and not is_canonical
    # Where groups are listed one by one, the cheap filter takes the place of an estimate.
    body = requests.facet_counts(
        plan.body, exact_fields, size, plan.by, canonical=is_canonical or is_listed
    )
    (answer,) = finder.ask([body])
    out = []
    for place, (name, field) in enumerate(zip(fields, exact_fields, strict=True)):
        listed: Counter[Any] = Counter()
        if is_listed:
            pairs = finder.distinct(plan.body, {"value": field, "group": f"dedup.{plan.by}"})
            listed.update(pair["value"] for pair in pairs)
        buckets = []
        for bucket in answer["aggregations"][f"f{place}"]["buckets"]:
            articles, ungrouped = bucket["doc_count"], bucket["ungrouped"]["doc_count"]
            if is_canonical:
                stories = bucket["stories"]["doc_count"]
            elif is_listed:
                stories = listed[bucket["key"]] + ungrouped
            else:
                stories = min(bucket["stories"]["value"] + ungrouped, articles)
            buckets.append(Bucket(_text(bucket), stories, articles))
        buckets.sort(key=lambda b: (-b.stories, -b.articles, b.value))
        out.append(Facet(name, tuple(buckets), exact=is_canonical or is_listed))
    return tuple(out)


def _text(bucket: JSON) -> str:
    return str(bucket.get("key_as_string", bucket["key"]))
