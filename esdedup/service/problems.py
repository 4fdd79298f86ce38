"""Errors as `application/problem+json` (RFC 9457), the same everywhere.

`type` is a stable name for programs, `detail` a sentence for people that includes the remedy.
Messages of a store may name hosts and paths: they go to the log, not to the client.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from esdedup.errors import (
    Contradiction,
    EsdedupError,
    InputError,
    NotCollapsible,
    NothingToExplain,
    SettingsError,
    StoreError,
    StoreMissing,
    StoreUnavailable,
    UnknownDocument,
)
from esdedup.model import JSON
from esdedup.service.responses import encode_json
from esdedup.stores.cluster.connection import PrivilegeMissing

_log = logging.getLogger("esdedup.service")
_PREFIX = "urn:esdedup:problem:"
MEDIA_TYPE = "application/problem+json"


class Problem(HTTPException):
    """To be raised anywhere under a route; `code` is the last part of `type`."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        given = dict(headers or {})
        if retry_after is not None:
            given["Retry-After"] = str(max(1, round(retry_after)))
        super().__init__(status, detail, given or None)
        self.code = code
        self.more = more


def make_response(problem: Problem, request_id: str) -> Response:
    body: JSON = {
        "type": _PREFIX + problem.code,
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": problem.detail,
        "request_id": request_id,
        **problem.more,
    }
    return Response(encode_json(body), problem.status_code, problem.headers, MEDIA_TYPE)


# The first that fits.
_OF_CLIENTS: tuple[tuple[type[EsdedupError], int, str], ...] = (
    (NotCollapsible, 400, "not-collapsible"),
    (UnknownDocument, 404, "unknown-id"),
    (NothingToExplain, 404, "nothing-to-explain"),
    (Contradiction, 409, "contradiction"),
    (InputError, 400, "bad-request"),
    (SettingsError, 400, "bad-request"),
)


def problem_of(error: EsdedupError) -> Problem:
    """The problem that a client gets for one of our own errors."""
    for kind, status, code in _OF_CLIENTS:
        if isinstance(error, kind):
            return Problem(status, code, str(error))
    if isinstance(error, StoreUnavailable | StoreMissing):
        return Problem(
            503,
            "store-unavailable",
            "the store cannot be used now; try again later, the log has the reason",
            retry_after=5,
        )
    if isinstance(error, PrivilegeMissing):
        needed = error.denial.action or "it needs"
        detail = f"the user of the service lacks the privilege {needed}; the log has the index"
        return Problem(500, "store-error", detail)
    if isinstance(error, StoreError):
        detail = "the store could not do it; the log of the service has the reason"
        return Problem(500, "store-error", detail)
    return Problem(500, "internal", "something failed; the log of the service has the reason")


def register(app: FastAPI) -> None:
    """Turn every error that a route raises into a problem."""

    def respond(request: Request, error: Exception) -> Response:
        problem = _as_problem(error, request)
        if problem.status_code >= 500 and isinstance(error, EsdedupError):
            _log.error("%s: %s", type(error).__name__, error)
        request.app.state.service.metrics.refused.labels(problem.code).inc()
        return make_response(problem, request_id_of(request))

    for kind in (HTTPException, RequestValidationError, EsdedupError):
        app.add_exception_handler(kind, respond)


def request_id_of(request: Request) -> str:
    return str(request.scope.get("esdedup.request_id", ""))


def _as_problem(error: Exception, request: Request) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, EsdedupError):
        return problem_of(error)
    if isinstance(error, RequestValidationError):
        return _problem_of_validation(error)
    assert isinstance(error, HTTPException)
    headers = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_allowed_methods(error, request)))}
    details = {
        404: ("not-found", "there is nothing at this address; /openapi.json lists what there is"),
        405: ("method-not-allowed", "this address takes other methods; see the header Allow"),
    }
    code, detail = details.get(error.status_code, ("bad-request", str(error.detail)))
    return Problem(error.status_code, code, detail, headers=headers)


def _allowed_methods(error: HTTPException, request: Request) -> set[str]:
    """Those that an address takes; where there is GET there is HEAD."""
    # It has a route for each of its methods, the first of which knows only its own.
    operations = request.app.openapi()["paths"].get(request.url.path)
    named = operations or (error.headers or {}).get("Allow", "").split(",")
    methods = {name.strip().upper() for name in named} - {""}
    return methods | {"HEAD"} if "GET" in methods else methods


def _problem_of_validation(error: RequestValidationError) -> Problem:
    """The values themselves are left out: they may be long or confidential."""
    errors = [
        {"where": [str(part)[:100] for part in one["loc"]], "message": str(one["msg"])[:300]}
        for one in list(error.errors())[:20]
    ]
    first = errors[0]
    detail = f"{'.'.join(first['where'])}: {first['message']}"
    return Problem(422, "invalid", detail, errors=errors)
