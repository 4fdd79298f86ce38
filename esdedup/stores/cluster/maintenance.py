"""Figures, over-frequent keys and broken invariants of a cluster store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from esdedup.model import JSON
from esdedup.model.encoding import encode_json
from esdedup.model.methods import METHOD_SPECS
from esdedup.model.queries import By
from esdedup.stores.cluster.connection import path_of
from esdedup.stores.cluster.documents import ClusterDocuments
from esdedup.stores.cluster.foreign_index import ForeignIndex
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.quarantine import ClusterQuarantine
from esdedup.stores.cluster.requests import candidates as candidate_requests
from esdedup.stores.cluster.requests import positions as position_requests
from esdedup.stores.ports import MAX_FREQUENT_KEYS

# Documents that `over_frequent_keys` samples: with 20 keys each 1,000 terms, one request.
_SAMPLED = 50
_RARE = 10
_PAGE = 500
_LINK_FIELDS = ("group", "role", "story", "canonical", "attracts")


@dataclass(frozen=True, slots=True)
class ClusterMaintenance:
    """Implements the `Maintenance` port."""

    index: Index
    searches: Searches
    documents: ClusterDocuments
    quarantine: ClusterQuarantine

    @property
    def foreign_index(self) -> ForeignIndex:
        return ForeignIndex(self.index, self.searches, self.documents)

    def read_state(self, name: str) -> JSON | None:
        found = self.foreign_index.read_state(name)
        return None if found is None else found.values

    def write_state(self, name: str, values: JSON | None) -> None:
        self.foreign_index.write_state(name, values)

    def record_settings(self) -> None:
        self.index.record_settings(self.index.settings)

    def own_bytes(self, ids: Sequence[str]) -> int:
        search = {
            "query": {"ids": {"values": list(ids)}},
            "size": len(ids),
            "_source": ["dedup"],
        }
        hits = self.searches.one(search)["hits"]["hits"]
        return sum(len(encode_json(hit["_source"])) for hit in hits)

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
        (answer,) = self.searches.many([body])
        aggs = answer["aggregations"]
        roles = {b["key"]: b["doc_count"] for b in aggs["roles"]["buckets"]}
        size = self.index.connection.send(
            "GET", path_of(self.searches.target.index, "_stats", "store")
        )
        return {
            "documents": answer["hits"]["total"]["value"],
            "groups": aggs["groups"]["value"],
            "stories": aggs["stories"]["value"],
            "roles": {
                r: roles.get(r, 0) for r in ("original", "duplicate", "update", "unprocessed")
            },
            "quarantine": len(self.quarantine.entries()),
            "bytes": size["_all"]["primaries"]["store"]["size_in_bytes"],
            "format": self.index.settings.fingerprint_of_format(),
        }

    def over_frequent_keys(self, above: int) -> dict[str, int]:
        """Of the keys of some documents: how often each occurs in a shard, then exactly how often.

        There is no list of all keys to count: they are indexed without doc values.
        """
        field = METHOD_SPECS["sketch"].key_field
        sample = candidate_requests.random_documents(_SAMPLED, field=field)
        (answer,) = self.searches.many([sample])
        hits = answer["hits"]["hits"]
        keys = sorted({key for hit in hits for key in hit["_source"]["dedup"][field]})
        frequent: dict[str, int] = {}
        for index in {hit["_index"] for hit in hits}:
            found = self.index.connection.send(
                "POST",
                path_of(index, "_termvectors"),
                params={"realtime": "false"},
                body=candidate_requests.frequencies(keys, field=field),
            )
            terms = found.get("term_vectors", {}).get(f"dedup.{field}", {}).get("terms", {})
            # One shard answers for its index; what is rare there is not over-frequent.
            for key, term in terms.items():
                if (seen := term.get("doc_freq", 0)) > _RARE:
                    frequent[key] = max(seen, frequent.get(key, 0))
        suspects = sorted(frequent, key=lambda key: (-frequent[key], key))[:MAX_FREQUENT_KEYS]
        counts = self.searches.many(
            [candidate_requests.count_representatives(k, field=field) for k in suspects]
        )
        exact = {k: c["hits"]["total"]["value"] for k, c in zip(suspects, counts, strict=True)}
        return {k: n for k, n in sorted(exact.items(), key=lambda p: (-p[1], p[0])) if n > above}

    def find_problems(self) -> list[str]:
        """Invariants of groups, read from the index."""
        problems = []
        missing = self.searches.count({"bool": {"must_not": {"exists": {"field": "dedup.group"}}}})
        if missing:
            problems.append(f"{missing} documents have no group: `esdedup sweep` gives them one")
        return problems + self._check_formats() + self._check_groups()

    def _check_formats(self) -> list[str]:
        mine = self.index.settings.fingerprint_of_format()
        body = {
            "size": 0,
            "query": {"bool": {"must_not": {"term": {"dedup.role": "unprocessed"}}}},
            "aggs": {"formats": {"terms": {"field": "dedup.format"}}},
        }
        (answer,) = self.searches.many([body])
        return [
            f"{b['doc_count']} documents have format {b['key']}, the settings say {mine}: index "
            "them again"
            for b in answer["aggregations"]["formats"]["buckets"]
            if b["key"] != mine
        ]

    def repair_keys(self) -> set[str]:
        """A document and its keys are one here: nothing to delete or restore."""
        return {id_ for _, id_ in self._broken_links()}

    def find_older(self, before: int, leading: By | None, *, keyed: bool) -> Iterator[list[str]]:
        search = {
            "query": position_requests.older_query(before, leading, keyed=keyed),
            "_source": False,
            "size": _PAGE,
        }
        for hits in self.searches.pages(search):
            yield [hit["_id"] for hit in hits]

    def _check_groups(self) -> list[str]:
        return [sentence for sentence, _ in islice(self._broken_links(), 20)]

    def _broken_links(self) -> Iterator[tuple[str, str]]:
        """One pass over the links: every group is led by the document it is named after."""
        search = {
            "query": {"exists": {"field": "dedup.group"}},
            "_source": [f"dedup.{name}" for name in _LINK_FIELDS],
        }
        links = {hit["_id"]: hit["_source"]["dedup"] for hit in self.searches.scan(search)}
        for id_, link in links.items():
            leader = links.get(link["group"])
            leads = link["role"] != "duplicate"
            if link["canonical"] != leads:
                yield f"canonical is {link['canonical']} for a {link['role']}: {id_}", id_
            if leads and not link["attracts"]:
                yield f"{link['role']} that does not attract: {id_}", id_
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
