"""The store on Elasticsearch or OpenSearch: one class, the same bodies for both.

A written document is seen by searches only after a refresh, and several writers work at once.
So links are settled after the write (`reconcile.settle`), every change of a link compares the
version it was decided on, and nothing rests on what one worker has in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal
from zlib import crc32

from esdedup.errors import StoreError, StoreMissing, StoreUnavailable
from esdedup.matching.canonical_order import is_by_time
from esdedup.matching.constraints import Corrections
from esdedup.model import JSON, Candidate, Decision, Failure, iso
from esdedup.model.encoding import encoded
from esdedup.model.queries import By, Query
from esdedup.settings import Settings
from esdedup.stores import Fold, Probe, Record, SearchResult, WriteReport, fold_options, topical
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.candidates import Neighbours
from esdedup.stores.cluster.causes import cause_of
from esdedup.stores.cluster.connection import ClusterRefused, Connection, Target, connect, path_of
from esdedup.stores.cluster.constraints import WordsOfPeople
from esdedup.stores.cluster.health import Health
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.msearch import Searches, chunks
from esdedup.stores.cluster.quarantine import Quarantine
from esdedup.stores.cluster.search import ClusterSearch
from esdedup.stores.cluster.seq_no import POSITION_FIELDS, Mark, Position, position_of
from esdedup.stores.topical import Asked, Clock, Found, Near

_GETS = 500
# What both engines say of a name that stands for more than one index.
_SEVERAL_INDICES = "more than one ind"


@dataclass(frozen=True, slots=True)
class Version:
    """What a conditional write compares, and the concrete index a document lies in."""

    index: str
    seq_no: int
    primary_term: int


class ClusterStore:
    """See `Store`."""

    serial = False

    def __init__(
        self,
        target: Target,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
        connection: Connection | None = None,
    ) -> None:
        self.target = target
        self.connection: Connection = connection or connect(target)
        self._mode = mode
        self.index = Index(self.connection, target)
        self.searches = Searches(self.connection, target)
        side_index = bodies.quarantine_index(target.index)
        self._quarantine = Quarantine(self.connection, side_index)
        said_index = bodies.corrections_index(target.index)
        self._said = WordsOfPeople(self.connection, said_index)
        self._own_operations = 0
        self._own_visible = 0  # of these, what a refresh came after
        self._position: Position | None = None  # as last asked for
        self._visible: Position | None = None  # a refresh came after it
        self._several = False
        self._finder: ClusterSearch | None = None
        try:
            self._open(settings, mode)
        except BaseException:
            self.connection.close()
            raise

    # --- opening -----------------------------------------------------------------------------

    @property
    def refuses_known_ids(self) -> bool:
        """Not where several indices are behind the name: each of them may take an id."""
        return self._kind == "index" and not self._several

    @property
    def product(self) -> str:
        return self.connection.product

    def _open(self, settings: Settings | None, mode: str) -> None:
        mappings = self.index.mappings()
        if mappings is None:
            if mode == "read":
                raise StoreMissing(
                    f"there is no store at {self.target.shown}; `esdedup index` makes one"
                )
            self.index.create(settings or Settings())
            mappings = self.index.mappings() or {}
        self._kind = self.index.kind(mappings)
        self._several = self._is_several(mappings)
        self._known = set(mappings)
        self.searches.preference = self.index.read_preference()
        self.adopt(self._settle_settings(settings, mappings, mode))

    def adopt(self, settings: Settings) -> None:
        self.settings = settings
        self._neighbours = Neighbours(self.searches, settings)
        self._health = Health(self.connection, self.searches, settings)

    def record_settings(self) -> None:
        for name, mapping in (self.index.mappings() or {}).items():
            meta = mapping.get("_meta", {})
            ours = {**meta.get("esdedup", {}), **bodies.meta(self.settings)["esdedup"]}
            body = {"_meta": {**meta, "esdedup": ours}}
            self.connection.send("PUT", path_of(name, "_mapping"), body=body)

    def _settle_settings(
        self, settings: Settings | None, mappings: Mapping[str, JSON], mode: str
    ) -> Settings:
        recorded = next(
            (m["_meta"]["esdedup"] for m in mappings.values() if "esdedup" in m.get("_meta", {})),
            None,
        )
        # How an index that somebody else designed calls its fields, as `backfill` found it.
        self.names: bodies.Names = (recorded or {}).get("names", {})
        chosen = settings
        if chosen is None:
            chosen = Settings.from_json(recorded["settings"]) if recorded else Settings()
        if recorded:
            chosen.check_against(recorded["shaping"], store=self.target.shown)
        if mode == "write":
            for name, mapping in mappings.items():
                self.index.add_our_fields(name, mapping, chosen)
        return chosen

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A cluster has none; what stands in for it is `reconcile.settle`."""
        yield

    def refresh(self) -> None:
        # As of before it: another thread may be writing.
        position, own = self._position, self._own_operations
        answer = self.connection.send("POST", path_of(self.target.index, "_refresh"))
        if answer.get("_shards", {}).get("failed"):
            why = cause_of(answer["_shards"])
            raise StoreUnavailable(f"{self.target.shown}: a shard did not refresh{why}; run again")
        self._visible, self._own_visible = position, own
        self.forget()

    def forget(self) -> None:
        """Whatever is remembered of what searches show."""
        self._neighbours.forget()

    def see_own_writes(self) -> None:
        if self._own_visible != self._own_operations:
            self.refresh()

    # --- other writers -----------------------------------------------------------------------

    def begin(self) -> Mark:
        """A refresh costs 25 to 70 ms: only where something was written since the last one.

        Who came to read sees what is visible: a refresh needs more rights than reading.
        """
        if self._mode == "read":
            return Mark(Position({}, {}, 0), 0, 0)
        position = self._ask_position()
        if position != self._visible:
            self.refresh()
        self.forget()
        self._said.read()
        return self.marked()

    def undisturbed(self, mark: Mark) -> bool:
        """Where only we have written since `begin`, what was decided then is right, and settling,
        which asks for the candidates of every document anew, is saved. Of two writers whose
        writes lie between each other's mark and this question both are told of the other."""
        own = self._own_operations - mark.own_operations
        position = self._ask_position()
        self._said.read()
        return (
            self.connection.repeated == mark.repeated
            and mark.position.is_followed_by(position, own)
            and self._said.version == mark.said
        )

    def marked(self) -> Mark:
        assert self._position is not None, "asked for first"
        return Mark(
            self._position, self._own_operations, self.connection.repeated, self._said.version
        )

    def _ask_position(self) -> Position:
        """Also notices an index that was deleted, or that a rollover added, while we work.

        Asked by writers only: the second gets our fields before anything is asked of it.
        """
        indices = self._shards()
        position = position_of(indices)
        before = self._position.indices if self._position else {}
        if any(position.indices.get(name, uuid) != uuid for name, uuid in before.items()):
            raise self._gone()
        if new := set(indices) - self._known:
            self._adopt(new)
        self._several = self._is_several(indices)
        self._position = position
        return position

    def _is_several(self, indices: Sized) -> bool:
        """A pattern is never one: no document can be got by it, and another index may come."""
        return len(indices) > 1 or self._kind == "pattern"

    def _shards(self) -> dict[str, JSON]:
        """Index -> its started shards; waits for the first, which an index just made has not."""
        deadline = time.monotonic() + self.target.retry_seconds
        while True:
            try:
                answer = self.connection.send(
                    "GET",
                    path_of(self.target.index, "_stats", "docs"),
                    params={"level": "shards", "filter_path": POSITION_FIELDS},
                )
            except ClusterRefused as refusal:
                if refusal.status == 404:
                    raise self._gone() from refusal
                raise
            if indices := answer.get("indices"):
                return dict(indices)
            if self.index.mappings() is None:
                raise self._gone()
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"{self.target.shown}: no shard has started; look at the health of the "
                    "cluster and run the same command again"
                )
            time.sleep(0.1)

    def _gone(self) -> StoreError:
        return StoreError(
            f"{self.target.shown}: the index was deleted while esdedup was at work; run the same "
            "command again to make it anew"
        )

    def _adopt(self, names: Iterable[str]) -> None:
        """Indices that a rollover added need our fields before the first document."""
        for name, mapping in (self.index.mappings() or {}).items():
            if name in names:
                self.index.add_our_fields(name, mapping, self.settings)
                self._known.add(name)

    def close(self) -> None:
        self.connection.close()

    # --- neighbours --------------------------------------------------------------------------

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        return self._neighbours.candidates(self._ranked(probes))

    def later(self, probes: Sequence[Probe]) -> set[str]:
        return self._neighbours.later(self._ranked(probes))

    def _ranked(self, probes: Sequence[Probe]) -> Sequence[Probe]:
        """With the question for ranks, which is dearer, where any document may have one."""
        if is_by_time(self.settings) and not self.corrections.pinned:
            return probes
        return [replace(probe, ranked=True) for probe in probes]

    # --- what people said ----------------------------------------------------------------------

    @property
    def corrections(self) -> Corrections:
        return self._said.recent()

    def correct(self, said: Corrections) -> bool:
        return self._said.replace(said)

    # --- age -----------------------------------------------------------------------------------

    def aged(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        search = {"query": bodies.aged_query(before, leading, keyed=keyed), "_source": False}
        ids: list[str] = []
        for hit in self.searches.scan(search):
            ids.append(hit["_id"])
            if len(ids) == _GETS:
                yield ids
                ids = []
        if ids:
            yield ids

    def gathered(self, by: By, values: Sequence[str], since: int | None = None) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in chunks(values, _GETS):
            query = bodies.gathered_query(by, part, since)
            hits = self.searches.scan({"query": query, "_source": [f"dedup.{by}"]})
            found.update((hit["_id"], hit["_source"]["dedup"][by]) for hit in hits)
        return found

    # --- documents ---------------------------------------------------------------------------

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]:
        """As they are this moment, unrefreshed ones too."""
        found: dict[str, Record] = {}
        for part in chunks(list(ids), _GETS):
            for hit in self._search_for(part) if self._several else self._get(part):
                found.setdefault(hit["_id"], self._record(hit))
        return found

    def _get(self, ids: Sequence[str]) -> Iterable[JSON]:
        """In real time, by id; only where one index is behind the name."""
        try:
            answer = self.connection.send(
                "POST", path_of(self.target.index, "_mget"), body={"ids": list(ids)}
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
            self._several = True
            return self._search_for(ids)
        raise ClusterRefused(500, {"error": failed[0]}, f"{self.target.shown}: _mget")

    def _search_for(self, ids: Sequence[str]) -> Iterable[JSON]:
        """Through several indices a document can only be searched for; so refresh, then search.

        Without the refresh a document just written to the index before a rollover would be
        missed, and written once more to the one after it.
        """
        self.refresh()
        body = {
            "query": {"ids": {"values": list(ids)}},
            "size": 2 * len(ids),
            "seq_no_primary_term": True,
            "sort": [{"_index": "asc"}],
        }
        (answer,) = self.searches.many([body])
        hits: list[JSON] = answer["hits"]["hits"]
        return hits

    def members(self, group: str) -> list[Record]:
        return self._ordered({"term": {"dedup.group": group}})

    def story(self, story: str) -> list[Record]:
        return self._ordered({"term": {"dedup.story": story}})

    def _ordered(self, query: JSON) -> list[Record]:
        hits = self.searches.scan({"query": query, "seq_no_primary_term": True})
        return sorted((self._record(hit) for hit in hits), key=lambda r: r.order)

    def _record(self, hit: JSON) -> Record:
        version = Version(hit["_index"], hit["_seq_no"], hit["_primary_term"])
        dedup = hit["_source"].get("dedup")
        if not isinstance(dedup, dict) or "group" not in dedup:
            return bodies.foreign_record(
                hit["_id"], hit["_source"], self.settings, version, self.names
            )
        return bodies.record_from(hit["_id"], hit["_source"], version, self.names)

    def changed_since(self, moment: datetime) -> set[str]:
        return self.searches.all_ids({"range": {"dedup.at": {"gte": iso(moment)}}})

    def followers(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        found: set[str] = set()
        for part in chunks(wanted, _GETS):
            found |= self.searches.all_ids(bodies.followers_query(part))
        return found - set(wanted)

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        """New documents are created, replaced ones only where their version is the one read."""
        now = iso(datetime.now(UTC))
        return self.write(
            [Action.of(r.document.id, self._put_line(r), bodies.source_of(r, now)) for r in records]
        )

    def _put_line(self, record: Record) -> JSON:
        id_, version = record.document.id, record.version
        if version is not None:
            return {"index": _conditional(id_, version)}
        if self._kind == "pattern":
            raise StoreError(
                f"{self.target.shown} is a pattern: nobody can tell which index a new article "
                "belongs to; name an index, or an alias with a write index"
            )
        line: JSON = {"_index": self.target.index, "_id": id_}
        if self._kind == "alias":
            line["require_alias"] = True  # an alias that is gone must not come back as an index
        return {"create": line}

    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        now = iso(datetime.now(UTC))
        actions = []
        for record, decision in changes:
            id_ = record.document.id
            partial = {"doc": {"dedup": bodies.link_fields(decision, now)}}
            actions.append(Action.of(id_, {"update": _conditional(id_, record.version)}, partial))
        report = self.write(actions)
        if report.failures:
            id_, reason = next(iter(report.failures.items()))
            raise StoreError(f"{self.target.shown}: cannot link {id_}: {reason}")
        return report

    def rewrite_many(self, records: Sequence[Record]) -> WriteReport:
        now = iso(datetime.now(UTC))
        actions = []
        for record in records:
            id_ = record.document.id
            partial = {"doc": {"dedup": bodies.rewritten_fields(record, now)}}
            actions.append(Action.of(id_, {"update": _conditional(id_, record.version)}, partial))
        return self.write(actions)

    def delete(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        self.release(wanted)
        there = self.get_many(wanted)
        self.write(
            [
                Action.of(id_, {"delete": {"_index": r.version.index, "_id": id_}})
                for id_, r in there.items()
            ]
        )
        self.refresh()
        return set(there)

    def write(self, actions: Sequence[Action]) -> WriteReport:
        if not actions:
            return WriteReport()
        # A write to a missing index would make it, with a mapping guessed from the document.
        self._ask_position()
        written = bulk.write(self.connection, actions)
        self.connection.repeated += written.repeated
        self._own_operations += written.operations
        return written.report()

    # --- searching ---------------------------------------------------------------------------

    @property
    def finder(self) -> ClusterSearch:
        if self._finder is None:
            mappings = self.index.mappings() or {}
            self._finder = ClusterSearch(self.connection, self.searches, self.names, mappings)
        return self._finder

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        options = fold_options(fold, size, offset)
        return SearchResult.of(self.finder.search(Query(words=query), options))

    def topical(self, asked: Asked) -> list[Found]:
        if not asked.words:
            return []
        search = topical.topical_search(asked, self.names)
        # The same question meets the same copies of the shards, and so the same order of ties. As
        # words it would be quoted twice, which takes longer than all else that is sent.
        preference = str(crc32(encoded(list(asked.words))))
        return [
            Found(
                bodies.read_from(hit["_id"], hit["_source"], self.names),
                partial(self._near, hit),
                partial(self._record, hit),
            )
            for hit in self.searches.one(search, preference)["hits"]["hits"]
        ]

    def _near(self, hit: JSON, likeness: float) -> Near:
        source = hit["_source"]
        dedup = source["dedup"]
        return Near(
            document=bodies.document_from(hit["_id"], source, self.names),
            likeness=likeness,
            moment=bodies.place_from(dedup),
            group=dedup["group"],
            story=dedup["story"],
            shingles=bodies.shingles_from(dedup),
            keys=bodies.keys_from(dedup),
        )

    @property
    def kept_topics(self) -> None:
        """Its full-text index answers as quickly."""
        return None

    def in_order(self, clock: Clock, low: int) -> Iterator[list[Record]]:
        since = iso(datetime.fromtimestamp(max(0, low) // 1_000_000, UTC))
        hits = self.searches.scan(topical.in_order_search(clock, low, since))
        for page in topical.pages(hits, clock, low):
            yield [self._record(hit) for hit in page]

    def latest(self, clock: Clock) -> int | None:
        (answer,) = self.searches.many([topical.latest_search(clock)])
        value = answer["aggregations"]["latest"]["value"]
        return None if value is None else int(value)

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        body = {
            "size": 0,
            "aggs": {
                "groups": {
                    "terms": {"field": "dedup.group", "size": size, "min_doc_count": smallest}
                }
            },
        }
        (answer,) = self.searches.many([body])
        return [(b["key"], b["doc_count"]) for b in answer["aggregations"]["groups"]["buckets"]]

    # --- quarantine --------------------------------------------------------------------------

    def quarantine(self, failures: Sequence[Failure]) -> None:
        self._quarantine.add(failures)

    def quarantined(self) -> list[Failure]:
        return self._quarantine.entries()

    def release(self, ids: Iterable[str]) -> None:
        self._quarantine.remove(ids)

    # --- looking after -----------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        return {**self._health.stats(), "quarantine": len(self.quarantined())}

    def hot_keys(self, above: int) -> dict[str, int]:
        return self._health.hot_keys(above)

    def check(self) -> list[str]:
        return self._health.check()

    def misplaced(self) -> set[str]:
        return self._health.misplaced()


def _conditional(id_: str, version: Version) -> JSON:
    return {
        "_index": version.index,
        "_id": id_,
        "if_seq_no": version.seq_no,
        "if_primary_term": version.primary_term,
    }
