"""What is behind a store's name on a cluster: an index, an alias, a stream; and its mapping."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from esdedup.errors import StoreError, StoreMissing
from esdedup.model import JSON
from esdedup.settings import Settings
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.connection import ClusterRefused, Connection, Target, path_of

# What a store's name stands for; a pattern is for reading, since nobody knows where to write.
Kind = Literal["index", "alias", "stream", "pattern"]


@dataclass(frozen=True, slots=True)
class Index:
    """An index, or several behind one name."""

    connection: Connection
    target: Target

    def mappings(self) -> dict[str, JSON] | None:
        """Concrete index -> mapping; None where nothing has that name."""
        try:
            answer = self.connection.send("GET", path_of(self.target.index, "_mapping"))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return None
            raise
        return {name: entry.get("mappings", {}) for name, entry in answer.items()} or None

    def create(self, settings: Settings) -> None:
        if _is_pattern(self.target.index):
            raise StoreMissing(
                f"{self.target.shown} is a pattern that no index matches; to make one, name it"
            )
        body = {
            "settings": {"index": bodies.index_settings(self.connection.product)},
            "mappings": bodies.news_mapping(settings),
        }
        try:
            self.connection.send("PUT", path_of(self.target.index), body=body)
        except ClusterRefused as refusal:
            if refusal.type != "resource_already_exists_exception":
                raise  # another worker made it at the same moment: as good

    def kind(self, mappings: Mapping[str, JSON]) -> Kind:
        if self.target.index in mappings:
            return "index"
        if _is_pattern(self.target.index):
            return "pattern"
        try:
            self.connection.send("GET", path_of("_alias", self.target.index))
        except ClusterRefused as refusal:
            if refusal.status == 404:
                return "stream"
            raise
        return "alias"

    def add_our_fields(self, index: str, mapping: JSON, settings: Settings) -> None:
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
