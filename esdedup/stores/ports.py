"""The ports of a store, and the records that pass through them.

A `Store` has one attribute for each of its nine ports. `memory.py` is the shortest implementation
and shows what every method promises. `tests/stores/test_contract_*.py` checks it on every backend.

A store knows keys, links and order; it knows nothing of texts, methods or thresholds. Every method
that takes many items costs one round trip or a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from esdedup.matching.constraints import Constraints
from esdedup.model import JSON, Candidate, Decision, Document, Failure, Order, Signature
from esdedup.model.batching import batched
from esdedup.model.queries import By, SearchOptions, StoreQuery
from esdedup.model.results import Facet, Members, StoryPage
from esdedup.model.revisions import ArticleVersion
from esdedup.settings import Settings

if TYPE_CHECKING:
    from esdedup.stores.cluster.foreign_index import ForeignIndex
    from esdedup.stores.topical import Clock, TopicIndex, TopicQuery

_T = TypeVar("_T")
_Key = TypeVar("_Key", bound=Hashable)
_Id = TypeVar("_Id", bound=Hashable)

# Candidates handed to verification; far more than `verified_candidates`.
MAX_CANDIDATES = 100
# Over-frequent keys that are reported; more are a sign of something else.
MAX_FREQUENT_KEYS = 100


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Searches for documents that share enough keys with this one.

    `min_shared_keys` is the number that is enough, for each method. `window` bounds the distance
    in time (microseconds; 0 is no bound).
    """

    id: str
    keys: Mapping[str, tuple[str, ...]]
    min_shared_keys: Mapping[str, int]
    order: Order
    window: int = 0
    representatives_only: bool = True
    # The widest window of those that may find this document; None if all have the same.
    widest: int | None = None
    # Whether some documents have a rank that goes before their time; set by the store itself.
    ranked: bool = False

    @property
    def reach(self) -> int:
        return self.window if self.widest is None else self.widest

    def count_shared(
        self, keys: Mapping[str, Sequence[_Key]], postings: Mapping[_Key, Iterable[_Id]]
    ) -> dict[_Id, dict[str, int]]:
        """Document -> method -> shared keys, where a method has enough of them.

        `keys` are those of the query in the form that the postings (key -> documents) have.
        """
        shared: dict[_Id, dict[str, int]] = {}
        for method, own in keys.items():
            if postings.keys().isdisjoint(own):  # nearly always
                continue
            counts = Counter(chain.from_iterable(postings.get(key, ()) for key in set(own)))
            for id_, count in counts.items():
                if count >= self.min_shared_keys[method]:
                    shared.setdefault(id_, {})[method] = count
        return shared


@dataclass(frozen=True, slots=True)
class Record:
    """A document as stored: content, signature, place in the order, decision."""

    document: Document
    signature: Signature
    order: Order
    first_seen: int
    decision: Decision
    version: Any = None  # compared by conditional writes; only the store knows its form

    def with_decision(self, decision: Decision) -> Record:
        return Record(
            self.document, self.signature, self.order, self.first_seen, decision, self.version
        )


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The result of a write: ids with version conflicts, and failures with their reason."""

    conflicts: frozenset[str] = frozenset()
    failures: Mapping[str, str] = field(default_factory=dict)

    def is_accepted(self, id_: str) -> bool:
        return id_ not in self.conflicts and id_ not in self.failures


@dataclass(frozen=True, slots=True)
class Consistency:
    """What a store guarantees to a writer.

    `read_your_writes`: a search finds what this store wrote without `make_visible`.
    `isolated`: a transaction is all or nothing, and sees no write of anybody else.
    `exclusive`: nobody else writes during a transaction.
    """

    read_your_writes: bool
    isolated: bool
    exclusive: bool


TRANSACTIONAL = Consistency(read_your_writes=True, isolated=True, exclusive=True)
EVENTUAL = Consistency(read_your_writes=False, isolated=False, exclusive=False)


@dataclass(frozen=True, slots=True)
class Versioned(Generic[_T]):
    """A value as it was read, with the version that a compare-and-set expects."""

    value: _T
    version: Any


class Documents(Protocol):
    """Records by id."""

    @property
    def refuses_existing_ids(self) -> bool:
        """Whether `put` reports a record without a version as a conflict if its id is stored."""

    def get(self, ids: Iterable[str]) -> dict[str, Record]:
        """Stored records as they are this moment; unknown ids are left out."""

    def put(self, records: Sequence[Record]) -> WriteReport:
        """Store whole records, new or replaced; a conflict if the version is not the stored one."""

    def relink(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        """Write only the decisions; a conflict if a record changed since it was read."""

    def rewrite(self, records: Sequence[Record]) -> WriteReport:
        """Write only the place in the order, the format and the keys; conflicts as in `relink`."""

    def delete(
        self, ids: Iterable[str], is_wanted: Callable[[Record], bool] = lambda record: True
    ) -> set[str]:
        """Remove documents and their quarantine entries; returns the ids of those that were stored.

        A document is kept if its version at the moment of the deletion is not wanted gone.
        """

    def changed_ids(self, since: datetime | None = None) -> set[str]:
        """Ids of documents written or relinked at that time or later; without it, of all."""

    def scan_by_time(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        """Records from a moment on, page by page, by that time and then by id."""

    def latest(self, clock: Clock) -> int | None:
        """The latest moment of all documents; None if there are none."""

    def members(self, value: str, by: By = "group") -> list[Record]:
        """The records of a group or a story in canonical order, the original first."""

    def ids_in(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        """Id -> group (or story) of the documents of these groups, not older than `since`."""


class CandidateIndex(Protocol):
    """Visible records by their keys and links."""

    def find(self, queries: Sequence[CandidateQuery]) -> list[list[Candidate]]:
        """For each query the documents before it in the order, most shared keys first."""

    def successors(self, queries: Sequence[CandidateQuery]) -> set[str]:
        """All documents after any of the queries that share enough keys with it."""

    def dependents(self, ids: Iterable[str]) -> set[str]:
        """Documents whose group or parent is one of these, themselves left out."""


class Concurrency(Protocol):
    """Transactions, visibility and other writers."""

    @property
    def consistency(self) -> Consistency: ...
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing if the store is isolated; nested use joins the outer one."""

    def snapshot(self, *, visible: bool = True) -> Any:
        """The position of the store now, for `unchanged_since`.

        Searches from now on see everything written before. With `visible=False` the position is
        the one `unchanged_since` has just checked, and the caller calls `make_visible` later.
        """

    def unchanged_since(self, snapshot: Any) -> bool:
        """Whether for certain nobody but this store has written since the snapshot."""

    def make_visible(self, *, own_only: bool = False) -> None:
        """Searches from now on see everything written before.

        With `own_only` it suffices that they see what this store wrote.
        """


class ConstraintStore(Protocol):
    """Constraints on documents, read and replaced as a whole."""

    def recent(self) -> Constraints:
        """As of the last snapshot or `read`, or of a moment ago."""

    def read(self) -> Versioned[Constraints]:
        """As of this moment."""

    def replace(self, new: Constraints, expected: Any) -> bool:
        """Compare-and-set; False if the version is no longer the expected one."""


class Quarantine(Protocol):
    """Documents that could not be processed."""

    def add(self, failures: Sequence[Failure]) -> None:
        """Keep failures; one with the same id is replaced."""

    def entries(self) -> list[Failure]:
        """All of them, the oldest first."""

    def remove(self, ids: Iterable[str]) -> None: ...


class Revisions(Protocol):
    """Earlier versions of articles that were written again under their id."""

    def add(self, replaced: Sequence[Record], at: datetime) -> None:
        """Keep versions that are about to be replaced, `settings.revisions` of each article.

        Adding a version again changes nothing, and neither does one that others have overtaken
        (`model.revisions.keep_version`).
        """

    def get(self, ids: Iterable[str]) -> dict[str, tuple[ArticleVersion, ...]]:
        """The kept versions of each article, oldest first; ids without any are left out.

        The last may be the current text: its replacement did not succeed, or is on its way.
        """

    def remove(self, ids: Iterable[str]) -> None:
        """Remove all versions of these; `documents.delete` does, too."""


class SearchIndex(Protocol):
    """Folded full-text search; `search.Searcher` is the way to use it."""

    def search(self, query: StoreQuery, options: SearchOptions) -> StoryPage: ...
    def pages(self, query: StoreQuery, options: SearchOptions) -> Iterator[StoryPage]: ...
    def deep(self, query: StoreQuery, options: SearchOptions, cursor: str | None) -> StoryPage: ...
    def members(self, value: str, by: By, *, size: int, offset: int) -> Members: ...
    def facets(
        self, query: StoreQuery, fields: Sequence[str], options: SearchOptions, size: int
    ) -> tuple[Facet, ...]: ...
    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        """(group, number of documents), largest first."""

    def find_by_words(self, query: TopicQuery) -> list[Record]:
        """Leaders that have any of the words, those with most and the rarest first."""


class Maintenance(Protocol):
    """Figures, checks, repair, age and settings of a store."""

    @property
    def foreign_index(self) -> ForeignIndex | None:
        """The index to which other programs write; None if every article is signed by us."""

    def record_settings(self) -> None:
        """From now on the store is opened with the settings that it has now."""

    def read_state(self, name: str) -> JSON | None:
        """The state of a long run, which survives a restart; None if there is none."""

    def write_state(self, name: str, values: JSON | None) -> None:
        """With None the state is removed."""

    def stats(self) -> dict[str, Any]: ...
    def own_bytes(self, ids: Sequence[str]) -> int:
        """Bytes of the fields that esdedup added to these documents."""

    def over_frequent_keys(self, above: int) -> dict[str, int]:
        """Keys that more representatives than this share, with their number.

        A cluster looks at a sample.
        """

    def find_problems(self) -> list[str]:
        """Broken invariants, each as a sentence; empty if all is well."""

    def repair_keys(self) -> set[str]:
        """Delete index entries of missing documents and restore missing keys.

        Returns the documents whose link breaks an invariant; `maintenance.repair` links them anew.
        """

    def find_older(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        """Ids of documents older than that time, page by page: all, or those that lead a group or
        a story; with `keyed` only those that have keys."""


class Store(Protocol):
    """One attribute for each port.

    Assigning `settings` changes how this store works; `maintenance.record_settings` stores them.
    """

    settings: Settings

    @property
    def documents(self) -> Documents: ...
    @property
    def candidates(self) -> CandidateIndex: ...
    @property
    def concurrency(self) -> Concurrency: ...
    @property
    def constraints(self) -> ConstraintStore: ...
    @property
    def quarantine(self) -> Quarantine: ...
    @property
    def revisions(self) -> Revisions: ...
    @property
    def search(self) -> SearchIndex: ...
    @property
    def topics(self) -> TopicIndex | None:
        """The topic index; None if full-text search answers as quickly."""

    @property
    def maintenance(self) -> Maintenance: ...
    def close(self) -> None: ...


def scan(documents: Documents, since: datetime | None = None) -> Iterator[list[Record]]:
    """The records of `changed_ids`, page by page, by id. Writes on the way neither repeat nor hide
    a document: the ids are read first."""
    for ids in batched(sorted(documents.changed_ids(since))):
        found = documents.get(ids)
        yield [found[id_] for id_ in ids if id_ in found]
