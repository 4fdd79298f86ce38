"""The index, alias or data stream behind a store's name on a cluster, and its mapping."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from esdedup.errors import StoreError, StoreMissing
from esdedup.model import JSON
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import Connection, Target, path_of
from esdedup.stores.cluster.requests import documents as document_requests
from esdedup.stores.cluster.requests import mapping as mapping_requests

# What a store's name stands for; a pattern is for reading, since nobody knows where to write.
Kind = Literal["index", "alias", "stream", "pattern"]


@dataclass(slots=True)
class Index:
    """An index, or several behind one name, as a store opened it."""

    connection: Connection
    target: Target
    mode: Literal["write", "read"] = "write"
    settings: Settings = field(default_factory=Settings)
    # How an index that somebody else designed calls its fields, as `backfill` found it.
    names: document_requests.Names = field(default_factory=dict)
    kind: Kind = "index"
    has_several: bool = False  # indices: then no document can be got by its id
    _prepared: set[str] = field(default_factory=set)  # indices that have our fields

    def open(self, settings: Settings | None) -> None:
        """Create the index if there is none, and agree on its settings."""
        mappings = self.mappings()
        if mappings is None:
            if self.mode == "read":
                raise StoreMissing(
                    f"there is no store at {self.target.shown}; `esdedup index` makes one"
                )
            self.create(settings or Settings())
            mappings = self.mappings() or {}
        self.kind = self._find_kind(mappings)
        self._set_several(mappings)
        recorded = next(
            (m["_meta"]["esdedup"] for m in mappings.values() if "esdedup" in m.get("_meta", {})),
            None,
        )
        self.names = (recorded or {}).get("names", {})
        self.settings = settings or (
            Settings.from_json(recorded["settings"]) if recorded else Settings()
        )
        if recorded:
            self.settings.check_against(recorded["shaping"], store=self.target.shown)
        if self.mode == "write":
            for name, mapping in mappings.items():
                self.add_our_fields(name, mapping, self.settings)
        self._prepared = set(mappings)

    def take_up(self, indices: Collection[str]) -> None:
        """Note which indices there are now; those that a rollover added get our fields before the
        first document."""
        if new := set(indices) - self._prepared:
            for name, mapping in (self.mappings() or {}).items():
                if name in new:
                    self.add_our_fields(name, mapping, self.settings)
                    self._prepared.add(name)
        self._set_several(indices)

    def _set_several(self, indices: Collection[str]) -> None:
        """A pattern always has: no document can be got by it, and another index may come."""
        self.has_several = len(indices) > 1 or self.kind == "pattern"

    def record_settings(self, settings: Settings) -> None:
        """Record settings; last in the index that is read first, which makes them count."""
        for name, mapping in reversed((self.mappings() or {}).items()):
            meta = mapping.get("_meta", {})
            ours = {**meta.get("esdedup", {}), **mapping_requests.meta(settings)["esdedup"]}
            body = {"_meta": {**meta, "esdedup": ours}}
            self.connection.send("PUT", path_of(name, "_mapping"), body=body)

    def mappings(self) -> dict[str, JSON] | None:
        """Concrete index -> mapping; None if nothing has that name."""
        return self.connection.mappings(self.target.index) or None

    def create(self, settings: Settings) -> None:
        if _is_pattern(self.target.index):
            raise StoreMissing(
                f"{self.target.shown} is a pattern that no index matches; to make one, name it"
            )
        body = {
            "settings": {"index": mapping_requests.index_settings(self.connection.product)},
            "mappings": mapping_requests.news_mapping(settings),
        }
        self.connection.create_index(self.target.index, body)

    def _find_kind(self, mappings: Mapping[str, JSON]) -> Kind:
        if self.target.index in mappings:
            return "index"
        if _is_pattern(self.target.index):
            return "pattern"
        alias = self.connection.send_or_none("GET", path_of("_alias", self.target.index))
        return "stream" if alias is None else "alias"

    def add_our_fields(self, index: str, mapping: JSON, settings: Settings) -> None:
        """Put-mapping adds the `dedup` object and our entry in `_meta`; nothing else changes."""
        have = mapping.get("properties", {}).get("dedup", {}).get("properties", {})
        wanted = mapping_requests.properties()["dedup"]["properties"]
        for name, spec in have.items():
            if name in wanted and spec.get("type", "object") != wanted[name]["type"]:
                raise StoreError(
                    f"index {index}: dedup.{name} is mapped as {spec.get('type')}, esdedup needs "
                    f"{wanted[name]['type']}; a mapping cannot be changed: reindex into a new "
                    "index whose template has our fields (`esdedup templates install`)"
                )
        if set(wanted) <= set(have) and "esdedup" in mapping.get("_meta", {}):
            return
        ours = mapping_requests.properties()
        if have:  # fields of an earlier version stay as they are
            added = {name: spec for name, spec in wanted.items() if name not in have}
            ours = {"dedup": {"properties": added}}
        meta = {**mapping.get("_meta", {}), **mapping_requests.meta(settings)}
        body = {"_meta": meta, "properties": ours}
        self.connection.send("PUT", path_of(index, "_mapping"), body=body)

    def read_preference(self) -> dict[str, str]:
        """With segment replication a replica of OpenSearch lacks what a refresh made visible."""
        if self.connection.product != "opensearch":
            return {}
        answer = self.connection.send(
            "GET", path_of(self.target.index, "_settings"), params={"flat_settings": "true"}
        )
        replicated = {
            entry.get("settings", {}).get("index.replication.type") for entry in answer.values()
        }
        return {"preference": "_primary"} if "SEGMENT" in replicated else {}


def _is_pattern(name: str) -> bool:
    return "*" in name or "," in name
