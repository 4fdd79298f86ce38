"""How a store on a cluster is: counts, keys that are everywhere, broken invariants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from esdedup.model.methods import METHOD_SPECS
from esdedup.settings import Settings
from esdedup.stores import MANY_HOT_KEYS
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster.connection import Connection, path_of
from esdedup.stores.cluster.msearch import Searches

# Documents whose keys `hot_keys` looks at: with 20 keys each 1,000 terms, one request.
_SAMPLED = 50
_RARE = 10
_LINK_FIELDS = ("group", "role", "story", "canonical", "attracts")


@dataclass(frozen=True, slots=True)
class Health:
    """What `stats` and `doctor` ask."""

    connection: Connection
    searches: Searches
    settings: Settings

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
        size = self.connection.send("GET", path_of(self.searches.target.index, "_stats", "store"))
        return {
            "documents": answer["hits"]["total"]["value"],
            "groups": aggs["groups"]["value"],
            "stories": aggs["stories"]["value"],
            "roles": {
                r: roles.get(r, 0) for r in ("original", "duplicate", "update", "unprocessed")
            },
            "bytes": size["_all"]["primaries"]["store"]["size_in_bytes"],
            "format": self.settings.fingerprint_of_format(),
        }

    def hot_keys(self, above: int) -> dict[str, int]:
        """Of the keys of some documents: how often each occurs in a shard, then exactly how often.

        There is no list of all keys to count: they are indexed without doc values.
        """
        field = METHOD_SPECS["sketch"].key_field
        sample = bodies.random_documents(_SAMPLED, field=field)
        (answer,) = self.searches.many([sample])
        hits = answer["hits"]["hits"]
        keys = sorted({key for hit in hits for key in hit["_source"]["dedup"][field]})
        frequent: dict[str, int] = {}
        for index in {hit["_index"] for hit in hits}:
            found = self.connection.send(
                "POST",
                path_of(index, "_termvectors"),
                params={"realtime": "false"},
                body=bodies.frequencies(keys, field=field),
            )
            terms = found.get("term_vectors", {}).get(f"dedup.{field}", {}).get("terms", {})
            # One shard answers for its index; what is rare there cannot be hot.
            for key, term in terms.items():
                if (seen := term.get("doc_freq", 0)) > _RARE:
                    frequent[key] = max(seen, frequent.get(key, 0))
        suspects = sorted(frequent, key=lambda key: (-frequent[key], key))[:MANY_HOT_KEYS]
        counts = self.searches.many([bodies.attracting_with_key(k, field=field) for k in suspects])
        exact = {k: c["hits"]["total"]["value"] for k, c in zip(suspects, counts, strict=True)}
        return {k: n for k, n in sorted(exact.items(), key=lambda p: (-p[1], p[0])) if n > above}

    def check(self) -> list[str]:
        """Invariants of groups, read from the index."""
        problems = []
        missing = self.searches.count({"bool": {"must_not": {"exists": {"field": "dedup.group"}}}})
        if missing:
            problems.append(f"{missing} documents have no group: `esdedup sweep` gives them one")
        return problems + self._check_formats() + self._check_groups()

    def _check_formats(self) -> list[str]:
        mine = self.settings.fingerprint_of_format()
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

    def misplaced(self) -> set[str]:
        """Documents whose link breaks an invariant: what `doctor --fix` looks at."""
        return {id_ for _, id_ in self._broken_links()}

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
