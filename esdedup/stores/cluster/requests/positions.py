"""Filters by the place in the order and by time: what comes before a document, or after it."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.model import JSON, rank_of, time_of
from esdedup.model.methods import key_fields
from esdedup.model.queries import By
from esdedup.stores import CandidateQuery

# Documents without a rank sort by time alone; if none has one, the field is not mapped.
BY_RANK: JSON = {"dedup.rank": {"order": "asc", "missing": 0, "unmapped_type": "integer"}}


def position_filter(query: CandidateQuery, *, upto: bool, in_order: bool = False) -> list[JSON]:
    """Up to the query's place, or from it on, and nearer in time than its window.

    Of documents of the same moment all pass, unless `in_order` is set.
    """
    place, id_ = query.order
    rank, time = rank_of(place), time_of(place)
    span = query.window if upto else query.reach
    bounds: dict[str, int] = {"lte" if upto else "gte": time}
    if span and not query.ranked:
        bounds["gte" if upto else "lte"] = time - span if upto else time + span
    here: list[JSON] = [{"range": {"dedup.moment": bounds}}]
    if in_order:
        earlier = {"range": {"dedup.moment": {"lt": time}}}
        here.append(_any(earlier, {"range": {"dedup.id": {"lt": id_}}}))
    if not query.ranked:
        # No stored document has a rank, so a query with one comes before or after all of them.
        return here if not rank else []
    unranked = {"bool": {"must_not": [{"exists": {"field": "dedup.rank"}}]}}
    mine = {"term": {"dedup.rank": rank}} if rank else unranked
    sides: list[JSON] = [
        {"range": {"dedup.rank": {"lt" if upto else "gt": rank}}},
        {"bool": {"filter": [mine, *here]}},
    ]
    if rank > 0 if upto else rank < 0:
        sides.append(unranked)
    near = [{"range": {"dedup.moment": {"gte": time - span, "lte": time + span}}}] if span else []
    return [_any(*sides), *near]


def gathered_moments(queries: Sequence[CandidateQuery], *, later: bool) -> list[JSON]:
    """The widest bounds of several queries; `count_gathered` applies the bounds of each."""
    times = [time_of(query.order[0]) for query in queries]
    spans = [query.reach if later else query.window for query in queries]
    bounds: dict[str, int] = {}
    if all(spans):
        bounds = {"gte": min(times) - max(spans), "lte": max(times) + max(spans)}
    if not any(query.ranked or rank_of(query.order[0]) for query in queries):
        bounds |= {"gte": min(times)} if later else {"lte": max(times)}
    return [{"range": {"dedup.moment": bounds}}] if bounds else []


def older_query(before: int, leading: By | None, *, keyed: bool) -> JSON:
    """Documents older than that; those that lead a group or a story; those that have keys."""
    filters: list[JSON] = [{"range": {"dedup.moment": {"lt": before}}}]
    if leading == "group":
        filters.append({"term": {"dedup.canonical": True}})
    elif leading == "story":
        filters.append({"terms": {"dedup.role": ["original", "unprocessed"]}})
    if keyed:
        fields = key_fields().values()
        filters.append(_any(*({"exists": {"field": f"dedup.{field}"}} for field in fields)))
    return {"bool": {"filter": filters}}


def members_query(by: By, values: Sequence[str], since: int | None) -> JSON:
    """Documents of these groups or stories; only those that are not older."""
    filters: list[JSON] = [{"terms": {f"dedup.{by}": list(values)}}]
    if since is not None:
        filters.append({"range": {"dedup.moment": {"gte": since}}})
    return {"bool": {"filter": filters}}


def _any(*queries: JSON) -> JSON:
    return {"bool": {"should": list(queries), "minimum_should_match": 1}}
