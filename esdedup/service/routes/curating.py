"""A person's word on groups: what belongs together, what does not, and taking it back."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from esdedup.maintenance import curation as curating
from esdedup.service.answer_schemas import CorrectionsOut, SaidOut
from esdedup.service.auth import Here, ReadRoute, WriteRoute
from esdedup.service.responses import Answer
from esdedup.service.routes import PageOffset, PageSize, answers
from esdedup.service.schemas import PairIn, PinIn, TakenBackIn

router = APIRouter(prefix="/v1", tags=["groups by hand"])
_reading = APIRouter(route_class=ReadRoute)
_writing = APIRouter(route_class=WriteRoute)


@_reading.get("/corrections", responses=answers(CorrectionsOut), summary="What people said")
async def corrections(service: Here, size: PageSize = 100, offset: PageOffset = 0) -> Response:
    """In the order of kinds and ids; `of` is there in what follows from another word."""
    found = await service.read(lambda d: (d.store.begin(), d.store.corrections)[1], "corrections")
    shown = found.said[offset : offset + size]
    return Answer({"total": len(found.said), "said": [one.to_json() for one in shown]})


@_writing.post("/corrections/merge", responses=answers(SaidOut), summary="These are the same")
async def merge(said: PairIn, request: Request, service: Here) -> Response:
    """They and their copies are one group from now on, whatever comes."""
    by = _by(request, said.by)
    done = await service.change(
        lambda d: curating.merge(d, said.ids, by=by, note=said.note), "correct"
    )
    return Answer(done.to_json())


@_writing.post(
    "/corrections/split", responses=answers(SaidOut), summary="The first is none of the others"
)
async def split(said: PairIn, request: Request, service: Here) -> Response:
    by = _by(request, said.by)
    done = await service.change(
        lambda d: curating.split(d, said.ids, by=by, note=said.note), "correct"
    )
    return Answer(done.to_json())


@_writing.post("/corrections/pin", responses=answers(SaidOut), summary="This is the original")
async def pin(said: PinIn, request: Request, service: Here) -> Response:
    by = _by(request, said.by)
    done = await service.change(
        lambda d: curating.pin(d, said.id, by=by, note=said.note), "correct"
    )
    return Answer(done.to_json())


@_writing.post("/corrections/forget", responses=answers(SaidOut), summary="Undo")
async def forget(said: TakenBackIn, service: Here) -> Response:
    """What was said of an article, or of two with each other, is taken back."""
    done = await service.change(lambda d: curating.forget(d, said.ids, said.kind), "correct")
    return Answer(done.to_json())


def _by(request: Request, given: str) -> str:
    """The name of the key, where there are keys: nobody speaks for somebody else."""
    name: str | None = request.scope.get("esdedup.key")
    return name or given


for part in (_reading, _writing):
    router.include_router(part)
