"""Folded searches of a cluster: sends the bodies of `requests.folding` and builds the pages."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from esdedup.errors import QueryError, StoreUnprepared
from esdedup.model import JSON, microseconds
from esdedup.model.encoding import encode_json
from esdedup.model.queries import By, Mode, Query, SearchOptions, StoreQuery
from esdedup.model.results import StoryPage, Total
from esdedup.stores.cluster import deep_paging
from esdedup.stores.cluster.causes import describe_error
from esdedup.stores.cluster.connection import ClusterRefused
from esdedup.stores.cluster.facets import facets, members
from esdedup.stores.cluster.hits import (
    NO_QUERY,
    NOT_COUNTED,
    Bounds,
    Found,
    SearchPlan,
    group_of,
    hit_of,
    story_hits,
    ungrouped_in,
)
from esdedup.stores.cluster.index import Index
from esdedup.stores.cluster.merging import merge_hits
from esdedup.stores.cluster.msearch import Searches
from esdedup.stores.cluster.requests import folding as requests
from esdedup.stores.cluster.requests import searching as search_fields
from esdedup.stores.cluster.requests import topics as topic_requests
from esdedup.stores.ports import Record
from esdedup.stores.topical import TopicQuery

_DECIDED = ("role", "group", "story", "agency")
_SIZE = 10
# How long it is taken for granted that all articles have a group, or that some have none.
_CHECKED_SECONDS = 60.0
_CACHED_COUNTS = 256
_LISTED = "esdedup: groups listed one by one"
_CHECK: JSON = {"query": requests.UNGROUPED, "size": 0, "track_total_hits": 1}
# What the second step of `canonical` leaves out of the caller's body.
_NOT_FOR_COPIES = ("aggs", "aggregations", "highlight", "rescore", "_source", "stored_fields")


class CountCache:
    """Counts of the last searches. Later pages of a search show the count of its first page."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, ...], tuple[float, JSON]] = OrderedDict()

    def get(self, plan: SearchPlan) -> JSON | None:
        if not plan.offset or plan.options.total == "none":
            return None
        at, count = self._counts.get(_cache_key(plan), (float("-inf"), {}))
        return count if time.monotonic() - at <= _CHECKED_SECONDS else None

    def put(self, plan: SearchPlan, count: JSON) -> None:
        self._counts[_cache_key(plan)] = (time.monotonic(), count)
        if len(self._counts) > _CACHED_COUNTS:
            self._counts.popitem(last=False)


def _cache_key(plan: SearchPlan) -> tuple[str, ...]:
    return (plan.preference, plan.mode, plan.by, plan.options.total)


class ClusterSearch:
    """Implements the `SearchIndex` port, for an index, alias or pattern."""

    def __init__(
        self, index: Index, searches: Searches, read_record: Callable[[JSON], Record]
    ) -> None:
        self.connection = index.connection
        self.searches = searches
        self.names = index.names
        self._index = index
        self._read_record = read_record
        self._properties = _merge_properties(index.mappings() or {})
        self._has_ungrouped = False
        self._checked_at = float("-inf")
        self._counts = CountCache()

    # --- one page --------------------------------------------------------------------------------

    def search(self, query: StoreQuery, options: SearchOptions) -> StoryPage:
        plan = self.plan(query, options)
        if plan.mode != "collapse":
            return self._search_listed(plan)
        if options.window is None:
            return self._search_collapsed(plan)
        return deep_paging.windowed_page(self, plan)

    def pages(self, query: StoreQuery, options: SearchOptions) -> Iterator[StoryPage]:
        return deep_paging.pages(self, self.plan(query, options))

    def deep(self, query: StoreQuery, options: SearchOptions, cursor: str | None) -> StoryPage:
        return deep_paging.cursor_page(self, self.plan(query, options), cursor)

    def plan(self, query: StoreQuery, options: SearchOptions) -> SearchPlan:
        if isinstance(query, Query):
            body, words = self.body_of(query), query.words
        else:
            body, words = requests.check_body(query), None
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
        return SearchPlan(body, words, mode, size, offset, options, notes)

    def body_of(self, query: Query) -> JSON:
        """A search in words as a body."""
        clauses: list[JSON] = []
        words: JSON | None = {"match_all": {}}
        if query.words is not None:
            words = search_fields.words_query(query.words, self.names)
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
            if found := search_fields.exact_field(self._properties, theirs):
                return found
        # What was decided goes by its own name, as in every store. An index that is older than the
        # field `agency` answers with no values.
        if name in _DECIDED and search_fields.exact_field(self._properties, "dedup.group"):
            return f"dedup.{name}"
        raise QueryError(
            f"{self.searches.target.shown} has no field {name} that can be filtered, sorted or "
            "counted by its value; map it as keyword, or name another one"
        )

    def require_fields(self) -> None:
        if search_fields.exact_field(self._properties, "dedup.group") is None:
            raise StoreUnprepared(
                f"{self.searches.target.shown} has no `dedup` fields, so nothing can be folded; "
                f"run `esdedup backfill {self.searches.target.index}`, or search with mode `all`"
            )

    # --- collapse --------------------------------------------------------------------------------

    def _search_collapsed(self, plan: SearchPlan) -> StoryPage:
        is_split = self._has_ungrouped
        found = self._ask_collapsed(plan, split=is_split)
        is_any_ungrouped = any(group_of(hit, plan.by) is None for hit in found.hits)
        if is_any_ungrouped or ungrouped_in(found.count):
            self._has_ungrouped = True
        if self._has_ungrouped and not is_split:
            # Articles without a group would all be folded into one.
            found = self._ask_collapsed(plan, split=True)
        return self.page(plan, found, self.total(plan, found.count), offset=plan.offset)

    def _ask_collapsed(self, plan: SearchPlan, *, split: bool) -> Found:
        """With `split`, articles that have a group are folded and the others are not: two searches
        from the first hit on, whose results are merged here."""
        base = requests.with_tie_breakers(requests.with_links(plan.body))
        inner_hits = plan.options.inner_hits
        if not split:
            page = requests.with_page(base, size=plan.size, offset=plan.offset, counted_apart=True)
            entry = requests.with_collapse(page, plan.by, inner_hits)
            (answer,), count = self._ask_with_count(plan, [_with_copies(entry, plan)])
            copies = requests.take_copies(answer)
            return Found(answer["hits"]["hits"], count, answer.get("aggregations"), copies)
        aggs: JSON = {k: base[k] for k in ("aggs", "aggregations") if k in base}
        base = {k: v for k, v in base.items() if k not in aggs}
        end = plan.offset + plan.size
        page = requests.with_page(base, size=end, offset=0, counted_apart=True)
        grouped = requests.with_filter(page, requests.GROUPED)
        entries = [
            _with_copies(requests.with_collapse(grouped, plan.by, inner_hits), plan),
            requests.with_filter(page, requests.UNGROUPED),
        ]
        if aggs:
            entries.append({**requests.matching(plan.body), **aggs, "size": 0})
        (folded, single, *own), count = self._ask_with_count(plan, entries)
        copies = requests.take_copies(folded)
        sort = page.get("sort", ["_score"])
        hits = merge_hits(folded["hits"]["hits"], single["hits"]["hits"], sort)
        aggregations = own[0].get("aggregations") if own else None
        return Found(hits[plan.offset : end], count, aggregations, copies)

    # --- counts ----------------------------------------------------------------------------------

    def _ask_with_count(
        self, plan: SearchPlan, entries: Sequence[JSON]
    ) -> tuple[list[JSON], JSON | None]:
        """The answers, and the count: from the cache, or asked for in the same request.

        Once a minute the request also checks whether all articles have a group.
        """
        count = self._counts.get(plan)
        is_counted = count is None and plan.is_counted_apart and plan.options.total != "none"
        is_check_due = plan.mode != "all" and not self._is_checked()
        counting = [self.count_request(plan)] if is_counted else []
        checking = [_CHECK] if is_check_due else []
        answers = self.ask([*entries, *counting, *checking], plan.preference)
        if is_check_due:
            self._checked_at = time.monotonic()
            self._has_ungrouped = answers.pop()["hits"]["total"]["value"] > 0
        if is_counted:
            count = answers.pop()
            self._counts.put(plan, count)
        return answers, count

    def count_request(self, plan: SearchPlan) -> JSON:
        """Counts the articles of a search and, as its mode shows them, the stories."""
        if plan.mode == "all":
            return {**requests.matching(plan.body), "size": 0, "track_total_hits": True}
        if plan.mode == "collapse" and plan.options.total == "estimate":
            return requests.story_count(plan.body, plan.by)
        count = requests.article_count(plan.body)
        if plan.mode == "canonical":
            count["aggs"]["canonical"] = {"filter": self._canonical_filter(plan.by)}
        return count

    def total(self, plan: SearchPlan, count: JSON | None) -> Total:
        """The total in the answer to a `count_request`."""
        if count is None:
            return NOT_COUNTED
        articles = count["hits"]["total"]["value"]
        if plan.mode == "all":
            return Total(articles, articles)
        if plan.mode == "canonical":
            return Total(count["aggregations"]["canonical"]["doc_count"], articles)
        ungrouped = ungrouped_in(count)
        if plan.options.total == "exact":
            if _LISTED not in count:  # stays in the cache, for later pages
                groups = self.distinct(plan.body, {"group": f"dedup.{plan.by}"})
                count[_LISTED] = sum(1 for _ in groups)
            return Total(count[_LISTED] + ungrouped, articles)
        stories = min(count["aggregations"]["stories"]["value"] + ungrouped, articles)
        return Total(stories, articles, exact=False, precision=requests.STATED_PRECISION)

    def _is_checked(self) -> bool:
        return time.monotonic() - self._checked_at <= _CHECKED_SECONDS

    def _canonical_filter(self, by: By) -> JSON:
        """The quick filter while all articles are known to have a group."""
        all_grouped = not self._has_ungrouped and self._is_checked()
        return requests.canonical_filter(by, all_grouped=all_grouped)

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

    def _search_listed(self, plan: SearchPlan) -> StoryPage:
        """Modes `canonical` and `all`: hits in the order of the search, filtered or not."""
        body = requests.with_tie_breakers(plan.body) if "sort" in plan.body else plan.body
        body = requests.with_links(body)
        if plan.mode == "canonical":
            body = requests.with_filter(body, self._canonical_filter(plan.by))
        body = requests.with_page(
            body, size=plan.size, offset=plan.offset, counted_apart=plan.is_counted_apart
        )
        if "search_after" in body:
            del body["from"]
        (answer,), count = self._ask_with_count(plan, [body])
        total = self.total(plan, count)
        if plan.mode == "canonical" and not plan.is_counted_apart and "total" in answer["hits"]:
            nearest = answer["hits"]["total"]["value"]
            total = Total(nearest, None, exact=False, precision="of what the vector search found")
        hits = answer["hits"]["hits"]
        found = Found(hits, count, answer.get("aggregations"))
        page = self.page(plan, found, total, offset=plan.offset)
        is_first = not plan.offset and "search_after" not in plan.body
        has_room = len(hits) < plan.size and plan.is_counted_apart
        if plan.mode == "canonical" and is_first and has_room:
            return self._with_only_copies(plan, page)
        return page

    def _with_only_copies(self, plan: SearchPlan, page: StoryPage) -> StoryPage:
        """The second step: stories of which only a copy matches, shown by their original.

        All originals that match are on this page, so that the others are those not on it.
        """
        field = f"dedup.{plan.by}"
        values = [hit.group if plan.by == "group" else hit.story for hit in page.hits]
        shown = [value for value in values if value is not None]
        left_out = {"bool": {"must_not": [requests.canonical_filter(plan.by)]}}
        others: JSON = {"bool": {"filter": [left_out], "must_not": [{"terms": {field: shown}}]}}
        body = requests.with_filter(requests.with_tie_breakers(plan.body), others)
        count_request = requests.story_count(requests.with_filter(plan.body, others), plan.by)
        room = plan.size - len(page.hits)
        copies = requests.with_page(body, size=room, offset=0, counted_apart=True)
        kept = {k: v for k, v in copies.items() if k not in _NOT_FOR_COPIES}
        answer, count = self.ask([requests.with_collapse(kept, plan.by), count_request])
        found = answer["hits"]["hits"]
        if not found:
            return page
        names = [str(group_of(hit, plan.by)) for hit in found]
        (answer,) = self.ask([{"query": {"ids": {"values": names}}, "size": len(names)}])
        originals = {hit["_id"]: hit for hit in answer["hits"]["hits"]}
        hits = tuple(
            replace(
                hit_of(self, originals[name], plan.words),
                score=copy.get("_score"),
                matched=False,
                matched_by=(copy["_id"],),
            )
            for copy, name in zip(found, names, strict=True)
            if name in originals
        )
        number = count["aggregations"]["stories"]["value"]
        note = (
            f"of {number} more stories only a copy matches; {len(hits)} of them are at the end, "
            "shown by their original, and not in the total (mode collapse has all of them)"
        )
        return replace(page, hits=(*page.hits, *hits), notes=(*page.notes, note))

    # --- pages -------------------------------------------------------------------------

    def page(
        self,
        plan: SearchPlan,
        found: Found,
        total: Total,
        *,
        offset: int,
        cursor: str | None = None,
        bounds: Bounds | None = None,
    ) -> StoryPage:
        ungrouped = ungrouped_in(found.count)
        notes = list(plan.notes)
        if ungrouped:
            notes.append(
                f"{ungrouped:,} matching articles have no group yet and are shown one by one; "
                f"`esdedup backfill {self.searches.target.index}` gives them one"
            )
        if found.aggregations is not None and plan.mode == "collapse":
            notes.append("aggregations count articles here; mode canonical counts stories")
        return StoryPage(
            hits=story_hits(self, plan, found.hits, bounds, found.copies),
            total=total,
            mode=plan.mode,
            by=plan.by,
            offset=offset,
            cursor=cursor,
            ungrouped=ungrouped,
            notes=tuple(notes),
            aggregations=found.aggregations,
        )

    # Methods that are defined in `facets`.
    members = members
    facets = facets

    # --- groups, topics --------------------------------------------------------------------------

    def groups(self, *, smallest: int = 2, size: int = 50) -> list[tuple[str, int]]:
        terms = {"field": "dedup.group", "size": size, "min_doc_count": smallest}
        answer = self.searches.one({"size": 0, "aggs": {"groups": {"terms": terms}}})
        return [(b["key"], b["doc_count"]) for b in answer["aggregations"]["groups"]["buckets"]]

    def find_by_words(self, query: TopicQuery) -> list[Record]:
        if not query.words:
            return []
        # The names as they are now: `backfill` may have found them since.
        search = topic_requests.topic_search(query, self._index.names)
        # The same words meet the same copies of the shards, and so the same order of ties. The
        # words themselves would be quoted twice, which takes longer than all else that is sent.
        preference = str(crc32(encode_json(list(query.words))))
        hits = self.searches.one(search, preference)["hits"]["hits"]
        return [self._read_record(hit) for hit in hits if hit["_id"] != query.id]

    # --- asking ----------------------------------------------------------------------------------

    def ask(self, entries: Sequence[JSON], preference: str | None = None) -> list[JSON]:
        """Answers to all, never partial ones."""
        try:
            if any("pit" in entry for entry in entries):
                return [self.searches.one(entry, preference) for entry in entries]
            return list(self.searches.many(entries, preference))
        except ClusterRefused as refusal:
            raise _translate_refusal(refusal) from refusal


def _with_copies(entry: JSON, plan: SearchPlan) -> JSON:
    return requests.with_copies(entry, plan.by) if plan.counts_copies else entry


def _translate_refusal(refusal: ClusterRefused) -> Exception:
    """The answer of a server to a body, as an error of the search."""
    reason = describe_error(refusal.body)
    if refusal.status == 404 and "context" in reason:
        return QueryError(f"the cursor is too old ({reason}); begin again with deep = true")
    # OpenSearch answers 500 to some bodies that Elasticsearch refuses with 400.
    if refusal.status in (400, 500) and reason:
        return QueryError(f"the search was refused: {reason}; correct the body and send it again")
    return refusal


def _merge_properties(mappings: Mapping[str, JSON]) -> JSON:
    """The properties of all indices behind a name."""
    out: JSON = {}
    for mapping in mappings.values():
        for name, spec in mapping.get("properties", {}).items():
            if name == "dedup" and out.get(name, {}).get("properties"):
                continue
            out[name] = spec
    return out
