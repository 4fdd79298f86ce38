"""A special report: the articles of an event by sub-story, and what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from esdedup.features.topics import named
from esdedup.model import JSON, Document, iso
from esdedup.settings import Settings
from esdedup.stores import Record, Store
from esdedup.stories.events.items import Event
from esdedup.stories.similar import entities_of

# Articles read for terms and names of an event: more tell nothing new.
_READ = 60
_TOP = 10
_MANY = 500


@dataclass(frozen=True, slots=True)
class Telling:
    """One article of an event, with how many copies of it there are."""

    document: Document
    role: str
    copies: int

    def to_json(self) -> JSON:
        document = self.document
        return {
            "id": document.id,
            "title": document.title,
            "source": document.source,
            "url": document.url,
            "published": iso(document.published) if document.published else None,
            "role": self.role,
            "copies": self.copies,
        }


@dataclass(frozen=True, slots=True)
class SubStory:
    """A story of the event: its first article and the updates of it, each with its copies."""

    story: str
    tellings: tuple[Telling, ...]
    articles: int

    def to_json(self) -> JSON:
        return {
            "story": self.story,
            "articles": self.articles,
            "tellings": [telling.to_json() for telling in self.tellings],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """An event with its representative article, names, terms and stories, the largest first."""

    event: Event
    representative: Document | None
    entities: tuple[tuple[str, int], ...]
    terms: tuple[tuple[str, int], ...]
    stories: tuple[SubStory, ...] = ()

    def to_json(self) -> JSON:
        shown = self.representative
        return {
            **self.event.to_json(),
            "title": shown.title if shown else "",
            "entities": [list(pair) for pair in self.entities],
            "terms": [list(pair) for pair in self.terms],
            **({"sub_stories": [s.to_json() for s in self.stories]} if self.stories else {}),
        }


def report(event: Event, store: Store, *, stories: bool = False) -> Report:
    """What the store says of an event; with `stories`, all of its articles."""
    wanted = event.members if stories else _spread(event.members, event.representative)
    records: dict[str, Record] = {}
    for start in range(0, len(wanted), _MANY):
        records |= store.get_many(wanted[start : start + _MANY])
    leaders = [r for r in records.values() if r.decision.link.canonical]
    read = sorted(leaders, key=lambda r: r.order)[:_READ]
    shown = records.get(event.representative)
    return Report(
        event,
        shown.document if shown else None,
        _entities(read),
        _terms(read, store.settings),
        _stories(records) if stories else (),
    )


def _spread(ids: Sequence[str], also: str) -> list[str]:
    """Some of many, evenly over time."""
    step = max(1, len(ids) // _READ)
    return list(dict.fromkeys([also, *ids[::step]]))[: _READ + 1]


def _entities(records: Sequence[Record]) -> tuple[tuple[str, int], ...]:
    """Names by the number of articles that have them."""
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for record in records:
        for key, name in entities_of(record.document).items():
            counts[key] += 1
            written.setdefault(key, name)
    return _top(counts, written)


def _terms(records: Sequence[Record], settings: Settings) -> tuple[tuple[str, int], ...]:
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for record in records:
        for term, word in named(record.document, settings).items():
            counts[str(term)] += 1
            written.setdefault(str(term), word)
    return _top(counts, written)


def _top(counts: Mapping[str, int], written: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    ranked = sorted(counts, key=lambda key: (-counts[key], written[key]))
    return tuple((written[key], counts[key]) for key in ranked[:_TOP])


def _stories(records: Mapping[str, Record]) -> tuple[SubStory, ...]:
    by_story: dict[str, list[Record]] = {}
    for record in sorted(records.values(), key=lambda r: r.order):
        by_story.setdefault(record.decision.story, []).append(record)
    made = [_sub_story(story, own) for story, own in by_story.items()]
    return tuple(sorted(made, key=lambda s: (-s.articles, s.story)))


def _sub_story(story: str, records: Sequence[Record]) -> SubStory:
    groups = Counter(r.decision.group for r in records)
    leaders = [r for r in records if r.decision.link.canonical]
    tellings = [Telling(r.document, r.decision.role, groups[r.decision.group] - 1) for r in leaders]
    return SubStory(story, tuple(tellings), len(records))
