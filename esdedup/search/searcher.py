"""Searches of any store, one result per story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from esdedup.errors import QueryError
from esdedup.model.queries import (
    DEFAULT_BY,
    DEFAULT_MEMBERS,
    DEFAULT_SIZE,
    FRONT_BY,
    FRONT_SIZE,
    By,
    Query,
    SearchOptions,
    StoreQuery,
)
from esdedup.model.results import Facet, Members, Section, StoryPage
from esdedup.search.origins import add_origins
from esdedup.stores import Store, open_store
from esdedup.stores.ports import SearchIndex

# Categories of a front page, the largest ones.
_MOST_SECTIONS = 20
_LEADING = {"dedup.role": ("original", "update", "unprocessed")}

AnyQuery = str | StoreQuery


class Searcher:
    """Searches of one store. Nothing is written, and what is folded can be listed (`copies`).

    A query is words, a `Query`, or on a cluster any body of its query language; options are
    those of `SearchOptions`, by keyword:

        searcher.search("ferry fire", size=20, by="story", show="newest")
        searcher.search({"query": …, "highlight": …, "sort": …}, mode="canonical")
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def _finder(self) -> SearchIndex:
        """Read anew each time: a store in memory replaces it after every write."""
        return self.store.search

    @classmethod
    def open(cls, url: str) -> Self:
        """With the store behind a URL, to read."""
        return cls(open_store(url, mode="read"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def search(
        self,
        query: AnyQuery,
        *,
        deep: bool = False,
        cursor: str | None = None,
        origins: bool = False,
        **options: Any,
    ) -> StoryPage:
        """One page. With `deep` it has a cursor, and a call with that returns the next page.

        No story is repeated or lost, however deep. With `origins` each hit says who published its
        story first, which agency the text credits, and how many reports are independent.
        """
        page = self._search(query, _parse_options(options), deep=deep, cursor=cursor)
        return add_origins(page, self._finder) if origins else page

    def _search(
        self, query: AnyQuery, chosen: SearchOptions, *, deep: bool, cursor: str | None
    ) -> StoryPage:
        if deep or cursor is not None:
            if chosen.offset:
                raise QueryError("offset and cursor exclude each other; follow the cursor")
            return self._finder.deep(_as_query(query), chosen, cursor)
        return self._finder.search(_as_query(query), chosen)

    def pages(self, query: AnyQuery, **options: Any) -> Iterator[StoryPage]:
        """All pages, of the state the store has now."""
        chosen = _parse_options(options)
        if chosen.offset:
            raise QueryError("pages begin with the first; leave offset out")
        return self._finder.pages(_as_query(query), chosen)

    def copies(
        self, group: str, *, by: By = DEFAULT_BY, size: int = DEFAULT_MEMBERS, offset: int = 0
    ) -> Members:
        """All articles of a group (or story) in order, whether or not they match anything."""
        checked = SearchOptions(by=by, size=size, offset=offset)
        return self._finder.members(group, checked.by, size=size, offset=offset)

    def facets(
        self, query: AnyQuery, fields: Sequence[str], *, buckets: int = DEFAULT_SIZE, **options: Any
    ) -> tuple[Facet, ...]:
        """Values of fields, counted in stories beside articles."""
        if isinstance(fields, str):
            raise QueryError(f"fields: give a list of names, [{fields!r}]")
        return self._finder.facets(_as_query(query), list(fields), _parse_options(options), buckets)

    def front_page(
        self,
        category: str,
        categories: Sequence[str] = (),
        *,
        size: int = FRONT_SIZE,
        by: By = FRONT_BY,
    ) -> tuple[Section, ...]:
        """The newest stories of each category, without a query: originals and updates, a story
        once, by its newest update. A late copy moves nothing."""
        options = SearchOptions(mode="collapse", by=by, size=size, total="none", copies=False)
        wanted = list(categories)
        if not wanted:
            (facet,) = self.facets(Query(), [category], buckets=_MOST_SECTIONS, mode="canonical")
            wanted = [bucket.value for bucket in facet.buckets if bucket.stories]
        queries = (
            Query(filters={**_LEADING, category: (value,)}, sort=("-published",))
            for value in wanted
        )
        found = [self._finder.search(query, options).hits for query in queries]
        return tuple(map(Section, wanted, found))


def _as_query(query: AnyQuery) -> StoreQuery:
    if isinstance(query, str):
        return Query(words=query)
    if isinstance(query, Query | Mapping):
        return query
    raise QueryError(
        f"a query is words, a Query or a search body as an object, not {type(query).__name__}"
    )


def _parse_options(given: Mapping[str, Any]) -> SearchOptions:
    known = SearchOptions.__dataclass_fields__
    for name in given:
        if name not in known:
            raise QueryError(f"there is no option {name}; there are {', '.join(known)}")
    return SearchOptions(**given)
