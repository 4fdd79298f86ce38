"""A special report: the articles of an event by sub-story, and what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from esdedup.features.topics import vector_and_words
from esdedup.model import Document
from esdedup.model.batching import batched
from esdedup.model.json_form import JsonField, Result
from esdedup.model.results import MentionedDocument
from esdedup.stores import Record, Store
from esdedup.stories.articles import entities_of
from esdedup.stories.events.items import Event

# Articles read for the terms and names of an event: more add nothing new.
_READ = 60
_TOP = 10


@dataclass(frozen=True, slots=True)
class ReportedArticle(Result):
    """One article of an event, with how many copies of it there are."""

    document: MentionedDocument
    role: str
    copies: int


@dataclass(frozen=True, slots=True)
class SubStory(Result):
    """A story of the event: its first article and the updates of it, each with its copies."""

    story: str
    tellings: tuple[ReportedArticle, ...]
    articles: int


def _title(representative: Document | None) -> str:
    return representative.title if representative else ""


@dataclass(frozen=True, slots=True)
class Report(Result):
    """An event with its representative article, names, terms and stories, the largest first."""

    event: Annotated[Event, JsonField(flat=True)]
    representative: Annotated[Document | None, JsonField("title", convert=_title)]
    entities: Annotated[
        tuple[tuple[str, int], ...], JsonField(description="[name, articles], most first.")
    ]
    terms: Annotated[
        tuple[tuple[str, int], ...], JsonField(description="[word, articles], most first.")
    ]
    stories: Annotated[tuple[SubStory, ...], JsonField("sub_stories", omit_empty=True)] = ()


def report(event: Event, store: Store, *, stories: bool = False) -> Report:
    """The report on an event of a store; with `stories`, all of its articles."""
    wanted = event.members if stories else _sample_evenly(event.members, event.representative)
    records: dict[str, Record] = {}
    for ids in batched(wanted):
        records |= store.documents.get(ids)
    leaders = [r for r in records.values() if r.decision.link.canonical]
    read = sorted(leaders, key=lambda r: r.order)[:_READ]
    shown = records.get(event.representative)
    return Report(
        event,
        shown.document if shown else None,
        _most_frequent(entities_of(r.document) for r in read),
        _most_frequent(vector_and_words(r.document, store.settings)[1] for r in read),
        _group_by_story(records) if stories else (),
    )


def _sample_evenly(ids: Sequence[str], also: str) -> list[str]:
    """Some of many, evenly over time."""
    step = max(1, len(ids) // _READ)
    return list(dict.fromkeys([also, *ids[::step]]))[: _READ + 1]


def _most_frequent(names: Iterable[Mapping[Any, str]]) -> tuple[tuple[str, int], ...]:
    """Names with the number of articles that have them, each as the first article writes it."""
    counts: Counter[Any] = Counter()
    written: dict[Any, str] = {}
    for own in names:
        counts.update(own.keys())
        written = {**own, **written}
    ranked = sorted(counts, key=lambda key: (-counts[key], written[key]))
    return tuple((written[key], counts[key]) for key in ranked[:_TOP])


def _group_by_story(records: Mapping[str, Record]) -> tuple[SubStory, ...]:
    by_story: dict[str, list[Record]] = {}
    for record in sorted(records.values(), key=lambda r: r.order):
        by_story.setdefault(record.decision.story, []).append(record)
    made = [_sub_story(story, own) for story, own in by_story.items()]
    return tuple(sorted(made, key=lambda s: (-s.articles, s.story)))


def _sub_story(story: str, records: Sequence[Record]) -> SubStory:
    groups = Counter(r.decision.group for r in records)
    leaders = [r for r in records if r.decision.link.canonical]
    tellings = [
        ReportedArticle(r.document, r.decision.role, groups[r.decision.group] - 1) for r in leaders
    ]
    return SubStory(story, tuple(tellings), len(records))
