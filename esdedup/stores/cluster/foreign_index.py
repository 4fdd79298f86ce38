"""An index that other programs fill: reads it in order and adds `dedup` in place.

The user's fields are read by their own names and never written: a partial update carries the
`dedup` object alone, on the condition that the document is still the one that was read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from esdedup.errors import StoreError
from esdedup.model import JSON, iso
from esdedup.stores.cluster.connection import path_of
from esdedup.stores.cluster.documents import ClusterDocuments, update_of
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests.mapping import side_index
from esdedup.stores.ports import Record, WriteReport

_ID_PAGE = 5_000
_NAMES = 3_000  # characters of names in one address
_KEEP_ALIVE = "5m"  # longer than the slowest batch takes between two pages
_DATES = ("date", "date_nanos")
_STATE_INDEX: JSON = {
    "settings": {"number_of_shards": 1, "auto_expand_replicas": "0-1"},
    "mappings": {"dynamic": False, "properties": {}},
}
# Types in which times sort by time: dates, numbers, and ISO 8601 texts.
_SORTABLE = (*_DATES, "long", "integer", "unsigned_long", "double", "keyword")


@dataclass(frozen=True, slots=True)
class Part:
    """One of several equal parts of an index, by a hash of the id.

    The engines' own slices do not serve: Elasticsearch cuts a point in time by position, which
    differs from reader to reader, and refuses `_id` there.
    """

    number: int = 1
    of: int = 1

    def holds(self, id_: str) -> bool:
        return zlib.crc32(id_.encode()) % self.of == self.number - 1


WHOLE = Part()


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
class TimeOrder:
    """Indices whose articles are read in one order: that of a field, or of their arrival."""

    time: TimeField | None = None
    indices: tuple[str, ...] = ()  # none named: all behind the store's name


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


def _has_group() -> JSON:
    return {"exists": {"field": "dedup.group"}}


class ForeignIndex:
    """What `backfill` and `sweep` need of a cluster beyond the ports."""

    def __init__(self, index: Index, searches: Searches, documents: ClusterDocuments) -> None:
        self.index = index
        self.write = documents.write
        self._searches = searches
        self._connection = index.connection
        self._state = side_index("state", index.target.index)
        self._has_state = False

    # --- the mapping ---------------------------------------------------------------------------

    def field_types(self) -> dict[str, str]:
        """Field -> type over all indices of the store; a path is written with dots."""
        found: dict[str, str] = {}
        for fields in self._mapped_by_index().values():
            found = {**fields, **found}
        return found

    def _mapped_by_index(self) -> dict[str, dict[str, str]]:
        mappings = self.index.mappings() or {}
        return {name: dict(_flatten(m.get("properties", {}))) for name, m in mappings.items()}

    def orders(self, names: Sequence[str]) -> list[TimeOrder]:
        """How the articles are read: a sort covers indices that map its field alike, since the
        engines refuse one over a date and a text. Those with a date come first."""
        found: dict[TimeField | None, list[str]] = {}
        for index, fields in self._mapped_by_index().items():
            found.setdefault(_time_field(fields, names), []).append(index)
        if len(found) <= 1:
            return [TimeOrder(time) for time in found] or [TimeOrder()]
        parts = [TimeOrder(time, part) for time in found for part in _by_length(found[time])]
        return sorted(parts, key=_place)

    def explain_missing_times(self, names: Sequence[str]) -> dict[str, str]:
        """Index -> why its articles are read in the order of their arrival."""
        return {
            index: _describe_mapping(fields, names) or f"none of {', '.join(names)} is mapped"
            for index, fields in sorted(self._mapped_by_index().items())
            if _time_field(fields, names) is None
        }

    def explain_other_types(self, names: Sequence[str]) -> dict[str, str]:
        """Index -> the type of its time field, if that is no date."""
        return {
            index: what
            for index, fields in sorted(self._mapped_by_index().items())
            if (what := _describe_mapping(fields, names))
            and not ((time := _time_field(fields, names)) and time.is_date)
        }

    def recorded_fields(self) -> dict[str, str]:
        """The field names given to an earlier `backfill`, so that nobody has to repeat them."""
        for mapping in (self.index.mappings() or {}).values():
            if given := mapping.get("_meta", {}).get("esdedup", {}).get("told"):
                return dict(given)
        return {}

    @property
    def names(self) -> document_requests.Names:
        """The names under which the fields of an article are read."""
        return self.index.names

    def record_names(self, given: Mapping[str, str], names: document_requests.Names) -> None:
        """Record names in the mapping: `given` ones for the next backfill, all for searches."""
        entry: JSON = {"told": dict(given), "names": {ours: list(n) for ours, n in names.items()}}
        for index, mapping in (self.index.mappings() or {}).items():
            meta = mapping.get("_meta", {})
            ours = meta.get("esdedup", {})
            if {k: ours.get(k) for k in entry} != entry:
                body = {"_meta": {**meta, "esdedup": {**ours, **entry}}}
                self._connection.send("PUT", path_of(index, "_mapping"), body=body)
        self.index.names = entry["names"]

    # --- reading -------------------------------------------------------------------------------

    def sample_ids(self, query: JSON, size: int) -> list[str]:
        """Some documents that match."""
        search = {"query": query, "size": size, "_source": False}
        return [hit["_id"] for hit in self._searches.one(search)["hits"]["hits"]]

    def count(self, query: JSON) -> int:
        return self._searches.count(query)

    def pages(
        self,
        query: JSON,
        *,
        size: int,
        source: Sequence[str],
        orders: Sequence[TimeOrder] = (TimeOrder(),),
        part: Part = WHOLE,
    ) -> Iterator[list[JSON]]:
        """Documents in the order of time, those without a date last, `size` at once."""
        if part.of == 1:
            for order in orders:
                yield from self._hits(query, size, order, {"includes": list(source)})
            return
        # All ids are read, which is cheap, and only the documents of this part.
        own: list[JSON] = []
        for hits in (
            page for order in orders for page in self._hits(query, _ID_PAGE, order, False)
        ):
            own += [hit for hit in hits if part.holds(hit["_id"])]
            while len(own) >= size:
                yield self._fetch(own[:size], source)
                del own[:size]
        if own:
            yield self._fetch(own, source)

    def _hits(
        self, query: JSON, size: int, read: TimeOrder, source: JSON | bool
    ) -> Iterator[list[JSON]]:
        """All hits from one point in time."""
        search: JSON = {
            "size": size,
            "query": query,
            "_source": source,
            "sort": [read.time.sort()] if read.time else [],
            "seq_no_primary_term": True,
        }
        searches = self._searches
        if read.indices:
            target = replace(searches.target, index=",".join(read.indices))
            searches = replace(searches, target=target)
        return searches.pages(search, _KEEP_ALIVE)

    def _fetch(self, hits: Sequence[JSON], source: Sequence[str]) -> list[JSON]:
        """The documents of these hits as they are now; `sort` is kept from the hit."""
        docs = [{"_index": h["_index"], "_id": h["_id"], "_source": list(source)} for h in hits]
        answer = self._connection.send("POST", "/_mget", body={"docs": docs})
        return [
            {**doc, "sort": hit["sort"]}
            for hit, doc in zip(hits, answer["docs"], strict=True)
            if doc.get("found")
        ]

    # --- writing -------------------------------------------------------------------------------

    def annotate_many(
        self, records: Sequence[Record], hits: Mapping[str, JSON], resigned: set[str]
    ) -> WriteReport:
        """Write `dedup` and nothing else; in `resigned` documents old fields are taken away.

        `hits` are the documents as they were read.
        """
        now = iso(datetime.now(UTC))
        actions = []
        for record in records:
            id_ = record.document.id
            dedup = document_requests.dedup_fields(record, now)
            dedup |= document_requests.signed_fields(record, source_of(hits[id_]), self.index.names)
            if id_ in resigned:  # a partial update merges: what is not named stays
                dedup = {**dict.fromkeys(document_requests.OPTIONAL_FIELDS), **dedup}
            actions.append(update_of(id_, record.version, dedup))
        return self.write(actions)

    # --- state of a run ------------------------------------------------------------------------

    def read_state(self, name: str) -> State | None:
        answer = self._connection.send_or_none("GET", path_of(self._state, "_doc", name))
        if answer is None:
            return None
        return State(answer["_source"], (answer["_seq_no"], answer["_primary_term"]))

    def write_state(self, name: str, values: JSON | None) -> None:
        """Write without a condition: only one process writes this document. None removes it."""
        path = path_of(self._state, "_doc", name)
        if values is None:
            self._connection.send_or_none("DELETE", path)
            return
        self._make_state_index()
        self._connection.send("PUT", path, body=values)

    def replace_state(self, name: str, values: JSON, old: State | None) -> bool:
        """Compare-and-set; returns False if another process was faster."""
        self._make_state_index()
        expected = old.version if old is not None else None
        return self._connection.put_if(self._state, name, values, expected) is not None

    def _make_state_index(self) -> None:
        if self._has_state:
            return
        self._has_state = True
        path = path_of(self._state, "_mapping")
        if self._connection.send_or_none("GET", path) is None:
            self._connection.create_index(self._state, _STATE_INDEX)


def source_of(hit: JSON) -> JSON:
    """The article as the user wrote it, our object included."""
    if "_source" not in hit:
        raise StoreError(
            f"index {hit['_index']} keeps no _source: articles cannot be read back nor updated in "
            "place; index them again into an index that does"
        )
    source: JSON = hit["_source"]
    return source


def ours_of(hit: JSON) -> JSON:
    """The `dedup` object; empty if there is none, or something else of that name."""
    found = source_of(hit).get("dedup")
    return found if isinstance(found, dict) else {}


def _time_field(mapped: Mapping[str, str], names: Sequence[str]) -> TimeField | None:
    """The first of the names that is mapped as something that sorts."""
    for name in names:
        if mapped.get(name) in _SORTABLE:
            return TimeField(name, mapped[name])
    return None


def _describe_mapping(mapped: Mapping[str, str], names: Sequence[str]) -> str:
    """The first of the names that is mapped, and its type; empty if none is."""
    return next((f"{name} is mapped as {mapped[name]}" for name in names if name in mapped), "")


def _place(order: TimeOrder) -> tuple[bool, bool, tuple[str, ...]]:
    return (order.time is None, order.time is None or not order.time.is_date, order.indices)


def _by_length(indices: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Parts whose names fit into an address: servers take one of 4,096 bytes."""
    part: list[str] = []
    for index in sorted(indices):
        if part and len(",".join([*part, index])) > _NAMES:
            yield tuple(part)
            part = []
        part.append(index)
    yield tuple(part)


def _flatten(properties: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, spec in properties.items():
        path = f"{prefix}{name}"
        if "properties" in spec:
            yield from _flatten(spec["properties"], f"{path}.")
        else:
            yield path, str(spec.get("type", "object"))
