"""A model of the search engine: what esdedup asks of Elasticsearch and OpenSearch when it writes.

It keeps sequence numbers, primary terms and a search view that changes on refresh alone, and
answers the requests of `esdedup/stores/cluster` in the form of the servers. A request that it does
not know is an error of the model (`NotModelled`), never an answer. `test_conformance.py` runs one
script on the model and on both servers and compares the answers.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from tests.simulation import queries
from tests.simulation.queries import NotModelled

JSON = dict[str, Any]


class Refused(Exception):
    """An answer with an error: status, type and reason."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind, self.reason = status, kind, reason

    def body(self) -> JSON:
        return {"error": {"type": self.kind, "reason": self.reason}, "status": self.status}


@dataclass(frozen=True)
class Stored:
    """One version of a document. Nobody changes a source: a write makes another version."""

    index: str
    id: str
    source: JSON
    seq_no: int
    primary_term: int
    version: int
    # Of searches: values of fields, and parts of the source.
    cache: dict[Hashable, Any] = field(default_factory=dict, compare=False)


@dataclass
class ModelIndex:
    """An index of one shard."""

    name: str
    uuid: str
    mapping: JSON = field(default_factory=dict)
    settings: JSON = field(default_factory=dict)
    aliases: set[str] = field(default_factory=set)
    documents: dict[str, Stored] = field(default_factory=dict)  # as a get by id sees them
    visible: list[Stored] = field(default_factory=list)  # as a search sees them: by `_doc`
    is_write_index: bool = True  # of its aliases
    next_seq_no: int = 0
    primary_term: int = 1
    node: int = 1
    _refreshed: int = 0

    def refresh(self) -> None:
        """In the order of the writes."""
        if self._refreshed != self.next_seq_no:
            self._refreshed = self.next_seq_no
            self.visible = sorted(self.documents.values(), key=lambda stored: stored.seq_no)

    def fail_over(self) -> None:
        """Another node has the primary: a new term."""
        self.primary_term += 1
        self.node += 1

    def take_seq_no(self) -> int:
        self.next_seq_no += 1
        return self.next_seq_no - 1


class Engine:
    """One node with indices of one shard each."""

    def __init__(self, on_write: Callable[[Stored], None] = lambda stored: None) -> None:
        """`on_write` is told of every version of a document, as it is written."""
        self._on_write = on_write
        self.indices: dict[str, ModelIndex] = {}
        self.requests = 0
        self._created = 0
        self._pits: dict[str, list[Stored]] = {}
        self._refusals: list[Refused] = []

    def refuse_next_item(self, status: int) -> None:
        """The next document of a bulk is refused, by a full queue or a lost node."""
        kind = (
            "es_rejected_execution_exception" if status == 429 else "node_not_connected_exception"
        )
        self._refusals.append(Refused(status, kind, "simulated"))

    # --- what operators and clusters do --------------------------------------------------------

    def roll_over(self, alias: str) -> None:
        """The next index behind an alias is the one that is written to."""
        behind = self._by_alias(alias)
        for index in behind:
            index.is_write_index = False
        self._create(f"{alias}-{len(behind) + 1:06}", {"aliases": {alias: {}}})

    def recreate(self, name: str) -> None:
        """An index is deleted and made anew, with the mapping of its template."""
        old = self.indices.pop(name)
        self._create(name, {"mappings": old.mapping})

    # --- requests ------------------------------------------------------------------------------

    def request(
        self, method: str, path: str, params: Mapping[str, Any] | None = None, body: Any = None
    ) -> tuple[int, Any]:
        """One request, whole and at once: status and answer."""
        self.requests += 1
        path, _, query = path.partition("?")
        asked = {**(params or {}), **(dict(parse_qsl(query)) if query else {})}
        parts = [unquote(p) if "%" in p else p for p in path.strip("/").split("/") if p]
        try:
            return self._route(method, parts, asked, body)
        except Refused as refusal:
            return refusal.status, refusal.body()

    def _route(  # noqa: PLR0911  (a table of requests)
        self, method: str, parts: Sequence[str], params: Mapping[str, Any], body: Any
    ) -> tuple[int, Any]:
        match method, *parts:
            case ["GET"]:
                return 200, {"version": {"number": "9.2.4"}}
            case ["POST", "_bulk"]:
                return 200, self._bulk(_lines(body))
            case ["POST", "_msearch"]:
                return 200, {"responses": [*self._msearch(_lines(body))]}
            case ["POST", "_search"]:
                return 200, self._search_pit(_one(body))
            case ["DELETE", "_pit"]:
                return 200, {"succeeded": self._pits.pop(_one(body)["id"], None) is not None}
            case ["DELETE", "_search", "point_in_time"]:
                for id_ in _one(body)["pit_id"]:
                    self._pits.pop(id_, None)
                return 200, {}
            case ["GET", "_alias", name]:
                return 200, {i.name: {"aliases": {name: {}}} for i in self._by_alias(name)}
            case ["PUT", name]:
                return 200, self._create(name, _one(body))
            case ["DELETE", name]:
                for index in self._resolve(name):
                    del self.indices[index.name]
                return 200, {"acknowledged": True}
            case ["GET", name, "_mapping"]:
                return 200, {i.name: {"mappings": i.mapping} for i in self._resolve(name)}
            case ["PUT", name, "_mapping"]:
                for index in self._resolve(name):
                    _merge_mapping(index.mapping, _one(body))
                return 200, {"acknowledged": True}
            case ["GET", name, "_settings"]:
                return 200, {i.name: {"settings": {}} for i in self._resolve(name)}
            case ["GET", name, "_stats", "docs"]:
                return 200, {"indices": {i.name: _stats(i) for i in self._resolve(name)}}
            case ["POST", "_mget"]:
                docs = _one(body)["docs"]
                return 200, {
                    "docs": [_filtered_doc(self._get(d["_index"], d["_id"]), d) for d in docs]
                }
            case ["POST", name, "_rollover"]:
                self.roll_over(name)
                return 200, {"rolled_over": True}
            case ["POST", name, "_refresh"]:
                for index in self._resolve(name):
                    index.refresh()
                return 200, {"_shards": {"failed": 0}}
            case ["POST", name, "_mget"]:
                return 200, {"docs": [self._get(name, id_) for id_ in _one(body)["ids"]]}
            case ["POST", name, "_search"]:
                return 200, self._search(_visible(self._resolve(name)), _one(body))
            case ["POST", name, "_pit"]:
                return 200, {"id": self._open_pit(name)}
            case ["POST", name, "_search", "point_in_time"]:
                return 200, {"pit_id": self._open_pit(name)}
            case ["GET", name, "_doc", id_]:
                found = self._get(name, id_, with_source=params.get("_source") != "false")
                return (200 if found["found"] else 404), found
            case ["PUT", name, "_doc", id_]:
                verb = "create" if params.get("op_type") == "create" else "index"
                line = {"_index": name, "_id": id_, **_conditions(params)}
                return self._write(verb, line, _copy(_one(body)))
            case ["DELETE", name, "_doc", id_]:
                return self._write("delete", {"_index": name, "_id": id_}, None)
        raise NotModelled(f"{method} /{'/'.join(parts)}")

    # --- indices -------------------------------------------------------------------------------

    def _create(self, name: str, body: JSON) -> JSON:
        if name in self.indices:
            kind = "resource_already_exists_exception"
            raise Refused(400, kind, f"index [{name}] already exists")
        self._created += 1
        made = ModelIndex(name, f"uuid-{self._created}", _copy(body.get("mappings", {})))
        made.aliases = set(body.get("aliases", {}))
        self.indices[name] = made
        return {"acknowledged": True, "index": name}

    def _resolve(self, names: str) -> list[ModelIndex]:
        """The indices behind a name, an alias, a pattern or a list of them."""
        out: dict[str, ModelIndex] = {}
        for name in names.split(","):
            if "*" in name:
                found = [i for i in self.indices.values() if fnmatch.fnmatch(i.name, name)]
            elif name in self.indices:
                found = [self.indices[name]]
            else:
                found = [i for i in self.indices.values() if name in i.aliases]
                if not found:
                    raise Refused(404, "index_not_found_exception", f"no such index [{name}]")
            out |= {index.name: index for index in found}
        return [out[name] for name in sorted(out)]

    def _by_alias(self, name: str) -> list[ModelIndex]:
        found = [i for i in self.indices.values() if name in i.aliases]
        if not found:
            raise Refused(404, "aliases_not_found_exception", f"alias [{name}] missing")
        return found

    def _write_index(self, name: str, *, require_alias: bool) -> ModelIndex:
        if name in self.indices and not require_alias:
            return self.indices[name]
        behind = [i for i in self.indices.values() if name in i.aliases and i.is_write_index]
        if len(behind) == 1:
            return behind[0]
        if require_alias:
            raise Refused(404, "index_not_found_exception", f"no such index [{name}]")
        self._create(name, {})  # as the servers do, with a mapping guessed
        return self.indices[name]

    # --- documents -----------------------------------------------------------------------------

    def _get(self, name: str, id_: str, *, with_source: bool = True) -> JSON:
        indices = self._resolve(name)
        if len(indices) != 1:
            raise Refused(
                400, "illegal_argument_exception", f"alias [{name}] has more than one index"
            )
        (index,) = indices
        found = index.documents.get(id_)
        if found is None:
            return {"_index": index.name, "_id": id_, "found": False}
        out = {**_about(found), "_version": found.version, "found": True}
        return {**out, "_source": found.source} if with_source else out

    def _bulk(self, lines: Sequence[JSON]) -> JSON:
        items = []
        rest = iter(lines)
        for line in rest:
            ((verb, about),) = line.items()
            source = None if verb == "delete" else next(rest)
            try:
                status, answer = self._write(verb, about, source)
            except Refused as refusal:
                status, answer = refusal.status, refusal.body()
            items.append({verb: {**answer, "_id": about["_id"], "status": status}})
        return {
            "errors": any("error" in i for item in items for i in item.values()),
            "items": items,
        }

    def _write(self, verb: str, about: JSON, source: JSON | None) -> tuple[int, JSON]:
        """One document; conditions are checked against what a get by id sees."""
        if self._refusals:
            raise self._refusals.pop()
        index = self._write_index(about["_index"], require_alias=bool(about.get("require_alias")))
        id_ = about["_id"]
        before = index.documents.get(id_)
        _check_conditions(before, about)
        if verb == "create" and before is not None:
            kind = "version_conflict_engine_exception"
            raise Refused(409, kind, f"[{id_}]: version conflict, document already exists")
        if verb == "update":
            if before is None:
                raise Refused(404, "document_missing_exception", f"[{id_}]: document missing")
            merged = _merged(before.source, (source or {})["doc"])
            if merged == before.source:
                return 200, {**_about(before), "result": "noop"}
            source = merged
        if verb == "delete":
            seq_no = index.take_seq_no()
            index.documents.pop(id_, None)
            result = "not_found" if before is None else "deleted"
            return (404 if before is None else 200), {"result": result, "_seq_no": seq_no}
        stored = Stored(
            index.name,
            id_,
            source or {},
            index.take_seq_no(),
            index.primary_term,
            before.version + 1 if before else 1,
        )
        index.documents[id_] = stored
        self._on_write(stored)
        result = "updated" if before else "created"
        return (200 if before else 201), {**_about(stored), "result": result}

    # --- searches ------------------------------------------------------------------------------

    def _msearch(self, lines: Sequence[JSON]) -> Iterable[JSON]:
        for header, body in zip(lines[::2], lines[1::2], strict=True):
            try:
                yield self._search(_visible(self._resolve(header["index"])), body)
            except Refused as refusal:
                yield refusal.body()

    def _open_pit(self, name: str) -> str:
        id_ = f"pit-{self.requests}"
        self._pits[id_] = _visible(self._resolve(name))
        return id_

    def _search_pit(self, body: JSON) -> JSON:
        id_ = body["pit"]["id"]
        if id_ not in self._pits:
            raise Refused(404, "search_context_missing_exception", f"no search context [{id_}]")
        return {**self._search(self._pits[id_], body), "pit_id": id_}

    def _search(self, documents: Sequence[Stored], body: JSON) -> JSON:
        return queries.search(documents, body)


# --- parts of requests and answers -------------------------------------------------------------


def _visible(indices: Iterable[ModelIndex]) -> list[Stored]:
    """In the order of the index and of the writes, which is that of `_doc`."""
    return [stored for index in indices for stored in index.visible]


def _about(stored: Stored) -> JSON:
    return {
        "_index": stored.index,
        "_id": stored.id,
        "_seq_no": stored.seq_no,
        "_primary_term": stored.primary_term,
    }


def _stats(index: ModelIndex) -> JSON:
    shard = {
        "routing": {"primary": True, "node": f"node-{index.node}"},
        "seq_no": {"max_seq_no": index.next_seq_no - 1},
    }
    return {"uuid": index.uuid, "shards": {"0": [shard]}}


def _filtered_doc(found: JSON, wanted: JSON) -> JSON:
    if "_source" in wanted and "_source" in found:
        return {**found, "_source": queries.filtered(found["_source"], wanted["_source"])}
    return found


def _conditions(params: Mapping[str, Any]) -> JSON:
    return {name: int(params[name]) for name in ("if_seq_no", "if_primary_term") if name in params}


def _check_conditions(before: Stored | None, about: JSON) -> None:
    if "if_seq_no" not in about:
        return
    wanted = (about["if_seq_no"], about["if_primary_term"])
    if before is None or (before.seq_no, before.primary_term) != wanted:
        raise Refused(
            409,
            "version_conflict_engine_exception",
            f"[{about['_id']}]: version conflict, required seqNo [{wanted[0]}]",
        )


def _merged(old: JSON, new: JSON) -> JSON:
    """Objects are merged, everything else is replaced."""
    out = dict(old)
    for name, value in new.items():
        before = out.get(name)
        is_object = isinstance(before, dict) and isinstance(value, dict)
        out[name] = _merged(dict(before or {}), value) if is_object else value
    return out


def _merge_mapping(mapping: JSON, new: JSON) -> None:
    if "_meta" in new:
        mapping["_meta"] = _copy(new["_meta"])
    mapping["properties"] = _merged(mapping.get("properties", {}), new.get("properties", {}))


def _copy(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


def _lines(body: Any) -> list[JSON]:
    if isinstance(body, bytes):
        return [orjson.loads(line) for line in body.splitlines() if line]
    return list(body)


def _one(body: Any) -> JSON:
    if body is None:
        return {}
    found = orjson.loads(body) if isinstance(body, bytes | str) else body
    assert isinstance(found, dict)
    return found


Request = Callable[[str, str, Mapping[str, Any] | None, Any], tuple[int, Any]]
