"""Versions of an article that was written again under its id, and what each of them changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from esdedup.model import JSON, Changes, Document, iso, parse_time
from esdedup.model.json_form import JsonField, Result, in_json

# What a revision is, the first that applies; see `matching.revision`.
Degree = Literal["numbers", "names", "statement", "typo", "rewritten", "cut", "extended", "edited"]

# Characters of all versions of one article that are kept, the newest first. Servers refuse
# requests of more than 100 MB.
MAX_CHARACTERS = 4_000_000


@dataclass(frozen=True, slots=True)
class Revision(Result):
    """What a version of an article changed, compared with the one before it under the same id.

    `degree` is numbers, names, typo, rewritten, cut, extended or edited; docs/stories.md defines
    them. `added` and `removed` are the first passages that only the newer and only the older
    version has. `note` is a correction note that the version before did not have.
    """

    degree: Degree
    at: Annotated[datetime, JsonField(description="When the newer version was stored.")]
    numbers: Changes = ()
    headline: Annotated[
        tuple[str, ...],
        JsonField(omit_empty=True, description="The old and the new one, if it changed."),
    ] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    note: Annotated[
        str, JsonField(omit_empty=True, description="A correction note that was added.")
    ] = ""

    def __str__(self) -> str:
        """revised (numbers): 12 -> 17 people died"""
        changes = "; ".join(map(str, self.numbers))
        return f"revised ({self.degree})" + (f": {changes}" if changes else "")

    @property
    @in_json()
    def text(self) -> str:
        """The same as `str`, for JSON."""
        return str(self)


@dataclass(frozen=True, slots=True)
class ArticleVersion:
    """A version that was replaced, without extra fields.

    Versions of one article are ordered by `sequence`, which is the version of the store.
    """

    document: Document
    replaced: datetime
    sequence: int

    @classmethod
    def of(cls, document: Document, replaced: datetime, sequence: int) -> Self:
        return cls(replace(document, html=None, extra={}), replaced, sequence)

    def to_json(self) -> JSON:
        return {
            **self.document.to_json(),
            "replaced": iso(self.replaced),
            "sequence": self.sequence,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        fields = dict(raw)
        replaced, sequence = parse_time(fields.pop("replaced")), fields.pop("sequence")
        assert replaced is not None
        return cls(Document.from_json(fields), replaced, sequence)


def has_same_text(one: Document, other: Document) -> bool:
    """Whether headline and text are the same but for white space: then there is no revision."""
    return (one.title, one.text) == (other.title, other.text) or (
        one.title.split() == other.title.split() and one.text.split() == other.text.split()
    )


def keep_version(
    kept: Iterable[ArticleVersion], new: ArticleVersion, limit: int
) -> tuple[ArticleVersion, ...]:
    """The versions to keep, oldest first: at most `limit`, and none twice.

    A version that is added again, by a retry or by a writer that was overtaken, changes nothing:
    of neighbours with the same text only the last is kept.
    """
    others = [version for version in kept if version.sequence != new.sequence]
    ordered = sorted([*others, new], key=lambda version: version.sequence)
    distinct = [
        version
        for version, following in zip(ordered, [*ordered[1:], None], strict=True)
        if following is None or not has_same_text(version.document, following.document)
    ]
    newest = distinct[max(0, len(distinct) - limit) :]
    while len(newest) > 1 and sum(len(v.document.text) for v in newest) > MAX_CHARACTERS:
        newest = newest[1:]
    return tuple(newest)


def earlier_versions(
    kept: Sequence[ArticleVersion], current: Document
) -> tuple[ArticleVersion, ...]:
    """The kept versions without one that is still the current text: its write did not succeed."""
    if kept and has_same_text(kept[-1].document, current):
        return tuple(kept[:-1])
    return tuple(kept)
