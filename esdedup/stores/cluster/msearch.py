"""How a cluster is asked: many searches in a request, or all hits of one, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.stores.cluster.connection import (
    ClusterRefused,
    Connection,
    PrivilegeMissing,
    Target,
    path_of,
)
from esdedup.stores.cluster.search_requests import IN_ORDER, without_cut_ties

_T = TypeVar("_T")

# From 20 searches a request on the time per search stays flat; 50 to 100 is the best.
_SEARCHES = 100
PAGE = 1_000
# Passing faults of single searches inside an accepted request.
_PASSING = (429, 500, 502, 503, 504)


@dataclass(slots=True)
class Searches:
    """Searches of one index, alias or pattern: never a partial answer."""

    _connection: Connection
    target: Target
    # With segment replication a replica of OpenSearch lacks what a refresh made visible.
    preference: dict[str, str] = field(default_factory=dict)

    def many(self, searches: Sequence[JSON], preference: str | None = None) -> Iterator[JSON]:
        """Answers in the order of the searches; those of one preference meet the same copies of
        the shards, where not all of them can be asked."""
        if len(searches) == 1:
            yield self.one(searches[0], preference)
            return
        given = {"preference": preference} if preference and not self.preference else {}
        for part in chunks(searches, _SEARCHES):
            lines: list[JSON] = []
            for body in part:
                # By default a dead shard only shortens the answer, and a copy becomes an original.
                header = {"index": self.target.index, "allow_partial_search_results": False}
                lines += [{**header, **self.preference, **given}, body]
            answer = self._connection.send(
                "POST", "/_msearch", params={"max_concurrent_searches": 8}, body=lines
            )
            for one in answer["responses"]:
                if "error" in one:
                    raise self._failed(one)
                yield one

    def one(self, search: JSON, preference: str | None = None) -> JSON:
        """Without the envelope of many, which costs the server a quarter more. A search of a point
        in time names no index."""
        params: JSON = {"allow_partial_search_results": "false"}
        path = "/_search"
        if "pit" not in search:
            path = path_of(self.target.index, "_search")
            params |= {"preference": preference} if preference else {}
            params |= self.preference
        answer: JSON = self._connection.send("POST", path, params=params, body=search)
        return answer

    def _failed(self, answer: JSON) -> StoreError:
        status = answer.get("status", 500)
        if status == 403:
            return PrivilegeMissing(status, answer, "search", self.target)
        refusal = ClusterRefused(status, answer, f"{self.target.shown}: search")
        if status in _PASSING:
            return StoreUnavailable(f"{refusal}; run the same command again")
        return refusal

    def all_ids(self, query: JSON) -> set[str]:
        return {hit["_id"] for hit in self.scan({"query": query, "_source": False})}

    def scan(self, search: JSON) -> Iterator[JSON]:
        """All hits, one by one; see `pages`."""
        for hits in self.pages(search):
            yield from hits

    def pages(self, search: JSON, keep_alive: str = "2m") -> Iterator[list[JSON]]:
        """All hits from one point in time; in the order of the search, if it has one."""
        # One more than wanted: the last hit of a full page comes again, see `without_cut_ties`.
        size = search.get("size", PAGE) + 1
        body: JSON = {
            **search,
            "track_total_hits": False,
            "sort": [*search.get("sort", ()), *IN_ORDER],
        }
        pit = self.open_pit()
        try:
            while True:
                body |= {"size": size, "pit": {"id": pit, "keep_alive": keep_alive}}
                answer = self.page(body)
                pit = answer.get("pit_id", pit)
                found = answer["hits"]["hits"]
                hits = found if len(found) < size else without_cut_ties(found)
                if hits:
                    yield hits
                    body["search_after"] = hits[-1]["sort"]
                if len(found) < size:
                    return
                if not hits:  # one tie fills the page: an index of more shards than that
                    size *= 2
        finally:
            self.close_pit(pit)

    def page(self, search: JSON) -> JSON:
        """Of a point in time, which ends with its server or with one of its indices."""
        try:
            return self.one(search)
        except ClusterRefused as refusal:
            if refusal.status != 404:
                raise
            raise StoreUnavailable(
                f"{self.target.shown} lost the point in time it was read from; run the same "
                "command again to go on"
            ) from refusal

    def open_pit(self) -> str:
        if self._connection.product == "elasticsearch":
            path, name = path_of(self.target.index, "_pit"), "id"
        else:
            path, name = path_of(self.target.index, "_search", "point_in_time"), "pit_id"
        # By default a dead shard is left out in silence.
        partial = (
            "allow_partial_search_results"
            if self._connection.product == "elasticsearch"
            else ("allow_partial_pit_creation")
        )
        params = {"keep_alive": "2m", partial: "false", **self.preference}
        return str(self._connection.send("POST", path, params=params)[name])

    def close_pit(self, pit: str) -> None:
        """One that is gone already is as good: Elasticsearch answers 404.

        Who stops reading half-way may close the store first: then it ends by its time.
        """
        if self._connection.is_closed:
            return
        try:
            if self._connection.product == "elasticsearch":
                self._connection.send("DELETE", "/_pit", body={"id": pit})
            else:
                self._connection.send("DELETE", "/_search/point_in_time", body={"pit_id": [pit]})
        except ClusterRefused as refusal:
            if refusal.status != 404:
                raise

    def count(self, query: JSON) -> int:
        (answer,) = self.many([{"size": 0, "query": query, "track_total_hits": True}])
        return int(answer["hits"]["total"]["value"])


def chunks(values: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
