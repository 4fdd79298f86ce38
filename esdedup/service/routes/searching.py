"""Searches with one result per story, and folding of any list."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.ingest.readers.dates import moment
from esdedup.model import JSON
from esdedup.model.queries import Query as Asked
from esdedup.model.results import StoryHit
from esdedup.search.fold import fold as folded
from esdedup.search.searcher import Searcher
from esdedup.service.answer_schemas import FoldedOut, FrontOut, PageOut
from esdedup.service.auth import Here, ReadRoute
from esdedup.service.problems import Problem
from esdedup.service.responses import Answer
from esdedup.service.routes import answers
from esdedup.service.schemas import FoldIn, SearchIn

router = APIRouter(prefix="/v1", tags=["searching"], route_class=ReadRoute)

By = Literal["group", "story"]
Names = Annotated[list[str], Query(max_length=20)]
# Results that can be expanded, and articles listed under each; /v1/group has the rest.
_EXPANDED = 100


@router.post("/search", responses=answers(PageOut), summary="Search")
async def search(asked: SearchIn, service: Here) -> Response:
    """One result per story, with honest totals. Pages by `offset`, or by `cursor` however deep."""
    return Answer(await service.read(lambda d: _page(d, asked), "search"))


@router.get("/search", responses=answers(PageOut), summary="Search, as a link")
async def search_link(
    service: Here,
    words: Annotated[str | None, Query(max_length=2_000)] = None,
    filter: Annotated[
        list[str], Query(max_length=20, description="field=value", examples=[["source=Wire"]])
    ] = [],  # noqa: B006 - FastAPI copies it
    since: Annotated[str | None, Query(max_length=40)] = None,
    until: Annotated[str | None, Query(max_length=40)] = None,
    sort: Names = [],  # noqa: B006 - the same
    mode: Literal["auto", "collapse", "canonical", "all"] = "auto",
    by: By = "group",
    show: Literal["best", "earliest", "newest", "longest"] = "best",
    size: Annotated[int, Query(ge=0, le=1_000)] = 10,
    offset: Annotated[int, Query(ge=0, le=9_000)] = 0,
    cursor: Annotated[str | None, Query(max_length=10_000)] = None,
    deep: bool = False,
    facet: Names = [],  # noqa: B006 - the same
    expand: bool = False,
    texts: bool = True,
) -> Response:
    """The same, for links and quick questions; `SearchIn` says what the parameters mean."""
    asked = SearchIn(
        words=words, filters=_filters(filter), since=since, until=until, sort=sort[:5], mode=mode,
        by=by, show=show, size=size, offset=offset, cursor=cursor, deep=deep, facets=facet[:10],
        expand=expand, texts=texts,
    )  # fmt: skip
    return Answer(await service.read(lambda d: _page(d, asked), "search"))


@router.get("/front", responses=answers(FrontOut), summary="The newest stories by category")
async def front(
    service: Here,
    field: Annotated[str, Query(min_length=1, max_length=200, examples=["section"])],
    only: Names = [],  # noqa: B006 - the same
    size: Annotated[int, Query(ge=1, le=100)] = 5,
    by: By = "story",
) -> Response:
    sections = await service.read(
        lambda d: Searcher(d.store).front_page(field, only, size=size, by=by), "front"
    )
    return Answer({"sections": [section.to_json() for section in sections]})


@router.post("/fold", responses=answers(FoldedOut), summary="Fold any list")
async def fold(asked: FoldIn, service: Here) -> Response:
    """What stays, in its order, and what went where, and why. Nothing is stored."""

    def job(deduplicator: Deduplicator) -> JSON:
        return folded(
            asked.items,
            keep=asked.keep,
            sources=asked.sources,
            by=asked.by,
            store=deduplicator.store if asked.known else None,
            window=_hours(asked.window_hours),
        ).to_json()

    return Answer(await service.read(job, "fold"))


def _page(deduplicator: Deduplicator, asked: SearchIn) -> JSON:
    if asked.expand and asked.size > _EXPANDED:
        raise Problem(400, "bad-request", f"with expand, size is at most {_EXPANDED}")
    searcher = Searcher(deduplicator.store)
    query = Asked(
        asked.words,
        asked.filters,
        time_of("since", asked.since),
        time_of("until", asked.until),
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
        query, deep=asked.deep, cursor=asked.cursor, size=asked.size, offset=asked.offset, **options
    )
    out = page.to_json()
    if asked.expand:
        for hit, shown in zip(page.hits, out["hits"], strict=True):
            shown["folded"] = _folded(searcher, hit, asked.by)
    if not asked.texts:
        for shown in out["hits"]:
            shown.pop("text", None)
    if asked.facets:
        found = searcher.facets(query, asked.facets, **options)
        out["facets"] = [facet.to_json() for facet in found]
    return out


def _folded(searcher: Searcher, hit: StoryHit, by: By) -> list[JSON]:
    """The other articles of the group or story, whether or not they match."""
    value = hit.story if by == "story" else hit.group
    if value is None:
        return []
    found = searcher.copies(value, by=by, size=_EXPANDED)
    return [member.to_json() for member in found.members if member.document.id != hit.id]


def _filters(pairs: list[str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Problem(400, "bad-request", f"filter {pair[:100]!r}: write field=value")
        out.setdefault(name, []).append(value)
    return out


def time_of(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    found = moment(text)
    if found is None:
        raise Problem(400, "bad-request", f"{name}: {text!r} is no date; write 2024-03-01T12:00Z")
    return found


def _hours(hours: float | None) -> timedelta | None:
    return None if hours is None else timedelta(hours=hours)
