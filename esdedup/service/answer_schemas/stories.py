"""Similar news, stories in time, and events."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.articles import NUMBERS
from esdedup.service.answer_schemas.base import Out, like
from esdedup.service.answer_schemas.comparing import MENTION


class SimilarNewsOut(Out):
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


class SimilarOut(Out):
    """What is similar to an article, best first; `notes` say where something may be missing."""

    model_config = like(
        {
            "id": "wire-1",
            "similar": [
                {
                    **MENTION,
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


class MentionOut(Out):
    """An article in few words."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None


class CountsOut(Out):
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


class StoryTotalOut(Out):
    """How many there are in all."""

    versions: int
    partial: int | None


class StoryOut(Out):
    """A page of a story; `total`, `articles` and `counts` are those of the whole."""

    model_config = like(
        {
            "total": {"versions": 2, "partial": None},
            "story": "wire-1",
            "articles": 3,
            "counts": [{"values": ["12", "17"], "context": "people died coastguard"}],
            "versions": [
                {
                    "kind": "original",
                    **MENTION,
                    "id": "wire-1",
                    "follows": None,
                    "numbers": [],
                    "copies": 1,
                    "sources": {"Daily": 1},
                    "listed": [MENTION],
                    "corrections": [],
                },
                {
                    "kind": "update",
                    **MENTION,
                    "id": "wire-2",
                    "follows": "wire-1",
                    "numbers": [[*NUMBERS]],
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


class SubStoryOut(Out):
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


class EventOut(Out):
    """A breaking event; `members` and `sub_stories` where it was asked for by its id."""

    model_config = like(
        {
            **_EVENT,
            "members": ["wire-1", "daily-7"],
            "sub_stories": [
                {
                    "story": "wire-1",
                    "articles": 2,
                    "tellings": [{**MENTION, "id": "wire-1", "role": "original", "copies": 1}],
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


class EventsOut(Out):
    """A page of events, the latest first; `total` counts all."""

    model_config = like({"total": 1, "events": [_EVENT]})

    total: int
    events: list[EventOut]
