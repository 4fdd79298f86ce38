"""Hits of a cluster read as stories: links, copies, the member to show, what an update changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from esdedup.model import JSON
from esdedup.model.queries import By, Mode, SearchOptions
from esdedup.model.results import StoryHit, Total, Update
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import folding as requests
from esdedup.text.fulltext import snippet

if TYPE_CHECKING:
    from esdedup.stores.cluster.search import ClusterSearch

# For each hit of a page, the first and last moment of the articles that may be folded into it.
Bounds = Sequence[tuple[int, int]]
NO_QUERY: JSON = {"match_none": {}}
NOT_COUNTED = Total(None, None, exact=False, precision="not counted")


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A checked search: the body, the mode that was chosen for it, and how to read the answer."""

    body: JSON
    words: str | None
    mode: Mode
    size: int
    offset: int
    options: SearchOptions
    notes: tuple[str, ...] = ()

    @property
    def by(self) -> By:
        return self.options.by

    @property
    def counts_copies(self) -> bool:
        """Only a collapsed page has copies behind its hits."""
        return self.options.copies and self.mode == "collapse"

    @property
    def preference(self) -> str:
        """The shard copies to ask, the same for every page of a search.

        The same copies break ties of scores the same way on every page. Breaking them by further
        fields costs a search its shortcuts (1.5x for common words).
        """
        text = json.dumps(self.body, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @property
    def is_counted_apart(self) -> bool:
        return not requests.picks_nearest(self.body)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: hits of the page, the count, and the caller's own aggregations."""

    hits: Sequence[JSON]
    count: JSON | None
    aggregations: JSON | None
    copies: Mapping[str, int] | None = None  # by group, if the search counted them


def story_hits(
    finder: ClusterSearch,
    plan: SearchPlan,
    hits: Sequence[JSON],
    bounds: Bounds | None = None,
    copies: Mapping[str, int] | None = None,
) -> tuple[StoryHit, ...]:
    """Hits with the number of their copies, the member to show, and evidence of updates.

    `copies` are the numbers by group if they were counted already; a group without one has none.
    """
    groups = [group_of(hit, plan.by) for hit in hits]
    scopes = [
        None if group is None else _scope(plan.by, group, bounds[place] if bounds else None)
        for place, group in enumerate(groups)
    ]
    is_to_count = plan.counts_copies and copies is None
    counting = _copies_entries(plan, groups, scopes, bounds) if is_to_count else []
    showing = _showing_entries(finder, plan, scopes)
    answers = finder.ask([*counting, *showing]) if counting or showing else []
    counted = _copies(answers[: len(counting)], groups, bounds)
    if copies is not None:
        counted = [copies.get(group or "", 0) for group in groups]
    shown = iter(answers[len(counting) :])
    made = []
    for place, hit in enumerate(hits):
        one = hit_of(finder, hit, plan.words, counted[place] if plan.counts_copies else None)
        if showing and scopes[place] is not None:
            one = _shown_for(finder, one, next(shown)["hits"]["hits"], plan)
        made.append(one)
    return tuple(_add_updates(finder, _add_matches(finder, plan, made)))


def _scope(by: By, group: str, bounds: tuple[int, int] | None) -> list[JSON]:
    """The clauses that find what may be folded into a hit."""
    if bounds is None:
        return [requests.member_filter(by, group)]
    span = {"range": {"dedup.moment": {"gte": bounds[0], "lte": bounds[1]}}}
    return [requests.member_filter(by, group), span]


def _copies_entries(
    plan: SearchPlan,
    groups: Sequence[str | None],
    scopes: Sequence[list[JSON] | None],
    bounds: Bounds | None,
) -> list[JSON]:
    if bounds is None:
        known = list(dict.fromkeys(group for group in groups if group is not None))
        return [requests.copies_count(plan.body, known, plan.by)] if known else []
    matching = requests.matching(plan.body)
    wanted = ({"bool": {"filter": scope or [NO_QUERY]}} for scope in scopes)
    return [
        {**requests.with_filter(matching, clause), "size": 0, "track_total_hits": True}
        for clause in wanted
    ]


def _showing_entries(
    finder: ClusterSearch, plan: SearchPlan, scopes: Sequence[list[JSON] | None]
) -> list[JSON]:
    options = plan.options
    if options.show == "best" or plan.mode == "all":
        return []
    source = finder.exact_field("source") if options.show == "source" else ""
    return [
        requests.shown_member(scope, options.show, sources=options.sources, source_field=source)
        for scope in scopes
        if scope is not None
    ]


def _shown_for(
    finder: ClusterSearch, matched: StoryHit, found: Sequence[JSON], plan: SearchPlan
) -> StoryHit:
    if not found or found[0]["_id"] == matched.id:
        return matched
    other = hit_of(finder, found[0], plan.words)
    return replace(
        other,
        score=matched.score,
        copies=matched.copies,
        matched=None,
        matched_by=(matched.id,),
    )


def _add_matches(
    finder: ClusterSearch, plan: SearchPlan, hits: Sequence[StoryHit]
) -> list[StoryHit]:
    """Find out whether articles that are shown in place of another one match as well."""
    unknown = [hit.id for hit in hits if hit.matched is None]
    if not unknown:
        return list(hits)
    body = requests.with_filter(requests.matching(plan.body), {"ids": {"values": unknown}})
    (answer,) = finder.ask([{**body, "size": len(unknown), "_source": False}])
    matching = {hit["_id"] for hit in answer["hits"]["hits"]}
    return [
        replace(hit, matched=hit.id in matching) if hit.matched is None else hit for hit in hits
    ]


def _add_updates(finder: ClusterSearch, hits: Sequence[StoryHit]) -> list[StoryHit]:
    """Fetch the evidence of updates whose source the caller did not ask for."""
    wanted = [hit.id for hit in hits if hit.role == "update" and hit.update is None]
    if not wanted:
        return list(hits)
    body = {
        "query": {"ids": {"values": wanted}},
        "size": len(wanted),
        "_source": ["dedup"],
    }
    (answer,) = finder.ask([body])
    updates = {hit["_id"]: update_of(hit["_source"]["dedup"]) for hit in answer["hits"]["hits"]}
    return [
        replace(hit, update=updates.get(hit.id)) if hit.role == "update" else hit for hit in hits
    ]


def hit_of(
    finder: ClusterSearch, hit: JSON, words: str | None, copies: int | None = None
) -> StoryHit:
    source = hit.get("_source") or {}
    dedup = source.get("dedup") or {}
    role = dedup.get("role") or _first(hit.get("fields", {}).get("dedup.role")) or "unprocessed"
    return StoryHit(
        id=hit["_id"],
        group=group_of(hit, "group"),
        story=group_of(hit, "story"),
        role=role,
        read=lambda: document_requests.document_from(hit["_id"], source, finder.names),
        score=hit.get("_score"),
        copies=copies,
        update=update_of(dedup) if role == "update" else None,
        excerpt=partial(snippet, query=words) if words else None,
        raw=hit,
    )


def group_of(hit: JSON, by: By) -> str | None:
    """The group or story of a hit, from its source, else from its doc values."""
    dedup = (hit.get("_source") or {}).get("dedup")
    # `dict`, as JSON gives it: `Mapping` costs more here than all the rest.
    if isinstance(dedup, dict) and (value := dedup.get(by)) is not None:
        return str(value)
    return _first(hit.get("fields", {}).get(f"dedup.{by}"))


def _copies(
    answers: Sequence[JSON], groups: Sequence[str | None], bounds: Bounds | None
) -> list[int]:
    """For each hit the number of further articles that match."""
    if not answers:
        return [0] * len(groups)
    if bounds is not None:
        return [max(0, answer["hits"]["total"]["value"] - 1) for answer in answers]
    buckets = answers[0]["aggregations"]["groups"]["buckets"]
    counts = {bucket["key"]: bucket["doc_count"] - 1 for bucket in buckets}
    return [counts.get(group, 0) for group in groups]


def _first(values: Any) -> str | None:
    return str(values[0]) if values else None


def ungrouped_in(count: JSON | None) -> int:
    """How many articles of a count have no group."""
    return int((count or {}).get("aggregations", {}).get("ungrouped", {}).get("doc_count", 0))


def update_of(dedup: Mapping[str, Any]) -> Update | None:
    if dedup.get("role") != "update":
        return None
    evidence = document_requests.evidence_from(dedup, document_requests.link_from(dedup))
    return Update.from_evidence("update", evidence)
