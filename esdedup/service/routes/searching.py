"""Routes for searches with one result per story, and for folding any list."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.readers import dates
from esdedup.model import JSON
from esdedup.model.queries import FRONT_BY, FRONT_SIZE, By
from esdedup.model.queries import Query as Asked
from esdedup.model.results import StoryPage
from esdedup.search.fold import Folded
from esdedup.search.fold import fold as fold_list
from esdedup.search.searcher import Searcher
from esdedup.service.auth import Here, ReadRoute
from esdedup.service.description import responds_with
from esdedup.service.problems import Problem
from esdedup.service.responses import Front
from esdedup.service.routes import respond
from esdedup.service.schemas import FoldIn, SearchIn, SearchLink

router = APIRouter(prefix="/v1", tags=["searching"], route_class=ReadRoute)

Names = Annotated[list[str], Query(max_length=20)]
# Results that can be expanded, and articles listed under each; /v1/group has the rest.
_EXPANDED = 100


@router.post("/search", responses=responds_with(StoryPage), summary="Search")
async def search(asked: SearchIn, service: Here) -> Response:
    """One result per story. Page by `offset`, or by `cursor` to any depth."""
    return await respond(service, lambda d: _page(d, asked), "search")


@router.get("/search", responses=responds_with(StoryPage), summary="Search, as a link")
async def search_link(link: Annotated[SearchLink, Query()], service: Here) -> Response:
    """The same search with query parameters, for links; `SearchIn` describes the parameters."""
    given = link.model_dump(exclude={"filter", "facet"})
    asked = SearchIn(**given, filters=_parse_filters(link.filter), facets=link.facet)
    return await respond(service, lambda d: _page(d, asked), "search")


@router.get("/front", responses=responds_with(Front), summary="The newest stories by category")
async def front(
    service: Here,
    field: Annotated[str, Query(min_length=1, max_length=200, examples=["section"])],
    only: Names = [],  # noqa: B006 - FastAPI copies it
    size: Annotated[int, Query(ge=1, le=100)] = FRONT_SIZE,
    by: By = FRONT_BY,
) -> Response:
    return await respond(
        service,
        lambda d: Front(Searcher(d.store).front_page(field, only, size=size, by=by)),
        "front",
    )


@router.post("/fold", responses=responds_with(Folded), summary="Fold any list")
async def fold(asked: FoldIn, service: Here) -> Response:
    """The items that stay, in their order, and for each folded item the item it was folded into and
    the rule. Nothing is stored."""

    def job(deduplicator: Deduplicator) -> Folded:
        return fold_list(
            asked.items,
            keep=asked.keep,
            sources=asked.sources,
            by=asked.by,
            store=deduplicator.store if asked.known else None,
            window=_hours(asked.window_hours),
        )

    return await respond(service, job, "fold")


def _page(deduplicator: Deduplicator, asked: SearchIn) -> JSON:
    if asked.expand and asked.size > _EXPANDED:
        raise Problem(400, "bad-request", f"with expand, size is at most {_EXPANDED}")
    searcher = Searcher(deduplicator.store)
    query = Asked(
        asked.words,
        asked.filters,
        parse_date("since", asked.since),
        parse_date("until", asked.until),
        tuple(asked.sort),
    )
    options: dict[str, Any] = {
        "mode": asked.mode,
        "by": asked.by,
        "show": asked.show,
        "sources": tuple(asked.sources),
        "total": asked.total,
        "window": _hours(asked.window_hours),
    }
    page = searcher.search(
        query,
        deep=asked.deep,
        cursor=asked.cursor,
        origins=asked.origins,
        size=asked.size,
        offset=asked.offset,
        **options,
    )
    if asked.facets:
        page = replace(page, facets=tuple(searcher.facets(query, asked.facets, **options)))
    out = page.to_json()
    for hit, shown in zip(page.hits, out["hits"], strict=True):
        if asked.expand:  # the other articles, whether or not they match
            value = hit.story if asked.by == "story" else hit.group
            found = searcher.copies(value, by=asked.by, size=_EXPANDED).members if value else ()
            shown["folded"] = [one.to_json() for one in found if one.document.id != hit.id]
        if not asked.texts:
            shown.pop("text", None)
    return out


def _parse_filters(pairs: list[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Problem(400, "bad-request", f"filter {pair[:100]!r}: write field=value")
        out.setdefault(name, []).append(value)
    return out


def parse_date(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    found = dates.parse_date(text)
    if found is None:
        raise Problem(400, "bad-request", f"{name}: {text!r} is no date; write 2024-03-01T12:00Z")
    return found


def _hours(hours: float | None) -> timedelta | None:
    return None if hours is None else timedelta(hours=hours)
