"""Routes for articles: index, check, show, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.features.correction_notes import find_correction_note
from esdedup.maintenance import delete as deleting
from esdedup.service.auth import Here, ReadRoute, StreamRoute, WriteRoute
from esdedup.service.description import responds_with
from esdedup.service.problems import Problem, request_id_of
from esdedup.service.responses import (
    NDJSON,
    UNBUFFERED,
    Check,
    Indexed,
    JsonResponse,
    Shown,
)
from esdedup.service.routes import read_article, respond
from esdedup.service.schemas import Article, Id
from esdedup.service.streaming import Duplex, index_stream
from esdedup.stores import get_record
from esdedup.stories.revisions import revisions_of

router = APIRouter(prefix="/v1", tags=["articles"])
_reading = APIRouter(route_class=ReadRoute)
_writing = APIRouter(route_class=WriteRoute)
_streaming = APIRouter(route_class=StreamRoute)

Ids = Annotated[list[Id], Query(min_length=1, max_length=100, description="Ids of articles.")]
_DECIDED = {
    "schema": {"type": "string"},
    "example": '{"line": 1, "id": "a", "role": "original", …}\n'
    '{"summary": {"complete": true, "articles": 1, …}}\n',
}
_BULK = {
    "requestBody": {
        "required": True,
        "content": {
            NDJSON: {"schema": {"type": "string"}, "example": '{"id": "a", "text": "…"}\n'}
        },
    }
}


@_writing.post("/articles", responses=responds_with(Indexed, 201), summary="Index one article")
async def index_one(article: Article, service: Here) -> Response:
    """Decides about the article and stores it: 201 for a new article, 200 for a known one."""
    document = read_article(article)
    size = len(document.text) + len(document.html or b"")
    _, outcomes = await service.index(lambda: [document], size)
    own = next(o for o in outcomes if o.status != "relinked")
    relinked = tuple(o for o in outcomes if o.status == "relinked")
    return JsonResponse(Indexed(own, relinked), 201 if own.status == "new" else 200)


@_streaming.post(
    "/articles/bulk",
    response_class=StreamingResponse,  # or the description would say JSON, too
    responses={200: {"description": "A decision a line.", "content": {NDJSON: _DECIDED}}},
    openapi_extra=_BULK,
    summary="Index many articles",
)
async def index_many(request: Request, service: Here) -> Response:
    """Send one article per line. The response has one decision per line, written batch by batch,
    and a summary as its last line.

    A line that cannot be used gets the status `failed` and goes to the quarantine, like an article
    that cannot be processed. While the store is busy, the body is read more slowly.
    """
    if service.streams >= service.config.streams:
        raise Problem(
            429, "too-many-streams", "too many streams at once; come again", retry_after=5
        )
    lines = index_stream(service, aiter(request.stream()), request_id_of(request))
    return Duplex(service.count_stream(lines), headers=UNBUFFERED, media_type=NDJSON)


@_reading.post("/check", responses=responds_with(Check), summary="Decide without writing")
async def check(article: Article, service: Here) -> Response:
    """Decides whether the article is new, a copy or an update. Nothing is stored."""
    document = read_article(article)
    item = await service.prepare_one(document)
    (decision,) = await service.read(lambda d: d.check_signed([item]), "check")
    return JsonResponse(Check(decision, document.unread_date))


@_reading.get("/articles", responses=responds_with(Shown), summary="Show one article")
async def show(id: Annotated[Id, Query()], service: Here) -> Response:
    """The article and the decision about it."""

    def job(deduplicator: Deduplicator) -> Shown:
        record = deduplicator.with_evidence(get_record(deduplicator.store, id))
        document, revised = record.document, revisions_of([record], deduplicator.store)
        return Shown(
            document,
            record.decision,
            record.signature.words,
            find_correction_note(document.title, document.text),
            revised.get(document.id, ()),
        )

    return await respond(service, job, "show")


@_writing.delete("/articles", responses=responds_with(deleting.Deleted), summary="Delete articles")
async def delete(id: Ids, service: Here) -> Response:
    """If an original is deleted, the next article of its group becomes the original; the response
    names it."""
    return JsonResponse(await service.change(lambda d: deleting.delete(d, id), "delete"))


for part in (_reading, _writing, _streaming):
    router.include_router(part)
