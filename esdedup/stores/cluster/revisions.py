"""Earlier versions of articles on a cluster: an index of its own, one document for each article.

A document has all versions of its article, so that they are read in real time by id, and replaced
on the condition that nobody else has replaced them meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from esdedup.errors import StoreError
from esdedup.model import JSON
from esdedup.model.batching import batched
from esdedup.model.revisions import ArticleVersion, keep_version
from esdedup.stores.cluster import bulk
from esdedup.stores.cluster.bulk import Action
from esdedup.stores.cluster.connection import PrivilegeMissing, path_of
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.ports import Record

# Articles whose versions are read at once: each may have some megabytes.
_TOGETHER = 100


@dataclass(slots=True)
class ClusterRevisions:
    """Implements the `Revisions` port; a version is numbered by its sequence number.

    The index is created with the first version.
    """

    articles: Index
    index: str
    _exists: bool = False

    def add(self, replaced: Sequence[Record], at: datetime) -> None:
        if not replaced or not self.articles.settings.revisions:
            return
        if not self._has_index():
            body = {"mappings": mapping_requests.revisions_mapping()}
            self.articles.connection.create_index(self.index, body)
            self._exists = True
        for part in batched(replaced, _TOGETHER):
            waiting = {
                record.document.id: ArticleVersion.of(record.document, at, record.version.seq_no)
                for record in part
            }
            while waiting:  # again those that another writer changed meanwhile
                waiting = {id_: waiting[id_] for id_ in self._add(waiting)}

    def _add(self, versions: Mapping[str, ArticleVersion]) -> set[str]:
        """Returns the ids whose versions another writer changed since they were read."""
        stored, limit = self._read(list(versions)), self.articles.settings.revisions
        actions = []
        for id_, version in versions.items():
            hit = stored.get(id_)
            kept = keep_version(_versions_of(hit) if hit else (), version, limit)
            line: JSON = {"_index": self.index, "_id": id_}
            if hit is not None:
                line |= {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
            source = {"versions": [one.to_json() for one in kept]}
            actions.append(Action.of(id_, {"index" if hit else "create": line}, source))
        written = bulk.write(self.articles.connection, actions)
        if written.failures:
            id_, reason = next(iter(written.failures.items()))
            raise StoreError(f"{self.index}: cannot keep the version of {id_}: {reason}")
        return written.conflicts

    def get(self, ids: Iterable[str]) -> dict[str, tuple[ArticleVersion, ...]]:
        try:
            if not self._has_index():
                return {}
        except PrivilegeMissing:  # who may not read versions still reads articles
            return {}
        return {
            id_: _versions_of(hit)
            for part in batched(ids, _TOGETHER)
            for id_, hit in self._read(part).items()
        }

    def remove(self, ids: Iterable[str]) -> None:
        """Delete without looking first: a delete is cheap. A store that keeps no versions needs no
        privilege for them."""
        wanted = list(ids)
        try:
            is_there = bool(wanted) and self._has_index()
        except PrivilegeMissing:
            if self.articles.settings.revisions:
                raise
            return
        if is_there:
            actions = [
                Action.of(id_, {"delete": {"_index": self.index, "_id": id_}}) for id_ in wanted
            ]
            bulk.write(self.articles.connection, actions)

    def _has_index(self) -> bool:
        if not self._exists:
            mapping = self.articles.connection.send_or_none("GET", path_of(self.index, "_mapping"))
            self._exists = mapping is not None
        return self._exists

    def _read(self, ids: Sequence[str]) -> dict[str, JSON]:
        answer = self.articles.connection.send(
            "POST", path_of(self.index, "_mget"), body={"ids": list(ids)}
        )
        return {hit["_id"]: hit for hit in answer["docs"] if hit.get("found")}


def _versions_of(hit: JSON) -> tuple[ArticleVersion, ...]:
    return tuple(map(ArticleVersion.from_json, hit["_source"]["versions"]))
