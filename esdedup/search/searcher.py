"""The one entry for searches: any store, one result per story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from esdedup.errors import QueryError
from esdedup.model.queries import By, Options, Query
from esdedup.model.results import Facet, Members, Section, StoryPage
from esdedup.stores import Store, open_store

Asked = str | Query | Mapping[str, Any]


class Searcher:
    """Searches of one store. Nothing is written, and what is folded can be listed (`copies`).

    A query is words, a `Query`, or on a cluster any body of its query language; options are
    those of `Options`, by keyword:

        searcher.search("ferry fire", size=20, by="story", show="newest")
        searcher.search({"query": …, "highlight": …, "sort": …}, mode="canonical")
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._finder = store.finder

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
        self, query: Asked, *, deep: bool = False, cursor: str | None = None, **options: Any
    ) -> StoryPage:
        """One page. With `deep` it carries a cursor; with that the next call goes on from there,
        however deep, without repeating or losing a story."""
        chosen = _options(options)
        if deep or cursor is not None:
            if chosen.offset:
                raise QueryError("offset and cursor exclude each other; follow the cursor")
            return self._finder.deep(_asked(query), chosen, cursor)
        return self._finder.search(_asked(query), chosen)

    def pages(self, query: Asked, **options: Any) -> Iterator[StoryPage]:
        """All pages, of the state the store has now."""
        chosen = _options(options)
        if chosen.offset:
            raise QueryError("pages begin with the first; leave offset out")
        return self._finder.pages(_asked(query), chosen)

    def copies(self, group: str, *, by: By = "group", size: int = 100, offset: int = 0) -> Members:
        """All articles of a group (or story) in order, whether or not they match anything."""
        checked = Options(by=by, size=size, offset=offset)
        return self._finder.members(group, checked.by, size=size, offset=offset)

    def facets(
        self, query: Asked, fields: Sequence[str], *, buckets: int = 10, **options: Any
    ) -> tuple[Facet, ...]:
        """Values of fields, counted in stories beside articles."""
        if isinstance(fields, str):
            raise QueryError(f"fields: give a list of names, [{fields!r}]")
        return self._finder.facets(_asked(query), list(fields), _options(options), buckets)

    def front_page(
        self,
        category: str,
        categories: Sequence[str] = (),
        *,
        size: int = 5,
        by: By = "story",
    ) -> tuple[Section, ...]:
        """The newest stories of each category, without a query: originals and updates, a story
        once, by its newest update."""
        checked = Options(by=by, size=size)
        return self._finder.front(category, list(categories), size=size, by=checked.by)


def _asked(query: Asked) -> Query | Mapping[str, Any]:
    if isinstance(query, str):
        return Query(words=query)
    if isinstance(query, Query | Mapping):
        return query
    raise QueryError(
        f"a query is words, a Query or a search body as an object, not {type(query).__name__}"
    )


def _options(given: Mapping[str, Any]) -> Options:
    known = Options.__dataclass_fields__
    for name in given:
        if name not in known:
            raise QueryError(f"there is no option {name}; there are {', '.join(known)}")
    return Options(**given)
