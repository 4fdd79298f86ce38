"""Routes about the store and the service: stats, quarantine, settings, health, metrics."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import PlainTextResponse, Response

from esdedup import __version__
from esdedup.clustering.deduplicator import Deduplicator
from esdedup.errors import EsdedupError
from esdedup.service.auth import AdminRoute, Here, OpenRoute, ReadRoute
from esdedup.service.description import responds_with
from esdedup.service.problems import Problem
from esdedup.service.responses import (
    About,
    Health,
    JsonResponse,
    QuarantinePage,
    Retried,
    Stats,
    StoreSettings,
)
from esdedup.service.routes import respond
from esdedup.service.scrape import MEDIA_TYPE, scrape

router = APIRouter(tags=["admin"])
_log = logging.getLogger("esdedup.service")
# Less than what watches a service waits for it.
_READY_SECONDS = 5.0
_open = APIRouter(route_class=OpenRoute)
_reading = APIRouter(route_class=ReadRoute)
_keeping = APIRouter(route_class=AdminRoute)


@_open.get("/healthz", responses=responds_with(Health), summary="Check that the process runs")
async def healthz() -> Response:
    return JsonResponse(Health())


@_open.get("/readyz", responses=responds_with(Health), summary="Check that the store answers")
async def readyz(service: Here) -> Response:
    if service.stopping.is_set():
        raise Problem(503, "stopping", "the service is shutting down", retry_after=10)
    try:
        asked = service.read(lambda d: d.store.documents.get(["readyz"]), "ready")
        await asyncio.wait_for(asked, _READY_SECONDS)
    except (EsdedupError, TimeoutError) as error:
        _log.error("not ready: %s", error or "the store did not answer in time")
        raise Problem(
            503, "store-unavailable", "the store does not answer; the log has the reason",
            retry_after=5,
        ) from None  # fmt: skip
    return JsonResponse(Health())


@_reading.get("/metrics", response_class=PlainTextResponse, summary="Metrics for Prometheus")
async def metrics(service: Here) -> Response:
    return Response(await scrape(service), media_type=MEDIA_TYPE)


@_reading.get(
    "/v1/service", responses=responds_with(About), summary="Version and limits of the service"
)
async def about(request: Request, service: Here) -> Response:
    """Also the scope of the key that was sent."""
    name = request.scope.get("esdedup.key")
    scope = service.keys.scope_of(name) if service.keys is not None and name else "admin"
    config = service.config
    return JsonResponse(
        About(
            version=__version__,
            scope="read" if config.read_only else scope,
            key=name,
            read_only=config.read_only,
            body_bytes=config.body_bytes,
            methods=service.settings.methods,
        )
    )


@_reading.get("/v1/stats", responses=responds_with(Stats), summary="Count what is in the store")
async def stats(service: Here) -> Response:
    return await respond(service, lambda d: Stats(**d.store.maintenance.stats()), "stats")


@_reading.get(
    "/v1/settings", responses=responds_with(StoreSettings), summary="The settings of the store"
)
async def settings(service: Here) -> Response:
    return JsonResponse(service.settings.to_json())


@_reading.get(
    "/v1/quarantine",
    responses=responds_with(QuarantinePage),
    summary="Articles that failed, and why",
)
async def quarantine(
    service: Here,
    size: Annotated[int, Query(ge=0, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    def job(deduplicator: Deduplicator) -> QuarantinePage:
        failures = deduplicator.store.quarantine.entries()
        return QuarantinePage(len(failures), failures[offset : offset + size])

    return await respond(service, job, "quarantine")


@_keeping.post(
    "/v1/quarantine/retry", responses=responds_with(Retried), summary="Retry the quarantine"
)
async def retry(service: Here) -> Response:
    """Articles that succeed now are indexed and leave the quarantine."""
    return JsonResponse(await service.retry())


for part in (_open, _reading, _keeping):
    router.include_router(part)
