"""Search results: frozen dataclasses with a JSON form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from esdedup.model import JSON, Changes, Decision, Document, Evidence
from esdedup.model.json_form import JsonField, Result, Rounded, in_json, iso
from esdedup.model.queries import By, Mode


@dataclass(frozen=True, slots=True)
class Mention(Result):
    """The short form of an article: no text, no extra fields."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None

    @classmethod
    def of(cls, document: Document) -> Mention:
        published = iso(document.published) if document.published else None
        return cls(document.id, document.title, document.source, document.url, published)


def id_of_document(document: Document) -> str:
    return document.id


# A document of which JSON has only the fields of a mention.
MentionedDocument = Annotated[Document, JsonField(convert=Mention.of, flat=True)]


@dataclass(frozen=True, slots=True)
class Total(Result):
    """How many stories and articles match; None if they were not counted. If `exact` is false, the
    number of stories is an estimate, and `precision` states its error."""

    stories: int | None
    articles: int | None
    exact: bool = True
    precision: str = "exact"


@dataclass(frozen=True, slots=True)
class Update(Result):
    """What an update changed, compared with the article before it."""

    of: str
    reason: str
    changes: Changes = ()

    @classmethod
    def from_evidence(cls, role: str, evidence: tuple[Evidence, ...]) -> Update | None:
        """Of a document with this role and evidence; None where it is no update."""
        if role != "update" or not evidence:
            return None
        first = evidence[0]
        return cls(first.other, first.reason, first.numbers)

    def __str__(self) -> str:
        """updated: 12 -> 17: at least 17 people died"""
        changes = "; ".join(map(str, self.changes))
        return f"updated: {changes or self.reason}"

    @property
    @in_json()
    def text(self) -> str:
        """The same as `str`, for JSON."""
        return str(self)


@dataclass(frozen=True, slots=True)
class StoryOrigin(Result):
    """Who published a story first, whose text it is, and how many reports are independent.

    Reports are independent if they are not copies of each other and have different owners; texts
    that credit one agency have one owner, the agency.
    """

    origin: Annotated[Mention, JsonField(description="The first article of the story.")]
    agency: Annotated[str | None, JsonField(description="The news agency that its text credits.")]
    independent: Annotated[
        int, JsonField(description="Reports by different owners that are no copies of each other.")
    ]


_HIDDEN = JsonField(hidden=True)


@dataclass(frozen=True)
class StoryHit(Result):
    """One result: a story, shown by one of its articles, whose fields stand beside these in JSON.
    Where they apply JSON has `update`, `matched`, `matched_by` and, by `expand`, `folded` as well.

    `copies` are further articles that match and are folded into this one (None: not counted).
    Where the article shown is not the one that matched, `matched_by` names those that did;
    `matched` is whether the shown one matches as well (None: not checked).
    `raw` is the engine's own hit of the shown article: sort values, highlights, fields.
    """

    id: str
    group: str | None
    story: str | None
    role: str
    # Parses the document on first use: callers that pass hits on never need it.
    read: Annotated[Callable[[], Document], _HIDDEN] = field(repr=False, compare=False)
    score: Annotated[float | None, JsonField(digits=4)] = None
    copies: int | None = None
    # These three are in JSON only if they say something. An article may have a field of the same
    # name, so the OpenAPI description does not promise their types.
    matched: Annotated[bool | None, _HIDDEN] = True
    matched_by: Annotated[tuple[str, ...], _HIDDEN] = ()
    update: Annotated[Update | None, _HIDDEN] = None
    # Where the story comes from, if it was asked for.
    origin: Annotated[StoryOrigin | None, _HIDDEN] = None
    # The words of a text around the first that the query names.
    excerpt: Annotated[Callable[[str], str] | None, _HIDDEN] = field(
        default=None, repr=False, compare=False
    )
    raw: Annotated[Mapping[str, Any], _HIDDEN] = field(default_factory=dict, repr=False)

    @cached_property
    def document(self) -> Document:
        """The article shown, parsed on first use."""
        return self.read()

    @cached_property
    @in_json()
    def snippet(self) -> str:
        """A few words around the first that the query names; empty for a search without words."""
        return self.excerpt(self.document.text) if self.excerpt else ""

    def to_json(self) -> JSON:
        """The fields of the article, with those of the hit beside them."""
        out = self.document.to_json() | super().to_json()
        if self.matched_by:
            out |= {"matched": self.matched, "matched_by": list(self.matched_by)}
        if self.update is not None:
            out["update"] = self.update.to_json()
        if self.origin is not None:
            out |= self.origin.to_json()
        for name in ("highlight", "sort", "fields", "inner_hits"):
            if name in self.raw:
                out[name] = self.raw[name]
        return out


@dataclass(frozen=True, slots=True)
class StoryPage(Result):
    """A page of results, and how it came about.

    `ungrouped` counts matching articles without a group, each shown by itself; `notes` say what
    a reader should know; `cursor` leads to the next page of a deep search.
    """

    hits: tuple[StoryHit, ...]
    total: Total
    mode: Mode
    by: By
    offset: int = 0
    cursor: Annotated[str | None, JsonField(omit_empty=True)] = None
    ungrouped: Annotated[
        int,
        JsonField(
            omit_empty=True,
            description="Matching articles without a group, each shown by itself.",
        ),
    ] = 0
    notes: tuple[str, ...] = ()
    aggregations: Annotated[Mapping[str, Any] | None, JsonField(omit_empty=True)] = None
    facets: Annotated[tuple[Facet, ...], JsonField(omit_empty=True)] = ()


@dataclass(frozen=True, slots=True)
class Member(Result):
    """One article of a group or story, as `copies` lists it."""

    document: MentionedDocument
    group: str
    story: str
    role: str
    score: Rounded
    update: Annotated[Update | None, JsonField(omit_empty=True)] = None

    @classmethod
    def of(cls, document: Document, decision: Decision) -> Member:
        """The member that a stored article is."""
        update = Update.from_evidence(decision.role, decision.evidence)
        return cls(document, decision.group, decision.story, decision.role, decision.score, update)


@dataclass(frozen=True, slots=True)
class Members(Result):
    """Articles of a group or story in their order, and how many there are."""

    members: tuple[Member, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Bucket(Result):
    """A value of a field: in how many stories, and in how many articles."""

    value: str
    stories: int
    articles: int


@dataclass(frozen=True, slots=True)
class Facet(Result):
    """The values of one field, most stories first."""

    field: str
    buckets: tuple[Bucket, ...]
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Section(Result):
    """One category of a front page: its newest stories."""

    category: str
    hits: tuple[StoryHit, ...]
