"""Where signed documents live: the seam every backend implements, and how one is opened.

The embedded SQLite store is a full backend; search clusters implement the same protocol. A store
knows keys, links and order; it knows nothing of texts, methods or thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from esdedup.errors import StoreMissing
from esdedup.model import Candidate, Decision, Document, Failure, Order, Signature
from esdedup.settings import Settings


@dataclass(frozen=True, slots=True)
class Probe:
    """A question for candidates: who shares enough keys with this document?

    `needed` is, for each method, how many shared keys are enough; `window` bounds the distance
    in time (microseconds, 0 is no bound).
    """

    id: str
    keys: Mapping[str, tuple[str, ...]]
    needed: Mapping[str, int]
    order: Order
    window: int = 0
    leaders_only: bool = True


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


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What became of a write: ids that met another writer, and failures with their reason."""

    conflicts: frozenset[str] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)

    def accepted(self, id_: str) -> bool:
        return id_ not in self.conflicts and id_ not in self.failures


Fold = Literal["group", "story", "none"]
# How many hot keys are told of; more are a sign of something else.
MANY_HOT_KEYS = 100


class Store(Protocol):
    """The narrow seam. Every method that takes many items costs one round trip or a few."""

    settings: Settings
    # Whether what is written is seen by the next question at once and by nobody in between:
    # true inside a transaction, false on a cluster, where links must be settled after a refresh.
    serial: bool

    def transaction(self) -> AbstractContextManager[None]: ...
    def refresh(self) -> None: ...
    def see_own_writes(self) -> None:
        """A refresh, where this store itself wrote since the last one: enough for a question
        that writes nothing, which may be as old as any search is."""

    def begin(self) -> Any:
        """Questions asked from now on see all that was written before; returns a mark."""

    def undisturbed(self, mark: Any) -> bool:
        """Whether for certain nobody but this store has written since the mark was made."""

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
    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        """(group, number of documents), largest first."""

    def quarantine(self, failures: Sequence[Failure]) -> None: ...
    def quarantined(self) -> list[Failure]: ...
    def release(self, ids: Iterable[str]) -> None:
        """Take entries out of the quarantine."""

    def stats(self) -> dict[str, Any]: ...
    def hot_keys(self, above: int) -> dict[str, int]:
        """Keys that more leaders than this share, with their number; a cluster asks a sample."""

    def check(self) -> list[str]:
        """Broken invariants, each as a sentence; empty where all is well."""

    def misplaced(self) -> set[str]:
        """Documents whose link breaks an invariant, for `repair`."""

    def close(self) -> None: ...


def open_store(
    url: str, settings: Settings | None = None, *, mode: Literal["write", "read"] = "write"
) -> Store:
    """The store behind a URL: `sqlite:///news.db` or a file name; a cluster (see `connection`).

    Mode `write` creates it where there is none. Without `settings` an existing store opens with
    the ones recorded in it; with others of the kind that shapes keys it does not open.
    """
    scheme = urlsplit(url).scheme
    if scheme in ("", "sqlite") or len(scheme) == 1:  # one letter is a drive
        from esdedup.stores.sqlite import SQLiteStore

        return SQLiteStore(_sqlite_path(url), settings, mode=mode)
    from esdedup.stores.cluster import ClusterStore
    from esdedup.stores.connection import Target

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
