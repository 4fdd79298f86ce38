"""The revisions of an article: its versions under one id, and what each of them changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Annotated

from esdedup.errors import InputError
from esdedup.features.correction_notes import find_correction_note
from esdedup.matching.diff import Span, align
from esdedup.matching.revision import compare_versions, whole_text
from esdedup.model import Document
from esdedup.model.json_form import JsonField, Result
from esdedup.model.revisions import ArticleVersion, Revision, earlier_versions
from esdedup.settings import Settings
from esdedup.stores import Record, Store


@dataclass(frozen=True, slots=True)
class ArticleRevision(Result):
    """A revision, and the article that was revised."""

    id: str
    revision: Annotated[Revision, JsonField(flat=True)]


@dataclass(frozen=True, slots=True)
class ListedVersion(Result):
    """One version of an article; the last is the current one.

    `since` is when it was stored (null for the first one that is kept), `revision` what it changed.
    """

    number: Annotated[int, JsonField(description="From 1, the oldest that is kept.")]
    title: str
    words: int
    since: datetime | None
    note: Annotated[str, JsonField(description="Its correction note; empty if it has none.")]
    revision: Revision | None


@dataclass(frozen=True, slots=True)
class VersionComparison(Result):
    """Two versions by passages: those of `explain`."""

    old: Annotated[int, JsonField(description="Number of the earlier version.")]
    new: int
    revision: Revision | None
    spans: tuple[Span, ...]
    cut: Annotated[bool, JsonField(description="The texts are longer than what is compared.")]


@dataclass(frozen=True, slots=True)
class RevisionHistory(Result):
    """The kept versions of an article, oldest first, and two of them compared."""

    id: str
    versions: tuple[ListedVersion, ...]
    comparison: Annotated[
        VersionComparison | None, JsonField(description="Null if there is one version.")
    ]


def history_of(
    record: Record, store: Store, *, old: int | None = None, new: int | None = None
) -> RevisionHistory:
    """The versions of a stored article. Compares two of them: the last two by default, or `old`
    with the one after it, or `new` with the one before it."""
    kept = store.revisions.get([record.document.id]).get(record.document.id, ())
    documents, times = _versions(record, kept)
    revisions = _revisions(documents, times, store.settings)
    listed = tuple(
        ListedVersion(
            number,
            document.title,
            len(whole_text(document).split()),
            since,
            find_correction_note(document.title, document.text),
            revision,
        )
        for number, (document, since, revision) in enumerate(
            zip(documents, [None, *times], [None, *revisions], strict=True), 1
        )
    )
    comparison = _compare(documents, listed, old, new, store.settings)
    return RevisionHistory(record.document.id, listed, comparison)


def revisions_of(records: Sequence[Record], store: Store) -> dict[str, tuple[ArticleRevision, ...]]:
    """The revisions of stored articles by id, oldest first; ids without any are left out."""
    kept = store.revisions.get(record.document.id for record in records)
    found = {}
    for record in records:
        if record.document.id in kept:
            documents, times = _versions(record, kept[record.document.id])
            revisions = _revisions(documents, times, store.settings)
            if revisions:
                found[record.document.id] = tuple(
                    ArticleRevision(record.document.id, revision) for revision in revisions
                )
    return found


def _versions(
    record: Record, kept: Sequence[ArticleVersion]
) -> tuple[list[Document], list[datetime]]:
    """All versions, the current one last, and when each but the first was stored."""
    earlier = earlier_versions(kept, record.document)
    return [*(v.document for v in earlier), record.document], [v.replaced for v in earlier]


def _revisions(
    documents: Sequence[Document], times: Sequence[datetime], settings: Settings
) -> list[Revision]:
    compared = [
        compare_versions(old, new, at, settings)
        for (old, new), at in zip(pairwise(documents), times, strict=True)
    ]
    return [revision for revision in compared if revision is not None]


def _compare(
    documents: Sequence[Document],
    listed: Sequence[ListedVersion],
    old: int | None,
    new: int | None,
    settings: Settings,
) -> VersionComparison | None:
    first = old or (new - 1 if new else max(1, len(listed) - 1))
    second = new or (old + 1 if old else len(listed))
    if old is None and new is None and len(listed) == 1:
        return None
    if not 1 <= first < second <= len(listed):
        raise InputError(
            f"versions {first} and {second} cannot be compared: the article has versions 1 to "
            f"{len(listed)}, and the earlier one comes first"
        )
    before, after = documents[first - 1], documents[second - 1]
    since = listed[second - 1].since
    assert since is not None  # only the first has none
    spans, cut = align(whole_text(before), whole_text(after))
    revision = compare_versions(before, after, since, settings)
    return VersionComparison(first, second, revision, spans, cut)
