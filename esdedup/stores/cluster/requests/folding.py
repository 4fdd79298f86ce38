"""Search bodies of Elasticsearch and OpenSearch: pure functions that add folding to any of them.

The caller's body goes in as it is; nothing in it is changed, only added to. What each engine
does with the result was measured, and stands beside the choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from esdedup.errors import NotCollapsible, QueryError
from esdedup.model import JSON
from esdedup.model.queries import DEEPEST, By

# Beyond this many stories the count of a `cardinality` is an estimate.
PRECISION = 40_000
STATED_PRECISION = (
    f"estimate: nearly exact up to {PRECISION:,} stories, beyond that within .2 % as measured; "
    "ask for `exact` where it matters"
)
# Of one bucket of a facet: the memory of an aggregation grows with the number of buckets.
FACET_PRECISION = 3_000
COMPOSITE_PAGE = 10_000
# Matches up to which a collapsed search counts the copies of its results itself. Four in five
# ordinary words have fewer among 100,000 articles, and a common word pays little for the attempt.
COUNTED_MATCHES = 500
_COPIES = "esdedup copies"
_LINK_FIELDS = ("dedup.group", "dedup.story", "dedup.role")
GROUPED: JSON = {"exists": {"field": "dedup.group"}}
UNGROUPED: JSON = {"bool": {"must_not": [GROUPED]}}
# Clauses that pick their k nearest before anything is folded: k copies of one story fill them.
_VECTORS = ("knn", "neural")


# --- reading a body -------------------------------------------------------------------------------


def check_body(body: object) -> JSON:
    """A copy of the body; raises QueryError for mistakes that need no server to be found."""
    if not isinstance(body, Mapping):
        raise QueryError(
            f"a search body is a JSON object with `query` in it, not {type(body).__name__}"
        )
    if not all(isinstance(key, str) for key in body):
        raise QueryError("a search body has texts as names, as JSON has")
    for name in ("query", "post_filter", "aggs", "aggregations"):
        if name in body and not isinstance(body[name], Mapping):
            raise QueryError(f"search body: `{name}` must be an object, not {_kind(body[name])}")
    for name in ("size", "from"):
        value = body.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise QueryError(f"search body: `{name}` must be a whole number, not {value!r}")
    if not isinstance(body.get("sort", []), list | dict | str):
        raise QueryError(f"search body: `sort` must be a list, not {_kind(body['sort'])}")
    if "collapse" in body:
        raise QueryError(
            "search body: it has a `collapse` of its own, and a search folds by one field only; "
            "leave it out, or take mode `all` and no folding of ours"
        )
    if "scroll" in body or "scroll_id" in body:
        raise QueryError(
            "search body: `scroll` is a parameter of the request, and cannot be folded; take a "
            "cursor (deep = true) or mode `canonical` through a filtered alias"
        )
    return dict(body)


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def why_not_collapsible(body: JSON, product: str) -> str | None:
    """Why this search cannot be folded by `collapse`; None if it can."""
    if "search_after" in body:
        return "search_after works with collapse only when sorting by the group"
    if "rescore" in body and product == "opensearch":
        return "OpenSearch cannot rescore collapsed results"
    if "knn" in body or any(_vector_clauses(body.get("query"))):
        return "a vector search picks its k nearest first, and copies of one story would fill them"
    if "retriever" in body or "rank" in body or "sub_searches" in body:
        return "retrievers rank several searches into one list before anything can be folded"
    if "hybrid" in body.get("query", {}):
        return "a hybrid query joins its parts after their results are collected"
    return None


def picks_nearest(body: JSON) -> bool:
    """Whether the search finds its k nearest and no more: there is nothing else to count."""
    if "knn" in body or "retriever" in body or "hybrid" in body.get("query", {}):
        return True
    return any(True for _ in _vector_clauses(body.get("query")))


def refuse_uncollapsible(body: JSON, product: str) -> None:
    if reason := why_not_collapsible(body, product):
        raise NotCollapsible(f"{reason}; take mode `canonical`, which filters instead of folding")


def _vector_clauses(node: Any) -> Iterator[JSON]:
    if isinstance(node, Mapping):
        for name, inner in node.items():
            if name in _VECTORS and isinstance(inner, Mapping):
                yield dict(inner)
            yield from _vector_clauses(inner)
    elif isinstance(node, list | tuple):
        for inner in node:
            yield from _vector_clauses(inner)


# --- adding to a body -----------------------------------------------------------------------------


def canonical_filter(by: By, *, all_grouped: bool = False) -> JSON:
    """Originals and updates; by story, originals alone. Written as what is left out, so that
    articles without our fields stay visible; where there are none, what is wanted is quicker."""
    if by == "story":
        if all_grouped:
            return {"terms": {"dedup.role": ["original", "unprocessed"]}}
        return {"bool": {"must_not": [{"terms": {"dedup.role": ["duplicate", "update"]}}]}}
    if all_grouped:
        return {"term": {"dedup.canonical": True}}
    return {"bool": {"must_not": [{"term": {"dedup.canonical": False}}]}}


def with_filter(body: JSON, clause: JSON) -> JSON:
    """The same search among fewer documents: scores stay as they are, vectors look only there."""
    out = dict(body)
    if "knn" in body:
        knn = body["knn"]
        parts = knn if isinstance(knn, list) else [knn]
        filtered = [_and_filter(part, clause) for part in parts]
        out["knn"] = filtered if isinstance(knn, list) else filtered[0]
    if "retriever" in body:
        out["retriever"] = {
            kind: _and_filter(inner, clause) for kind, inner in body["retriever"].items()
        }
    if "query" in body or not ({"knn", "retriever"} & set(body)):
        out["query"] = _filtered_query(body.get("query", {"match_all": {}}), clause)
    return out


def _filtered_query(query: JSON, clause: JSON) -> JSON:
    if "hybrid" in query:  # must stay the outermost query
        hybrid = query["hybrid"]
        parts = [_filtered_query(part, clause) for part in hybrid.get("queries", [])]
        return {"hybrid": {**hybrid, "queries": parts}}
    return {"bool": {"must": [_into_vectors(query, clause)], "filter": [clause]}}


def _into_vectors(node: Any, clause: JSON) -> Any:
    """The filter inside every vector clause: outside it would only thin out the k nearest."""
    if isinstance(node, list | tuple):
        return [_into_vectors(inner, clause) for inner in node]
    if not isinstance(node, Mapping):
        return node
    out = {}
    for name, inner in node.items():
        if name in _VECTORS and isinstance(inner, Mapping):
            # Elasticsearch: {"field": …, "query_vector": …}; OpenSearch: {NAME: {"vector": …}}.
            flat = "field" in inner and "query_vector" in inner
            out[name] = (
                _and_filter(inner, clause)
                if flat
                else {field: _and_filter(spec, clause) for field, spec in inner.items()}
            )
        else:
            out[name] = _into_vectors(inner, clause)
    return out


def _and_filter(spec: Any, clause: JSON) -> Any:
    if not isinstance(spec, Mapping):
        return spec
    before = spec.get("filter", [])
    before = list(before) if isinstance(before, list | tuple) else [before]
    together: Any = [*before, clause] if before else clause
    # OpenSearch takes one clause there, Elasticsearch a list as well.
    if isinstance(together, list):
        together = {"bool": {"filter": together}}
    return {**spec, "filter": together}


def with_links(body: JSON) -> JSON:
    """Add our fields as doc values if the caller does not want the whole source."""
    if "_source" not in body and "stored_fields" not in body:
        return body
    return {**body, "docvalue_fields": [*body.get("docvalue_fields", []), *_LINK_FIELDS]}


def with_tie_breakers(body: JSON) -> JSON:
    """Break ties by values that are the same on every copy of a shard. Otherwise a page could
    repeat a hit of another one."""
    if "rescore" in body or "retriever" in body or "rank" in body:
        return body  # these do not go with a sort
    if len(body.get("search_after", ())) == len(sort_of(body)):
        return {**body, "sort": sort_of(body), "track_scores": True}  # as the caller began it
    return {**body, "sort": [*sort_of(body), *_ties()], "track_scores": True}


def sort_of(body: JSON) -> list[Any]:
    given = body.get("sort")
    if not given:
        return [{"_score": "desc"}]
    entries = given if isinstance(given, list) else [given]
    return [part for entry in entries for part in _one_key_each(entry)]


def _one_key_each(entry: Any) -> list[Any]:
    """An object of a sort may hold several fields."""
    return [{k: v} for k, v in entry.items()] if isinstance(entry, Mapping) else [entry]


def _ties() -> list[JSON]:
    return [
        {"dedup.moment": {"order": "asc", "unmapped_type": "long"}},
        {"dedup.first_seen": {"order": "asc", "unmapped_type": "long"}},
    ]


def with_page(body: JSON, *, size: int, offset: int, counted_apart: bool) -> JSON:
    if size + offset > DEEPEST:
        raise QueryError(
            f"results {offset} to {offset + size} lie deeper than {DEEPEST:,}, where both engines "
            "stop; take a cursor (deep = true), or `pages`"
        )
    out = {**body, "size": size, "from": offset}
    if counted_apart and "track_total_hits" not in body:
        out["track_total_hits"] = False
    return out


def with_collapse(body: JSON, by: By, inner_hits: Mapping[str, Any] | None = None) -> JSON:
    collapse: JSON = {"field": f"dedup.{by}"}
    if inner_hits is not None:
        collapse["inner_hits"] = {"name": "copies", **inner_hits}
    return {**body, "collapse": collapse}


# --- counting -------------------------------------------------------------------------------------


def matching(body: JSON) -> JSON:
    """The query alone, without paging and highlighting: what counts are taken over."""
    query = body.get("query", {"match_all": {}})
    if "post_filter" in body:
        query = {"bool": {"must": [query], "filter": [body["post_filter"]]}}
    out: JSON = {"query": query}
    for name in ("min_score", "runtime_mappings", "derived", "pit"):
        if name in body:
            out[name] = body[name]
    return out


def story_count(body: JSON, by: By) -> JSON:
    """The expensive part of a folded search, so an entry of its own: with size 0 both engines cache
    the answer, and later pages cost nothing. Counting numbers costs half of counting texts."""
    field = "dedup.gid" if by == "group" else "dedup.story"
    return {
        **matching(body),
        "size": 0,
        "track_total_hits": True,
        "aggs": {
            "stories": {"cardinality": {"field": field, "precision_threshold": PRECISION}},
            "ungrouped": {"filter": UNGROUPED},
        },
    }


def article_count(body: JSON) -> JSON:
    return {
        **matching(body),
        "size": 0,
        "track_total_hits": True,
        "aggs": {"ungrouped": {"filter": UNGROUPED}},
    }


def pairs_page(body: JSON, fields: Mapping[str, str], after: JSON | None) -> JSON:
    """Every combination of values that occurs, page by page: exact at any size."""
    sources = [{name: {"terms": {"field": field}}} for name, field in fields.items()]
    composite: JSON = {"size": COMPOSITE_PAGE, "sources": sources}
    if after is not None:
        composite["after"] = after
    return {
        **matching(body),
        "size": 0,
        "track_total_hits": False,
        "aggs": {"pairs": {"composite": composite}},
    }


def with_copies(body: JSON, by: By) -> JSON:
    """A collapsed search that also counts the matching articles of each group, if few match.

    The sampler bounds what is counted: a table of all groups of a common word takes longer than the
    search. A search by the caller's own aggregations or by a filter behind them is left as it is.
    """
    if {"aggs", "aggregations", "post_filter", "min_score", "rescore"} & set(body):
        return body
    terms = {"field": f"dedup.{by}", "size": COUNTED_MATCHES, "min_doc_count": 2}
    groups = {"terms": {**terms, "execution_hint": "map"}}
    sampled = {"sampler": {"shard_size": COUNTED_MATCHES}, "aggs": {"groups": groups}}
    return {**body, "aggs": {_COPIES: sampled}}


def take_copies(answer: JSON) -> dict[str, int] | None:
    """Remove the counts of `with_copies` from an answer; None if it has none, or not all matches.

    A group that is missing in the counts has one matching article.
    """
    sampled = answer.get("aggregations", {}).get(_COPIES)
    if sampled is None:
        return None
    del answer["aggregations"]
    if sampled["doc_count"] >= COUNTED_MATCHES:
        return None
    return {bucket["key"]: bucket["doc_count"] - 1 for bucket in sampled["groups"]["buckets"]}


def copies_count(body: JSON, groups: Sequence[str], by: By) -> JSON:
    """For the groups on a page, how many matching articles each has.

    Counted by a map, since a table of all groups of the index takes as long as the search.
    """
    field = f"dedup.{by}"
    counted, among = matching(body), {"terms": {field: list(groups)}}
    if "min_score" in body:
        counted = with_filter(counted, among)
    else:  # nothing need be scored
        counted["query"] = {"bool": {"filter": [counted["query"], among]}}
    terms = {"field": field, "size": max(1, len(groups)), "execution_hint": "map"}
    return {**counted, "size": 0, "track_total_hits": False, "aggs": {"groups": {"terms": terms}}}


def facet_counts(body: JSON, fields: Sequence[str], size: int, by: By, *, canonical: bool) -> JSON:
    counted_by = "dedup.gid" if by == "group" else "dedup.story"
    counting: JSON = (
        {"filter": canonical_filter(by)}
        if canonical
        else {"cardinality": {"field": counted_by, "precision_threshold": FACET_PRECISION}}
    )
    aggs = {
        f"f{place}": {
            "terms": {"field": field, "size": size},
            "aggs": {"stories": counting, "ungrouped": {"filter": UNGROUPED}},
        }
        for place, field in enumerate(fields)
    }
    return {**matching(body), "size": 0, "track_total_hits": True, "aggs": aggs}


# --- members --------------------------------------------------------------------------------------


def member_filter(by: By, value: str) -> JSON:
    return {"term": {f"dedup.{by}": value}}


def members_page(by: By, value: str, *, size: int, offset: int) -> JSON:
    return {
        "query": {"bool": {"filter": [member_filter(by, value)]}},
        "size": size,
        "from": offset,
        "track_total_hits": True,
        "sort": [{"dedup.moment": "asc"}, {"dedup.first_seen": "asc"}],
    }


def shown_member(
    members: Sequence[JSON],
    show: str,
    *,
    sources: Sequence[str] = (),
    source_field: str = "source",
) -> JSON:
    """The one member a story shows under a rule; `members` are the clauses that find them."""
    first: JSON = {"dedup.moment": "asc"}
    query: JSON = {"bool": {"filter": list(members)}}
    sort: list[JSON] = {
        "earliest": [first],
        "newest": [{"dedup.moment": "desc"}],
        "longest": [{"dedup.words": "desc"}, first],
        "source": [{"_score": "desc"}, first],
    }[show]
    if show == "source":
        query["bool"]["should"] = [
            {
                "constant_score": {
                    "filter": {"term": {source_field: name}},
                    "boost": len(sources) - place,
                }
            }
            for place, name in enumerate(sources)
        ]
    return {
        "query": query,
        "size": 1,
        "track_total_hits": False,
        "sort": [*sort, {"dedup.first_seen": "asc"}],
    }


# --- deep pages -----------------------------------------------------------------------------------

# Ends the sort of what is read page by page. `_doc` is the place in the shard, so hits that still
# tie lie on different shards of one index: no more of them than it has shards. A total order that
# all versions have does not exist: OpenSearch has `_shard_doc` from 3.3 on, where it repeats across
# indices, and Elasticsearch forbids sorting by `_id`.
IN_ORDER: tuple[JSON, ...] = ({"_index": "asc"}, {"_doc": "asc"})


def deep(body: JSON, pit: str, keep_alive: str, size: int, after: Sequence[Any] | None) -> JSON:
    """Plain hits from one point in time."""
    out = {
        **{k: v for k, v in body.items() if k not in ("from", "pit", "aggs", "aggregations")},
        "size": size,
        "track_total_hits": False,
        "pit": {"id": pit, "keep_alive": keep_alive},
        "sort": [*sort_of(body), *_ties(), *IN_ORDER],
        "track_scores": True,
    }
    if after is not None:
        out["search_after"] = list(after)
    return out


def without_cut_ties(hits: Sequence[JSON]) -> list[JSON]:
    """The hits of a full page before those that tie with its last one: the rest of the tie may be
    on the next page, and `search_after` skips all that ties."""
    return [hit for hit in hits if hit["sort"] != hits[-1]["sort"]]


def moment_of(hit: JSON, body: JSON) -> int:
    """The moment of a hit of a deep search: the first sort value after those of the caller."""
    return int(hit["sort"][len(sort_of(body))])


def best_of(deep_body: JSON, groups: Sequence[str], by: By) -> JSON:
    """For each of these groups the member that comes first in the same order."""
    kept = {k: v for k, v in deep_body.items() if k not in ("search_after", "highlight", "aggs")}
    body = with_filter(kept, {"terms": {f"dedup.{by}": list(groups)}})
    return with_collapse({**body, "size": len(groups), "_source": False}, by)
