"""What goes out, for OpenAPI alone: answers are made by hand, and nothing is checked again.

Every model that is an answer by itself has an example. A field that is not always there has a
default; clients should expect further ones.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from esdedup.service.schemas import ARTICLE

Role = Literal["original", "duplicate", "update", "unprocessed"]


def _like(example: JsonDict) -> ConfigDict:
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})


class _Out(BaseModel):
    model_config = ConfigDict(extra="allow")


class ProblemOut(_Out):
    """An error (RFC 9457)."""

    type: str = Field(examples=["urn:esdedup:problem:queue-full"])
    title: str
    status: int
    detail: str
    request_id: str


# --- articles and what is decided about them ------------------------------------------------------


class EvidenceOut(_Out):
    """Why two articles are, or are not, one story."""

    other: str
    found_by: dict[str, int]
    measure: str
    overlap: float
    of_new: float
    of_old: float
    thresholds: dict[str, float]
    verdict: Literal["duplicate", "update", "different"]
    reason: str
    numbers: list[list[str]] = Field(description="[old, new, context] of each changed count.")


_NUMBERS = ["12", "17", "people died coastguard"]
_EVIDENCE: JsonDict = {
    "other": "wire-1",
    "found_by": {"sketch": 14},
    "measure": "containment",
    "overlap": 0.8462,
    "of_new": 0.8462,
    "of_old": 0.8462,
    "thresholds": {"min_overlap": 0.45, "max_collisions_by_chance": 1},
    "verdict": "update",
    "reason": "numbers",
    "numbers": [[*_NUMBERS]],
}
_DECISION: JsonDict = {
    "id": "daily-7",
    "role": "update",
    "group": "daily-7",
    "story": "wire-1",
    "score": 0.8462,
    "method": "sketch",
    "reason": "numbers",
    "branch": False,
    "evidence": [_EVIDENCE],
}


class DecisionOut(_Out):
    """The verdict on one article."""

    model_config = _like(_DECISION)

    id: str
    role: Role
    group: str
    story: str
    score: float
    method: str
    reason: str
    branch: bool
    evidence: list[EvidenceOut]


class FailureOut(_Out):
    """An article that could not be processed; `final`: nor will it be."""

    id: str
    where: str
    reason: str
    final: bool


class OutcomeOut(DecisionOut):
    """A decision, and what it meant for the store."""

    model_config = _like({**_DECISION, "status": "new"})

    status: Literal["new", "unchanged", "changed", "dropped", "relinked", "failed"]
    failure: FailureOut | None = None
    relinked: list[OutcomeOut] | None = Field(
        default=None, description="Articles that were there before and got another place."
    )


class DocumentOut(_Out):
    """An article as it is stored; its further fields stand beside these."""

    id: str
    title: str
    text: str
    url: str | None = None
    source: str | None = None
    lang: str | None = None
    published: str | None = None
    html: str | None = Field(default=None, description="Of one that was not read: Base64.")


class ShownOut(_Out):
    """An article, and what was decided about it."""

    model_config = _like(
        {"document": {**ARTICLE, "id": "daily-7"}, "decision": _DECISION, "words": 21}
    )

    document: DocumentOut
    decision: DecisionOut
    words: int = Field(description="Of the text that was signed.")


class DeletedOut(_Out):
    """Who is gone, who was never there, and who leads a group instead."""

    model_config = _like({"deleted": ["wire-1"], "missing": [], "promoted": ["daily-7"]})

    deleted: list[str]
    missing: list[str]
    promoted: list[str]


# --- searching ------------------------------------------------------------------------------------


class TotalOut(_Out):
    """How many there are; an estimate where not `exact`, null where nobody counted."""

    stories: int | None
    articles: int | None
    exact: bool
    precision: str


class HitOut(_Out):
    """One result: a story, shown by one of its articles, whose fields stand beside these.

    Where they apply there are also `update` (what it tells that the article before did not),
    `matched` and `matched_by` (the shown one is not the one that matched), and `folded` (asked for
    by `expand`: the other articles, as MemberOut).
    """

    id: str
    title: str
    text: str | None = None
    group: str | None
    story: str | None
    role: str
    score: float | None
    copies: int | None
    snippet: str


_HIT: JsonDict = {
    **ARTICLE,
    "group": "wire-1",
    "story": "wire-1",
    "role": "original",
    "score": 1.2,
    "copies": 2,
    "snippet": "The ferry Stella caught fire …",
}


class BucketOut(_Out):
    value: str
    stories: int
    articles: int


class FacetOut(_Out):
    """The values of one field, most stories first."""

    field: str
    exact: bool
    buckets: list[BucketOut]


class PageOut(_Out):
    """A page of results; `stories` and `articles` count all of them."""

    model_config = _like(
        {
            "mode": "collapse",
            "by": "group",
            "offset": 0,
            "total": {"stories": 1, "articles": 3, "exact": True, "precision": "exact"},
            "hits": [_HIT],
            "notes": [],
        }
    )

    mode: str
    by: str
    offset: int
    total: TotalOut
    hits: list[HitOut]
    notes: list[str]
    cursor: str | None = None
    ungrouped: int | None = Field(
        default=None, description="Matching articles without a group, each shown by itself."
    )
    facets: list[FacetOut] | None = None


class SectionOut(_Out):
    category: str
    hits: list[HitOut]


class FrontOut(_Out):
    """The newest stories of each category."""

    model_config = _like({"sections": [{"category": "world", "hits": [{**_HIT, "score": None}]}]})

    sections: list[SectionOut]


class FoldedItemOut(_Out):
    """An item that is not shown; places are those of the list that came."""

    place: int
    id: str | None
    into: int = Field(description="The place of the one that stands for it.")
    into_id: str | None
    rule: Literal["known group", "same id", "same address", "text", "snippet", "headline"]
    overlap: float | None


class KeptItemOut(_Out):
    """An item that stays, as it came, with what went into it."""

    place: int
    id: str | None
    item: Any
    folded: list[FoldedItemOut]
    update: EvidenceOut | None = Field(default=None, description="Of an earlier item.")


_FOLDED: JsonDict = {
    "place": 1,
    "id": None,
    "into": 0,
    "into_id": None,
    "rule": "headline",
    "overlap": None,
}


class FoldedOut(_Out):
    """A list, folded: what stays in its order, what does not, and what was odd about it."""

    model_config = _like(
        {
            "kept": [
                {
                    "place": 0,
                    "id": None,
                    "item": {
                        "title": "Ferry fire kills 12 off the coast",
                        "url": "https://a.example/1",
                    },
                    "folded": [_FOLDED],
                }
            ],
            "folded": [_FOLDED],
            "notes": [],
        }
    )

    kept: list[KeptItemOut]
    folded: list[FoldedItemOut]
    notes: list[str]


# --- comparing ------------------------------------------------------------------------------------


class SpanOut(_Out):
    """A passage of two texts."""

    kind: Literal["equal", "changed", "removed", "added", "moved"]
    old: str
    new: str


class SharedKeysOut(_Out):
    """Keys of one method that two articles share, how many make a candidate, and of how many."""

    shared: int
    needed: int
    of: int


class MeasureOut(_Out):
    """What one method measures of two articles, whoever decided."""

    value: float
    is_copy: bool
    says: str


class RunnerUpOut(_Out):
    """Another article that the new one was compared with, and why it lost."""

    other: str
    why: str
    evidence: EvidenceOut


class ExplanationOut(_Out):
    """Two articles, the earlier one first, and everything that decides about them."""

    model_config = _like(
        {
            "old": "wire-1",
            "new": "daily-7",
            "decision": _DECISION,
            "keys": {"sketch": {"shared": 14, "needed": 2, "of": 20}},
            "evidence": _EVIDENCE,
            "rule": "update: containment 0.846 is above min_overlap 0.45, and counts changed in "
            "the same context",
            "measures": {
                "sketch": {"value": 14.0, "is_copy": True, "says": "14.000: a copy by itself"}
            },
            "names": ["Stella"],
            "runner_up": None,
            "spans": [
                {"kind": "changed", "old": "12 ", "new": "17 "},
                {"kind": "equal", "old": "people died", "new": "people died"},
            ],
            "cut": False,
        }
    )

    old: str
    new: str
    decision: DecisionOut
    keys: dict[str, SharedKeysOut]
    evidence: EvidenceOut
    rule: str
    measures: dict[str, MeasureOut]
    names: list[str] = Field(description="Named entities that both have.")
    runner_up: RunnerUpOut | None
    spans: list[SpanOut]
    cut: bool = Field(description="The texts are longer than what `spans` compares.")


class PassageOut(_Out):
    """From and to which character of each text, and how many words are equal."""

    here: list[int]
    there: list[int]
    words: int


class CopyOut(_Out):
    """A stored article that shares passages with the text, and which share of each that is."""

    id: str
    title: str
    url: str | None
    source: str | None
    found_by: dict[str, int]
    words: int
    of_here: float
    of_there: float
    passages: list[PassageOut]


class CopiesOut(_Out):
    """A page of what was found of a text, most words first; `total` counts all."""

    model_config = _like(
        {
            "total": 1,
            "id": "wire-1",
            "sentences": 3,
            "copies": [
                {
                    "id": "daily-7",
                    "title": "Ferry fire off the coast",
                    "url": None,
                    "source": "Daily",
                    "found_by": {"sketch": 19},
                    "words": 46,
                    "of_here": 1.0,
                    "of_there": 0.9583,
                    "passages": [{"here": [0, 254], "there": [0, 254], "words": 46}],
                }
            ],
        }
    )

    total: int
    id: str
    sentences: int
    copies: list[CopyOut]


class GroupOut(_Out):
    """A group of copies; what is told of its original is left out where that is gone."""

    group: str
    size: int
    title: str | None = None
    source: str | None = None
    story: str | None = None


class GroupsOut(_Out):
    """Groups, the largest first."""

    model_config = _like(
        {
            "groups": [
                {
                    "group": "wire-1",
                    "size": 8,
                    "title": "Ferry fire off the coast",
                    "source": "Harbour Wire",
                    "story": "wire-1",
                }
            ]
        }
    )

    groups: list[GroupOut]


class UpdateOut(_Out):
    """What an update tells that the article before it did not."""

    of: str
    reason: str
    numbers: list[list[str]] = Field(description="[old, new, context] of each changed count.")
    text: str


class MemberOut(_Out):
    """One article of a group or story."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None
    role: str
    group: str
    story: str
    score: float
    update: UpdateOut | None = None


_MENTION: JsonDict = {
    "id": "daily-7",
    "title": "Ferry fire off the coast",
    "source": "Daily",
    "url": None,
    "published": "2024-03-05T11:30:00Z",
}


class MembersOut(_Out):
    """A page of the articles of a group or story in their order; `total` counts all."""

    model_config = _like(
        {
            "group": "wire-1",
            "total": 8,
            "members": [
                {
                    **_MENTION,
                    "role": "duplicate",
                    "group": "wire-1",
                    "story": "wire-1",
                    "score": 0.9583,
                }
            ],
        }
    )

    group: str | None = Field(default=None, description="Where asked for by group.")
    story: str | None = Field(default=None, description="Where asked for by story.")
    total: int
    members: list[MemberOut]


# --- stories and events ---------------------------------------------------------------------------


class SimilarNewsOut(_Out):
    """News about the same thing; the words and names that both have say why."""

    id: str
    title: str
    url: str | None
    source: str | None
    published: str | None
    group: str
    story: str
    score: float
    topic: float
    overlap: float
    distance: int | None
    hours_apart: float
    same_story: bool
    terms: list[str]
    entities: list[str]


class SimilarOut(_Out):
    """What is similar to an article, best first; `notes` say where something may be missing."""

    model_config = _like(
        {
            "id": "wire-1",
            "similar": [
                {
                    **_MENTION,
                    "id": "echo-3",
                    "title": "How old are our ferries?",
                    "group": "echo-3",
                    "story": "echo-3",
                    "score": 0.9402,
                    "topic": 0.927,
                    "overlap": 0.0274,
                    "distance": None,
                    "hours_apart": 1.5,
                    "same_story": False,
                    "terms": ["ferry", "coastguard"],
                    "entities": ["Stella"],
                }
            ],
            "notes": [],
        }
    )

    id: str
    similar: list[SimilarNewsOut]
    notes: list[str]


class MentionOut(_Out):
    """An article in few words."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None


class CountsOut(_Out):
    """One count through the story."""

    values: list[str]
    context: str


class VersionOut(MentionOut):
    """The original or an update, what is new in it, and its copies."""

    kind: Literal["original", "update", "extended", "correction"]
    follows: str | None
    numbers: list[list[str]] = Field(description="[old, new, context] of each changed count.")
    copies: int
    sources: dict[str, int] = Field(description="Of all copies.")
    listed: list[MentionOut] = Field(description="The first 100 copies; /v1/group has all.")
    corrections: list[MentionOut] = Field(
        description="Copies that say of themselves that they correct."
    )


class PartialOut(MentionOut):
    """An article outside the story that holds a part of it."""

    words: int
    of_story: float
    of_article: float


class StoryTotalOut(_Out):
    """How many there are in all."""

    versions: int
    partial: int | None


class StoryOut(_Out):
    """A page of a story; `total`, `articles` and `counts` are those of the whole."""

    model_config = _like(
        {
            "total": {"versions": 2, "partial": None},
            "story": "wire-1",
            "articles": 3,
            "counts": [{"values": ["12", "17"], "context": "people died coastguard"}],
            "versions": [
                {
                    "kind": "original",
                    **_MENTION,
                    "id": "wire-1",
                    "follows": None,
                    "numbers": [],
                    "copies": 1,
                    "sources": {"Daily": 1},
                    "listed": [_MENTION],
                    "corrections": [],
                },
                {
                    "kind": "update",
                    **_MENTION,
                    "id": "wire-2",
                    "follows": "wire-1",
                    "numbers": [[*_NUMBERS]],
                    "copies": 0,
                    "sources": {},
                    "listed": [],
                    "corrections": [],
                },
            ],
            "partial": None,
        }
    )

    total: StoryTotalOut
    story: str
    articles: int
    counts: list[CountsOut]
    versions: list[VersionOut]
    partial: list[PartialOut] | None = Field(description="Null where nobody looked for them.")


class TellingOut(MentionOut):
    """One article of an event, with how many copies of it there are."""

    role: str
    copies: int


class SubStoryOut(_Out):
    """A story of an event: its first article and the updates of it."""

    story: str
    articles: int
    tellings: list[TellingOut]


_EVENT: JsonDict = {
    "id": "ev-4e95f7975f2c",
    "first_seen": "2024-03-05T10:00:00Z",
    "detected": "2024-03-05T11:10:00Z",
    "last_seen": "2024-03-05T12:45:00Z",
    "articles": 24,
    "stories": 21,
    "sources": {"Daily": 2, "Harbour Wire": 22},
    "size": [["2024-03-05T10:00:00Z", 9], ["2024-03-05T11:00:00Z", 15]],
    "representative": "wire-1",
    "ended": False,
    "title": "Ferry fire off the coast",
    "entities": [["Stella", 19]],
    "terms": [["ferry", 22], ["coastguard", 20]],
}


class EventOut(_Out):
    """A breaking event; `members` and `sub_stories` where it was asked for by its id."""

    model_config = _like(
        {
            **_EVENT,
            "members": ["wire-1", "daily-7"],
            "sub_stories": [
                {
                    "story": "wire-1",
                    "articles": 2,
                    "tellings": [{**_MENTION, "id": "wire-1", "role": "original", "copies": 1}],
                }
            ],
        }
    )

    id: str
    first_seen: str
    detected: str
    last_seen: str
    articles: int
    stories: int
    sources: dict[str, int]
    size: list[list[str | int]] = Field(description="[hour, articles] of each hour.")
    representative: str
    ended: bool
    title: str
    entities: list[list[str | int]] = Field(description="[name, articles], most first.")
    terms: list[list[str | int]] = Field(description="[word, articles], most first.")
    members: list[str] | None = None
    sub_stories: list[SubStoryOut] | None = None


class EventsOut(_Out):
    """A page of events, the latest first; `total` counts all."""

    model_config = _like({"total": 1, "events": [_EVENT]})

    total: int
    events: list[EventOut]


# --- groups by hand -------------------------------------------------------------------------------


class CorrectionOut(_Out):
    """One thing that somebody said of one article, or of two."""

    kind: Literal["same", "different", "original"]
    ids: list[str]
    of: list[str] | None = Field(
        default=None, description="Those it was said of, where it follows from another word."
    )
    at: str | None = None
    by: str | None = None
    note: str | None = None


_CORRECTION: JsonDict = {
    "kind": "same",
    "ids": ["daily-7", "wire-1"],
    "at": "2024-03-05T14:00:00Z",
    "by": "editor",
}


class CorrectionsOut(_Out):
    """A page of what people said; `total` counts all."""

    model_config = _like({"total": 1, "said": [_CORRECTION]})

    total: int
    said: list[CorrectionOut]


class PlaceOut(_Out):
    """Where an article is now."""

    id: str
    role: Role
    group: str
    story: str


class SaidOut(_Out):
    """What was said, or taken back, and the articles that got another place by it."""

    model_config = _like(
        {
            "said": [_CORRECTION],
            "changed": [
                {"id": "daily-7", "role": "duplicate", "group": "wire-1", "story": "wire-1"}
            ],
        }
    )

    said: list[CorrectionOut]
    changed: list[PlaceOut]


# --- upkeep ---------------------------------------------------------------------------------------


class HealthOut(_Out):
    """All is well; everything else is an error."""

    model_config = _like({"status": "ok"})

    status: Literal["ok"]


class ServiceOut(_Out):
    """What the service is, and what the key that was sent may do."""

    model_config = _like(
        {
            "version": "0.1.0",
            "scope": "write",
            "key": "crawler",
            "read_only": False,
            "body_bytes": 16_000_000,
            "methods": ["sketch"],
        }
    )

    version: str
    scope: Literal["read", "write", "admin"]
    key: str | None = Field(description="Its name; null where there are no keys.")
    read_only: bool
    body_bytes: int
    methods: list[str]


class StatsOut(_Out):
    """What is in the store; a cluster estimates groups and stories where there are many."""

    model_config = _like(
        {
            "documents": 24,
            "groups": 22,
            "stories": 21,
            "roles": {"original": 21, "duplicate": 2, "update": 1, "unprocessed": 0},
            "quarantine": 0,
            "bytes": 167_936,
            "format": "e9a5fdd4f23f",
        }
    )

    documents: int
    groups: int
    stories: int
    roles: dict[str, int]
    quarantine: int
    bytes: int
    format: str = Field(description="Of the settings that shape keys: stores with the same fit.")


class SettingsOut(_Out):
    """All settings of the store by their names, of which these are two."""

    model_config = _like({"preset": "hybrid", "methods": ["sketch"], "min_overlap": 0.45})

    preset: str
    methods: list[str]


_FAILURE: JsonDict = {
    "id": "page-4",
    "where": "page-4",
    "reason": "no article text was found in the page",
    "final": False,
}


class QuarantineOut(_Out):
    """A page of the articles that failed; `total` counts all."""

    model_config = _like({"total": 1, "failures": [_FAILURE]})

    total: int
    failures: list[FailureOut]


class RetriedOut(_Out):
    """How many were tried, how many succeeded, and what became of the others."""

    model_config = _like({"tried": 3, "succeeded": 3, "failed": []})

    tried: int
    succeeded: int
    failed: list[OutcomeOut]
