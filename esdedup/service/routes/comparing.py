"""Routes that compare articles: explain, revisions, copies, groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document
from esdedup.model.queries import DEFAULT_BY, DEFAULT_MEMBERS, By
from esdedup.search.origins import source_of
from esdedup.search.searcher import Searcher
from esdedup.service.auth import Here, ReadRoute
from esdedup.service.description import responds_with
from esdedup.service.problems import Problem
from esdedup.service.responses import CopyPage, Group, Groups, Leader, MemberPage
from esdedup.service.routes import PageOffset, PageSize, extract, respond
from esdedup.service.schemas import Article, Id
from esdedup.stores import get_record
from esdedup.stories.explain import Explanation, explain_stored
from esdedup.stories.revisions import RevisionHistory, history_of
from esdedup.stories.text_reuse import TextReuse, find_text_reuse

router = APIRouter(prefix="/v1", tags=["comparing"], route_class=ReadRoute)

_Size = Annotated[int, Query(ge=1, le=1_000)]
_Offset = Annotated[int, Query(ge=0, le=9_000)]


@router.get(
    "/explain",
    responses=responds_with(Explanation),
    summary="Explain a decision about two articles",
)
async def explain(
    id: Annotated[Id, Query()],
    service: Here,
    other: Annotated[Id | None, Query(description="Default: the article it is linked to.")] = None,
) -> Response:
    """Shared keys, overlap, thresholds, the rule that decided, and both texts by passages."""
    return await respond(service, lambda d: explain_stored(d, id, other), "explain")


@router.get(
    "/revisions", responses=responds_with(RevisionHistory), summary="Versions of an article"
)
async def revisions(
    id: Annotated[Id, Query()],
    service: Here,
    old: Annotated[int | None, Query(ge=1, description="Compare this version …")] = None,
    new: Annotated[int | None, Query(ge=2, description="… with this one.")] = None,
) -> Response:
    """What each version changed, and two of them by passages: the last two unless named."""

    def job(deduplicator: Deduplicator) -> RevisionHistory:
        store = deduplicator.store
        return history_of(get_record(store, id), store, old=old, new=new)

    return await respond(service, job, "revisions")


@router.post("/copies", responses=responds_with(CopyPage), summary="Find passages of a text")
async def copies_of_text(
    article: Article, service: Here, size: PageSize = 100, offset: PageOffset = 0
) -> Response:
    """Stored articles that share passages with the text, each passage with its character offsets in
    both. The article that shares most words comes first.
    """
    document = await extract(service, article)
    part = slice(offset, offset + size)
    return await respond(service, lambda d: _copies(d, document, part), "copies")


@router.get(
    "/copies", responses=responds_with(CopyPage), summary="Find passages of a stored article"
)
async def copies_of_stored(
    id: Annotated[Id, Query()], service: Here, size: PageSize = 100, offset: PageOffset = 0
) -> Response:
    """Like the POST, for an article of the store, which is not in its own result."""
    part = slice(offset, offset + size)
    return await respond(
        service, lambda d: _copies(d, get_record(d.store, id).document, part), "copies"
    )


@router.get("/groups", responses=responds_with(Groups), summary="The largest groups of copies")
async def groups(
    service: Here,
    size: _Size = 20,
    offset: _Offset = 0,
    smallest: Annotated[int, Query(ge=2, le=1_000_000)] = 2,
) -> Response:
    def job(deduplicator: Deduplicator) -> Groups:
        found = deduplicator.store.search.groups(smallest=smallest, size=offset + size)[offset:]
        leaders = {
            id_: Leader(one.document.title, source_of(one.document), one.decision.story)
            for id_, one in deduplicator.store.documents.get(g for g, _ in found).items()
        }
        return Groups([Group(group, n, leaders.get(group)) for group, n in found])

    return await respond(service, job, "groups")


@router.get(
    "/group", responses=responds_with(MemberPage), summary="The articles of a group or story"
)
async def group(
    id: Annotated[Id, Query(description="Any article of it.")],
    service: Here,
    by: By = DEFAULT_BY,
    size: _Size = DEFAULT_MEMBERS,
    offset: _Offset = 0,
) -> Response:
    def job(deduplicator: Deduplicator) -> MemberPage:
        link = get_record(deduplicator.store, id).decision.link
        value = link.story if by == "story" else link.group
        searcher = Searcher(deduplicator.store)
        found = searcher.copies(value, by=by, size=size, offset=offset)
        return MemberPage(found, **{by: value})

    return await respond(service, job, "group")


def _copies(deduplicator: Deduplicator, document: Document, part: slice) -> CopyPage:
    found = find_text_reuse(document, deduplicator.store)
    if not isinstance(found, TextReuse):
        raise Problem(422, "unusable-article", found.reason)
    return CopyPage(len(found.copies), replace(found, copies=found.copies[part]))
