"""Hits of a cluster read as stories: links, copies, the member to show, what an update changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from esdedup.model import JSON, Evidence
from esdedup.model.queries import By, Mode, Options
from esdedup.model.results import StoryHit, Update
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster import search_requests as requests
from esdedup.text.fulltext import snippet

# Of each hit of a page, the first and last moment of the articles that may be folded into it.
Bounds = Sequence[tuple[int, int]]
NO_QUERY: JSON = {"match_none": {}}


class Asking(Protocol):
    """What reading a page asks further of the cluster."""

    names: bodies.Names

    def ask(self, entries: Sequence[JSON], preference: str | None = None) -> list[JSON]: ...
    def exact_field(self, name: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as it will be sent, and what is needed to read the answer."""

    body: JSON
    words: str | None
    mode: Mode
    size: int
    offset: int
    options: Options
    notes: tuple[str, ...] = ()

    @property
    def by(self) -> By:
        return self.options.by

    @property
    def preference(self) -> str:
        """The same for every page of a search. Breaking ties of scores by further fields costs a
        search its shortcuts (1.5x for common words); the same copies of the shards break them
        the same way on every page, for nothing."""
        text = json.dumps(self.body, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @property
    def is_counted_apart(self) -> bool:
        return not requests.picks_nearest(self.body)


def story_hits(
    finder: Asking, asked: Asked, hits: Sequence[JSON], bounds: Bounds | None = None
) -> tuple[StoryHit, ...]:
    """Hits with the number of their copies, the member to show, and evidence of updates."""
    if not asked.options.copies and (asked.options.show == "best" or asked.mode == "all"):
        return tuple(_told_updates(finder, [hit_of(finder, hit, asked.words) for hit in hits]))
    groups = [group_of(hit, asked.by) for hit in hits]
    scopes = _scopes(asked, groups, bounds)
    counting = _copies_entries(finder, asked, groups, scopes, bounds)
    showing = _showing_entries(finder, asked, scopes)
    answers = finder.ask([*counting, *showing]) if counting or showing else []
    copies = _copies(answers[: len(counting)], groups, bounds)
    shown = iter(answers[len(counting) :])
    made = []
    for place, hit in enumerate(hits):
        one = hit_of(finder, hit, asked.words, copies[place] if asked.options.copies else None)
        if showing and scopes[place] is not None:
            one = _shown_for(finder, one, next(shown)["hits"]["hits"], asked)
        made.append(one)
    return tuple(_told_updates(finder, _told_matches(finder, asked, made)))


def _scopes(
    asked: Asked, groups: Sequence[str | None], bounds: Bounds | None
) -> list[list[JSON] | None]:
    """Of each hit the clauses that find what may be folded into it."""
    scopes: list[list[JSON] | None] = []
    for place, group in enumerate(groups):
        scope = None if group is None else [requests.member_filter(asked.by, group)]
        if scope is not None and bounds is not None:
            first, last = bounds[place]
            scope.append({"range": {"dedup.moment": {"gte": first, "lte": last}}})
        scopes.append(scope)
    return scopes


def _copies_entries(
    finder: Asking,
    asked: Asked,
    groups: Sequence[str | None],
    scopes: Sequence[list[JSON] | None],
    bounds: Bounds | None,
) -> list[JSON]:
    if not asked.options.copies:
        return []
    if bounds is None:
        known = list(dict.fromkeys(group for group in groups if group is not None))
        return [requests.copies_count(asked.body, known, asked.by)] if known else []
    return [
        {
            **requests.with_filter(
                requests.matching(asked.body), {"bool": {"filter": scope or [NO_QUERY]}}
            ),
            "size": 0,
            "track_total_hits": True,
        }
        for scope in scopes
    ]


def _showing_entries(
    finder: Asking, asked: Asked, scopes: Sequence[list[JSON] | None]
) -> list[JSON]:
    options = asked.options
    if options.show == "best" or asked.mode == "all":
        return []
    source = finder.exact_field("source") if options.show == "source" else ""
    return [
        requests.shown_member(scope, options.show, sources=options.sources, source_field=source)
        for scope in scopes
        if scope is not None
    ]


def _shown_for(finder: Asking, matched: StoryHit, found: Sequence[JSON], asked: Asked) -> StoryHit:
    if not found or found[0]["_id"] == matched.id:
        return matched
    other = hit_of(finder, found[0], asked.words)
    return replace(
        other,
        score=matched.score,
        copies=matched.copies,
        matched=None,
        matched_by=(matched.id,),
    )


def _told_matches(finder: Asking, asked: Asked, hits: Sequence[StoryHit]) -> list[StoryHit]:
    """Whether articles that are shown for another one match as well."""
    doubtful = [hit.id for hit in hits if hit.matched is None]
    if not doubtful:
        return list(hits)
    body = requests.with_filter(requests.matching(asked.body), {"ids": {"values": doubtful}})
    (answer,) = finder.ask([{**body, "size": len(doubtful), "_source": False}])
    matching = {hit["_id"] for hit in answer["hits"]["hits"]}
    return [
        replace(hit, matched=hit.id in matching) if hit.matched is None else hit for hit in hits
    ]


def _told_updates(finder: Asking, hits: Sequence[StoryHit]) -> list[StoryHit]:
    """The evidence is in the source; where the caller did not want that, it is fetched."""
    wanted = [hit.id for hit in hits if hit.role == "update" and hit.update is None]
    if not wanted:
        return list(hits)
    body = {
        "query": {"ids": {"values": wanted}},
        "size": len(wanted),
        "_source": ["dedup.evidence", "dedup.role"],
    }
    (answer,) = finder.ask([body])
    updates = {hit["_id"]: update_of(hit["_source"]["dedup"]) for hit in answer["hits"]["hits"]}
    return [
        replace(hit, update=updates.get(hit.id)) if hit.role == "update" else hit for hit in hits
    ]


def hit_of(finder: Asking, hit: JSON, words: str | None, copies: int | None = None) -> StoryHit:
    source = hit.get("_source") or {}
    dedup = source.get("dedup") or {}
    role = dedup.get("role") or _first(hit.get("fields", {}).get("dedup.role")) or "unprocessed"
    return StoryHit(
        id=hit["_id"],
        group=group_of(hit, "group"),
        story=group_of(hit, "story"),
        role=role,
        read=lambda: bodies.document_from(hit["_id"], source, finder.names),
        score=hit.get("_score"),
        copies=copies,
        update=update_of(dedup) if role == "update" else None,
        excerpt=partial(snippet, query=words) if words else None,
        raw=hit,
    )


def group_of(hit: JSON, by: By) -> str | None:
    """The group or story of a hit, from its source, else from the fields asked for beside it."""
    dedup = (hit.get("_source") or {}).get("dedup")
    # A dict, as JSON gives it: asking for any mapping costs more than all the rest here.
    if isinstance(dedup, dict) and (value := dedup.get(by)) is not None:
        return str(value)
    return _first(hit.get("fields", {}).get(f"dedup.{by}"))


def _copies(
    answers: Sequence[JSON], groups: Sequence[str | None], bounds: Bounds | None
) -> list[int]:
    """Of each hit how many further articles match."""
    if not answers:
        return [0] * len(groups)
    if bounds is not None:
        return [max(0, answer["hits"]["total"]["value"] - 1) for answer in answers]
    buckets = answers[0]["aggregations"]["groups"]["buckets"]
    counts = {bucket["key"]: bucket["doc_count"] - 1 for bucket in buckets}
    return [counts.get(group, 0) for group in groups]


def _first(values: Any) -> str | None:
    return str(values[0]) if values else None


def ungrouped_in(counted: JSON | None) -> int:
    if counted is None:
        return 0
    return int(counted.get("aggregations", {}).get("ungrouped", {}).get("doc_count", 0))


def update_of(dedup: Mapping[str, Any]) -> Update | None:
    listed = (dedup.get("evidence") or {}).get("list") or ()
    evidence = tuple(Evidence.from_json(entry) for entry in listed[:1])
    return Update.from_evidence(str(dedup.get("role")), evidence)
