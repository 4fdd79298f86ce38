"""An index that is full of articles already: reading it in order, adding `dedup` in place.

The user's fields are read by their own names and never written: a partial update carries the
`dedup` object alone, on the condition that the document is still the one that was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from esdedup.errors import StoreError
from esdedup.model import JSON, iso
from esdedup.stores import Record, WriteReport, bodies, templates
from esdedup.stores.cluster import ClusterStore, Version, _conditional
from esdedup.stores.connection import ClusterRefused, path_of

_KEEP_ALIVE = "5m"  # longer than the slowest batch takes between two pages
_DATES = ("date", "date_nanos")
# Types that sort in the order of time where they hold it: ISO 8601 does, as numbers do.
_SORTABLE = (*_DATES, "long", "integer", "unsigned_long", "double", "keyword")


@dataclass(frozen=True, slots=True)
class Part:
    """One of several equal parts of an index, by a hash of the id."""

    number: int = 1
    of: int = 1

    def body(self) -> JSON:
        """By default Elasticsearch cuts by position, which differs from reader to reader."""
        if self.of == 1:
            return {}
        return {"slice": {"field": "_id", "id": self.number - 1, "max": self.of}}


@dataclass(frozen=True, slots=True)
class TimeField:
    """The field articles are read in the order of."""

    name: str
    type: str

    @property
    def is_date(self) -> bool:
        return self.type in _DATES

    def sort(self) -> JSON:
        return {self.name: {"order": "asc", "missing": "_last", "unmapped_type": "date"}}

    def range(self, since: datetime | None, until: datetime | None) -> JSON:
        bounds = {"gte": since, "lt": until}
        return {"range": {self.name: {k: iso(v) for k, v in bounds.items() if v is not None}}}


@dataclass(frozen=True, slots=True)
class State:
    """A small document about a run, with what a conditional write of it compares."""

    values: JSON
    version: tuple[int, int] | None = None


def unsigned_query(format_: str, *filters: JSON) -> JSON:
    """Documents without our fields, or with those of another format."""
    done = {"bool": {"filter": [{"term": {"dedup.format": format_}}, _has_group()]}}
    return {"bool": {"filter": list(filters), "must_not": [done]}}


def every_query(*filters: JSON) -> JSON:
    return {"bool": {"filter": list(filters) or [{"match_all": {}}]}}


def changed_query(since: datetime) -> JSON:
    """Documents whose link was written since then."""
    return {"range": {"dedup.at": {"gte": iso(since)}}}


def _has_group() -> JSON:
    return {"exists": {"field": "dedup.group"}}


class ExistingIndex:
    """What `backfill` and `sweep` ask of a cluster, beyond what every store answers."""

    def __init__(self, store: ClusterStore) -> None:
        self.store = store
        self._send = store._connection.send
        self._state = templates.state_index(store.target.index)

    # --- the mapping ---------------------------------------------------------------------------

    def mapped(self) -> dict[str, str]:
        """Field -> type over all indices of the store; a path is written with dots."""
        found: dict[str, str] = {}
        for mapping in (self.store._mappings() or {}).values():
            for name, type_ in _flattened(mapping.get("properties", {})):
                found.setdefault(name, type_)
        return found

    @staticmethod
    def time_field(mapped: Mapping[str, str], names: Sequence[str]) -> TimeField | None:
        """The first of the names that is mapped as something that sorts."""
        for name in names:
            if mapped.get(name) in _SORTABLE:
                return TimeField(name, mapped[name])
        return None

    def recorded_fields(self) -> dict[str, str]:
        """The names told to an earlier `backfill`, so that nobody has to tell them again."""
        for mapping in (self.store._mappings() or {}).values():
            told = mapping.get("_meta", {}).get("esdedup", {}).get("fields")
            if told:
                return dict(told)
        return {}

    def record_fields(self, told: Mapping[str, str]) -> None:
        for index, mapping in (self.store._mappings() or {}).items():
            meta = mapping.get("_meta", {})
            ours = {**meta.get("esdedup", {}), "fields": dict(told)}
            body = {"_meta": {**meta, "esdedup": ours}}
            self._send("PUT", path_of(index, "_mapping"), body=body)

    # --- reading -------------------------------------------------------------------------------

    def count(self, query: JSON) -> int:
        return self.store._count(query)

    def pages(
        self,
        query: JSON,
        *,
        size: int,
        source: Sequence[str],
        time: TimeField | None = None,
        part: Part = Part(),
    ) -> Iterator[list[JSON]]:
        """Hits in the order of time from one point in time; without a date they come last."""
        pit = self.store._open_pit()
        try:
            after: list[Any] | None = None
            while True:
                body: JSON = {
                    "size": size,
                    "query": query,
                    "_source": {"includes": list(source)},
                    "track_total_hits": False,
                    "pit": {"id": pit, "keep_alive": _KEEP_ALIVE},
                    # OpenSearch adds no tie-break, and its `_shard_doc` repeats across indices.
                    "sort": [*([time.sort()] if time else []), {"_index": "asc"},
                             {"_shard_doc": "asc"}],
                    "seq_no_primary_term": True,
                    **part.body(),
                }  # fmt: skip
                if after is not None:
                    body["search_after"] = after
                answer = self._send(
                    "POST", "/_search", params={"allow_partial_search_results": "false"}, body=body
                )
                hits = answer["hits"]["hits"]
                if hits:
                    yield hits
                if len(hits) < size:
                    return
                pit = answer.get("pit_id", pit)
                after = hits[-1]["sort"]
        finally:
            self.store._close_pit(pit)

    def changed_since(self, since: datetime) -> set[str]:
        return self.store._all_ids(changed_query(since))

    # --- writing -------------------------------------------------------------------------------

    def annotate_many(self, records: Sequence[Record], resigned: set[str]) -> WriteReport:
        """Write `dedup` and nothing else; in `resigned` documents old keys are taken away."""
        now = iso(datetime.now(UTC))
        actions = []
        for record in records:
            id_ = record.document.id
            dedup = bodies.dedup_fields(record, now)
            if id_ in resigned:  # a partial update merges: what is not named stays
                dedup = {**dict.fromkeys(bodies.KEY_FIELDS.values()), **dedup}
            update = {"update": _conditional(id_, record.version)}
            actions.append((id_, update, {"doc": {"dedup": dedup}}))
        return self.store._bulk(actions)

    # --- state of a run ------------------------------------------------------------------------

    def read_state(self, name: str) -> State | None:
        try:
            answer = self._send("GET", path_of(self._state, "_doc", name))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise
        return State(answer["_source"], (answer["_seq_no"], answer["_primary_term"]))

    def write_state(self, name: str, values: JSON, *, over: State | None = None) -> None:
        """Blindly: only one process writes this document."""
        self._make_state_index()
        self._send("PUT", path_of(self._state, "_doc", name), body=values)

    def replace_state(self, name: str, values: JSON, old: State | None) -> bool:
        """Only where it is still the one that was read; False where another was quicker."""
        self._make_state_index()
        params: dict[str, Any] = {"op_type": "create"}
        if old is not None and old.version is not None:
            params = {"if_seq_no": old.version[0], "if_primary_term": old.version[1]}
        try:
            self._send("PUT", path_of(self._state, "_doc", name), params=params, body=values)
        except ClusterRefused as refusal:
            if refusal.status == 409:
                return False
            raise
        return True

    def _make_state_index(self) -> None:
        if self._send_or_none("GET", path_of(self._state, "_mapping")) is not None:
            return
        body = {
            "settings": {"number_of_shards": 1, "auto_expand_replicas": "0-1"},
            "mappings": {"dynamic": False, "properties": {}},
        }
        try:
            self._send("PUT", path_of(self._state), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise

    def _send_or_none(self, method: str, path: str) -> Any:
        try:
            return self._send(method, path)
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise


def version_of(hit: JSON) -> Version:
    return Version(hit["_index"], hit["_seq_no"], hit["_primary_term"])


def source_of(hit: JSON) -> JSON:
    """The article as the user wrote it, our object included."""
    if "_source" not in hit:
        raise StoreError(
            f"index {hit['_index']} keeps no _source: articles cannot be read back nor updated in "
            "place; index them again into an index that does"
        )
    source: JSON = hit["_source"]
    return source


def _flattened(properties: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, spec in properties.items():
        path = f"{prefix}{name}"
        if "properties" in spec:
            yield from _flattened(spec["properties"], f"{path}.")
        else:
            yield path, str(spec.get("type", "object"))
