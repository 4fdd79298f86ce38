"""The counts of an event: of its articles that left the window, and of those still in it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from esdedup.settings import Settings
from esdedup.stories.events.items import HOUR, NEVER, NO_DEGREE, Event, EventItem, Trigger

Core = tuple[int, int, str]  # time, tie, id: an order


@dataclass(slots=True)
class Summary:
    """The part of an event that cannot change any more."""

    first_core: Core
    anchor: Core | None = None  # the first core of those that left the window
    sources: Counter[str] = field(default_factory=Counter)
    hours: Counter[int] = field(default_factory=Counter)
    stories: set[str] = field(default_factory=set)
    articles: int = 0
    groups: int = 0
    first: int = NEVER
    last: int = -NEVER
    best: tuple[int, int, str] = (NO_DEGREE, 0, "")  # degree, the earlier the better, id
    members: list[tuple[int, str]] = field(default_factory=list)

    @property
    def id(self) -> str:
        digest = hashlib.blake2b(self.first_core[2].encode("utf-8", "surrogatepass"), digest_size=6)
        return f"ev-{digest.hexdigest()}"

    @property
    def is_anchored(self) -> bool:
        return self.anchor is not None

    def anchor_at(self, core: Core) -> None:
        self.anchor = min(self.anchor or core, core)

    def merge(self, other: Summary) -> None:
        """Add the counts of an event that turned out to be this one."""
        self.first_core = min(self.first_core, other.first_core)
        if other.anchor is not None:
            self.anchor_at(other.anchor)
        self.sources += other.sources
        self.hours += other.hours
        self.stories |= other.stories
        self.articles += other.articles
        self.groups += other.groups
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.best = max(self.best, other.best)
        self.members += other.members

    def add(self, item: EventItem, degree: int, *, keep: bool) -> None:
        """An article of it; a copy has no degree, and represents nothing."""
        self.sources[item.source] += 1
        self.hours[item.time // HOUR] += 1
        self.stories.add(item.story)
        self.articles += 1
        self.groups += not item.is_copy
        self.first, self.last = min(self.first, item.time), max(self.last, item.time)
        if degree != NO_DEGREE:
            self.best = max(self.best, (degree, -item.time, item.id))
        if keep:
            self.members.append((item.time, item.id))

    def to_event(
        self,
        held: Iterable[tuple[EventItem, int]],
        settings: Settings,
        *,
        ended: bool = False,
        keep: bool = True,
    ) -> Event:
        """With its articles that are still in the window."""
        whole = Summary(self.first_core)
        whole.merge(self)
        for item, degree in held:
            whole.add(item, degree, keep=keep)
        sources = sorted(whole.sources.items(), key=lambda s: (-s[1], s[0]))
        return Event(
            id=self.id,
            first_seen=whole.first,
            detected=self.first_core[0],
            last_seen=whole.last,
            articles=whole.articles,
            stories=len(whole.stories),
            groups=whole.groups,
            sources=dict(sources),
            hours=dict(sorted(whole.hours.items())),
            representative=whole.best[2],
            why=Trigger.of(self.first_core[2], settings),
            members=tuple(id_ for _, id_ in sorted(whole.members)),
            ended=ended,
        )
