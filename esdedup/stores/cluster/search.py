"""Searches of a cluster, folded: bodies from `searching.requests`, sent and put together here."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from esdedup.errors import QueryError, StoreUnprepared
from esdedup.model import JSON, microseconds
from esdedup.model.queries import By, Mode, Options, Query
from esdedup.model.results import Facet, Members, Section, StoryPage, Total
from esdedup.stores.cluster import facets as cluster_facets
from esdedup.stores.cluster import requests as bodies
from esdedup.stores.cluster import search_requests as requests
from esdedup.stores.cluster.connection import ClusterRefused, Connection
from esdedup.stores.cluster.hits import NO_QUERY, Asked, group_of, hit_of, story_hits, ungrouped_in
from esdedup.stores.cluster.merging import merged
from esdedup.stores.cluster.msearch import Searches

_DECIDED = ("role", "group", "story")
_SIZE = 10
# How long it is taken for granted that all articles have a group, or that some have none.
_CHECKED_SECONDS = 60.0
_REMEMBERED = 256  # searches
_LISTED = "esdedup: groups listed one by one"
_CHECK: JSON = {"query": requests.UNGROUPED, "size": 0, "track_total_hits": 1}
# What the second step of `canonical` leaves out of the caller's body.
_NOT_FOR_COPIES = ("aggs", "aggregations", "highlight", "rescore", "_source", "stored_fields")


class Counted:
    """Counts of the last searches, for their later pages: these show the count of the first."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, ...], tuple[float, JSON]] = OrderedDict()

    def known(self, asked: Asked) -> JSON | None:
        if not asked.offset or asked.options.total == "none":
            return None
        at, answer = self._answers.get(_key(asked), (float("-inf"), {}))
        return answer if time.monotonic() - at <= _CHECKED_SECONDS else None

    def remember(self, asked: Asked, answer: JSON) -> JSON:
        self._answers[_key(asked)] = (time.monotonic(), answer)
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)
        return answer


def _key(asked: Asked) -> tuple[str, ...]:
    return (asked.preference, asked.mode, asked.by, asked.options.total)


class ClusterSearch:
    """Folded searches of one index, alias or pattern."""

    def __init__(
        self,
        connection: Connection,
        searches: Searches,
        names: bodies.Names,
        mappings: Mapping[str, JSON],
    ) -> None:
        self.connection = connection
        self.searches = searches
        self.names = names
        self._properties = _together(mappings)
        self._has_ungrouped = False
        self._checked_at = float("-inf")
        self._counted = Counted()

    # --- one page --------------------------------------------------------------------------------

    def search(self, query: Query | Mapping[str, Any], options: Options) -> StoryPage:
        asked = self.asked(query, options)
        if asked.mode == "collapse":
            if options.window is not None:
                from esdedup.stores.cluster.deep_paging import windowed_page

                return windowed_page(self, asked)
            return self._collapsed(asked)
        if asked.mode == "canonical":
            return self._canonical(asked)
        return self._plain(asked)

    def pages(self, query: Query | Mapping[str, Any], options: Options) -> Iterator[StoryPage]:
        from esdedup.stores.cluster.deep_paging import pages

        return pages(self, self.asked(query, options))

    def deep(
        self, query: Query | Mapping[str, Any], options: Options, cursor: str | None
    ) -> StoryPage:
        from esdedup.stores.cluster.deep_paging import cursor_page

        return cursor_page(self, self.asked(query, options), cursor)

    def asked(self, query: Query | Mapping[str, Any], options: Options) -> Asked:
        if isinstance(query, Query):
            body, words = self.body_of(query), query.words
        else:
            body, words = requests.checked(query), None
        mode: Mode = options.mode
        notes: tuple[str, ...] = ()
        if mode == "auto":
            reason = requests.why_not_collapsible(body, self.connection.product)
            mode = "collapse" if reason is None else "canonical"
            notes = () if reason is None else (f"originals and updates only: {reason}",)
        if mode == "collapse":
            requests.refuse_uncollapsible(body, self.connection.product)
        if mode != "all":
            self.require_fields()
        size = options.size if options.size is not None else body.get("size", _SIZE)
        offset = options.offset if options.offset is not None else body.get("from", 0)
        return Asked(body, words, mode, size, offset, options, notes)

    def body_of(self, query: Query) -> JSON:
        """A search in words as a body."""
        clauses: list[JSON] = []
        words: JSON | None = {"match_all": {}}
        if query.words is not None:
            words = bodies.words_query(query.words, self.names)
        for name, values in query.filters.items():
            clauses.append({"terms": {self.exact_field(name): list(values)}})
        span = {
            side: microseconds(moment)
            for side, moment in (("gte", query.since), ("lt", query.until))
            if moment is not None
        }
        if span:
            clauses.append({"range": {"dedup.moment": span}})
        whole = words or NO_QUERY
        body: JSON = {"query": {"bool": {"must": [whole], "filter": clauses}} if clauses else whole}
        if query.sort:
            body["sort"] = [
                {self._sort_field(name): "desc" if falling else "asc"}
                for name, falling in query.orders
            ]
        return body

    def _sort_field(self, name: str) -> str:
        special = {"score": "_score", "published": "dedup.moment", "words": "dedup.words"}
        return special.get(name) or self.exact_field(name)

    def exact_field(self, name: str) -> str:
        """The field behind one of our names, or a field of the index by its own."""
        for theirs in self.names.get(name, (name,)):
            if found := bodies.exact_field(self._properties, theirs):
                return found
        # What was decided goes by its own name, as in every store.
        if name in _DECIDED and (found := bodies.exact_field(self._properties, f"dedup.{name}")):
            return found
        raise QueryError(
            f"{self.searches.target.shown} has no field {name} that can be filtered, sorted or "
            "counted by its value; map it as keyword, or name another one"
        )

    def require_fields(self) -> None:
        if bodies.exact_field(self._properties, "dedup.group") is None:
            raise StoreUnprepared(
                f"{self.searches.target.shown} has no `dedup` fields, so nothing can be folded; "
                f"run `esdedup backfill {self.searches.target.index}`, or search with mode `all`"
            )

    # --- collapse --------------------------------------------------------------------------------

    def _collapsed(self, asked: Asked) -> StoryPage:
        is_split = self._has_ungrouped
        hits, counted, aggregations = self._ask_collapsed(asked, split=is_split)
        if any(group_of(hit, asked.by) is None for hit in hits) or ungrouped_in(counted):
            self._has_ungrouped = True
        if self._has_ungrouped and not is_split:
            # Articles without a group would all be folded into one.
            hits, counted, aggregations = self._ask_collapsed(asked, split=True)
        return self._page(asked, hits, self.total(asked, counted), counted, aggregations)

    def _ask_collapsed(
        self, asked: Asked, *, split: bool
    ) -> tuple[list[JSON], JSON | None, JSON | None]:
        """The hits of the page, the count, and the caller's own aggregations."""
        base = requests.ordered(requests.with_links(asked.body))
        counts = self.count_entries(asked)
        aggs: JSON = {k: base[k] for k in ("aggs", "aggregations") if k in base}
        if split and aggs:
            counts = [*counts, {**requests.matching(asked.body), **aggs, "size": 0}]
            base = {k: v for k, v in base.items() if k not in aggs}
        pages = self._split_pages(asked, base) if split else [self._one_page(asked, base)]
        answers = self.ask([*pages, *counts], asked.preference)
        rest = answers[len(pages) :]
        counted = self._counted.known(asked)
        if counted is None and asked.options.total != "none":
            counted = self._counted.remember(asked, rest[0])
        self._read_check(rest, counts)
        if not split:
            return answers[0]["hits"]["hits"], counted, answers[0].get("aggregations")
        sort = pages[0].get("sort", ["_score"])
        hits = merged(answers[0]["hits"]["hits"], answers[1]["hits"]["hits"], sort)
        own = rest[-1].get("aggregations") if aggs else None
        return hits[asked.offset : asked.offset + asked.size], counted, own

    def _one_page(self, asked: Asked, base: JSON) -> JSON:
        page = requests.paged(base, size=asked.size, offset=asked.offset, counted_apart=True)
        return requests.collapsed(page, asked.by, asked.options.inner_hits)

    def _split_pages(self, asked: Asked, base: JSON) -> list[JSON]:
        """What has a group, folded; what has none, as it is. Both from the first on."""
        reach = asked.offset + asked.size
        page = requests.paged(base, size=reach, offset=0, counted_apart=True)
        grouped = requests.with_filter(page, {"exists": {"field": "dedup.group"}})
        grouped = requests.collapsed(grouped, asked.by, asked.options.inner_hits)
        return [grouped, requests.with_filter(page, requests.UNGROUPED)]

    def count_entries(self, asked: Asked) -> list[JSON]:
        """The total; and now and then a look whether all articles have a group."""
        entries: list[JSON] = []
        if self._counted.known(asked) is not None:
            pass
        elif asked.options.total == "estimate":
            entries.append(requests.story_count(asked.body, asked.by))
        elif asked.options.total == "exact":
            entries.append(requests.article_count(asked.body))
        if not self._is_checked():
            entries.append(_CHECK)
        return entries

    def _is_checked(self) -> bool:
        return time.monotonic() - self._checked_at <= _CHECKED_SECONDS

    def _read_check(self, answers: Sequence[JSON], entries: Sequence[JSON]) -> None:
        for answer, entry in zip(answers, entries, strict=True):
            if entry is _CHECK:
                self._checked_at = time.monotonic()
                self._has_ungrouped = answer["hits"]["total"]["value"] > 0

    def total(self, asked: Asked, counted: JSON | None) -> Total:
        if counted is None:
            return Total(None, None, exact=False, precision="not counted")
        articles = counted["hits"]["total"]["value"]
        ungrouped = ungrouped_in(counted)
        if asked.options.total == "exact":
            if _LISTED not in counted:  # kept with the count, for later pages
                groups = self.distinct(asked.body, {"group": f"dedup.{asked.by}"})
                counted[_LISTED] = sum(1 for _ in groups)
            return Total(counted[_LISTED] + ungrouped, articles)
        stories = counted["aggregations"]["stories"]["value"] + ungrouped
        return Total(
            min(stories, articles), articles, exact=False, precision=requests.STATED_PRECISION
        )

    def distinct(self, body: JSON, fields: Mapping[str, str]) -> Iterator[JSON]:
        """Every combination of values of these fields among what matches."""
        after = None
        while True:
            (answer,) = self.ask([requests.pairs_page(body, fields, after)])
            pairs = answer["aggregations"]["pairs"]
            yield from (bucket["key"] for bucket in pairs["buckets"])
            after = pairs.get("after_key")
            if after is None or len(pairs["buckets"]) < requests.COMPOSITE_PAGE:
                return

    # --- canonical, all --------------------------------------------------------------------------

    def _canonical(self, asked: Asked) -> StoryPage:
        # Known not to be there; while nobody knows, or some are, the filter that keeps them.
        all_grouped = not self._has_ungrouped and self._is_checked()
        wanted = requests.canonical_filter(asked.by, all_grouped=all_grouped)
        entries = [self._canonical_page(asked, wanted)]
        counted = self._counted.known(asked)
        is_counted = asked.is_counted_apart and asked.options.total != "none" and counted is None
        if is_counted:
            count = requests.article_count(asked.body)
            count["aggs"]["canonical"] = {"filter": wanted}
            entries.append(count)
        if not self._is_checked():
            entries.append(_CHECK)
        answers = self.ask(entries, asked.preference)
        self._read_check(answers, entries)
        page = answers[0]
        if is_counted:
            counted = self._counted.remember(asked, answers[1])
        hits = page["hits"]["hits"]
        total = self._canonical_total(page, counted)
        plain = replace(asked, options=replace(asked.options, copies=False))
        made = self._page(plain, hits, total, counted, page.get("aggregations"))
        is_first = not asked.offset and "search_after" not in asked.body
        if not is_first or len(hits) >= asked.size or not asked.is_counted_apart:
            return made
        return self._with_only_copies(asked, made)

    def _canonical_page(self, asked: Asked, wanted: JSON) -> JSON:
        body = requests.ordered(asked.body) if "sort" in asked.body else asked.body
        body = requests.with_filter(requests.with_links(body), wanted)
        body = requests.paged(
            body, size=asked.size, offset=asked.offset, counted_apart=asked.is_counted_apart
        )
        if "search_after" in body:
            del body["from"]
        return body

    def _canonical_total(self, page: JSON, counted: JSON | None) -> Total:
        if counted is not None:
            stories = counted["aggregations"]["canonical"]["doc_count"]
            return Total(stories, counted["hits"]["total"]["value"])
        if "total" in page["hits"]:
            nearest = page["hits"]["total"]["value"]
            return Total(nearest, None, exact=False, precision="of what the vector search found")
        return Total(None, None, exact=False, precision="not counted")

    def _with_only_copies(self, asked: Asked, page: StoryPage) -> StoryPage:
        """The second step: stories of which only a copy matches, shown by their original.

        All originals that match are on this page, so that the others are those not on it.
        """
        field = f"dedup.{asked.by}"
        values = [hit.group if asked.by == "group" else hit.story for hit in page.hits]
        shown = [value for value in values if value is not None]
        left_out = {"bool": {"must_not": [requests.canonical_filter(asked.by)]}}
        others: JSON = {"bool": {"filter": [left_out], "must_not": [{"terms": {field: shown}}]}}
        body = requests.with_filter(requests.ordered(asked.body), others)
        count = requests.story_count(requests.with_filter(asked.body, others), asked.by)
        room = asked.size - len(page.hits)
        copies = requests.paged(body, size=room, offset=0, counted_apart=True)
        kept = {k: v for k, v in copies.items() if k not in _NOT_FOR_COPIES}
        answer, counted = self.ask([requests.collapsed(kept, asked.by), count])
        found = answer["hits"]["hits"]
        if not found:
            return page
        names = [str(group_of(hit, asked.by)) for hit in found]
        originals = self._by_ids(names)
        hits = tuple(
            replace(
                hit_of(self, originals[name], asked.words),
                score=copy.get("_score"),
                matched=False,
                matched_by=(copy["_id"],),
            )
            for copy, name in zip(found, names, strict=True)
            if name in originals
        )
        number = counted["aggregations"]["stories"]["value"]
        note = (
            f"of {number} more stories only a copy matches; {len(hits)} of them are at the end, "
            "shown by their original, and not in the total (mode collapse has all of them)"
        )
        return replace(page, hits=(*page.hits, *hits), notes=(*page.notes, note))

    def _by_ids(self, ids: Sequence[str]) -> dict[str, JSON]:
        body = {"query": {"ids": {"values": list(ids)}}, "size": len(ids)}
        (answer,) = self.ask([body])
        return {hit["_id"]: hit for hit in answer["hits"]["hits"]}

    def _plain(self, asked: Asked) -> StoryPage:
        is_counted = asked.is_counted_apart and asked.options.total != "none"
        body = requests.ordered(asked.body) if "sort" in asked.body else asked.body
        body = requests.paged(
            requests.with_links(body),
            size=asked.size,
            offset=asked.offset,
            counted_apart=is_counted,
        )
        if "search_after" in body:
            del body["from"]
        entries = [body]
        if is_counted:
            entries.append({**requests.matching(asked.body), "size": 0, "track_total_hits": True})
        answers = self.ask(entries, asked.preference)
        total = Total(None, None, exact=False, precision="not counted")
        if is_counted:
            articles = answers[1]["hits"]["total"]["value"]
            total = Total(articles, articles)
        plain = replace(asked, options=replace(asked.options, copies=False, show="best"))
        hits = answers[0]["hits"]["hits"]
        return self._page(plain, hits, total, None, answers[0].get("aggregations"))

    # --- reading answers -------------------------------------------------------------------------

    def _page(
        self,
        asked: Asked,
        hits: Sequence[JSON],
        total: Total,
        counted: JSON | None,
        aggregations: JSON | None,
    ) -> StoryPage:
        ungrouped = ungrouped_in(counted)
        notes = list(asked.notes)
        if ungrouped:
            notes.append(
                f"{ungrouped:,} matching articles have no group yet and are shown one by one; "
                f"`esdedup backfill {self.searches.target.index}` gives them one"
            )
        if aggregations is not None and asked.mode == "collapse":
            notes.append("aggregations count articles here; mode canonical counts stories")
        return StoryPage(
            hits=story_hits(self, asked, hits),
            total=total,
            mode=asked.mode,
            by=asked.by,
            offset=asked.offset,
            ungrouped=ungrouped,
            notes=tuple(notes),
            aggregations=aggregations,
        )

    def members(self, value: str, by: By, *, size: int, offset: int) -> Members:
        return cluster_facets.members(self, value, by, size=size, offset=offset)

    def facets(
        self, query: Query | Mapping[str, Any], fields: Sequence[str], options: Options, size: int
    ) -> tuple[Facet, ...]:
        return cluster_facets.facets(self, query, fields, options, size)

    def front(
        self, category: str, categories: Sequence[str], *, size: int, by: By
    ) -> tuple[Section, ...]:
        return cluster_facets.front(self, category, categories, size=size, by=by)

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, entries: Sequence[JSON], preference: str | None = None) -> list[JSON]:
        """Answers to all, never partial ones."""
        try:
            if any("pit" in entry for entry in entries):
                return [self.searches.one(entry, preference) for entry in entries]
            return list(self.searches.many(entries, preference))
        except ClusterRefused as refusal:
            raise refused(refusal) from refusal


def refused(refusal: ClusterRefused) -> Exception:
    """What a server says of a body, as an error of the search."""
    reason = _reason(refusal.body)
    if refusal.status == 404 and "context" in reason:
        return QueryError(f"the cursor is too old ({reason}); begin again with deep = true")
    # OpenSearch answers 500 to some bodies that Elasticsearch refuses with 400.
    if refusal.status in (400, 500) and reason:
        return QueryError(f"the search was refused: {reason}; mend the body and send it again")
    return refusal


def _reason(body: Any) -> str:
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return str(error or "")
    causes = [c for c in error.get("root_cause", ()) if isinstance(c, Mapping)]
    first = causes[0] if causes else error
    caused = first.get("caused_by") or error.get("caused_by") or {}
    parts = (first.get("reason") or error.get("reason"), caused.get("reason"))
    return ": ".join(dict.fromkeys(str(part) for part in parts if part))


def _together(mappings: Mapping[str, JSON]) -> JSON:
    """The properties of all indices behind a name."""
    out: JSON = {}
    for mapping in mappings.values():
        for name, spec in mapping.get("properties", {}).items():
            if name == "dedup" and out.get(name, {}).get("properties"):
                continue
            out[name] = spec
    return out
