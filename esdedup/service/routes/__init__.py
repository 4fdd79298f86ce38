"""The routes of the service, one file per topic, each with a `router`.

Ids are query parameters, not parts of a path: many ids are URLs, which proxies would normalise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document, Failure
from esdedup.service.description import model_of
from esdedup.service.problems import MEDIA_TYPE, Problem
from esdedup.service.responses import JsonResponse, ProblemDetails, encode_json
from esdedup.service.schemas import Article, read_document
from esdedup.service.state import Service

_PROBLEM: dict[str, Any] = {
    "description": "An error.",
    "content": {MEDIA_TYPE: {"schema": model_of(ProblemDetails).model_json_schema()}},
}
_STATUSES: tuple[int | str, ...] = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)
# Of lists that are made as a whole; where an engine looks for the page, the engine bounds it.
PageSize = Annotated[int, Query(ge=1, le=1_000)]
PageOffset = Annotated[int, Query(ge=0, le=1_000_000)]
PROBLEMS: dict[int | str, dict[str, Any]] = dict.fromkeys(_STATUSES, _PROBLEM)


async def respond(
    service: Service, question: Callable[[Deduplicator], Any], stage: str
) -> JsonResponse:
    """Respond with the result of a question; the reader that answers it encodes it, too."""
    return JsonResponse(await service.read(lambda d: encode_json(question(d)), stage))


def read_article(article: Article) -> Document:
    document = read_document(article.record(), "the article")
    if isinstance(document, Failure):
        raise Problem(422, "unusable-article", document.reason)
    return document


async def extract(service: Service, article: Article) -> Document:
    """The article with its text; the text of an HTML page is extracted."""
    item = await service.prepare_one(read_article(article))
    if isinstance(item, Failure):
        raise Problem(422, "unusable-article", item.reason)
    return item.document
