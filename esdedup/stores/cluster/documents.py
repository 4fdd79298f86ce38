"""Documents of a cluster store: read in real time, written on the condition of their version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime

from esdedup.errors import StoreError
from esdedup.model import JSON, Decision, iso
from esdedup.model.batching import batched
from esdedup.model.queries import By
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.concurrency import ClusterConcurrency
from esdedup.stores.cluster.connection import ClusterRefused, path_of
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.quarantine import ClusterQuarantine
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import positions as position_requests
from esdedup.stores.cluster.requests import topics as topic_requests
from esdedup.stores.cluster.revisions import ClusterRevisions
from esdedup.stores.ports import Record, WriteReport
from esdedup.stores.topical import Clock

# What both engines say of a name that stands for more than one index.
_SEVERAL_INDICES = "more than one ind"


@dataclass(frozen=True, slots=True)
class Version:
    """What a conditional write compares, and the concrete index a document lies in."""

    index: str
    seq_no: int
    primary_term: int


def version_of(hit: JSON) -> Version:
    return Version(hit["_index"], hit["_seq_no"], hit["_primary_term"])


def update_of(id_: str, version: Version, dedup: JSON) -> Action:
    """A partial update of our object, on the condition that the document is unchanged."""
    return Action.of(id_, {"update": _conditional(id_, version)}, {"doc": {"dedup": dedup}})


def _conditional(id_: str, version: Version) -> JSON:
    return {
        "_index": version.index,
        "_id": id_,
        "if_seq_no": version.seq_no,
        "if_primary_term": version.primary_term,
    }


@dataclass
class ClusterDocuments:
    """Implements the `Documents` port."""

    index: Index
    searches: Searches
    concurrency: ClusterConcurrency
    quarantine: ClusterQuarantine
    revisions: ClusterRevisions

    @property
    def refuses_existing_ids(self) -> bool:
        """False for several indices behind the name: each of them may take an id."""
        return self.index.kind == "index" and not self.index.has_several

    # --- reading -------------------------------------------------------------------------------

    def get(self, ids: Iterable[str]) -> dict[str, Record]:
        """Reads documents that are not refreshed, too."""
        found: dict[str, Record] = {}
        for part in batched(ids):
            for hit in self._search_for(part) if self.index.has_several else self._get(part):
                found.setdefault(hit["_id"], self.read_record(hit))
        return found

    def _get(self, ids: Sequence[str]) -> Iterable[JSON]:
        """Read in real time by id; possible only with one index behind the name."""
        target = self.index.target
        try:
            answer = self.index.connection.send(
                "POST", path_of(target.index, "_mget"), body={"ids": list(ids)}
            )
        except ClusterRefused as refusal:
            if refusal.status != 400:
                raise
            failed = [str(refusal)]
        else:
            failed = [str(doc["error"]) for doc in answer["docs"] if "error" in doc]
        if not failed:
            return (doc for doc in answer["docs"] if doc.get("found"))
        if _SEVERAL_INDICES in failed[0]:  # since a rollover, just now
            self.index.has_several = True
            return self._search_for(ids)
        raise ClusterRefused(500, {"error": failed[0]}, f"{target.shown}: _mget")

    def _search_for(self, ids: Sequence[str]) -> Iterable[JSON]:
        """Through several indices a document can only be searched for; so refresh, then search.

        Without the refresh a document just written to the index before a rollover would be
        missed, and written once more to the one after it.
        """
        self.concurrency.make_visible()
        body = {
            "query": {"ids": {"values": list(ids)}},
            "size": 2 * len(ids),
            "seq_no_primary_term": True,
            "sort": [{"_index": "asc"}],
        }
        hits: list[JSON] = self.searches.one(body)["hits"]["hits"]
        return hits

    def read_record(self, hit: JSON) -> Record:
        """A hit with its version, as a record."""
        dedup, names = hit["_source"].get("dedup"), self.index.names
        if isinstance(dedup, dict) and "group" in dedup:
            return document_requests.record_from(hit["_id"], hit["_source"], version_of(hit), names)
        return document_requests.foreign_record(
            hit["_id"], hit["_source"], self.index.settings, version_of(hit), names
        )

    def members(self, value: str, by: By = "group") -> list[Record]:
        query = {"term": {f"dedup.{by}": value}}
        hits = self.searches.scan({"query": query, "seq_no_primary_term": True})
        return sorted(map(self.read_record, hits), key=lambda r: r.order)

    def ids_in(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in batched(values):
            query = position_requests.members_query(by, part, since)
            hits = self.searches.scan({"query": query, "_source": [f"dedup.{by}"]})
            found.update((hit["_id"], hit["_source"]["dedup"][by]) for hit in hits)
        return found

    def changed_ids(self, since: datetime | None = None) -> set[str]:
        if since is None:
            return self.searches.all_ids({"exists": {"field": "dedup.at"}})
        return self.searches.all_ids({"range": {"dedup.at": {"gte": iso(since)}}})

    def scan_by_time(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        since = iso(datetime.fromtimestamp(max(0, low) // 1_000_000, UTC))
        for hits in self.searches.pages(topic_requests.time_order_search(clock, low, since)):
            found = [hit for hit in hits if hit["_source"]["dedup"][clock] >= low]
            if found:
                yield [self.read_record(hit) for hit in found]

    def latest(self, clock: Clock) -> int | None:
        answer = self.searches.one(topic_requests.latest_search(clock))
        value = answer["aggregations"]["latest"]["value"]
        return None if value is None else int(value)

    # --- writing -------------------------------------------------------------------------------

    def put(self, records: Sequence[Record]) -> WriteReport:
        """Create new documents; replace others if their version is the one that was read."""
        now = iso(datetime.now(UTC))
        new = {r.document.id for r in records if r.version is None}

        def find_stored(ids: Sequence[str]) -> Set[str]:
            """Of new documents: the others are sent to the index they lie in."""
            return self.get(new.intersection(ids)).keys() if self.index.kind != "index" else set()

        return self.write(
            [
                Action.of(r.document.id, self._put_line(r), document_requests.source_of(r, now))
                for r in records
            ],
            find_stored,
        )

    def _put_line(self, record: Record) -> JSON:
        id_, version = record.document.id, record.version
        if version is not None:
            return {"index": _conditional(id_, version)}
        if self.index.kind == "pattern":
            raise StoreError(
                f"{self.index.target.shown} is a pattern: nobody can tell which index a new "
                "article belongs to; name an index, or an alias with a write index"
            )
        line: JSON = {"_index": self.index.target.index, "_id": id_}
        if self.index.kind == "alias":
            line["require_alias"] = True  # an alias that is gone must not come back as an index
        return {"create": line}

    def relink(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        now = iso(datetime.now(UTC))
        report = self.write(
            [
                update_of(r.document.id, r.version, document_requests.link_fields(d, now))
                for r, d in changes
            ]
        )
        if report.failures:
            id_, reason = next(iter(report.failures.items()))
            raise StoreError(f"{self.index.target.shown}: cannot link {id_}: {reason}")
        return report

    def rewrite(self, records: Sequence[Record]) -> WriteReport:
        now = iso(datetime.now(UTC))
        return self.write(
            [
                update_of(r.document.id, r.version, document_requests.rewritten_fields(r, now))
                for r in records
            ]
        )

    def delete(
        self, ids: Iterable[str], is_wanted: Callable[[Record], bool] = lambda record: True
    ) -> set[str]:
        wanted = list(ids)
        self.quarantine.remove(wanted)
        removed: set[str] = set()
        stored = self.get(wanted)
        missing = set(wanted) - stored.keys()
        while chosen := {id_: r.version for id_, r in stored.items() if is_wanted(r)}:
            report = self.write(
                [
                    Action.of(id_, {"delete": _conditional(id_, version)})
                    for id_, version in chosen.items()
                ]
            )
            # Changed meanwhile; or gone, by this very delete if its answer was lost.
            stored = self.get(report.conflicts)
            removed |= chosen.keys() - stored.keys()
        self.revisions.remove(removed | missing)
        self.concurrency.make_visible()
        return removed

    def write(
        self,
        actions: Sequence[Action],
        find_stored: Callable[[Sequence[str]], Set[str]] = lambda ids: frozenset(),
    ) -> WriteReport:
        """`find_stored`: see `bulk.write`."""
        if not actions:
            return WriteReport()
        # A write to a missing index would make it, with a mapping guessed from the document.
        self.concurrency.check_position()
        written = bulk.write(self.index.connection, actions, find_stored)
        self.concurrency.count_writes(written)
        return written.report()
