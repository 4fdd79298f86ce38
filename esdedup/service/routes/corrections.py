"""Routes for constraints that people set: must-link, cannot-link, pinned original."""

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
from esdedup.service.schemas import ForgetIn, PairIn, PinIn
from esdedup.service.state import Service

router = APIRouter(prefix="/v1", tags=["constraints"])
_reading = APIRouter(route_class=ReadRoute)
_writing = APIRouter(route_class=WriteRoute)


@_reading.get(
    "/corrections", responses=responds_with(CorrectionPage), summary="List the constraints"
)
async def corrections(service: Here, size: PageSize = 100, offset: PageOffset = 0) -> Response:
    """In the order of kind and ids; `of` names the articles of the constraint it follows from."""

    def job(deduplicator: Deduplicator) -> CorrectionPage:
        constraints = deduplicator.store.constraints.read().value.items
        return CorrectionPage(len(constraints), constraints[offset : offset + size])

    return await respond(service, job, "corrections")


@_writing.post(
    "/corrections/merge",
    responses=responds_with(CurationResult),
    summary="Must-link: merge articles",
)
async def merge(given: PairIn, request: Request, service: Here) -> Response:
    """The articles and their copies are one group from now on."""
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.merge(d, given.ids, by=by, note=given.note))


@_writing.post(
    "/corrections/split",
    responses=responds_with(CurationResult),
    summary="Cannot-link: split an article from others",
)
async def split(given: PairIn, request: Request, service: Here) -> Response:
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.split(d, given.ids, by=by, note=given.note))


@_writing.post(
    "/corrections/pin", responses=responds_with(CurationResult), summary="Pin an original"
)
async def pin(given: PinIn, request: Request, service: Here) -> Response:
    by = _by(request, given.by)
    return await _correct(service, lambda d: curation.pin(d, given.id, by=by, note=given.note))


@_writing.post(
    "/corrections/forget", responses=responds_with(CurationResult), summary="Remove constraints"
)
async def forget(given: ForgetIn, service: Here) -> Response:
    """Removes the constraints on one article, or between two articles."""
    return await _correct(service, lambda d: curation.forget(d, given.ids, given.kind))


async def _correct(service: Service, correct: Callable[[Deduplicator], CurationResult]) -> Response:
    return JsonResponse(await service.change(correct, "correct"))


def _by(request: Request, name: str) -> str:
    """The name of the key, if there are keys: nobody sets a constraint in another name."""
    return request.scope.get("esdedup.key") or name


for part in (_reading, _writing):
    router.include_router(part)
