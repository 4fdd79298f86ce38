"""What detection reads of an article, and what it tells of an event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from esdedup.model import JSON, NO_TOPIC, Topic, iso

ChangeKind = Literal["opened", "grown", "merged", "renamed", "ended", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Item:
    """One article of the stream. `time` is event time in microseconds since 1970.

    A copy has its `group`'s id, which is not its own, and neither topic nor fingerprint.
    """

    id: str
    time: int
    group: str
    story: str
    source: str
    topic: Topic = NO_TOPIC
    fingerprint: int | None = None

    @property
    def is_copy(self) -> bool:
        return self.group != self.id

    @property
    def place(self) -> tuple[str, str, int]:
        """What another version of it may change."""
        return self.group, self.story, self.time


@dataclass(frozen=True, slots=True)
class Event:
    """Many articles about one thing within a few hours, as known at the moment."""

    id: str
    first_seen: int
    detected: int  # when the article came that made it an event
    last_seen: int
    articles: int
    stories: int
    sources: Mapping[str, int]
    hours: Mapping[int, int]  # size over time: hour since 1970 -> articles
    representative: str
    members: tuple[str, ...] = ()
    ended: bool = False

    def to_json(self) -> JSON:
        return {
            "id": self.id,
            "first_seen": moment(self.first_seen),
            "detected": moment(self.detected),
            "last_seen": moment(self.last_seen),
            "articles": self.articles,
            "stories": self.stories,
            "sources": dict(self.sources),
            "size": [[moment(h * HOUR), n] for h, n in self.hours.items()],
            "representative": self.representative,
            "ended": self.ended,
            **({"members": list(self.members)} if self.members else {}),
        }


@dataclass(frozen=True, slots=True)
class Change:
    """What became of an event; `into` is the one it is part of now, or its new id."""

    kind: ChangeKind
    event: Event
    into: str | None = None

    def to_json(self) -> JSON:
        return {
            "change": self.kind,
            **({"into": self.into} if self.into else {}),
            "event": self.event.to_json(),
        }


HOUR = 3_600_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def moment(microseconds: int) -> str:
    return iso(moment_of(microseconds))
