"""Questions about topics and time: who has these words, who is about the same, what came when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from esdedup.model import JSON, Document, Hashes32, Topic
from esdedup.stores.cluster.requests.documents import NO_NAMES, Names
from esdedup.text.fulltext import searchable

if TYPE_CHECKING:
    from esdedup.stores import Record

# Texts to what they are about: a store knows nothing of texts.
Find = Callable[[Sequence[Document]], Sequence[Topic]]
# first_seen: arrival; moment: published, or arrival where there is no date.
Clock = Literal["first_seen", "moment"]

# Microseconds before and after which nothing happens.
EVER = 1 << 62
# Articles the embedded index ranks for each result, before copies are left out.
RANKED_PER_RESULT = 3
# Records handed over at a time.
PAGE = 500

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """Articles that lead a group, with any of these words, in a span of time (microseconds)."""

    words: Sequence[str]
    low: int = -EVER
    high: int = EVER
    group: str = ""  # left out
    size: int = 30


@dataclass(frozen=True, slots=True)
class Alike:
    """Articles that lead a group, in a span of time, whose topic has at least this cosine."""

    least: float
    low: int
    high: int
    group: str = ""  # left out
    id: str = ""  # left out too
    size: int = 30
    keys: bool = False  # whether the keys of the answers are wanted


class Near(NamedTuple):
    """A stored article, how much it is about the same, and what else ranks it."""

    document: Document
    likeness: float
    moment: int  # its place in the order
    group: str
    story: str
    shingles: Hashes32
    keys: Mapping[str, Sequence[str]]


def near_of(record: Record, likeness: float) -> Near:
    decision, signature = record.decision, record.signature
    return Near(
        document=record.document,
        likeness=likeness,
        moment=record.order[0],
        group=decision.group,
        story=decision.story,
        shingles=signature.shingles,
        keys=signature.keys,
    )


class Found(NamedTuple):
    """An article that has some of the words: of most nothing but the topic is wanted."""

    read: Document  # what a topic is read from: texts, language and site; maybe no more
    near: Callable[[float], Near]  # by its likeness
    record: Callable[[], Record]


class KeptTopics(Protocol):
    """What every article of a store is about, kept with it."""

    def catch_up(self, mark: str, find: Find, seconds: float) -> bool:
        """Bring in what was written since the last time; False where that takes longer, or
        nothing can be written now. Topics under another mark are thrown away first."""

    def alike_to(self, record: Record, mark: str, asked: Alike) -> list[Near] | None:
        """`alike` to what is kept of this article; None where not all is brought in, or the store
        has another version of it, or it is about nothing."""

    def alike(self, topic: Topic, asked: Alike) -> list[Near]:
        """The most alike first, of equals the one that was stored first."""


def any_word(words: Sequence[str]) -> str:
    """For the embedded full-text index: any of them; empty where there is no word."""
    phrases = (" ".join(_WORD.findall(searchable(word))) for word in words)
    return " OR ".join(dict.fromkeys(f'"{phrase}"' for phrase in phrases if phrase))


def topical_search(asked: Asked, names: Names = NO_NAMES) -> JSON:
    """The same for a cluster; a word of a script without spaces is a phrase of characters.

    By score alone: a second field to sort by costs a fifth of the request, and ties are few where
    they count, at the top.
    """
    titles, texts = names.get("title", ("title",)), names.get("text", ("text",))
    fields = [*(f"{name}^2" for name in titles), *texts]
    without = [{"term": {"dedup.group": asked.group}}] if asked.group else []
    filters: list[JSON] = [{"term": {"dedup.canonical": True}}]
    if asked.low > -EVER or asked.high < EVER:
        filters.append({"range": {"dedup.moment": {"gte": asked.low, "lte": asked.high}}})
    return {
        "size": asked.size,
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "query": {
            "bool": {
                "filter": filters,
                "must_not": without,
                "should": [_in_fields(word, fields) for word in asked.words],
                "minimum_should_match": 1,
            }
        },
    }


def _in_fields(word: str, fields: Sequence[str]) -> JSON:
    forms = dict.fromkeys([word, word.replace("i", "ı")] if not word.isascii() else [word])
    queries: list[JSON] = [
        {"multi_match": {"query": form, "type": "phrase", "fields": list(fields)}} for form in forms
    ]
    return {"dis_max": {"queries": queries}} if len(queries) > 1 else queries[0]


def latest_search(clock: Clock) -> JSON:
    return {
        "size": 0,
        "track_total_hits": False,
        "aggs": {"latest": {"max": {"field": f"dedup.{clock}"}}},
    }


def in_order_search(clock: Clock, low: int, since: str) -> JSON:
    """By time, then by id. `first_seen` is not indexed, and no link is older than its article:
    when that last changed bounds it."""
    bound: JSON = {"range": {"dedup.at": {"gte": since}}}
    if clock == "moment":
        bound = {"range": {"dedup.moment": {"gte": low}}}
    return {
        "size": PAGE,
        "seq_no_primary_term": True,
        "track_total_hits": False,
        "query": {"bool": {"filter": [bound, {"exists": {"field": "dedup.group"}}]}},
        "sort": [{f"dedup.{clock}": "asc"}, {"dedup.id": "asc"}],
    }


def pages(hits: Iterator[JSON], clock: Clock, low: int) -> Iterator[list[JSON]]:
    """Hits that are late enough, some at a time."""
    page: list[JSON] = []
    for hit in hits:
        if hit["_source"]["dedup"][clock] >= low:
            page.append(hit)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page
