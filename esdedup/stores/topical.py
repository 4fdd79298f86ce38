"""Searches by topic: the query, the result, and the port of a topic index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from esdedup.model import Document, TermVector

if TYPE_CHECKING:
    from esdedup.stores import Record

# Computes the vectors of texts: a store does no text processing.
ComputeVectors = Callable[[Sequence[Document]], Sequence[TermVector]]
# first_seen: arrival; moment: published, or arrival if there is no date.
Clock = Literal["first_seen", "moment"]

# In microseconds: -EVER is before every article, EVER after.
EVER = 1 << 62


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """Which articles a search by topic may return: leaders of groups in a span of time.

    A full-text search finds articles with any of `words`. A topic index finds vectors with a
    cosine of `min_cosine` or more.
    """

    words: Sequence[str] = ()
    low: int = -EVER  # microseconds
    high: int = EVER
    group: str = ""  # the group to leave out
    id: str = ""  # the article to leave out
    size: int = 30
    min_cosine: float = 0.0
    with_keys: bool = False  # whether a topic index returns the keys of the articles


class Near(NamedTuple):
    """An article with its cosine and what else ranks it. Reading it costs a third of a record."""

    document: Document
    cosine: float
    moment: int
    group: str
    story: str
    keys: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, record: Record, cosine: float) -> Near:
        own, keys = record.decision, record.signature.keys
        return cls(record.document, cosine, record.order[0], own.group, own.story, keys)


class TopicIndex(Protocol):
    """The topic index: the term vector of every article of a store."""

    def catch_up(self, version: str, compute: ComputeVectors, seconds: float) -> bool:
        """Index what was written since the last call. Vectors of another version are deleted first.

        Returns False if that takes longer than `seconds`, or if nothing can be written now.
        """

    def get(self, record: Record, version: str) -> TermVector | None:
        """The vector of an article. None if the index is not up to date, or if the store has
        another version of the article."""

    def find(self, vector: TermVector, query: TopicQuery) -> list[Near]:
        """Articles, the highest cosine first; ties in the order in which they were stored."""
