"""The application: routes, limits, life."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

from esdedup import __version__
from esdedup.service import description, problems
from esdedup.service.config import ServiceConfig
from esdedup.service.limits import Limits
from esdedup.service.routes import (
    PROBLEMS,
    admin,
    articles,
    comparing,
    corrections,
    searching,
    stories,
)
from esdedup.service.state import Service

_PAGE = Path(__file__).parent / "page"
# Files of one version belong together: a browser asks whether they changed.
_ASK_AGAIN = {"Cache-Control": "no-cache"}
_TITLE = "esdedup"
_TEXT = "Near-duplicate news: every copy linked to its original, one result per story."


def make_app(config: ServiceConfig) -> FastAPI:
    """Opens its store when the server starts it, and closes it when it ends."""
    service = Service(config)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title=_TITLE,
        description=_TEXT,
        version=__version__,
        lifespan=life,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        responses=PROBLEMS,
        redirect_slashes=False,
    )
    app.state.service = service
    problems.register(app)
    for topic in (articles, searching, comparing, stories, corrections, admin):
        app.include_router(topic.router)
    app.mount("/static", _Files(directory=_PAGE), name="static")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(_PAGE / "index.html", headers=_ASK_AGAIN)

    description.complete(app)
    service.addresses = frozenset((*app.openapi()["paths"], "/", "/openapi.json"))
    app.add_middleware(Limits, service=service)
    return app


class _Files(StaticFiles):
    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers.update(_ASK_AGAIN)
        return response
