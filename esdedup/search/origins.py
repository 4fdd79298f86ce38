"""Where stories come from: who published first, which agency, how many independent reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from esdedup.features.agencies import find_agency
from esdedup.model import Document
from esdedup.model.queries import Query, SearchOptions
from esdedup.model.results import Mention, StoryOrigin, StoryPage
from esdedup.stores.ports import SearchIndex

# Leaders of the stories of one page that are read; a page of ten rarely has fifty.
_MOST_LEADERS = 1000


def source_of(document: Document) -> str | None:
    """Who published it: the source named, else the host of its URL."""
    if document.source:
        return document.source
    try:
        host = urlsplit(document.url or "").hostname or ""
    except ValueError:  # no address at all
        return None
    return host.removeprefix("www.") or None


def owner_of(document: Document) -> str:
    """Whose report an article is: that of the agency it credits, else of its owner.

    A field `owner` of the article names the owner of several sources.
    """
    if (mark := find_agency(document)) is not None:
        return mark.agency
    owner = document.extra.get("owner")
    return owner if isinstance(owner, str) and owner else source_of(document) or "no source"


def describe_origin(members: Iterable[Document], leaders: Sequence[Document]) -> StoryOrigin:
    """Of a story's articles and of those that lead its groups, both in canonical order.

    A text without a mark comes from the agency that the earliest of its copies credits.
    """
    marks = (find_agency(document) for document in members)
    agency = next((mark.agency for mark in marks if mark is not None), None)
    return StoryOrigin(Mention.of(leaders[0]), agency, len(set(map(owner_of, leaders))))


def add_origins(page: StoryPage, index: SearchIndex) -> StoryPage:
    """The page with the origin of each story, for one more request.

    Only originals and updates are read: a mark that a copy alone has is found by `story`.
    """
    stories = tuple(dict.fromkeys(hit.story for hit in page.hits if hit.story is not None))
    if not stories:
        return page
    found = index.search(
        Query(filters={"story": stories}),
        SearchOptions(mode="canonical", size=_MOST_LEADERS, total="none", copies=False),
    )
    # A story has the id of its original, which comes first.
    leaders: dict[str | None, list[Document]] = {}
    for hit in found.hits:
        own = leaders.setdefault(hit.story, [])
        own.insert(0 if hit.id == hit.story else len(own), hit.document)
    origins = {story: describe_origin(own, own) for story, own in leaders.items()}
    hits = tuple(replace(hit, origin=origins.get(hit.story)) for hit in page.hits)
    return replace(page, hits=hits)
