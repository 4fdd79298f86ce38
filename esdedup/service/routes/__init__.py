"""What can be asked over HTTP, one file a topic; each has a `router`.

Ids are parameters and not parts of the address: many of them are addresses themselves, which
proxies would take apart.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel

from esdedup.service.answer_schemas import ProblemOut
from esdedup.service.problems import MEDIA_TYPE

_PROBLEM: dict[str, Any] = {
    "description": "An error.",
    "content": {MEDIA_TYPE: {"schema": ProblemOut.model_json_schema()}},
}
_STATUSES: tuple[int | str, ...] = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)
# Of lists that are made as a whole; where an engine looks for the page, the engine bounds it.
PageSize = Annotated[int, Query(ge=1, le=1_000)]
PageOffset = Annotated[int, Query(ge=0, le=1_000_000)]
PROBLEMS: dict[int | str, dict[str, Any]] = dict.fromkeys(_STATUSES, _PROBLEM)


def answers(model: type[BaseModel], *more: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: what a route answers with when all is well, under 200 and `more`."""
    good: dict[str, Any] = {"description": "Done.", "model": model}
    return {200: good, **dict.fromkeys(more, good)}
