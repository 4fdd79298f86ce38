"""The time line of a story: its original, the copies of it, updates in order, corrections.

An update opens a group of its own and keeps the story (paper 000, section 4.2), so that a story is
a chain of groups: "12 -> 17 -> 23 dead".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from esdedup.features.correction_notes import find_correction_note
from esdedup.features.numbers import NumberChange
from esdedup.model import Changes, Document, Failure
from esdedup.model.json_form import JsonField, Result, Rounded, in_json
from esdedup.model.results import Mention, StoryOrigin
from esdedup.search.origins import describe_origin, source_of
from esdedup.stores import Record, Store
from esdedup.stories.outlets import Outlet, list_outlets
from esdedup.stories.revisions import ArticleRevision, revisions_of

Kind = Literal["original", "update", "extended", "correction"]

# Copies of one version that are listed one by one; of more, sources are counted.
_LISTED = 100


@dataclass(frozen=True, slots=True)
class Counts(Result):
    """A count as it changed through the story, and the latest phrase that states it.

    12 -> 17 -> 23: a total of 23 people died
    """

    values: tuple[str, ...]
    context: str

    def __str__(self) -> str:
        values = " -> ".join(self.values)
        return f"{values}: {self.context}" if self.context else values


@dataclass(frozen=True, slots=True)
class StoryVersion(Result):
    """The original or an update, what is new in it, and its copies by source."""

    kind: Kind
    article: Annotated[Mention, JsonField(flat=True)]
    moment: Annotated[int, JsonField(hidden=True)]
    follows: str | None
    numbers: Changes
    copies: Annotated[
        tuple[Mention, ...],
        JsonField("listed", description="The first 100 copies; /v1/group has all."),
    ]
    sources: Annotated[Mapping[str, int], JsonField(description="Of all copies.")]
    corrections: Annotated[
        tuple[Mention, ...],
        JsonField(description="Copies that say of themselves that they correct."),
    ] = ()
    revisions: Annotated[
        tuple[ArticleRevision, ...],
        JsonField(
            omit_empty=True,
            description="Of the article and its copies, each under its own id, oldest first.",
        ),
    ] = ()

    @property
    @in_json("copies")
    def count(self) -> int:
        return sum(self.sources.values())


@dataclass(frozen=True, slots=True)
class Partial(Result):
    """An article outside the story that holds a part of it."""

    article: Annotated[Mention, JsonField(flat=True)]
    words: int
    of_story: Rounded
    of_article: Rounded


@dataclass(frozen=True, slots=True)
class Story(Result):
    """A story from its first article on."""

    id: Annotated[str, JsonField("story")]
    versions: tuple[StoryVersion, ...]
    counts: tuple[Counts, ...]
    partial: Annotated[
        tuple[Partial, ...] | None,
        JsonField(description="Null if no method is on that finds them (winnowing, lengths)."),
    ]

    articles: int
    origin: Annotated[StoryOrigin, JsonField(flat=True)]
    outlets: Annotated[
        tuple[Outlet, ...], JsonField(description="In the order in which they joined the story.")
    ] = ()


def story_of(record: Record, store: Store) -> Story:
    """The story that a stored article belongs to."""
    id_ = record.decision.story
    records = store.documents.members(id_, "story") or [record]
    versions = _make_versions(records, revisions_of(records, store))
    articles = sum(1 + version.count for version in versions)
    return Story(
        id_,
        versions,
        chain_counts(versions),
        _find_partial(records, store),
        articles,
        describe_origin(
            [record.document for record in records],
            [record.document for record in records if record.decision.link.canonical],
        ),
        list_outlets(records, store.settings),
    )


def _make_versions(
    records: Sequence[Record], revised: Mapping[str, tuple[ArticleRevision, ...]]
) -> tuple[StoryVersion, ...]:
    copies: dict[str, list[Record]] = {}
    for record in records:
        if not record.decision.link.canonical:
            copies.setdefault(record.decision.group, []).append(record)
    return tuple(
        _make_version(record, copies.get(record.document.id, []), revised)
        for record in records
        if record.decision.link.canonical
    )


def _make_version(
    record: Record,
    copies: Sequence[Record],
    revised: Mapping[str, tuple[ArticleRevision, ...]],
) -> StoryVersion:
    decision, document = record.decision, record.document
    evidence = decision.evidence[0] if decision.role == "update" and decision.evidence else None
    kind: Kind = "original"
    if evidence is not None:
        kind = "extended" if evidence.reason == "extended" else "update"
        kind = "correction" if is_correction(document) else kind
    own = [one for r in (record, *copies) for one in revised.get(r.document.id, ())]
    names = Counter(source_of(copy.document) or "no source" for copy in copies)
    return StoryVersion(
        kind=kind,
        article=Mention.of(document),
        moment=record.order[0],
        follows=evidence.other if evidence else None,
        numbers=evidence.numbers if evidence else (),
        copies=tuple(Mention.of(copy.document) for copy in copies[:_LISTED]),
        sources=dict(sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))),
        corrections=tuple(Mention.of(c.document) for c in copies if is_correction(c.document)),
        revisions=tuple(sorted(own, key=lambda one: one.revision.at)),
    )


def is_correction(document: Document) -> bool:
    """Whether an article states that it corrects an earlier one."""
    return bool(find_correction_note(document.title, document.text))


# --- counts through the story ----------------------------------------------------------------


def chain_counts(versions: Iterable[StoryVersion]) -> tuple[Counts, ...]:
    """Changes that continue each other: the new count of one is the old count of the next."""
    chains: list[Counts] = []
    for version in versions:
        for change in version.numbers:
            index = _find_chain(chains, change)
            if index is None:
                chains.append(Counts((change.old, change.new), change.context))
            elif chains[index].values[-1] != change.new:
                values = (*chains[index].values, change.new)
                chains[index] = Counts(values, change.context)
    return tuple(chains)


def _find_chain(chains: Sequence[Counts], change: NumberChange) -> int | None:
    """The chain that counts the same thing; a change that two versions report is one change."""
    words = set(change.context.split())
    for index, chain in reversed(list(enumerate(chains))):
        same_thing = bool(words & set(chain.context.split())) or not (words and chain.context)
        is_told = chain.values[-2:] == (change.old, change.new)
        if same_thing and (chain.values[-1] == change.old or is_told):
            return index
    return None


# --- parts of it elsewhere -------------------------------------------------------------------


def _find_partial(records: Sequence[Record], store: Store) -> tuple[Partial, ...] | None:
    from esdedup.stories.text_reuse import find_text_reuse, passage_methods

    if not passage_methods(store.settings) or not records:
        return None
    own = {record.document.id for record in records}
    checked = find_text_reuse(records[0].document, store)
    if isinstance(checked, Failure):
        return ()
    return tuple(
        Partial(Mention.of(c.document), c.shared.words, c.shared.of_here, c.shared.of_there)
        for c in checked.copies
        if c.document.id not in own
    )
