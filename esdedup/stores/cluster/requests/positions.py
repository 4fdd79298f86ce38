"""Filters by the place in the order and by time: what comes before a document, or after it."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.model import JSON, rank_of, time_of
from esdedup.model.methods import key_fields
from esdedup.model.queries import By
from esdedup.stores import Probe

# Documents without a rank stand by their time alone; where nobody has one it is not mapped.
BY_RANK: JSON = {"dedup.rank": {"order": "asc", "missing": 0, "unmapped_type": "integer"}}


def placed(probe: Probe, *, upto: bool, in_order: bool = False) -> list[JSON]:
    """Up to the probe's place, or from it on, and nearer in time than its window.

    Of documents of the same moment all pass, unless the exact order is asked for.
    """
    place, id_ = probe.order
    rank, time = rank_of(place), time_of(place)
    span = probe.window if upto else probe.reach
    bounds: dict[str, int] = {"lte" if upto else "gte": time}
    if span and not probe.ranked:
        bounds["gte" if upto else "lte"] = time - span if upto else time + span
    here: list[JSON] = [{"range": {"dedup.moment": bounds}}]
    if in_order:
        earlier = {"range": {"dedup.moment": {"lt": time}}}
        here.append(_any(earlier, {"range": {"dedup.id": {"lt": id_}}}))
    if not probe.ranked:
        # Nobody has a rank: a probe that has one asks from an end of the line.
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


def gathered_moments(probes: Sequence[Probe], *, later: bool) -> list[JSON]:
    """The widest bounds of several probes; each one's own are looked at when they are counted."""
    times = [time_of(probe.order[0]) for probe in probes]
    spans = [probe.reach if later else probe.window for probe in probes]
    bounds: dict[str, int] = {}
    if all(spans):
        bounds = {"gte": min(times) - max(spans), "lte": max(times) + max(spans)}
    if not any(probe.ranked or rank_of(probe.order[0]) for probe in probes):
        bounds |= {"gte": min(times)} if later else {"lte": max(times)}
    return [{"range": {"dedup.moment": bounds}}] if bounds else []


def aged_query(before: int, leading: By | None, *, keyed: bool) -> JSON:
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


def gathered_query(by: By, values: Sequence[str], since: int | None) -> JSON:
    """Documents of these groups or stories; only those that are not older."""
    filters: list[JSON] = [{"terms": {f"dedup.{by}": list(values)}}]
    if since is not None:
        filters.append({"range": {"dedup.moment": {"gte": since}}})
    return {"bool": {"filter": filters}}


def _any(*queries: JSON) -> JSON:
    return {"bool": {"should": list(queries), "minimum_should_match": 1}}
