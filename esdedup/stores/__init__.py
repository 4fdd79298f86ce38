"""Where signed documents live: the seam every backend implements, and how one is opened.

The embedded SQLite store is a full backend; search clusters implement the same protocol. A store
knows keys, links and order; it knows nothing of texts, methods or thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from esdedup.errors import StoreMissing
from esdedup.matching.constraints import Corrections
from esdedup.model import Candidate, Decision, Document, Failure, Order, Signature
from esdedup.model.queries import By, Options, Query
from esdedup.model.results import Facet, Members, Section, StoryPage
from esdedup.settings import Settings

if TYPE_CHECKING:
    from esdedup.stores.topical import Asked, Clock, Found, KeptTopics

# Evidence that is stored with a decision: the match and the runner-ups.
KEPT_EVIDENCE = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """A question for candidates: who shares enough keys with this document?

    `needed` is, for each method, how many shared keys are enough; `window` bounds the distance
    in time of what the document finds (microseconds, 0 is no bound).
    """

    id: str
    keys: Mapping[str, tuple[str, ...]]
    needed: Mapping[str, int]
    order: Order
    window: int = 0
    attracting_only: bool = True
    # The widest window of those that may find this document; None where all have the same.
    widest: int | None = None
    # Whether documents may stand elsewhere than by their time; the store's own business.
    ranked: bool = False

    @property
    def reach(self) -> int:
        return self.window if self.widest is None else self.widest


@dataclass(frozen=True, slots=True)
class Record:
    """A document as stored: content, signature, place in the order, decision."""

    document: Document
    signature: Signature
    order: Order
    first_seen: int
    decision: Decision
    version: Any = None  # what a conditional write compares; the store's own business

    def with_decision(self, decision: Decision) -> Record:
        return Record(
            self.document, self.signature, self.order, self.first_seen, decision, self.version
        )


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result: a story shown by one of its articles."""

    document: Document
    group: str
    story: str
    role: str
    score: float
    copies: int = 0  # further matching articles folded into this one
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page of results with honest totals: stories shown, articles behind them."""

    hits: tuple[Hit, ...]
    stories: int
    articles: int

    @classmethod
    def of(cls, page: StoryPage) -> Self:
        """A page of `finder.search` in the form of `Store.search`."""
        hits = tuple(
            Hit(
                document=hit.document,
                group=hit.group or hit.id,
                story=hit.story or hit.id,
                role=hit.role,
                score=hit.score or 0.0,
                copies=hit.copies or 0,
                snippet=hit.snippet,
            )
            for hit in page.hits
        )
        return cls(hits, page.total.stories or 0, page.total.articles or 0)


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What became of a write: ids that met another writer, and failures with their reason."""

    conflicts: frozenset[str] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)

    def accepted(self, id_: str) -> bool:
        return id_ not in self.conflicts and id_ not in self.failures


Fold = Literal["group", "story", "none"]


class Finder(Protocol):
    """Folded searches of a store; `searching.Searcher` is the way to use them."""

    def search(self, query: Query | Mapping[str, Any], options: Options) -> StoryPage: ...
    def pages(self, query: Query | Mapping[str, Any], options: Options) -> Iterator[StoryPage]: ...
    def deep(
        self, query: Query | Mapping[str, Any], options: Options, cursor: str | None
    ) -> StoryPage: ...
    def members(self, value: str, by: By, *, size: int, offset: int) -> Members: ...
    def facets(
        self, query: Query | Mapping[str, Any], fields: Sequence[str], options: Options, size: int
    ) -> tuple[Facet, ...]: ...
    def front(
        self, category: str, categories: Sequence[str], *, size: int, by: By
    ) -> tuple[Section, ...]: ...


# How many hot keys are told of; more are a sign of something else.
MANY_HOT_KEYS = 100


def fold_options(fold: Fold, size: int, offset: int) -> Options:
    """How `Store.search` asks its finder."""
    if fold == "none":
        return Options(mode="all", size=size, offset=offset)
    return Options(mode="collapse", by=fold, size=size, offset=offset)


class Store(Protocol):
    """The narrow seam. Every method that takes many items costs one round trip or a few."""

    settings: Settings
    # Whether what is written is seen by the next question at once and by nobody in between:
    # true inside a transaction, false on a cluster, where links must be settled after a refresh.
    serial: bool

    @property
    def refuses_known_ids(self) -> bool:
        """Whether a new document with an id that is there already is reported as a conflict."""

    @property
    def corrections(self) -> Corrections:
        """What people said of its documents, as of the last `begin`, or of a moment ago."""

    def correct(self, said: Corrections) -> bool:
        """Keep this in the place of what was said before; False where others spoke meanwhile."""

    def rewrite_many(self, records: Sequence[Record]) -> WriteReport:
        """The place in the order, the format and the keys of documents that are there and
        otherwise stay as they are."""

    def aged(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        """Ids of documents older than that time, page by page: all, or those that lead a group or a
        story; `keyed` are those that have keys."""

    def gathered(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        """Ids of the documents of these groups or stories, and which they are in; only those of
        that time or later."""

    def transaction(self) -> AbstractContextManager[None]: ...
    def refresh(self) -> None: ...
    def see_own_writes(self) -> None:
        """A refresh, where this store itself wrote since the last one: enough for a question
        that writes nothing, which may be as old as any search is."""

    def begin(self) -> Any:
        """Questions asked from now on see all that was written before; returns a mark."""

    def undisturbed(self, mark: Any) -> bool:
        """Whether for certain nobody but this store has written since the mark was made."""

    def marked(self) -> Any:
        """A mark at where `undisturbed` has just looked; a refresh is still to come."""

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        """For each probe the documents before it in the order, most shared keys first."""

    def later(self, probes: Sequence[Probe]) -> set[str]:
        """All documents after any of the probes that share enough keys with it."""

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]: ...
    def put_many(self, records: Sequence[Record]) -> WriteReport: ...
    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport: ...
    def members(self, group: str) -> list[Record]:
        """All documents of a group in order, its original first."""

    def story(self, story: str) -> list[Record]:
        """All documents of a story in order: the first group, its updates, copies of both."""

    def followers(self, ids: Iterable[str]) -> set[str]:
        """Documents whose group or parent is one of these, themselves left out."""

    def changed_since(self, moment: datetime) -> set[str]:
        """Documents written, or given another place, at that time or later."""

    def delete(self, ids: Iterable[str]) -> set[str]:
        """Remove documents; returns the ids that were there."""

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult: ...
    @property
    def finder(self) -> Finder: ...
    def topical(self, asked: Asked) -> list[Found]:
        """Leaders that have any of the words, those with most and the rarest first."""

    @property
    def kept_topics(self) -> KeptTopics | None:
        """What its articles are about, where the store can keep that; a cluster cannot."""

    def in_order(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        """All documents from a moment on, some at a time, by that time and then by id."""

    def latest(self, clock: Clock) -> int | None:
        """The latest moment of all documents; None where there are none."""

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        """(group, number of documents), largest first."""

    def quarantine(self, failures: Sequence[Failure]) -> None: ...
    def quarantined(self) -> list[Failure]: ...
    def release(self, ids: Iterable[str]) -> None:
        """Take entries out of the quarantine."""

    def stats(self) -> dict[str, Any]: ...
    def hot_keys(self, above: int) -> dict[str, int]:
        """Keys that more attracting documents than this share, with their number.

        A cluster asks a sample.
        """

    def adopt(self, settings: Settings) -> None:
        """Go on with other settings, which were just recorded in the store."""

    def record_settings(self) -> None:
        """From now on the store is opened with the settings that it has now."""

    def check(self) -> list[str]:
        """Broken invariants, each as a sentence; empty where all is well."""

    def misplaced(self) -> set[str]:
        """Documents whose link breaks an invariant, for `repair`."""

    def close(self) -> None: ...


def open_store(
    url: str, settings: Settings | None = None, *, mode: Literal["write", "read"] = "write"
) -> Store:
    """The store behind a URL: `sqlite:///news.db`, a file name, `sqlite://:memory:`, or
    `https://host:9200/index` of a cluster, with the product in front where it is to be stated.

    Mode `write` creates it where there is none. Without `settings` an existing store opens with
    the ones recorded in it; with others of the kind that shapes keys it does not open.
    """
    # Not by `urlsplit`, whose errors may show a password. One letter is a drive.
    scheme = re.match(r"[A-Za-z][\w+.-]+(?=:)", url, re.ASCII)
    if scheme is None or scheme[0] == "sqlite":
        from esdedup.stores.sqlite.store import SQLiteStore

        return SQLiteStore(_sqlite_path(url), settings, mode=mode)
    from esdedup.stores.cluster.connection import Target
    from esdedup.stores.cluster.store import ClusterStore

    return ClusterStore(Target.parse(url), settings, mode=mode)


def recorded_settings(url: str) -> Settings | None:
    """The settings a store was made with; None where there is no store yet."""
    try:
        store = open_store(url, mode="read")
    except StoreMissing:
        return None
    store.close()
    return store.settings


def _sqlite_path(url: str) -> str:
    """sqlite:///relative.db, sqlite:////absolute.db, sqlite://:memory: or a file name."""
    if not url.startswith("sqlite://"):
        return url
    rest = url.removeprefix("sqlite://")
    return rest.removeprefix("/") if rest != "/" else rest
