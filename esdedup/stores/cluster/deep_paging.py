"""Deep pages of a cluster: plain hits from one point in time, folded as they come.

Neither engine can go on after a collapsed page (`search_after` with another sort is refused), so
the hits themselves are read in order. A hit is the result of its story if it is the first of its
group: `pages` remembers the groups it has seen; a cursor, which must be small and live in nobody's
memory, asks of each hit whether it is the first of its group.
"""

from __future__ import annotations

import base64
import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from esdedup.errors import QueryError
from esdedup.model import JSON
from esdedup.model.encoding import parse_json
from esdedup.model.queries import DEEPEST, By, Options
from esdedup.model.results import StoryHit, StoryPage, Total
from esdedup.stores.cluster import search_requests as requests
from esdedup.stores.cluster.hits import Asked, group_of, story_hits
from esdedup.stores.cluster.search import ClusterSearch

# How long the cluster keeps a point in time for the next page.
KEEP_ALIVE = "5m"
_SMALLEST_BATCH, _LARGEST_BATCH = 50, 1_000


def pages(finder: ClusterSearch, asked: Asked) -> Iterator[StoryPage]:
    """All stories, page by page; memory grows by one entry for each story that was shown."""
    pit = finder.searches.open_pit()
    try:
        yield from _pages(finder, asked, pit)
    finally:
        finder.searches.close_pit(pit)


def _pages(finder: ClusterSearch, asked: Asked, pit: str) -> Iterator[StoryPage]:
    total, ungrouped = _total(finder, asked)
    offset = 0
    waiting: list[JSON] = []
    for hit in _stories(finder, asked, pit):
        waiting.append(hit)
        if len(waiting) == asked.size:
            yield _page(finder, asked, waiting, total, ungrouped, offset)
            offset += len(waiting)
            waiting = []
    if waiting or not offset:
        yield _page(finder, asked, waiting, total, ungrouped, offset)


def _page(
    finder: ClusterSearch,
    asked: Asked,
    hits: Sequence[JSON],
    total: Total,
    ungrouped: int,
    offset: int,
    cursor: str | None = None,
) -> StoryPage:
    made: tuple[StoryHit, ...]
    if asked.mode == "collapse" and asked.options.window is not None:
        spans = Episodes(finder, asked.by, asked.options.window_microseconds)
        made = story_hits(finder, asked, hits, spans.bounds(hits, asked.body))
    elif asked.mode == "collapse":
        made = story_hits(finder, asked, hits)
    else:
        made = story_hits(finder, replace(asked, options=_uncounted(asked)), hits)
    return StoryPage(
        hits=made,
        total=total,
        mode=asked.mode,
        by=asked.by,
        offset=offset,
        cursor=cursor,
        ungrouped=ungrouped,
        notes=asked.notes,
    )


def _uncounted(asked: Asked) -> Options:
    return replace(asked.options, copies=False)


def _total(finder: ClusterSearch, asked: Asked) -> tuple[Total, int]:
    """The count of stories and, of the articles, how many have no group."""
    if asked.options.total == "none":
        return Total(None, None, exact=False, precision="not counted"), 0
    if asked.mode == "collapse" and asked.options.window is not None:
        return windowed_total(finder, asked)
    count = requests.article_count(asked.body)
    count["aggs"]["canonical"] = {"filter": requests.canonical_filter(asked.by)}
    if asked.mode == "collapse":
        count = finder.count_entries(asked)[0]
    (counted,) = finder.ask([count])
    ungrouped = counted["aggregations"]["ungrouped"]["doc_count"]
    articles = counted["hits"]["total"]["value"]
    if asked.mode == "collapse":
        return finder.total(asked, counted), ungrouped
    if asked.mode == "canonical":
        return Total(counted["aggregations"]["canonical"]["doc_count"], articles), ungrouped
    return Total(articles, articles), 0


# --- reading in order -----------------------------------------------------------------------------


def _deep_body(asked: Asked) -> JSON:
    """Without what needs a collapse, and with the filter of the mode."""
    if not asked.is_counted_apart or "rescore" in asked.body:
        raise QueryError(
            "a vector search, a retriever or a rescored search has no order that a cursor could "
            "follow; ask for as many results as you need with size"
        )
    body = requests.with_links(asked.body)
    if asked.mode == "canonical":
        return requests.with_filter(body, requests.canonical_filter(asked.by))
    return body


def _batches(
    finder: ClusterSearch, asked: Asked, pit: str, after: Sequence[Any] | None = None
) -> Iterator[tuple[list[JSON], JSON]]:
    size = min(_LARGEST_BATCH, max(_SMALLEST_BATCH, 2 * asked.size))
    body = _deep_body(asked)
    while True:
        request = requests.deep(body, pit, KEEP_ALIVE, size, after)
        (answer,) = finder.ask([request])
        found: list[JSON] = answer["hits"]["hits"]
        is_last = len(found) < size
        hits = found if is_last else requests.without_cut_ties(found)
        if hits or is_last:
            yield hits, request
        if is_last:
            return
        if hits:
            after = hits[-1]["sort"]
        else:  # one tie fills the batch: an index of more shards than that
            size *= 2


def _stories(finder: ClusterSearch, asked: Asked, pit: str) -> Iterator[JSON]:
    """The first hit of every story."""
    seen = Seen(finder, asked)
    for hits, _ in _batches(finder, asked, pit):
        for hit in hits:
            if asked.mode != "collapse" or seen.is_new(hit):
                yield hit


@dataclass(slots=True)
class Seen:
    """The stories met so far; under a window those of one group that lie apart are several."""

    finder: ClusterSearch
    asked: Asked
    _groups: set[str] = field(default_factory=set)
    _moments: dict[str, list[int]] = field(default_factory=dict)
    _lookup: Episodes | None = None

    def is_new(self, hit: JSON) -> bool:
        group = group_of(hit, self.asked.by)
        if group is None:
            return True
        window = self.asked.options.window_microseconds
        if not window:
            is_known = group in self._groups
            self._groups.add(group)
            return not is_known
        return self._is_new_episode(group, requests.moment_of(hit, self.asked.body), window)

    def _is_new_episode(self, group: str, moment: int, window: int) -> bool:
        shown = self._moments.setdefault(group, [])
        if any(abs(moment - other) <= window for other in shown):
            return False  # nothing between two articles so close can part them
        if shown:
            if self._lookup is None:
                self._lookup = Episodes(self.finder, self.asked.by, window)
            episodes = self._lookup.of(group)
            if {episodes.number(moment)} & {episodes.number(m) for m in shown}:
                return False
        shown.append(moment)
        return True


# --- windows --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Episode:
    """The moments of a group's articles, cut where more than the window passes without one."""

    moments: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def cut(cls, moments: Sequence[int], window: int) -> Episode:
        ordered = sorted(moments)
        starts = [
            moment
            for place, moment in enumerate(ordered)
            if place == 0 or moment - ordered[place - 1] > window
        ]
        return cls(tuple(ordered), tuple(starts))

    def number(self, moment: int) -> int:
        return bisect_right(self.starts, moment)

    def bounds(self, moment: int) -> tuple[int, int]:
        number = self.number(moment)
        end = self.starts[number] - 1 if number < len(self.starts) else max(self.moments)
        return self.starts[number - 1], end


@dataclass(slots=True)
class Episodes:
    """Groups' episodes, asked for once each."""

    finder: ClusterSearch
    by: By
    window: int
    _known: dict[str, Episode] = field(default_factory=dict)

    def of(self, group: str) -> Episode:
        self.load([group])
        return self._known[group]

    def load(self, groups: Sequence[str]) -> None:
        wanted = [group for group in dict.fromkeys(groups) if group not in self._known]
        if not wanted:
            return
        moments: dict[str, list[int]] = {group: [] for group in wanted}
        body = {"query": {"bool": {"filter": [{"terms": {f"dedup.{self.by}": wanted}}]}}}
        fields = {"group": f"dedup.{self.by}", "moment": "dedup.moment"}
        for key in self.finder.distinct(body, fields):
            moments[key["group"]].append(int(key["moment"]))
        for group, found in moments.items():
            self._known[group] = Episode.cut(found, self.window)

    def bounds(self, hits: Sequence[JSON], body: JSON) -> list[tuple[int, int]]:
        groups = [group_of(hit, self.by) for hit in hits]
        self.load([group for group in groups if group is not None])
        return [
            (0, 0) if group is None else self._known[group].bounds(requests.moment_of(hit, body))
            for hit, group in zip(hits, groups, strict=True)
        ]


def windowed_page(finder: ClusterSearch, asked: Asked) -> StoryPage:
    """A page under a window: hits are read from the first on, since no field holds the episode."""
    if asked.offset + asked.size > DEEPEST:
        raise QueryError(f"results beyond {DEEPEST:,} under a window: take `pages`, which goes on")
    pit = finder.searches.open_pit()
    try:
        hits = []
        for place, hit in enumerate(_stories(finder, asked, pit)):
            if place >= asked.offset + asked.size:
                break
            if place >= asked.offset:
                hits.append(hit)
        total, ungrouped = _total(finder, asked)
        return _page(finder, asked, hits, total, ungrouped, asked.offset)
    finally:
        finder.searches.close_pit(pit)


def windowed_total(finder: ClusterSearch, asked: Asked) -> tuple[Total, int]:
    """Exact: one for each group, more for those whose matches lie further apart than the window."""
    (counted,) = finder.ask([requests.article_count(asked.body)])
    ungrouped = counted["aggregations"]["ungrouped"]["doc_count"]
    window = asked.options.window_microseconds
    moments: dict[str, list[int]] = {}
    fields = {"group": f"dedup.{asked.by}", "moment": "dedup.moment"}
    for key in finder.distinct(asked.body, fields):
        moments.setdefault(key["group"], []).append(int(key["moment"]))
    wide = {g: found for g, found in moments.items() if max(found) - min(found) > window}
    episodes = Episodes(finder, asked.by, window)
    for part in _chunks(list(wide), 1_000):
        episodes.load(part)
    stories = len(moments) - len(wide) + ungrouped
    for group, found in wide.items():
        stories += len({episodes.of(group).number(moment) for moment in found})
    return Total(stories, counted["hits"]["total"]["value"]), ungrouped


def _chunks(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


# --- cursors --------------------------------------------------------------------------------------


def cursor_page(finder: ClusterSearch, asked: Asked, cursor: str | None) -> StoryPage:
    """The first page of a deep search, or the one a cursor leads to."""
    if asked.options.window is not None:
        raise QueryError("a cursor cannot follow a window; take `pages`, or from and size")
    if asked.size < 1:
        raise QueryError("a cursor leads from page to page; ask for a size of 1 or more")
    digest = _digest(asked)
    if cursor is None:
        state = Cursor(finder.searches.open_pit(), None, (), 0, digest)
    else:
        state = Cursor.read(cursor, digest)
    kept: list[JSON] = []
    later: Cursor | None = None
    for hits, request in _batches(finder, asked, state.pit, state.after):
        firsts = _firsts(finder, asked, state.not_given(hits, request), request)
        kept += islice(firsts, asked.size - len(kept))
        if len(kept) == asked.size:
            later = state.moved(hits, kept, request)
            break
    if later is None:
        finder.searches.close_pit(state.pit)
    next_cursor = later.written() if later else None
    total, ungrouped = _total(finder, asked)
    return _page(finder, asked, kept, total, ungrouped, state.offset, next_cursor)


def _firsts(
    finder: ClusterSearch, asked: Asked, hits: Sequence[JSON], request: JSON
) -> Iterator[JSON]:
    """Those hits before which no other of their group comes."""
    groups = [group_of(hit, asked.by) for hit in hits]
    known = list(dict.fromkeys(group for group in groups if group is not None))
    firsts: set[tuple[str, str]] = set()
    if asked.mode == "collapse" and known:
        (answer,) = finder.ask([requests.best_of(request, known, asked.by)])
        firsts = {(hit["_index"], hit["_id"]) for hit in answer["hits"]["hits"]}
    for hit, group in zip(hits, groups, strict=True):
        if asked.mode != "collapse" or group is None or (hit["_index"], hit["_id"]) in firsts:
            yield hit


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a deep search stands: the point in time, and the last hit with those it ties with."""

    pit: str
    after: Sequence[Any] | None  # of the last hit before that tie
    given: Sequence[str]  # ids of those in the tie that were shown, or passed over
    offset: int
    digest: str

    def not_given(self, hits: Sequence[JSON], request: JSON) -> list[JSON]:
        """A tie is never cut, so it begins the first batch."""
        if request.get("search_after") != self.after:
            return list(hits)
        given = set(self.given)
        return [h for h in hits if h["_id"] not in given or h["sort"] != hits[0]["sort"]]

    def moved(self, hits: Sequence[JSON], kept: Sequence[JSON], request: JSON) -> Cursor:
        """To the last of the hits that were kept, which is one of this batch."""
        passed = hits[: hits.index(kept[-1]) + 1]
        before = requests.without_cut_ties(passed)
        return replace(
            self,
            after=before[-1]["sort"] if before else request.get("search_after"),
            given=[hit["_id"] for hit in passed[len(before) :]],
            offset=self.offset + len(kept),
        )

    def written(self) -> str:
        text = json.dumps([2, self.pit, self.after, self.given, self.offset, self.digest])
        return base64.urlsafe_b64encode(text.encode()).decode("ascii")

    @classmethod
    def read(cls, text: str, digest: str) -> Cursor:
        try:
            stated = parse_json(base64.urlsafe_b64decode(text.encode()))
            version, pit, after, given, offset, of = stated
        except (ValueError, TypeError) as error:
            raise QueryError("the cursor cannot be read; send it back as it came") from error
        if version != 2 or of != digest:
            raise QueryError(
                "the cursor belongs to another search; send it with the same query, mode and "
                "folding it came from"
            )
        return cls(pit, after, given, offset, of)


def _digest(asked: Asked) -> str:
    text = json.dumps([asked.body, asked.mode, asked.by], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
