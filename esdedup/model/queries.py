"""Queries that every store answers, and options for folding the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, get_args

from esdedup.errors import QueryError

# auto: collapse where the search allows it, else canonical; the page says which it was.
Mode = Literal["auto", "collapse", "canonical", "all"]
# group: copies fold, updates stay visible; story: updates fold as well.
By = Literal["group", "story"]
# Which member a story shows. best: the one this search ranks first.
Show = Literal["best", "earliest", "newest", "longest", "source"]
Count = Literal["estimate", "exact", "none"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "by": get_args(By),
    "show": get_args(Show),
    "total": get_args(Count),
}
# Defaults of all entry points: Python, the command line, HTTP and the page.
DEFAULT_MODE: Mode = "auto"
DEFAULT_BY: By = "group"
DEFAULT_SHOW: Final = "best"
DEFAULT_COUNT: Count = "estimate"
DEFAULT_SIZE = 10
# Articles of one group or story, as `copies` lists them.
DEFAULT_MEMBERS = 100
# A front page has room for a story once.
FRONT_BY: By = "story"
FRONT_SIZE = 5

# Both engines refuse to look further than this with from and size.
DEEPEST = 10_000


@dataclass(frozen=True, slots=True)
class Query:
    """A search in words, for any store.

    All `words` must occur, "in quotes" as a phrase; None is everything, a text without a word in
    it nothing. `filters` has the values allowed of a field, `since` and `until` bound the date of
    publication. `sort` names fields, with a minus for descending: `-published`, `source`,
    `score`. The default is the best match first.
    """

    words: str | None = None
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    sort: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, values in self.filters.items():
            if isinstance(values, str) or not all(isinstance(v, str) for v in values):
                raise QueryError(f"filter {name}: give a list of texts, not {values!r}")
        object.__setattr__(self, "filters", {n: tuple(v) for n, v in self.filters.items()})

    @property
    def orders(self) -> list[tuple[str, bool]]:
        """(field, whether descending); a score is best first whatever the sign."""
        pairs = [(name.removeprefix("-"), name.startswith("-")) for name in self.sort]
        for name, _ in pairs:
            if not name:
                raise QueryError("sort: an empty name; write published, -published or score")
        return [(name, descending or name == "score") for name, descending in pairs]


# A search in words, or on a cluster a body of its query language.
StoreQuery = Query | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How results are folded, counted and shown: keywords of the methods of `Searcher`.

    `copies` counts the matching copies of each result; `sources` has the sources, best first, for
    `show="source"`; articles of one story further apart than `window` are two stories. The page on
    searching has what each mode promises.
    """

    mode: Mode = DEFAULT_MODE
    by: By = DEFAULT_BY
    size: int | None = None  # DEFAULT_SIZE, or what the body says
    offset: int | None = None
    total: Count = DEFAULT_COUNT
    copies: bool = True  # count the matching copies of each result
    show: Show = DEFAULT_SHOW
    sources: tuple[str, ...] = ()  # best first, for show = source
    window: timedelta | None = None  # copies further apart than this are a new story
    inner_hits: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise QueryError(f"{name} is {getattr(self, name)!r}; use {', '.join(allowed)}")
        for name in ("size", "offset"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise QueryError(f"{name}: a whole number is needed, not {value!r}")
            if value is not None and value < 0:
                raise QueryError(f"{name} is {value}; it must not be negative")
        if self.show == "source" and not self.sources:
            raise QueryError("show = source needs `sources`, the names in order, best first")
        if self.window is not None and self.window <= timedelta(0):
            raise QueryError(f"window is {self.window}; it must be longer than nothing")
        object.__setattr__(self, "sources", tuple(self.sources))

    @property
    def window_microseconds(self) -> int:
        """The window as orders have it; 0 where there is none."""
        return 0 if self.window is None else self.window // timedelta(microseconds=1)
