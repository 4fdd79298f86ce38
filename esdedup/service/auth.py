"""Routes that ask for a key before they read a body."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable
from typing import Annotated, Any, ClassVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.responses import Response

from esdedup.model import JSON
from esdedup.model.encoding import MOST_VALUES, has_many_values, parse_json
from esdedup.service.keys import Scope
from esdedup.service.problems import Problem
from esdedup.service.state import Service

_Handler = Callable[[Request], Coroutine[Any, Any, Response]]
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_JSON = "application/json"


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Here = Annotated[Service, Depends(service_of)]


class _Request(Request):
    """Reads strict JSON: NaN and infinities are refused."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            if has_many_values(body):
                raise Problem(
                    413,
                    "too-many-values",
                    f"the body has more than {MOST_VALUES:,} values; send it in parts",
                )
            try:
                self._json = parse_json(body, parse_constant=_refuse_constant)
            except json.JSONDecodeError:
                raise  # FastAPI names the place of the mistake
            except ValueError as error:
                raise Problem(400, "bad-json", f"the body cannot be read: {error}") from error
        return self._json


def _refuse_constant(name: str) -> Any:
    raise Problem(400, "bad-json", f"{name} is no JSON; leave the value out")


class OpenRoute(APIRoute):
    """Needs no key. Unknown and repeated parameters are refused: a response that ignored one would
    answer another question."""

    def get_route_handler(self) -> _Handler:
        handler = super().get_route_handler()

        async def check_and_handle(request: Request) -> Response:
            if request.query_params:
                described = request.app.openapi()["paths"][request.scope["path"]]
                operation = described[request.method.lower()]
                check_parameters(request.query_params, operation.get("parameters", ()))
            return await handler(request)

        return check_and_handle


def check_parameters(given: QueryParams, described: Iterable[JSON]) -> None:
    """Refuse a parameter that the OpenAPI description does not have, or that is given twice."""
    known = {p["name"]: p["schema"].get("type") == "array" for p in described if p["in"] == "query"}
    for name in given:
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "it takes none"
            shown = repr(name[:100])
            raise Problem(400, "unknown-parameter", f"{shown} is no parameter of this; {there}")
        if len(given.getlist(name)) > 1 and not known[name]:
            raise Problem(400, "repeated-parameter", f"{name} is given twice; send it once")


class ReadRoute(OpenRoute):
    """Needs a key with the scope `read`; the classes below need more. The key is checked before the
    body is read."""

    needed: ClassVar[Scope] = "read"
    media_type: ClassVar[str] = _JSON

    def __init__(self, *args: Any, **options: Any) -> None:
        # The OpenAPI description has the scope, too.
        extra = {**(options.pop("openapi_extra", None) or {}), "x-scope": self.needed}
        super().__init__(*args, **options, openapi_extra=extra)

    def get_route_handler(self) -> _Handler:
        handler = super().get_route_handler()

        async def authorize_and_handle(request: Request) -> Response:
            service = service_of(request)
            check_key(service, request, self.needed)
            if self.body_field is not None or self.media_type != _JSON:
                # A form on a page of another site can send other media types only.
                given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if given != self.media_type:
                    raise Problem(415, "media-type", f"send Content-Type: {self.media_type}")
            if self.needed != "read":
                service.check_writable()
                self._refuse_if_full(service, request)
            return await handler(_Request(request.scope, request.receive))

        return authorize_and_handle

    def _refuse_if_full(self, service: Service, request: Request) -> None:
        service.admission.refuse_if_full(int(request.headers.get("content-length", "0")))


class WriteRoute(ReadRoute):
    needed = "write"


class StreamRoute(WriteRoute):
    media_type = "application/x-ndjson"

    def _refuse_if_full(self, service: Service, request: Request) -> None:
        """Never: each of its batches waits for room, however long the whole is."""


class AdminRoute(ReadRoute):
    needed = "admin"


def check_key(service: Service, request: Request, needed: Scope) -> None:
    if service.keys is None:
        return
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    sent = value.strip() if scheme.lower() == "bearer" else ""
    given = sent or request.headers.get("x-api-key")
    if given is None:
        raise Problem(
            401, "no-key", "send a key: Authorization: Bearer esdedup_…", headers=_CHALLENGE
        )
    key = service.keys.find(given)
    if key is None:
        raise Problem(401, "wrong-key", "the key is not valid", headers=_CHALLENGE)
    request.scope["esdedup.key"] = key.name
    if not key.allows(needed):
        raise Problem(403, "scope", f"the key may {key.scope}; this needs {needed}")
