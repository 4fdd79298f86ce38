"""The store on Elasticsearch or OpenSearch: one class, the same bodies for both.

A written document is seen by searches only after a refresh, and several writers work at once.
So links are settled after the write (`linking.settle`), every change of a link compares the
version it was decided on, and nothing rests on what one worker has in memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from esdedup.errors import StoreError, StoreMissing, StoreUnavailable
from esdedup.model import JSON, Candidate, Decision, Document, Failure, iso
from esdedup.settings import Settings
from esdedup.stores import Fold, Hit, Probe, Record, SearchResult, WriteReport, bodies
from esdedup.stores.connection import ClusterRefused, Connection, Target, connect, path_of
from esdedup.stores.fulltext import snippet

_T = TypeVar("_T")

# From 20 searches a request on the time per search stays flat; 50 to 100 is the best.
_SEARCHES = 64
_PAGE = 1_000
_BULK_DOCUMENTS = 250
_BULK_BYTES = 8 << 20
# Passing faults of single items inside an accepted bulk; answered by sending them again.
_RETRIED_ITEMS = (429, 500, 502, 503, 504)
_BULK_ROUNDS = 12
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
    ) -> None:
        self.target = target
        self._connection: Connection = connect(target)
        self._index = target.index
        try:
            self._open(settings, mode)
        except BaseException:
            self._connection.close()
            raise

    # --- opening -----------------------------------------------------------------------------

    @property
    def product(self) -> str:
        return self._connection.product

    @property
    def _side_index(self) -> str:
        """Quarantine entries live beside the articles, never among them."""
        return f"{self._index}-esdedup-quarantine"

    def _open(self, settings: Settings | None, mode: str) -> None:
        mappings = self._mappings()
        if mappings is None:
            if mode == "read":
                raise StoreMissing(
                    f"{self.target.shown}: there is no such index; `esdedup index` makes one"
                )
            settings = settings or Settings()
            self._create(settings)
            mappings = self._mappings() or {}
        self.settings = self._settle_settings(settings, mappings, mode)
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
        body = {
            "mappings": {
                "_meta": bodies.meta(settings),
                "properties": {**bodies.news_properties(), **bodies.properties()},
            }
        }
        try:
            self._connection.send("PUT", path_of(self._index), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise  # another worker made it at the same moment: as good

    def _settle_settings(
        self, settings: Settings | None, mappings: Mapping[str, JSON], mode: str
    ) -> Settings:
        recorded = next(
            (m["_meta"]["esdedup"] for m in mappings.values() if "esdedup" in m.get("_meta", {})),
            None,
        )
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
                    f"{wanted[name]['type']}; a mapping cannot be changed: reindex into an index "
                    "made by `esdedup templates install`"
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
        shards = answer.get("_shards", {})
        if shards.get("failed"):
            raise StoreUnavailable(f"{self.target.shown}: a shard did not refresh; run again")

    def close(self) -> None:
        self._connection.close()

    # --- candidates --------------------------------------------------------------------------

    def candidates_many(self, probes: Sequence[Probe]) -> list[list[Candidate]]:
        searches = [bodies.candidate_search(p, self.settings) for p in probes]
        found = []
        for probe, answer in zip(probes, self._search_many(searches), strict=True):
            candidates = (bodies.candidate_from(h, probe) for h in answer["hits"]["hits"])
            found.append([c for c in candidates if c.order < probe.order])
        return found

    def later(self, probes: Sequence[Probe]) -> set[str]:
        searches = [{**bodies.later_search(p), "size": _PAGE} for p in probes]
        found: set[str] = set()
        for probe, answer in zip(probes, self._search_many(searches), strict=True):
            hits = answer["hits"]["hits"]
            ids = {hit["_id"] for hit in hits}
            if len(hits) == _PAGE:
                ids = self._all_ids(bodies.later_search(probe)["query"])
            found |= ids - {probe.id}
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
        if status in _RETRIED_ITEMS:
            return StoreUnavailable(f"{refusal}; run the same command again")
        return refusal

    def _all_ids(self, query: JSON) -> set[str]:
        return {hit["_id"] for hit in self._scan(query, source=False)}

    def _scan(self, query: JSON, *, source: bool | list[str]) -> Iterator[JSON]:
        """All hits, page by page, from one point in time."""
        pit = self._open_pit()
        try:
            after: list[Any] | None = None
            while True:
                body: JSON = {
                    "size": _PAGE,
                    "query": query,
                    "_source": source,
                    "track_total_hits": False,
                    "pit": {"id": pit, "keep_alive": "2m"},
                    # On OpenSearch `_shard_doc` repeats across indices.
                    "sort": [{"_index": "asc"}, {"_shard_doc": "asc"}],
                    "seq_no_primary_term": True,
                }
                if after is not None:
                    body["search_after"] = after
                answer = self._connection.send("POST", "/_search", body=body)
                hits = answer["hits"]["hits"]
                yield from hits
                if len(hits) < _PAGE:
                    return
                after = hits[-1]["sort"]
        finally:
            self._close_pit(pit)

    def _open_pit(self) -> str:
        if self.product == "elasticsearch":
            path, name = path_of(self._index, "_pit"), "id"
        else:
            path, name = path_of(self._index, "_search", "point_in_time"), "pit_id"
        params = {"keep_alive": "2m", **self._preference}
        return str(self._connection.send("POST", path, params=params)[name])

    def _close_pit(self, pit: str) -> None:
        if self.product == "elasticsearch":
            self._connection.send("DELETE", "/_pit", body={"id": pit})
        else:
            self._connection.send("DELETE", "/_search/point_in_time", body={"pit_id": [pit]})

    # --- documents ---------------------------------------------------------------------------

    def get_many(self, ids: Iterable[str]) -> dict[str, Record]:
        """Realtime where one index is behind the name; through several, as of the last refresh."""
        found: dict[str, Record] = {}
        for part in _chunks(list(ids), _BULK_DOCUMENTS):
            for hit in self._get_part(part):
                if "dedup" in hit.get("_source", {}):
                    version = Version(hit["_index"], hit["_seq_no"], hit["_primary_term"])
                    found[hit["_id"]] = bodies.record_from(hit["_id"], hit["_source"], version)
        return found

    def _get_part(self, ids: Sequence[str]) -> Iterator[JSON]:
        try:
            answer = self._connection.send(
                "POST", path_of(self._index, "_mget"), body={"ids": list(ids)}
            )
        except ClusterRefused as refusal:
            if refusal.status != 400:
                raise
            return self._scan({"ids": {"values": list(ids)}}, source=True)
        failed = [doc["error"] for doc in answer["docs"] if "error" in doc]
        if not failed:
            return (doc for doc in answer["docs"] if doc.get("found"))
        if _SEVERAL_INDICES in str(failed[0]):
            return self._scan({"ids": {"values": list(ids)}}, source=True)
        raise ClusterRefused(500, {"error": failed[0]}, f"{self.target.shown}: _mget")

    def members(self, group: str) -> list[Record]:
        return self._ordered({"term": {"dedup.group": group}})

    def story(self, story: str) -> list[Record]:
        return self._ordered({"term": {"dedup.story": story}})

    def _ordered(self, query: JSON) -> list[Record]:
        return sorted((self._record(hit) for hit in self._scan(query, source=True)), key=_by_order)

    @staticmethod
    def _record(hit: JSON) -> Record:
        version = Version(hit["_index"], hit["_seq_no"], hit["_primary_term"])
        return bodies.record_from(hit["_id"], hit["_source"], version)

    def followers(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        found: set[str] = set()
        for part in _chunks(wanted, _BULK_DOCUMENTS):
            found |= self._all_ids(bodies.followers_query(part))
        return found - set(wanted)

    def put_many(self, records: Sequence[Record]) -> WriteReport:
        """New documents are created, replaced ones only where their version is the one read."""
        now = iso(datetime.now(UTC))
        actions = []
        for record in records:
            id_, version = record.document.id, record.version
            source = bodies.source_of(record, now)
            if version is None:
                actions.append((id_, {"create": {"_index": self._index, "_id": id_}}, source))
            else:
                actions.append((id_, {"index": _conditional(id_, version)}, source))
        return self._bulk(actions)

    def link_many(self, changes: Sequence[tuple[Record, Decision]]) -> WriteReport:
        now = iso(datetime.now(UTC))
        actions = []
        for record, decision in changes:
            id_ = record.document.id
            partial = {"doc": {"dedup": bodies.link_fields(decision, now)}}
            actions.append((id_, {"update": _conditional(id_, record.version)}, partial))
        report = self._bulk(actions)
        if report.failures:
            id_, reason = next(iter(report.failures.items()))
            raise StoreError(f"{self.target.shown}: cannot link {id_}: {reason}")
        return report

    def _bulk(self, actions: Sequence[tuple[str, JSON, JSON | None]]) -> WriteReport:
        """Send, look at every item, send again what met a passing fault."""
        conflicts: set[str] = set()
        failures: dict[str, str] = {}
        for part in _bulk_parts(actions):
            left = list(part)
            for attempt in range(_BULK_ROUNDS):
                left = self._bulk_once(left, conflicts, failures)
                if not left:
                    break
                _pause(attempt)
            else:
                raise StoreUnavailable(
                    f"{self.target.shown}: {len(left)} documents, {left[0][0]} among them, were "
                    "refused again and again; run the same command when the cluster is less busy"
                )
        return WriteReport(frozenset(conflicts), failures)

    def _bulk_once(
        self,
        actions: Sequence[tuple[str, JSON, JSON | None]],
        conflicts: set[str],
        failures: dict[str, str],
    ) -> list[tuple[str, JSON, JSON | None]]:
        lines = [line for _, action, body in actions for line in (action, body) if line is not None]
        answer = self._connection.send("POST", "/_bulk?timeout=10s", body=lines)
        again = []
        for action, item in zip(actions, answer["items"], strict=True):
            ((verb, result),) = item.items()
            status, id_ = result["status"], action[0]
            kind = (result.get("error") or {}).get("type", "")
            if status < 300 or (status == 404 and verb in ("update", "delete")):
                continue
            if status == 409:
                conflicts.add(id_)
            elif status in _RETRIED_ITEMS and kind != "cluster_block_exception":
                again.append(action)
            elif kind in ("cluster_block_exception", "index_closed_exception"):
                raise StoreUnavailable(
                    f"{self.target.shown} does not take writes: {result['error'].get('reason')}; "
                    "free disk space or remove the block, then run the same command again"
                )
            elif kind == "index_not_found_exception":
                raise StoreError(f"{self.target.shown}: the index is gone; run again to make it")
            else:
                failures[id_] = f"{kind}: {(result.get('error') or {}).get('reason', status)}"
        return again

    def delete(self, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        self.release(wanted)
        there = self.get_many(wanted)
        self._bulk(
            [
                (id_, {"delete": {"_index": r.version.index, "_id": id_}}, None)
                for id_, r in there.items()
            ]
        )
        self.refresh()
        return set(there)

    # --- searching ---------------------------------------------------------------------------

    def search(
        self, query: str, *, fold: Fold = "group", size: int = 10, offset: int = 0
    ) -> SearchResult:
        if not query.strip():
            return SearchResult((), 0, 0)
        words = bodies.words_query(query)
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
            tuple(_hit(hit, copies, fold, query) for hit in hits), stories, articles
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
        now = iso(datetime.now(UTC))
        self._bulk(
            [
                (
                    f.id,
                    {"index": {"_index": self._side_index, "_id": f.id[:400]}},
                    {**f.to_json(), "at": now, "document": _kept(f.document)},
                )
                for f in failures
            ]
        )

    def quarantined(self) -> list[Failure]:
        try:
            self._connection.send("POST", path_of(self._side_index, "_refresh"))
            answer = self._connection.send(
                "POST", path_of(self._side_index, "_search"), body={"size": 10_000}
            )
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return []
            raise
        sources = sorted((h["_source"] for h in answer["hits"]["hits"]), key=lambda s: s["at"])
        return [
            Failure(
                s["id"],
                s["where"],
                s["reason"],
                s["final"],
                Document.from_json(s["document"]) if s.get("document") else None,
            )
            for s in sources
        ]

    def release(self, ids: Iterable[str]) -> None:
        entries = {f.id for f in self.quarantined()} & set(ids)
        self._bulk(
            [(i, {"delete": {"_index": self._side_index, "_id": i[:400]}}, None) for i in entries]
        )

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

    def check(self) -> list[str]:
        """Invariants of groups, read from the index."""
        problems = []
        missing = self._count({"bool": {"must_not": {"exists": {"field": "dedup.group"}}}})
        if missing:
            problems.append(f"{missing} documents have no group: `esdedup sweep` gives them one")
        mine = self.settings.fingerprint_of_format()
        other = {
            "bool": {
                "must": {"exists": {"field": "dedup.group"}},
                "must_not": {"term": {"dedup.format": mine}},
            }
        }
        if count := self._count(other):
            problems.append(f"{count} documents have another format than {mine}: index them again")
        return problems + self._check_groups()

    def _check_groups(self) -> list[str]:
        """One pass over the links: every group is led by the document it is named after."""
        fields = ["dedup.group", "dedup.role", "dedup.story"]
        links = {
            hit["_id"]: hit["_source"]["dedup"]
            for hit in self._scan({"exists": {"field": "dedup.group"}}, source=fields)
        }
        problems = []
        for id_, link in links.items():
            leader = links.get(link["group"])
            if leader is None or leader["role"] == "duplicate":
                problems.append(f"group without an original: {link['group']} (of {id_})")
            elif link["role"] != "duplicate" and link["group"] != id_:
                problems.append(f"leader outside its own group: {id_}")
            elif link["story"] != leader["story"]:
                problems.append(f"story other than its group's: {id_}")
        return problems[:20]

    def _count(self, query: JSON) -> int:
        (answer,) = self._search_many([{"size": 0, "query": query, "track_total_hits": True}])
        return int(answer["hits"]["total"]["value"])


def _conditional(id_: str, version: Version) -> JSON:
    return {
        "_index": version.index,
        "_id": id_,
        "if_seq_no": version.seq_no,
        "if_primary_term": version.primary_term,
    }


def _bulk_parts(
    actions: Sequence[tuple[str, JSON, JSON | None]],
) -> Iterator[list[tuple[str, JSON, JSON | None]]]:
    """Requests of a bounded number of documents and, roughly, of bytes."""
    part: list[tuple[str, JSON, JSON | None]] = []
    size = 0
    for action in actions:
        part.append(action)
        size += len(str((action[2] or {}).get("text", ""))) + 2_000
        if len(part) >= _BULK_DOCUMENTS or size >= _BULK_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _pause(attempt: int) -> None:
    time.sleep(min(0.1 * 2**attempt, 5.0))


def _kept(document: Document | None) -> JSON | None:
    return document.to_json() if document else None


def _by_order(record: Record) -> tuple[int, str]:
    return record.order


def _hit(hit: JSON, copies: Mapping[str, int], fold: Fold, query: str) -> Hit:
    source = hit["_source"]
    dedup = source["dedup"]
    document = bodies.record_from(hit["_id"], source, None).document
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
