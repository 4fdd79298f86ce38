"""Results of searches, and of folded lists."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.articles import EvidenceOut
from esdedup.service.answer_schemas.base import Out, like
from esdedup.service.schemas import ARTICLE


class TotalOut(Out):
    """How many there are; an estimate where not `exact`, null where nobody counted."""

    stories: int | None
    articles: int | None
    exact: bool
    precision: str


class HitOut(Out):
    """One result: a story, shown by one of its articles, whose fields stand beside these.

    Where they apply there are also `update` (what it tells that the article before did not),
    `matched` and `matched_by` (the shown one is not the one that matched), and `folded` (asked for
    by `expand`: the other articles, as MemberOut).
    """

    id: str
    title: str
    text: str | None = None
    group: str | None
    story: str | None
    role: str
    score: float | None
    copies: int | None
    snippet: str


_HIT: JsonDict = {
    **ARTICLE,
    "group": "wire-1",
    "story": "wire-1",
    "role": "original",
    "score": 1.2,
    "copies": 2,
    "snippet": "The ferry Stella caught fire …",
}


class BucketOut(Out):
    value: str
    stories: int
    articles: int


class FacetOut(Out):
    """The values of one field, most stories first."""

    field: str
    exact: bool
    buckets: list[BucketOut]


class PageOut(Out):
    """A page of results; `stories` and `articles` count all of them."""

    model_config = like(
        {
            "mode": "collapse",
            "by": "group",
            "offset": 0,
            "total": {"stories": 1, "articles": 3, "exact": True, "precision": "exact"},
            "hits": [_HIT],
            "notes": [],
        }
    )

    mode: str
    by: str
    offset: int
    total: TotalOut
    hits: list[HitOut]
    notes: list[str]
    cursor: str | None = None
    ungrouped: int | None = Field(
        default=None, description="Matching articles without a group, each shown by itself."
    )
    facets: list[FacetOut] | None = None


class SectionOut(Out):
    category: str
    hits: list[HitOut]


class FrontOut(Out):
    """The newest stories of each category."""

    model_config = like({"sections": [{"category": "world", "hits": [{**_HIT, "score": None}]}]})

    sections: list[SectionOut]


class FoldedItemOut(Out):
    """An item that is not shown; places are those of the list that came."""

    place: int
    id: str | None
    into: int = Field(description="The place of the one that stands for it.")
    into_id: str | None
    rule: Literal["known group", "same id", "same address", "text", "snippet", "headline"]
    overlap: float | None


class KeptItemOut(Out):
    """An item that stays, as it came, with what went into it."""

    place: int
    id: str | None
    item: Any
    folded: list[FoldedItemOut]
    update: EvidenceOut | None = Field(default=None, description="Of an earlier item.")


_FOLDED: JsonDict = {
    "place": 1,
    "id": None,
    "into": 0,
    "into_id": None,
    "rule": "headline",
    "overlap": None,
}


class FoldedOut(Out):
    """A list, folded: what stays in its order, what does not, and what was odd about it."""

    model_config = like(
        {
            "kept": [
                {
                    "place": 0,
                    "id": None,
                    "item": {
                        "title": "Ferry fire kills 12 off the coast",
                        "url": "https://a.example/1",
                    },
                    "folded": [_FOLDED],
                }
            ],
            "folded": [_FOLDED],
            "notes": [],
        }
    )

    kept: list[KeptItemOut]
    folded: list[FoldedItemOut]
    notes: list[str]
