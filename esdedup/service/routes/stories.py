"""Routes about stories: similar news, time lines, breaking events."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Failure
from esdedup.service.auth import Here, ReadRoute
from esdedup.service.description import responds_with
from esdedup.service.problems import Problem
from esdedup.service.responses import UNBUFFERED, EventPage, PagedStory, StoryTotal
from esdedup.service.routes import PageOffset, PageSize, extract, respond
from esdedup.service.routes.searching import parse_date
from esdedup.service.schemas import Article, Id
from esdedup.service.state import Service
from esdedup.stores import get_record
from esdedup.stories.events import Event
from esdedup.stories.events.report import Report, report
from esdedup.stories.similar import SimilarNews, similar_to, similar_to_stored
from esdedup.stories.timeline import Story, story_of

router = APIRouter(prefix="/v1", tags=["stories"], route_class=ReadRoute)

_Size = Annotated[int, Query(ge=1, le=100)]
_Days = Annotated[float | None, Query(gt=0, le=36_500, description="At most this many days apart.")]
_Since = Annotated[
    str | None, Query(max_length=40, description="A date; default: the last 7 days.")
]
_ReadIds = Annotated[list[Id], Query(min_length=1, max_length=20, description="Ids of articles.")]
_EVENT_STREAM = "text/event-stream"
_MESSAGE_EXAMPLE = {
    "schema": {"type": "string"},
    "example": 'event: opened\ndata: {"change": "opened", "event": {"id": "ev-4e95f79", …}}\n\n',
}


@router.get(
    "/similar", responses=responds_with(SimilarNews), summary="News similar to a stored article"
)
async def similar(id: _ReadIds, service: Here, size: _Size = 10, days: _Days = None) -> Response:
    """Articles about the same thing that are no copies, with the words and names that both have.

    For several ids, such as a reading history, scores add up; `similar_to` lists the ids that a
    result is similar to.
    """
    options: dict[str, Any] = {"size": size, "window": _days(days), "explain": True}
    return await respond(service, lambda d: similar_to_stored(id, d.store, **options), "similar")


@router.post("/similar", responses=responds_with(SimilarNews), summary="News similar to a text")
async def similar_to_text(
    article: Article, service: Here, size: _Size = 10, days: _Days = None
) -> Response:
    document = await extract(service, article)

    def job(deduplicator: Deduplicator) -> SimilarNews:
        store = deduplicator.store
        found = similar_to(document, store, size=size, window=_days(days), explain=True)
        if isinstance(found, Failure):
            raise Problem(422, "unusable-article", found.reason)
        return found

    return await respond(service, job, "similar")


@router.get("/story", responses=responds_with(PagedStory), summary="The time line of a story")
async def story(
    id: Annotated[Id, Query(description="Any article of it.")],
    service: Here,
    size: PageSize = 100,
    offset: PageOffset = 0,
) -> Response:
    """The versions of a story with their copies, and how counts changed between versions.

    `size` and `offset` page the versions, and separately the articles that contain a part of the
    story; `articles` and `counts` are those of the whole story.
    """
    part = slice(offset, offset + size)
    return await respond(
        service, lambda d: _page_of(story_of(get_record(d.store, id), d.store), part), "story"
    )


@router.get("/events", responses=responds_with(EventPage), summary="Breaking events")
async def events(
    service: Here,
    since: _Since = None,
    size: _Size = 20,
    offset: Annotated[int, Query(ge=0, le=10_000)] = 0,
) -> Response:
    """The latest event first, each with its articles per hour, names, terms and sources."""
    found = await _find_events(service, since)

    def job(deduplicator: Deduplicator) -> EventPage:
        shown = [report(event, deduplicator.store) for event in found[offset : offset + size]]
        # The members of one event are many; /v1/event has them.
        return EventPage(
            len(found), [replace(one, event=replace(one.event, members=())) for one in shown]
        )

    return await respond(service, job, "events")


@router.get(
    "/events/stream",
    response_class=StreamingResponse,
    responses={
        200: {"description": "An endless stream.", "content": {_EVENT_STREAM: _MESSAGE_EXAMPLE}}
    },
    summary="Breaking events as they happen",
)
async def events_stream(request: Request, service: Here) -> Response:
    """Server-sent events: `event` is the kind of change, `data` the event after it."""
    if service.streams >= service.config.streams:
        raise Problem(
            429, "too-many-streams", "too many streams at once; come again", retry_after=30
        )
    messages: Iterable[bytes] | AsyncIterable[bytes] = ()
    if not request.scope.get("esdedup.only_headers"):  # for these alone nobody would end it
        messages = service.count_stream(service.event_stream().messages(service.stopping))
    return StreamingResponse(messages, headers=UNBUFFERED, media_type=_EVENT_STREAM)


@router.get("/event", responses=responds_with(Report), summary="One event with its stories")
async def event(id: Annotated[Id, Query()], service: Here, since: _Since = None) -> Response:
    found = next((one for one in await _find_events(service, since) if one.id == id), None)
    if found is None:
        raise Problem(
            404, "unknown-event", "there is no such event since then; /v1/events lists them"
        )
    return await respond(service, lambda d: report(found, d.store, stories=True), "events")


async def _find_events(service: Service, since: str | None) -> list[Event]:
    """`since` is rounded to the minute, so that repeated requests for the last day are cached."""
    moment = parse_date("since", since)
    if moment is not None:
        moment = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return await service.read_events(moment)


def _page_of(story: Story, part: slice) -> PagedStory:
    """A page of both lists; `partial` is None if partial copies were not looked for."""
    versions, partial = story.versions, story.partial
    total = StoryTotal(len(versions), None if partial is None else len(partial))
    page = replace(story, versions=versions[part], partial=partial and partial[part])
    return PagedStory(total, page)


def _days(days: float | None) -> timedelta | None:
    return None if days is None else timedelta(days=days)
