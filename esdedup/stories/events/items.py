"""The input of event detection, articles, and its output: events and their changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from esdedup.model import NO_TERMS, TermVector
from esdedup.model.json_form import JsonField, Result, in_json, iso
from esdedup.settings import Settings
from esdedup.settings.table import EventCount

ChangeKind = Literal["opened", "grown", "merged", "renamed", "ended", "withdrawn"]


@dataclass(frozen=True, slots=True)
class EventItem:
    """One article of the stream. `time` is event time in microseconds since 1970.

    A copy has its `group`'s id, which is not its own, and neither topic nor fingerprint.
    """

    id: str
    time: int
    group: str
    story: str
    source: str
    topic: TermVector = NO_TERMS
    fingerprint: int | None = None

    @property
    def is_copy(self) -> bool:
        return self.group != self.id

    def unit(self, counted: EventCount) -> str:
        """What the article counts as."""
        if counted == "items":
            return self.id
        return {"stories": self.story, "groups": self.group, "sources": self.source}[counted]

    @property
    def place(self) -> tuple[str, str, int]:
        """What may change when the article is stored again."""
        return self.group, self.story, self.time


HOUR = 3_600_000_000
NEVER = 1 << 62
# Of a copy, which represents nothing.
NO_DEGREE = -1
# Of an article in no event.
NO_EVENT = -1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def datetime_of(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _format_time(microseconds: int) -> str:
    return iso(datetime_of(microseconds))


def number_of(text: str) -> int:
    """63 bits of a hash of a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _sizes_by_hour(hours: Mapping[int, int]) -> list[tuple[str, int]]:
    return [(_format_time(hour * HOUR), articles) for hour, articles in hours.items()]


_Time = Annotated[int, JsonField(convert=_format_time)]


_COUNTED: Mapping[EventCount, str] = {
    "stories": "stories about it",
    "groups": "reports of it, originals and updates,",
    "sources": "sources that reported it",
    "items": "articles about it",
}


@dataclass(frozen=True, slots=True)
class Trigger(Result):
    """Why an event was detected: the rule, and the first article that it applied to."""

    article: str
    counted: EventCount
    more_than: int
    within_hours: float
    min_sources: int

    @classmethod
    def of(cls, article: str, settings: Settings) -> Trigger:
        return cls(
            article,
            settings.event_count,
            settings.event_items,
            settings.event_window,
            settings.event_sources,
        )

    @property
    @in_json()
    def says(self) -> str:
        counted = f"more than {self.more_than} {_COUNTED[self.counted]}"
        rule = f"{counted} came within {self.within_hours:g} hours"
        return f"{rule}, from at least {self.min_sources} sources" if self.min_sources else rule


@dataclass(frozen=True, slots=True)
class Event(Result):
    """Many articles about one thing within a few hours, as known at the moment."""

    id: str
    first_seen: _Time
    detected: _Time  # when the article came that made it an event
    last_seen: _Time
    articles: int
    stories: int
    groups: Annotated[int, JsonField(description="Originals and updates; the rest are copies.")]
    sources: Mapping[str, int]
    # Size over time: hour since 1970 -> articles.
    hours: Annotated[
        Mapping[int, int],
        JsonField("size", convert=_sizes_by_hour, description="[hour, articles] of each hour."),
    ]
    representative: str
    why: Trigger
    members: Annotated[tuple[str, ...], JsonField(omit_empty=True)] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True)
class EventChange(Result):
    """What became of an event; `into` is the one it is part of now, or its new id."""

    kind: Annotated[ChangeKind, JsonField("change")]
    event: Event
    into: Annotated[str | None, JsonField(omit_empty=True)] = None
