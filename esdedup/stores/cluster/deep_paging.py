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
from typing import TYPE_CHECKING, Any

from esdedup.errors import QueryError
from esdedup.model import JSON
from esdedup.model.batching import batched
from esdedup.model.encoding import parse_json
from esdedup.model.queries import DEEPEST, By
from esdedup.model.results import StoryPage, Total
from esdedup.stores.cluster.hits import NOT_COUNTED, Found, SearchPlan, group_of, ungrouped_in
from esdedup.stores.cluster.requests import folding as requests

if TYPE_CHECKING:
    from esdedup.stores.cluster.search import ClusterSearch

# The total of a search, and the answer it was read from.
Counted = tuple[Total, JSON | None]
# How long the cluster keeps a point in time for the next page.
KEEP_ALIVE = "5m"
_SMALLEST_BATCH, _LARGEST_BATCH = 50, 1_000


def pages(finder: ClusterSearch, plan: SearchPlan) -> Iterator[StoryPage]:
    """All stories, page by page; memory grows by one entry for each story that was shown."""
    pit = finder.searches.open_pit()
    try:
        counted = _count(finder, plan)
        offset, episodes = 0, Episodes.of_plan(finder, plan)
        for hits in batched(_stories(finder, plan, pit, episodes), max(1, plan.size)):
            yield _page(finder, plan, hits, counted, offset, episodes=episodes)
            offset += len(hits)
        if not offset:
            yield _page(finder, plan, [], counted, offset)
    finally:
        finder.searches.close_pit(pit)


def _page(
    finder: ClusterSearch,
    plan: SearchPlan,
    hits: Sequence[JSON],
    counted: Counted,
    offset: int,
    cursor: str | None = None,
    episodes: Episodes | None = None,
) -> StoryPage:
    bounds = episodes.bounds(hits, plan.body) if episodes else None
    total, count = counted
    found = Found(hits, count, None)
    return finder.page(plan, found, total, offset=offset, cursor=cursor, bounds=bounds)


def _count(finder: ClusterSearch, plan: SearchPlan) -> Counted:
    if plan.options.total == "none":
        return NOT_COUNTED, None
    if plan.mode == "collapse" and plan.options.window is not None:
        return _count_episodes(finder, plan)
    (count,) = finder.ask([finder.count_request(plan)])
    return finder.total(plan, count), count


# --- reading in order -----------------------------------------------------------------------------


def _deep_body(plan: SearchPlan) -> JSON:
    """Without what needs a collapse, and with the filter of the mode."""
    if not plan.is_counted_apart or "rescore" in plan.body:
        raise QueryError(
            "a vector search, a retriever or a rescored search has no order that a cursor could "
            "follow; ask for as many results as you need with size"
        )
    body = requests.with_links(plan.body)
    if plan.mode == "canonical":
        return requests.with_filter(body, requests.canonical_filter(plan.by))
    return body


def _batches(
    finder: ClusterSearch, plan: SearchPlan, pit: str, after: Sequence[Any] | None = None
) -> Iterator[tuple[list[JSON], JSON]]:
    size = min(_LARGEST_BATCH, max(_SMALLEST_BATCH, 2 * plan.size))
    body = _deep_body(plan)
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


def _stories(
    finder: ClusterSearch, plan: SearchPlan, pit: str, episodes: Episodes | None
) -> Iterator[JSON]:
    """The first hit of every story; under a window, of every episode of a story."""
    seen: set[tuple[str, int]] = set()
    for hits, _ in _batches(finder, plan, pit):
        numbers = episodes.numbers(hits, plan.body) if episodes else [0] * len(hits)
        for hit, number in zip(hits, numbers, strict=True):
            group = group_of(hit, plan.by)
            if plan.mode != "collapse" or group is None or (group, number) not in seen:
                yield hit
            if group is not None:
                seen.add((group, number))


# --- windows --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EpisodeCut:
    """The moments of a group's articles, cut where more than the window passes without one."""

    moments: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, moments: Sequence[int], window: int) -> EpisodeCut:
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
    """The episodes of groups, read once each."""

    finder: ClusterSearch
    by: By
    window: int
    _known: dict[str, EpisodeCut] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, finder: ClusterSearch, plan: SearchPlan) -> Episodes | None:
        """None if the search has no window."""
        if plan.mode != "collapse" or plan.options.window is None:
            return None
        return cls(finder, plan.by, plan.options.window_microseconds)

    def of(self, group: str) -> EpisodeCut:
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
            self._known[group] = EpisodeCut.of(found, self.window)

    def numbers(self, hits: Sequence[JSON], body: JSON) -> list[int]:
        """The number of the episode of each hit in its story."""
        return [0 if cut is None else cut.number(at) for cut, at in self._cuts(hits, body)]

    def bounds(self, hits: Sequence[JSON], body: JSON) -> list[tuple[int, int]]:
        """The first and the last moment of the episode of each hit."""
        return [(0, 0) if cut is None else cut.bounds(at) for cut, at in self._cuts(hits, body)]

    def _cuts(self, hits: Sequence[JSON], body: JSON) -> list[tuple[EpisodeCut | None, int]]:
        """The episodes of the story of each hit, None if it has no group; and its moment."""
        groups = [group_of(hit, self.by) for hit in hits]
        self.load([group for group in groups if group is not None])
        return [
            (None, 0) if group is None else (self._known[group], requests.moment_of(hit, body))
            for hit, group in zip(hits, groups, strict=True)
        ]


def windowed_page(finder: ClusterSearch, plan: SearchPlan) -> StoryPage:
    """A page under a window: hits are read from the first on, since no field holds the episode."""
    if plan.offset + plan.size > DEEPEST:
        raise QueryError(f"results beyond {DEEPEST:,} under a window: take `pages`, which goes on")
    pit = finder.searches.open_pit()
    try:
        episodes = Episodes.of_plan(finder, plan)
        stories = _stories(finder, plan, pit, episodes)
        hits = list(islice(stories, plan.offset, plan.offset + plan.size))
        counted = _count(finder, plan)
        return _page(finder, plan, hits, counted, plan.offset, episodes=episodes)
    finally:
        finder.searches.close_pit(pit)


def _count_episodes(finder: ClusterSearch, plan: SearchPlan) -> Counted:
    """Exact: one for each group, more for those whose matches lie further apart than the window."""
    (count,) = finder.ask([requests.article_count(plan.body)])
    window = plan.options.window_microseconds
    moments: dict[str, list[int]] = {}
    fields = {"group": f"dedup.{plan.by}", "moment": "dedup.moment"}
    for key in finder.distinct(plan.body, fields):
        moments.setdefault(key["group"], []).append(int(key["moment"]))
    wide = {g: found for g, found in moments.items() if max(found) - min(found) > window}
    episodes = Episodes(finder, plan.by, window)
    for part in batched(wide, 1_000):
        episodes.load(part)
    stories = len(moments) - len(wide) + ungrouped_in(count)
    for group, found in wide.items():
        stories += len({episodes.of(group).number(moment) for moment in found})
    return Total(stories, count["hits"]["total"]["value"]), count


# --- cursors --------------------------------------------------------------------------------------


def cursor_page(finder: ClusterSearch, plan: SearchPlan, cursor: str | None) -> StoryPage:
    """The first page of a deep search, or the one a cursor leads to."""
    if plan.options.window is not None:
        raise QueryError("a cursor cannot follow a window; take `pages`, or from and size")
    if plan.size < 1:
        raise QueryError("a cursor leads from page to page; ask for a size of 1 or more")
    digest = _digest(plan)
    if cursor is None:
        state = Cursor(finder.searches.open_pit(), None, (), 0, digest)
    else:
        state = Cursor.read(cursor, digest)
    kept: list[JSON] = []
    later: Cursor | None = None
    for hits, request in _batches(finder, plan, state.pit, state.after):
        firsts = _firsts(finder, plan, state.drop_given(hits, request), request)
        kept += islice(firsts, plan.size - len(kept))
        if len(kept) == plan.size:
            later = state.advance(hits, kept, request)
            break
    if later is None:
        finder.searches.close_pit(state.pit)
    next_cursor = later.encode() if later else None
    return _page(finder, plan, kept, _count(finder, plan), state.offset, next_cursor)


def _firsts(
    finder: ClusterSearch, plan: SearchPlan, hits: Sequence[JSON], request: JSON
) -> Iterator[JSON]:
    """Those hits before which no other of their group comes."""
    groups = [group_of(hit, plan.by) for hit in hits]
    known = list(dict.fromkeys(group for group in groups if group is not None))
    firsts: set[tuple[str, str]] = set()
    if plan.mode == "collapse" and known:
        (answer,) = finder.ask([requests.best_of(request, known, plan.by)])
        firsts = {(hit["_index"], hit["_id"]) for hit in answer["hits"]["hits"]}
    for hit, group in zip(hits, groups, strict=True):
        if plan.mode != "collapse" or group is None or (hit["_index"], hit["_id"]) in firsts:
            yield hit


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a deep search stands: the point in time, and the last hit with those it ties with."""

    pit: str
    after: Sequence[Any] | None  # of the last hit before that tie
    given: Sequence[str]  # ids of those in the tie that were shown, or passed over
    offset: int
    digest: str

    def drop_given(self, hits: Sequence[JSON], request: JSON) -> list[JSON]:
        """A tie is never cut, so it begins the first batch."""
        if request.get("search_after") != self.after:
            return list(hits)
        given = set(self.given)
        return [h for h in hits if h["_id"] not in given or h["sort"] != hits[0]["sort"]]

    def advance(self, hits: Sequence[JSON], kept: Sequence[JSON], request: JSON) -> Cursor:
        """To the last of the hits that were kept, which is one of this batch."""
        passed = hits[: hits.index(kept[-1]) + 1]
        before = requests.without_cut_ties(passed)
        return replace(
            self,
            after=before[-1]["sort"] if before else request.get("search_after"),
            given=[hit["_id"] for hit in passed[len(before) :]],
            offset=self.offset + len(kept),
        )

    def encode(self) -> str:
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


def _digest(plan: SearchPlan) -> str:
    text = json.dumps([plan.body, plan.mode, plan.by], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
