"""Why, and of what: explain, copies, groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import JSON, Document, Failure
from esdedup.search.searcher import Searcher
from esdedup.service.answer_schemas import CopiesOut, ExplanationOut, GroupsOut, MembersOut
from esdedup.service.auth import Here, ReadRoute
from esdedup.service.problems import Problem, not_found
from esdedup.service.responses import Answer
from esdedup.service.routes import PageOffset, PageSize, answers
from esdedup.service.routes.articles import document_of_body
from esdedup.service.schemas import Article, Id
from esdedup.stores import Record, Store
from esdedup.stories.explain import explain as explained
from esdedup.stories.text_reuse import Checked, copies

router = APIRouter(prefix="/v1", tags=["comparing"], route_class=ReadRoute)

_Size = Annotated[int, Query(ge=1, le=1_000)]
_Offset = Annotated[int, Query(ge=0, le=9_000)]


@router.get("/explain", responses=answers(ExplanationOut), summary="Why two articles are one story")
async def explain(
    id: Annotated[Id, Query()],
    service: Here,
    other: Annotated[Id | None, Query(description="Else what it was linked to.")] = None,
) -> Response:
    """Shared keys, overlap, thresholds, the rule that decided, and both texts by passages."""
    return Answer(await service.read(lambda d: _explained(d, id, other), "explain"))


@router.post("/copies", responses=answers(CopiesOut), summary="Who copied what of a text")
async def copies_of_text(
    article: Article, service: Here, size: PageSize = 100, offset: PageOffset = 0
) -> Response:
    """Passages that stored articles share with the text: from and to which character of each.

    The article that shares most words comes first.
    """
    item = await service.prepare_one(document_of_body(article))
    if isinstance(item, Failure):
        raise Problem(422, "unusable-article", item.reason)
    part = slice(offset, offset + size)
    return Answer(await service.read(lambda d: _copies(d, item.document, part), "copies"))


@router.get("/copies", responses=answers(CopiesOut), summary="Who copied what of a stored article")
async def copies_of_stored(
    id: Annotated[Id, Query()], service: Here, size: PageSize = 100, offset: PageOffset = 0
) -> Response:
    """The same of one that is in the store, itself left out."""
    part = slice(offset, offset + size)
    return Answer(
        await service.read(lambda d: _copies(d, record_of(d.store, id).document, part), "copies")
    )


@router.get("/groups", responses=answers(GroupsOut), summary="The largest groups of copies")
async def groups(
    service: Here,
    size: _Size = 20,
    offset: _Offset = 0,
    smallest: Annotated[int, Query(ge=2, le=1_000_000)] = 2,
) -> Response:
    def job(deduplicator: Deduplicator) -> JSON:
        found = deduplicator.store.groups(smallest=smallest, size=offset + size)[offset:]
        leaders = deduplicator.store.get_many(group for group, _ in found)
        return {"groups": [_group(group, n, leaders.get(group)) for group, n in found]}

    return Answer(await service.read(job, "groups"))


@router.get("/group", responses=answers(MembersOut), summary="The articles of a group or story")
async def group(
    id: Annotated[Id, Query(description="Any article of it.")],
    service: Here,
    by: Literal["group", "story"] = "group",
    size: _Size = 100,
    offset: _Offset = 0,
) -> Response:
    def job(deduplicator: Deduplicator) -> JSON:
        link = record_of(deduplicator.store, id).decision.link
        value = link.story if by == "story" else link.group
        searcher = Searcher(deduplicator.store)
        found = searcher.copies(value, by=by, size=size, offset=offset)
        return {by: value, **found.to_json()}

    return Answer(await service.read(job, "group"))


def record_of(store: Store, id_: str) -> Record:
    record = store.get_many([id_]).get(id_)
    if record is None:
        raise not_found(id_)
    return record


def _explained(deduplicator: Deduplicator, id_: str, other: str | None) -> JSON:
    record = record_of(deduplicator.store, id_)
    if other is None:
        if not record.decision.evidence:
            raise Problem(
                404,
                "nothing-to-explain",
                f"the article is {record.decision.role}: no other shares enough keys with it; "
                "name a second one (other)",
            )
        other = record.decision.evidence[0].other
    found = explained(
        record,
        record_of(deduplicator.store, other),
        deduplicator.settings,
        deduplicator.store.corrections,
    )
    return found.to_json()


def _copies(deduplicator: Deduplicator, document: Document, part: slice) -> JSON:
    found = copies(document, deduplicator.store)
    if not isinstance(found, Checked):
        raise Problem(422, "unusable-article", found.reason)
    return {"total": len(found.copies), **replace(found, copies=found.copies[part]).to_json()}


def _group(group: str, size: int, leader: Record | None) -> JSON:
    out: JSON = {"group": group, "size": size}
    if leader is not None:
        document = leader.document
        out |= {"title": document.title, "source": document.source, "story": leader.decision.story}
    return out
