"""Constraints of people: what belongs together, what does not, and how to undo it."""

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


@_reading.get(
    "/corrections", responses=responds_with(CorrectionPage), summary="The constraints of people"
)
async def corrections(service: Here, size: PageSize = 100, offset: PageOffset = 0) -> Response:
    """In the order of kinds and ids; `of` names the constraint that one follows from."""

    def job(deduplicator: Deduplicator) -> CorrectionPage:
        constraints = deduplicator.store.constraints.read().value.items
        return CorrectionPage(len(constraints), constraints[offset : offset + size])

    return await respond(service, job, "corrections")


@_writing.post(
    "/corrections/merge", responses=responds_with(CurationResult), summary="These are the same"
)
async def merge(given: PairIn, request: Request, service: Here) -> Response:
    """They and their copies are one group from now on, whatever comes."""
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.merge(d, given.ids, by=by, note=given.note))


@_writing.post(
    "/corrections/split",
    responses=responds_with(CurationResult),
    summary="The first is none of the others",
)
async def split(given: PairIn, request: Request, service: Here) -> Response:
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.split(d, given.ids, by=by, note=given.note))


@_writing.post(
    "/corrections/pin", responses=responds_with(CurationResult), summary="This is the original"
)
async def pin(given: PinIn, request: Request, service: Here) -> Response:
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.pin(d, given.id, by=by, note=given.note))


@_writing.post("/corrections/forget", responses=responds_with(CurationResult), summary="Undo")
async def forget(given: TakenBackIn, service: Here) -> Response:
    """Remove the constraints of an article, or of two with each other."""
    return await _correct(service, lambda d: curation.forget(d, given.ids, given.kind))


async def _correct(service: Service, correct: Callable[[Deduplicator], CurationResult]) -> Response:
    return JsonResponse(await service.change(correct, "correct"))


def _by(request: Request, name: str) -> str:
    """The name of the key, where there are keys: nobody speaks for somebody else."""
    return request.scope.get("esdedup.key") or name


for part in (_reading, _writing):
    router.include_router(part)
