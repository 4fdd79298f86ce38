"""The time line of a story: its original, the copies of it, updates in order, corrections.

An update opens a group of its own and keeps the story (paper 000, section 4.2), so that a story is
a chain of groups: "12 -> 17 -> 23 dead".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from esdedup.features.numbers import NumberChange
from esdedup.model import JSON, Document, Failure, iso
from esdedup.stores import Record, Store
from esdedup.text.tokens import fold

Kind = Literal["original", "update", "extended", "correction"]

# Where an article says of itself that it corrects another: its headline, beginning or end.
_EDGE = 300
# What newsrooms write, folded, by its beginning.
_CORRECTING = (
    "correction", "corrects", "corrected version", "corrected:", "clarification", "erratum",
    "rectificatif", "correctif", "berichtigung", "korrektur", "berichtigt:", "korrigiert:",
    "corrección", "fe de errores", "rectificación", "düzeltme", "rettifica", "errata corrige",
    "correzione", "correção", "retificação", "rectificatie", "correctie",
)  # fmt: skip
# Copies of one version that are listed one by one; of more, sources are counted.
_LISTED = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """One count through the story: 12 -> 17 -> 23 people died."""

    values: tuple[str, ...]
    context: str

    def __str__(self) -> str:
        return f"{' -> '.join(self.values)} {self.context}".rstrip()

    def to_json(self) -> JSON:
        return {"values": list(self.values), "context": self.context}


@dataclass(frozen=True, slots=True)
class Mention:
    """An article in few words."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None

    @classmethod
    def of(cls, document: Document) -> Mention:
        published = iso(document.published) if document.published else None
        return cls(document.id, document.title, document.source, document.url, published)

    def to_json(self) -> JSON:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Version:
    """The original or an update, what is new in it, and its copies by source."""

    kind: Kind
    article: Mention
    moment: int
    follows: str | None
    numbers: tuple[NumberChange, ...]
    copies: tuple[Mention, ...]
    sources: Mapping[str, int]  # of all copies
    corrections: tuple[Mention, ...] = ()  # copies that say of themselves that they correct

    @property
    def count(self) -> int:
        return sum(self.sources.values())

    def to_json(self) -> JSON:
        return {
            "kind": self.kind,
            **self.article.to_json(),
            "follows": self.follows,
            "numbers": [[c.old, c.new, c.context] for c in self.numbers],
            "copies": self.count,
            "sources": dict(self.sources),
            "listed": [copy.to_json() for copy in self.copies],
            "corrections": [copy.to_json() for copy in self.corrections],
        }


@dataclass(frozen=True, slots=True)
class Partial:
    """An article outside the story that holds a part of it."""

    article: Mention
    words: int
    of_story: float
    of_article: float

    def to_json(self) -> JSON:
        return {
            **self.article.to_json(),
            "words": self.words,
            "of_story": round(self.of_story, 4),
            "of_article": round(self.of_article, 4),
        }


@dataclass(frozen=True, slots=True)
class Story:
    """A story from its first article on."""

    id: str
    versions: tuple[Version, ...]
    counts: tuple[Counts, ...]
    partial: tuple[Partial, ...] | None  # None where the method `lengths` is off

    @property
    def articles(self) -> int:
        return sum(1 + version.count for version in self.versions)

    def to_json(self) -> JSON:
        return {
            "story": self.id,
            "articles": self.articles,
            "counts": [counts.to_json() for counts in self.counts],
            "versions": [version.to_json() for version in self.versions],
            "partial": None if self.partial is None else [p.to_json() for p in self.partial],
        }


def story_of(record: Record, store: Store) -> Story:
    """The story that a stored article belongs to."""
    id_ = record.decision.story
    records = store.story(id_) or [record]
    versions = _versions(records)
    return Story(id_, versions, chained(versions), _partial(records, store))


def _versions(records: Sequence[Record]) -> tuple[Version, ...]:
    copies: dict[str, list[Record]] = {}
    for record in records:
        if not record.decision.link.canonical:
            copies.setdefault(record.decision.group, []).append(record)
    return tuple(
        _version(record, copies.get(record.document.id, []))
        for record in records
        if record.decision.link.canonical
    )


def _version(record: Record, copies: Sequence[Record]) -> Version:
    decision, document = record.decision, record.document
    evidence = decision.evidence[0] if decision.role == "update" and decision.evidence else None
    kind: Kind = "original"
    if evidence is not None:
        kind = "extended" if evidence.reason == "extended" else "update"
        kind = "correction" if corrects(document) else kind
    names = Counter(copy.document.source or "no source" for copy in copies)
    return Version(
        kind=kind,
        article=Mention.of(document),
        moment=record.order[0],
        follows=evidence.other if evidence else None,
        numbers=evidence.numbers if evidence else (),
        copies=tuple(Mention.of(copy.document) for copy in copies[:_LISTED]),
        sources=dict(sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))),
        corrections=tuple(Mention.of(c.document) for c in copies if corrects(c.document)),
    )


def corrects(document: Document) -> bool:
    """Whether an article says of itself that it corrects an earlier one."""
    edges = (document.title, document.text[:_EDGE], document.text[-_EDGE:])
    return any(_correcting().search(fold(edge)) for edge in edges)


@cache
def _correcting() -> re.Pattern[str]:
    """At the beginning of a line or after a mark, as an editor's note stands."""
    words = "|".join(re.escape(fold(word)) for word in _CORRECTING)
    return re.compile(rf"(?:^|[\n(\[*:.–—-])\s*(?:{words})")


# --- counts through the story ----------------------------------------------------------------


def chained(versions: Iterable[Version]) -> tuple[Counts, ...]:
    """Changes that continue each other: the new count of one is the old count of the next."""
    chains: list[tuple[list[str], str]] = []
    for version in versions:
        for change in version.numbers:
            chain = _continued(chains, change)
            if chain is None:
                chains.append(([change.old, change.new], change.context))
            elif chain[0][-1] != change.new:
                chain[0].append(change.new)
    return tuple(Counts(tuple(values), context) for values, context in chains)


def _continued(
    chains: Sequence[tuple[list[str], str]], change: NumberChange
) -> tuple[list[str], str] | None:
    """The chain of the same thing; a change that two versions tell is one."""
    words = set(change.context.split())
    for chain in reversed(chains):
        values, context = chain
        same_thing = bool(words & set(context.split())) or not (words and context)
        if same_thing and (values[-1] == change.old or values[-2:] == [change.old, change.new]):
            return chain
    return None


# --- parts of it elsewhere -------------------------------------------------------------------


def _partial(records: Sequence[Record], store: Store) -> tuple[Partial, ...] | None:
    if "lengths" not in store.settings.methods or not records:
        return None
    from esdedup.stories.text_reuse import copies

    own = {record.document.id for record in records}
    checked = copies(records[0].document, store)
    if isinstance(checked, Failure):
        return ()
    return tuple(
        Partial(Mention.of(c.document), c.shared.words, c.shared.of_here, c.shared.of_there)
        for c in checked.copies
        if c.document.id not in own
    )
