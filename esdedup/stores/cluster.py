"""The store on Elasticsearch or OpenSearch: one class, the same bodies for both.

A written document is seen by searches only after a refresh, and several writers work at once.
So links are settled after the write (`linking.settle`), every change of a link compares the
version it was decided on, and nothing rests on what one worker has in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, TypeVar

from esdedup.errors import StoreError, StoreMissing, StoreUnavailable
from esdedup.model import JSON, Candidate, Decision, Failure, iso
from esdedup.settings import Settings
from esdedup.stores import (
    MANY_HOT_KEYS,
    Fold,
    Hit,
    Probe,
    Record,
    SearchResult,
    WriteReport,
    bodies,
    bulk,
)
from esdedup.stores.bulk import Action
from esdedup.stores.connection import ClusterRefused, Connection, Target, connect, path_of
from esdedup.stores.fulltext import snippet
from esdedup.stores.quarantine import Quarantine

_T = TypeVar("_T")

# From 20 searches a request on the time per search stays flat; 50 to 100 is the best.
_SEARCHES = 100
_PAGE = 1_000
# Probes whose keys are asked for in one list; the engines take 65,536 terms.
_GATHERING = 500
# More documents than that share keys with them: some key is in too many, let the server count.
_GATHERED = 4_000
_FEW_PROBES = 4
_GETS = 500
# Documents whose keys `hot_keys` looks at: with 20 keys each 1,000 terms, one request.
_SAMPLED = 50
_RARE = 10
# Passing faults of single searches inside an accepted request.
_PASSING = (429, 500, 502, 503, 504)
# What both engines say of a name that stands for more than one index.
_SEVERAL_INDICES = "more than one ind"

_POSITION_FIELDS = (
    "indices.*.uuid,indices.*.shards.*.routing.primary,indices.*.shards.*.routing.node,"
    "indices.*.shards.*.seq_no.max_seq_no"
)

# What a store's name stands for; a pattern is for reading, since nobody knows where to write.
Kind = Literal["index", "alias", "stream", "pattern"]


@dataclass(frozen=True, slots=True)
class Version:
    """What a conditional write compares, and the concrete index a document lies in."""

    index: str
    seq_no: int
    primary_term: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far the indices behind a name have come.

    Every write takes the next number of its shard, so that their sum tells how many there were.
    Where a primary moved to another node numbers may have been given twice.
    """

    indices: Mapping[str, str]  # name -> uuid
    primaries: Mapping[tuple[str, str], str]  # index and shard -> node
    operations: int

    def is_followed_by(self, other: Position, operations: int) -> bool:
        return (self.indices, self.primaries) == (
            other.indices,
            other.primaries,
        ) and self.operations + operations == other.operations


@dataclass(frozen=True, slots=True)
class Mark:
    """A position, and what this store itself had done by then."""

    position: Position
    own_operations: int
    repeated: int


class ClusterStore:
    """See `Store`."""

    serial = False

    def __init__(
        self,
        target: Target,
        settings: Settings | None = None,
        *,
        mode: Literal["write", "read"] = "write",
    ) -> None:
        self.target = target
        self._connection: Connection = connect(target)
        self._mode = mode
        self._index = target.index
        side_index = bodies.quarantine_index(target.index)
        self._quarantine = Quarantine(self._connection, side_index)
        self._own_operations = 0
        self._own_visible = 0  # of these, what a refresh came after
        self._position: Position | None = None  # as last asked for
        self._visible: Position | None = None  # a refresh came after it
        self._several = False
        try:
            self._open(settings, mode)
        except BaseException:
            self._connection.close()
            raise

    # --- opening -----------------------------------------------------------------------------

    @property
    def product(self) -> str:
        return self._connection.product

    def _open(self, settings: Settings | None, mode: str) -> None:
        mappings = self._mappings()
        if mappings is None:
            if mode == "read":
                raise StoreMissing(
                    f"there is no store at {self.target.shown}; `esdedup index` makes one"
                )
            self._create(settings or Settings())
            mappings = self._mappings() or {}
        self._kind = self._kind_of_name(mappings)
        self._several = len(mappings) > 1
        self.settings = self._settle_settings(settings, mappings, mode)
        self._known = set(mappings)
        self._preference = self._read_preference()

    def _mappings(self) -> dict[str, JSON] | None:
        """Concrete index -> mapping; None where nothing has that name."""
        try:
            answer = self._connection.send("GET", path_of(self._index, "_mapping"))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise
        return {name: entry.get("mappings", {}) for name, entry in answer.items()} or None

    def _create(self, settings: Settings) -> None:
        if _is_pattern(self._index):
            raise StoreMissing(
                f"{self.target.shown} is a pattern that no index matches; to make one, name it"
            )
        body = {"mappings": bodies.news_mapping(settings)}
        try:
            self._connection.send("PUT", path_of(self._index), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise  # another worker made it at the same moment: as good

    def _kind_of_name(self, mappings: Mapping[str, JSON]) -> Kind:
        if self._index in mappings:
            return "index"
        if _is_pattern(self._index):
            return "pattern"
        try:
            self._connection.send("GET", path_of("_alias", self._index))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return "stream"
            raise
        return "alias"

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
                self._add_our_fields(name, mapping, chosen)
        return chosen

    def _add_our_fields(self, index: str, mapping: JSON, settings: Settings) -> None:
        """Put-mapping adds the `dedup` object and our entry in `_meta`; nothing else changes."""
        have = mapping.get("properties", {}).get("dedup", {}).get("properties", {})
        wanted = bodies.properties()["dedup"]["properties"]
        for name, spec in have.items():
            if name in wanted and spec.get("type", "object") != wanted[name]["type"]:
                raise StoreError(
                    f"index {index}: dedup.{name} is mapped as {spec.get('type')}, esdedup needs "
                    f"{wanted[name]['type']}; a mapping cannot be changed: reindex into a new "
                    "index whose template has our fields (`esdedup templates install`)"
                )
        if set(wanted) <= set(have) and "esdedup" in mapping.get("_meta", {}):
            return
        body = {
            "_meta": {**mapping.get("_meta", {}), **bodies.meta(settings)},
            "properties": bodies.properties(),
        }
        self._connection.send("PUT", path_of(index, "_mapping"), body=body)

    def _read_preference(self) -> dict[str, str]:
        """With segment replication a replica of OpenSearch lacks what a refresh made visible."""
        if self.product != "opensearch":
            return {}
        answer = self._connection.send(
            "GET", path_of(self._index, "_settings"), params={"flat_settings": "true"}
        )
        replicated = {
            entry.get("settings", {}).get("index.replication.type") for entry in answer.values()
        }
        return {"preference": "_primary"} if "SEGMENT" in replicated else {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A cluster has none; what stands in for it is `linking.settle`."""
        yield

    def refresh(self) -> None:
        answer = self._connection.send("POST", path_of(self._index, "_refresh"))
        if answer.get("_shards", {}).get("failed"):
            raise StoreUnavailable(f"{self.target.shown}: a shard did not refresh; run again")
        self._visible = self._position
        self._own_visible = self._own_operations

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
        return Mark(position, self._own_operations, self._connection.repeated)

    def undisturbed(self, mark: Mark) -> bool:
        """Where only we have written since `begin`, what was decided then is right, and settling,
        which asks for the candidates of every document anew, is saved. Of two writers whose
        writes lie between each other's mark and this question both are told of the other."""
        own = self._own_operations - mark.own_operations
        position = self._ask_position()
        return self._connection.repeated == mark.repeated and mark.position.is_followed_by(
            position, own
        )

    def _ask_position(self) -> Position:
        """Also notices an index that was deleted, or that a rollover added, while we work.

        Asked by writers only: the second gets our fields before anything is asked of it.
        """
        indices = self._shards()
        position = _position(indices)
        before = self._position.indices if self._position else {}
        if any(position.indices.get(name, uuid) != uuid for name, uuid in before.items()):
            raise self._gone()
        if new := set(indices) - self._known:
            self._adopt(new)
        self._several = len(indices) > 1
        self._position = position
        return position

    def _shards(self) -> dict[str, JSON]:
        """Index -> its started shards; waits for the first, which an index just made has not."""
        deadline = time.monotonic() + self.target.retry_seconds
        while True:
            try:
                answer = self._connection.send(
                    "GET",
                    path_of(self._index, "_stats", "docs"),
                    params={"level": "shards", "filter_path": _POSITION_FIELDS},
                )
            except ClusterRefused as refusal:
                if refusal.status == 404:
                    raise self._gone() from refusal
                raise
            if indices := answer.get("indices"):
                return dict(indices)
            if self._mappings() is None:
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
        for name, mapping in (self._mappings() or {}).items():
            if name in names:
                self._add_our_fields(name, mapping, self.settings)
                self._known.add(name)

    def close(self) -> None:
        self._connection.close()

    # --- candidates --------------------------------------------------------------------------

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        asked = [p for p in probes if p.keys]
        found: dict[int, list[Candidate]] = {}
        for part in _chunks(asked, _GATHERING):
            answers = self._gather(part, later=False)
            candidates = self._counted(part) if answers is None else _before(part, answers)
            found |= zip(map(id, part), candidates, strict=True)
        return [found.get(id(p), []) for p in probes]

    def _gather(
        self, probes: Sequence[Probe], *, later: bool
    ) -> list[list[tuple[JSON, dict[str, int]]]] | None:
        """All that share keys, in one question; None where that is no saving, or too many."""
        if len(probes) < _FEW_PROBES or not bodies.can_gather(probes):
            return None
        (answer,) = self._search_many(
            [bodies.gathering_search(probes, later=later, size=_GATHERED)]
        )
        hits = answer["hits"]["hits"]
        return None if len(hits) == _GATHERED else list(bodies.gathered(probes, hits))

    def _counted(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        """The counting done by the server: a search for each probe, two where one cannot count."""
        parts = [bodies.asked_apart(probe) for probe in probes]
        found = iter(self._counted_parts([part for several in parts for part in several]))
        return [_merged([next(found) for _ in several]) for several in parts]

    def _counted_parts(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        found = list(self._one_by_one(probes))
        crowded = [i for i, candidates in enumerate(found) if candidates is None]
        again = self._one_by_one([probes[i] for i in crowded], ties_by_id=True)
        for i, candidates in zip(crowded, again, strict=True):
            found[i] = candidates
        return [candidates or [] for candidates in found]

    def _one_by_one(
        self, probes: Sequence[Probe], *, ties_by_id: bool = False
    ) -> Iterator[list[Candidate] | None]:
        """None where documents of the same moment, but after the probe, may hide others."""
        searches = [
            bodies.candidate_search(p, self.settings, ties_by_id=ties_by_id) for p in probes
        ]
        answers = self._search_many(searches)
        for probe, search, answer in zip(probes, searches, answers, strict=True):
            hits = answer["hits"]["hits"]
            candidates = [
                bodies.candidate_from(hit, bodies.shared_by_method(probe, hit["_score"]))
                for hit in hits
                if hit["_id"] != probe.id
            ]
            before = [c for c in candidates if c.order < probe.order]
            full = len(hits) == search["size"] and len(before) < len(hits)
            hidden = full and probe.leaders_only and not ties_by_id
            yield None if hidden else sorted(before, key=_most_shared)

    def later(self, probes: Sequence[Probe]) -> set[str]:
        """Articles that come in order have nobody after them: one cheap question tells."""
        if not probes:
            return set()
        (answer,) = self._search_many([bodies.latest_moment()])
        latest = answer["aggregations"]["latest"]["value"]
        asked = [p for p in probes if p.keys and latest is not None and p.order[0] <= latest]
        found: set[str] = set()
        for part in _chunks(asked, _GATHERING):
            answers = self._gather(part, later=True)
            if answers is None:
                found |= self._later_one_by_one(part)
                continue
            for probe, hits in zip(part, answers, strict=True):
                found |= {h["_id"] for h, _ in hits if bodies.order_of_hit(h) > probe.order}
        return found

    def _later_one_by_one(self, whole: Sequence[Probe]) -> set[str]:
        probes = [part for probe in whole for part in bodies.asked_apart(probe)]
        searches = [{**bodies.later_search(p), "size": _PAGE} for p in probes]
        found: set[str] = set()
        for probe, answer in zip(probes, self._search_many(searches), strict=True):
            hits: Iterable[JSON] = answer["hits"]["hits"]
            if len(answer["hits"]["hits"]) == _PAGE:
                hits = self._scan(bodies.later_search(probe))
            found |= {h["_id"] for h in hits if (bodies.moment_of(h), h["_id"]) > probe.order}
        return found

    def _search_many(self, searches: Sequence[JSON]) -> Iterator[JSON]:
        for part in _chunks(searches, _SEARCHES):
            lines: list[JSON] = []
            for body in part:
                # By default a dead shard only shortens the answer, and a copy becomes an original.
                header = {"index": self._index, "allow_partial_search_results": False}
                lines += [{**header, **self._preference}, body]
            answer = self._connection.send(
                "POST", "/_msearch", params={"max_concurrent_searches": 8}, body=lines
            )
            for one in answer["responses"]:
                if "error" in one:
                    raise self._failed_search(one)
                yield one

    def _failed_search(self, answer: JSON) -> StoreError:
        status = answer.get("status", 500)
        refusal = ClusterRefused(status, answer, f"{self.target.shown}: search")
        if status in _PASSING:
            return StoreUnavailable(f"{refusal}; run the same command again")
        return refusal

    def _all_ids(self, query: JSON) -> set[str]:
        return {hit["_id"] for hit in self._scan({"query": query, "_source": False})}

    def _scan(self, search: JSON) -> Iterator[JSON]:
        """All hits, page by page, from one point in time."""
        pit = self._open_pit()
        try:
            body: JSON = {
                **search,
                "size": _PAGE,
                "track_total_hits": False,
                "pit": {"id": pit, "keep_alive": "2m"},
                # On OpenSearch `_shard_doc` repeats across indices.
                "sort": [{"_index": "asc"}, {"_shard_doc": "asc"}],
            }
            while True:
                answer = self._connection.send("POST", "/_search", body=body)
                hits = answer["hits"]["hits"]
                yield from hits
                if len(hits) < _PAGE:
                    return
                body["search_after"] = hits[-1]["sort"]
        finally:
            self._close_pit(pit)

    def _open_pit(self) -> str:
        if self.product == "elasticsearch":
            path, name = path_of(self._index, "_pit"), "id"
        else:
            path, name = path_of(self._index, "_search", "point_in_time"), "pit_id"
        # By default a dead shard is left out in silence.
        partial = (
            "allow_partial_search_results"
            if self.product == "elasticsearch"
            else ("allow_partial_pit_creation")
        )
        params = {"keep_alive": "2m", partial: "false", **self._preference}
        return str(self._connection.send("POST", path, params=params)[name])

    def _close_pit(self, pit: str) -> None:
        if self.product == "elasticsearch":
            self._connection.send("DELETE", "/_pit", body={"id": pit})
        else:
            self._connection.send("DELETE", "/_search/point_in_time", body={"pit_id": [pit]})

    # --- documents ---------------------------------------------------------------------------

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]:
        """As they are this moment, unrefreshed ones too."""
        found: dict[str, Record] = {}
        for part in _chunks(list(ids), _GETS):
            for hit in self._search_for(part) if self._several else self._get(part):
                found.setdefault(hit["_id"], self._record(hit))
        return found

    def _get(self, ids: Sequence[str]) -> Iterable[JSON]:
        """In real time, by id; only where one index is behind the name."""
        try:
            answer = self._connection.send(
                "POST", path_of(self._index, "_mget"), body={"ids": list(ids)}
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
        (answer,) = self._search_many([body])
        hits: list[JSON] = answer["hits"]["hits"]
        return hits

    def members(self, group: str) -> list[Record]:
        return self._ordered({"term": {"dedup.group": group}})

    def story(self, story: str) -> list[Record]:
        return self._ordered({"term": {"dedup.story": story}})

    def _ordered(self, query: JSON) -> list[Record]:
        hits = self._scan({"query": query, "seq_no_primary_term": True})
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
        return self._all_ids({"range": {"dedup.at": {"gte": iso(moment)}}})

    def followers(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        found: set[str] = set()
        for part in _chunks(wanted, _GETS):
            found |= self._all_ids(bodies.followers_query(part))
        return found - set(wanted)

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        """New documents are created, replaced ones only where their version is the one read."""
        now = iso(datetime.now(UTC))
        return self._write(
            [Action(r.document.id, self._put_line(r), bodies.source_of(r, now)) for r in records]
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
        line: JSON = {"_index": self._index, "_id": id_}
        if self._kind == "alias":
            line["require_alias"] = True  # an alias that is gone must not come back as an index
        return {"create": line}

    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        now = iso(datetime.now(UTC))
        actions = []
        for record, decision in changes:
            id_ = record.document.id
            partial = {"doc": {"dedup": bodies.link_fields(decision, now)}}
            actions.append(Action(id_, {"update": _conditional(id_, record.version)}, partial))
        report = self._write(actions)
        if report.failures:
            id_, reason = next(iter(report.failures.items()))
            raise StoreError(f"{self.target.shown}: cannot link {id_}: {reason}")
        return report

    def delete(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        self.release(wanted)
        there = self.get_many(wanted)
        self._write(
            [
                Action(id_, {"delete": {"_index": r.version.index, "_id": id_}})
                for id_, r in there.items()
            ]
        )
        self.refresh()
        return set(there)

    def _write(self, actions: Sequence[Action]) -> WriteReport:
        if not actions:
            return WriteReport()
        # A write to a missing index would make it, with a mapping guessed from the document.
        self._ask_position()
        written = bulk.write(self._connection, actions)
        self._connection.repeated += written.repeated
        self._own_operations += written.operations
        return written.report()

    # --- searching ---------------------------------------------------------------------------

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        words = bodies.words_query(query, self.names)
        if words is None:
            return SearchResult((), 0, 0)
        field = None if fold == "none" else f"dedup.{fold}"
        page, counts = self._search_many(
            [
                bodies.folded_search(words, field=field, size=size, offset=offset),
                bodies.story_count(words, field="dedup.gid" if fold != "story" else "dedup.story"),
            ]
        )
        articles = counts["hits"]["total"]["value"]
        stories = counts["aggregations"]["stories"]["value"] if field else articles
        hits = page["hits"]["hits"]
        copies: dict[str, int] = {}
        if field and hits:
            folded = [hit["_source"]["dedup"][fold] for hit in hits]
            (answer,) = self._search_many([bodies.copies_counts(words, folded, field=field)])
            copies = {
                b["key"]: b["doc_count"] - 1 for b in answer["aggregations"]["groups"]["buckets"]
            }
        return SearchResult(
            tuple(_hit(hit, copies, fold, query, self.names) for hit in hits), stories, articles
        )

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        body = {
            "size": 0,
            "aggs": {
                "groups": {
                    "terms": {"field": "dedup.group", "size": size, "min_doc_count": smallest}
                }
            },
        }
        (answer,) = self._search_many([body])
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
        body = {
            "size": 0,
            "track_total_hits": True,
            "aggs": {
                "roles": {"terms": {"field": "dedup.role"}},
                "groups": {"cardinality": {"field": "dedup.group", "precision_threshold": 40_000}},
                "stories": {"cardinality": {"field": "dedup.story", "precision_threshold": 40_000}},
            },
        }
        (answer,) = self._search_many([body])
        aggs = answer["aggregations"]
        roles = {b["key"]: b["doc_count"] for b in aggs["roles"]["buckets"]}
        size = self._connection.send("GET", path_of(self._index, "_stats", "store"))
        return {
            "documents": answer["hits"]["total"]["value"],
            "groups": aggs["groups"]["value"],
            "stories": aggs["stories"]["value"],
            "roles": {
                r: roles.get(r, 0) for r in ("original", "duplicate", "update", "unprocessed")
            },
            "quarantine": len(self.quarantined()),
            "bytes": size["_all"]["primaries"]["store"]["size_in_bytes"],
            "format": self.settings.fingerprint_of_format(),
        }

    def hot_keys(self, above: int) -> dict[str, int]:
        """Of the keys of some documents: how often each occurs in a shard, then exactly how often.

        There is no list of all keys to count: they are indexed without doc values.
        """
        sample = bodies.random_documents(_SAMPLED, field=(field := bodies.KEY_FIELDS["sketch"]))
        (answer,) = self._search_many([sample])
        hits = answer["hits"]["hits"]
        keys = sorted({key for hit in hits for key in hit["_source"]["dedup"][field]})
        frequent: set[str] = set()
        for index in {hit["_index"] for hit in hits}:
            found = self._connection.send(
                "POST",
                path_of(index, "_termvectors"),
                params={"realtime": "false"},
                body=bodies.frequencies(keys, field=field),
            )
            terms = found.get("term_vectors", {}).get(f"dedup.{field}", {}).get("terms", {})
            # One shard answers for its index; what is rare there cannot be hot.
            frequent |= {k for k, t in terms.items() if t.get("doc_freq", 0) > _RARE}
        suspects = sorted(frequent)[:MANY_HOT_KEYS]
        counts = self._search_many([bodies.leaders_with_key(k, field=field) for k in suspects])
        exact = {k: c["hits"]["total"]["value"] for k, c in zip(suspects, counts, strict=True)}
        return {k: n for k, n in sorted(exact.items(), key=lambda p: (-p[1], p[0])) if n > above}

    def check(self) -> list[str]:
        """Invariants of groups, read from the index."""
        problems = []
        missing = self._count({"bool": {"must_not": {"exists": {"field": "dedup.group"}}}})
        if missing:
            problems.append(f"{missing} documents have no group: `esdedup sweep` gives them one")
        return problems + self._check_formats() + self._check_groups()

    def _check_formats(self) -> list[str]:
        mine = self.settings.fingerprint_of_format()
        body = {
            "size": 0,
            "query": {"bool": {"must_not": {"term": {"dedup.role": "unprocessed"}}}},
            "aggs": {"formats": {"terms": {"field": "dedup.format"}}},
        }
        (answer,) = self._search_many([body])
        return [
            f"{b['doc_count']} documents have format {b['key']}, the settings say {mine}: index "
            "them again"
            for b in answer["aggregations"]["formats"]["buckets"]
            if b["key"] != mine
        ]

    def misplaced(self) -> set[str]:
        """Documents whose link breaks an invariant: what `doctor --fix` looks at."""
        return {id_ for _, id_ in self._broken_links()}

    def _check_groups(self) -> list[str]:
        return [sentence for sentence, _ in islice(self._broken_links(), 20)]

    def _broken_links(self) -> Iterator[tuple[str, str]]:
        """One pass over the links: every group is led by the document it is named after."""
        search = {
            "query": {"exists": {"field": "dedup.group"}},
            "_source": ["dedup.group", "dedup.role", "dedup.story", "dedup.canonical"],
        }
        links = {hit["_id"]: hit["_source"]["dedup"] for hit in self._scan(search)}
        for id_, link in links.items():
            leader = links.get(link["group"])
            leads = link["role"] != "duplicate"
            if link["canonical"] != leads:
                yield f"canonical is {link['canonical']} for a {link['role']}: {id_}", id_
            if leads and link["group"] != id_:
                yield f"leader outside its own group: {id_}", id_
            elif not leads and link["group"] == id_:
                yield f"duplicate that leads: {id_}", id_
            elif leader is None or leader["role"] == "duplicate":
                yield f"group without an original: {link['group']} (of {id_})", id_
            elif link["story"] != leader["story"] or (
                link["role"] == "original" and link["story"] != id_
            ):
                yield f"story other than its group's: {id_}", id_

    def _count(self, query: JSON) -> int:
        (answer,) = self._search_many([{"size": 0, "query": query, "track_total_hits": True}])
        return int(answer["hits"]["total"]["value"])


def _merged(answers: Sequence[list[Candidate]]) -> list[Candidate]:
    """Candidates that several searches found for one document, each once."""
    if len(answers) == 1:
        return answers[0]
    found: dict[str, Candidate] = {}
    for candidate in (c for answer in answers for c in answer):
        before = found.get(candidate.id)
        shared = {**(before.shared if before else {}), **candidate.shared}
        found[candidate.id] = replace(candidate, shared=shared)
    return sorted(found.values(), key=_most_shared)


def _conditional(id_: str, version: Version) -> JSON:
    return {
        "_index": version.index,
        "_id": id_,
        "if_seq_no": version.seq_no,
        "if_primary_term": version.primary_term,
    }


def _position(indices: Mapping[str, JSON]) -> Position:
    primaries: dict[tuple[str, str], str] = {}
    operations = 0
    for name, entry in indices.items():
        for shard, copies in entry.get("shards", {}).items():
            for copy in copies:
                if copy["routing"]["primary"]:
                    primaries[name, shard] = copy["routing"]["node"]
                    operations += copy["seq_no"]["max_seq_no"] + 1
    return Position({n: entry["uuid"] for n, entry in indices.items()}, primaries, operations)


def _before(
    probes: Sequence[Probe], answers: Sequence[Sequence[tuple[JSON, dict[str, int]]]]
) -> Iterator[list[Candidate]]:
    """Those that come before the probe in the order, most shared keys first."""
    for probe, answer in zip(probes, answers, strict=True):
        before = [pair for pair in answer if bodies.order_of_hit(pair[0]) < probe.order]
        yield sorted((bodies.candidate_from(*pair) for pair in before), key=_most_shared)


def _most_shared(candidate: Candidate) -> tuple[int, tuple[int, str]]:
    return -sum(candidate.shared.values()), candidate.order


def _is_pattern(name: str) -> bool:
    return "*" in name or "," in name


def _hit(hit: JSON, copies: Mapping[str, int], fold: Fold, query: str, names: bodies.Names) -> Hit:
    source = hit["_source"]
    dedup = source["dedup"]
    document = bodies.document_from(hit["_id"], source, names)
    folded = dedup[fold] if fold != "none" else ""
    return Hit(
        document=document,
        group=dedup["group"],
        story=dedup["story"],
        role=dedup["role"],
        score=hit["_score"],
        copies=copies.get(folded, 0),
        snippet=snippet(document.text, query),
    )


def _chunks(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
