"""Sends searches to a cluster: many in one request, or all hits of one, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from esdedup.errors import StoreError, StoreUnavailable
from esdedup.model import JSON
from esdedup.model.batching import batched
from esdedup.stores.cluster.connection import (
    ClusterRefused,
    Connection,
    PrivilegeMissing,
    Target,
    path_of,
)
from esdedup.stores.cluster.requests.folding import IN_ORDER, without_cut_ties

# From 20 searches a request on the time per search stays flat; 50 to 100 is the best.
_SEARCHES = 100
PAGE = 1_000
# Passing faults of single searches inside an accepted request.
_PASSING = (429, 500, 502, 503, 504)


@dataclass(slots=True)
class Searches:
    """Sends searches of one index, alias or pattern. A partial answer is an error."""

    _connection: Connection
    target: Target
    # With segment replication a replica of OpenSearch lacks what a refresh made visible.
    preference: dict[str, str] = field(default_factory=dict)

    def many(self, searches: Sequence[JSON], preference: str | None = None) -> Iterator[JSON]:
        """Answers in the order of the searches. Searches of one preference go to the same copies of
        the shards, unless the index prescribes the primaries."""
        if len(searches) == 1:
            yield self.one(searches[0], preference)
            return
        given = {"preference": preference} if preference and not self.preference else {}
        for part in batched(searches, _SEARCHES):
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
                    raise self._error_of(one)
                yield one

    def one(self, search: JSON, preference: str | None = None) -> JSON:
        """One answer. The envelope of `many` would cost the server a quarter more.

        A search of a point in time names no index.
        """
        params: JSON = {"allow_partial_search_results": "false"}
        path = "/_search"
        if "pit" not in search:
            path = path_of(self.target.index, "_search")
            params |= {"preference": preference} if preference else {}
            params |= self.preference
        answer: JSON = self._connection.send("POST", path, params=params, body=search)
        return answer

    def _error_of(self, answer: JSON) -> StoreError:
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
        """One page of a point in time, which ends with its server or with one of its indices."""
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
            partial = "allow_partial_search_results"
        else:
            path, name = path_of(self.target.index, "_search", "point_in_time"), "pit_id"
            partial = "allow_partial_pit_creation"
        # By default a dead shard is left out in silence.
        params = {"keep_alive": "2m", partial: "false", **self.preference}
        return str(self._connection.send("POST", path, params=params)[name])

    def close_pit(self, pit: str) -> None:
        """Close a point in time; one that is gone already (404) is no error.

        After the store was closed it expires by itself.
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
