"""A person's word on groups: what belongs together, what does not, and taking it back."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from starlette.responses import Response

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.maintenance import curation
from esdedup.maintenance.curation import CurationResult
from esdedup.service.auth import Here, ReadRoute, WriteRoute
from esdedup.service.description import responds_with
from esdedup.service.responses import CorrectionPage, JsonResponse
from esdedup.service.routes import PageOffset, PageSize, respond
from esdedup.service.schemas import PairIn, PinIn, TakenBackIn
from esdedup.service.state import Service

router = APIRouter(prefix="/v1", tags=["groups by hand"])
_reading = APIRouter(route_class=ReadRoute)
_writing = APIRouter(route_class=WriteRoute)


@_reading.get("/corrections", responses=responds_with(CorrectionPage), summary="What people said")
async def corrections(service: Here, size: PageSize = 100, offset: PageOffset = 0) -> Response:
    """In the order of kinds and ids; `of` is there in what follows from another word."""

    def job(deduplicator: Deduplicator) -> CorrectionPage:
        said = deduplicator.store.constraints.read().value.items
        return CorrectionPage(len(said), said[offset : offset + size])

    return await respond(service, job, "corrections")


@_writing.post(
    "/corrections/merge", responses=responds_with(CurationResult), summary="These are the same"
)
async def merge(said: PairIn, request: Request, service: Here) -> Response:
    """They and their copies are one group from now on, whatever comes."""
    by = _by(request, said.by)
    return await _correct(service, lambda d: curation.merge(d, said.ids, by=by, note=said.note))


@_writing.post(
    "/corrections/split",
    responses=responds_with(CurationResult),
    summary="The first is none of the others",
)
async def split(said: PairIn, request: Request, service: Here) -> Response:
    by = _by(request, said.by)
    return await _correct(service, lambda d: curation.split(d, said.ids, by=by, note=said.note))


@_writing.post(
    "/corrections/pin", responses=responds_with(CurationResult), summary="This is the original"
)
async def pin(said: PinIn, request: Request, service: Here) -> Response:
    by = _by(request, said.by)
    return await _correct(service, lambda d: curation.pin(d, said.id, by=by, note=said.note))


@_writing.post("/corrections/forget", responses=responds_with(CurationResult), summary="Undo")
async def forget(said: TakenBackIn, service: Here) -> Response:
    """What was said of an article, or of two with each other, is taken back."""
    return await _correct(service, lambda d: curation.forget(d, said.ids, said.kind))


async def _correct(service: Service, correct: Callable[[Deduplicator], CurationResult]) -> Response:
    return JsonResponse(await service.change(correct, "correct"))


def _by(request: Request, given: str) -> str:
    """The name of the key, where there are keys: nobody speaks for somebody else."""
    name: str | None = request.scope.get("esdedup.key")
    return name or given


for part in (_reading, _writing):
    router.include_router(part)
