"""What a search gives back: frozen, with a JSON form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from esdedup.model import JSON, Document, Evidence, iso
from esdedup.model.numbers import NumberChange
from esdedup.model.queries import By, Mode


@dataclass(frozen=True, slots=True)
class Total:
    """How many there are. Without `exact` the number of stories is an estimate, and `precision`
    says how good; None where it was not asked for."""

    stories: int | None
    articles: int | None
    exact: bool = True
    precision: str = "exact"

    def to_json(self) -> JSON:
        return {
            "stories": self.stories,
            "articles": self.articles,
            "exact": self.exact,
            "precision": self.precision,
        }


@dataclass(frozen=True, slots=True)
class Update:
    """What an update tells that the article before it did not."""

    of: str
    reason: str
    changes: tuple[NumberChange, ...] = ()

    @classmethod
    def from_evidence(cls, role: str, evidence: tuple[Evidence, ...]) -> Update | None:
        """Of a document with this role and evidence; None where it is no update."""
        if role != "update" or not evidence:
            return None
        first = evidence[0]
        return cls(first.other, first.reason, first.numbers)

    def __str__(self) -> str:
        """updated: 12 -> 17 people died"""
        changes = "; ".join(map(str, self.changes))
        return f"updated: {changes or self.reason}"

    def to_json(self) -> JSON:
        return {
            "of": self.of,
            "reason": self.reason,
            "numbers": [[c.old, c.new, c.context] for c in self.changes],
            "text": str(self),
        }


@dataclass(frozen=True)
class StoryHit:
    """One result: a story, shown by one of its articles.

    `copies` are further articles that match and are folded into this one (None: not counted).
    Where the article shown is not the one that matched, `matched_by` names those that did;
    `matched` tells whether the shown one does as well (None: not asked).
    `raw` is the engine's own hit of the shown article: sort values, highlights, fields.
    """

    id: str
    group: str | None
    story: str | None
    role: str
    # Made into a document when somebody asks: who passes hits on never does.
    read: Callable[[], Document] = field(repr=False, compare=False)
    score: float | None = None
    copies: int | None = None
    matched: bool | None = True
    matched_by: tuple[str, ...] = ()
    update: Update | None = None
    # The words of a text around the first that the query names.
    excerpt: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def document(self) -> Document:
        """The article shown, read when it is asked for."""
        return self.read()

    @cached_property
    def snippet(self) -> str:
        """A few words around the first that the query names; empty for a search without words."""
        return self.excerpt(self.document.text) if self.excerpt else ""

    def to_json(self) -> JSON:
        out: JSON = {
            **self.document.to_json(),
            "group": self.group,
            "story": self.story,
            "role": self.role,
            "score": None if self.score is None else round(self.score, 4),
            "copies": self.copies,
            "snippet": self.snippet,
        }
        if self.matched_by:
            out |= {"matched": self.matched, "matched_by": list(self.matched_by)}
        if self.update is not None:
            out["update"] = self.update.to_json()
        for name in ("highlight", "sort", "fields", "inner_hits"):
            if name in self.raw:
                out[name] = self.raw[name]
        return out


@dataclass(frozen=True, slots=True)
class StoryPage:
    """A page of results, and how it came about.

    `ungrouped` counts matching articles without a group, each shown by itself; `notes` say what
    a reader should know; `cursor` leads to the next page of a deep search.
    """

    hits: tuple[StoryHit, ...]
    total: Total
    mode: Mode
    by: By
    offset: int = 0
    cursor: str | None = None
    ungrouped: int = 0
    notes: tuple[str, ...] = ()
    aggregations: Mapping[str, Any] | None = None

    def to_json(self) -> JSON:
        out: JSON = {
            "mode": self.mode,
            "by": self.by,
            "offset": self.offset,
            "total": self.total.to_json(),
            "hits": [hit.to_json() for hit in self.hits],
            "notes": list(self.notes),
        }
        if self.ungrouped:
            out["ungrouped"] = self.ungrouped
        if self.cursor is not None:
            out["cursor"] = self.cursor
        if self.aggregations is not None:
            out["aggregations"] = dict(self.aggregations)
        return out


@dataclass(frozen=True, slots=True)
class Member:
    """One article of a group or story, as `copies` lists it."""

    document: Document
    group: str
    story: str
    role: str
    score: float
    update: Update | None = None

    def to_json(self) -> JSON:
        published = self.document.published
        out: JSON = {
            "id": self.document.id,
            "title": self.document.title,
            "source": self.document.source,
            "url": self.document.url,
            "published": iso(published) if published else None,
            "role": self.role,
            "group": self.group,
            "story": self.story,
            "score": round(self.score, 4),
        }
        return out if self.update is None else {**out, "update": self.update.to_json()}


@dataclass(frozen=True, slots=True)
class Members:
    """Articles of a group or story in their order, and how many there are."""

    members: tuple[Member, ...]
    total: int

    def to_json(self) -> JSON:
        return {"total": self.total, "members": [m.to_json() for m in self.members]}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A value of a field: in how many stories, and in how many articles."""

    value: str
    stories: int
    articles: int

    def to_json(self) -> JSON:
        return {"value": self.value, "stories": self.stories, "articles": self.articles}


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one field, most stories first."""

    field: str
    buckets: tuple[Bucket, ...]
    exact: bool = True

    def to_json(self) -> JSON:
        return {
            "field": self.field,
            "exact": self.exact,
            "buckets": [bucket.to_json() for bucket in self.buckets],
        }


@dataclass(frozen=True, slots=True)
class Section:
    """One category of a front page: its newest stories."""

    category: str
    hits: tuple[StoryHit, ...]

    def to_json(self) -> JSON:
        return {"category": self.category, "hits": [hit.to_json() for hit in self.hits]}
