"""What goes in, for OpenAPI and checked by it; `answer_schemas` has what goes out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

Size = Annotated[int, Field(ge=0, le=1_000, description="How many.")]
# Both engines refuse to look further; cursors go on from there.
Offset = Annotated[int, Field(ge=0, le=9_000, description="How many to pass over.")]
Id = Annotated[str, Field(min_length=1, max_length=512, examples=["wire-1"])]

ARTICLE: JsonDict = {
    "id": "wire-1",
    "title": "Ferry fire off the coast",
    "text": "The ferry Stella caught fire off the coast on Tuesday; 12 people died, the "
    "coastguard said.",
    "source": "Harbour Wire",
    "published": "2024-03-05T10:00:00Z",
}


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Article(BaseModel):
    """An article: `text`, or `html` to take it from. Further fields are kept with it."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [ARTICLE]})

    id: str | int | None = Field(
        default=None, description="Made from url or content where left out."
    )
    title: str | None = None
    text: str | None = None
    html: str | None = Field(default=None, description="A page, as text or in Base64.")
    url: str | None = Field(default=None, description="Where it was published; never fetched.")
    source: str | None = None
    lang: str | None = None
    published: str | float | int | None = Field(default=None, description="ISO 8601, or seconds.")

    def record(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


class SearchIn(_In):
    """A search; `esdedup search` has the same options under the same names."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"words": "ferry fire", "size": 10, "facets": ["source"]}]},
    )

    words: str | None = Field(default=None, max_length=2_000, description='All words; "a phrase".')
    filters: dict[str, list[str]] = Field(
        default={}, max_length=20, description="Of each field the values allowed."
    )
    since: str | None = Field(default=None, max_length=40, description="Published from then on.")
    until: str | None = Field(default=None, max_length=40, description="Published before.")
    sort: list[str] = Field(
        default=[],
        max_length=5,
        examples=[["-published"]],
        description="Fields, with a minus for descending; else the best match first.",
    )
    mode: Literal["auto", "collapse", "canonical", "all"] = Field(
        default="auto", description="The best of each story, originals and updates alone, or all."
    )
    by: Literal["group", "story"] = Field(
        default="group", description="Fold copies, or updates too."
    )
    show: Literal["best", "earliest", "newest", "longest", "source"] = Field(
        default="best", description="Which article stands for a story."
    )
    sources: list[str] = Field(
        default=[], max_length=1_000, description="For `show` = source: the best first."
    )
    total: Literal["estimate", "exact", "none"] = Field(
        default="estimate", description="How stories are counted."
    )
    window_hours: float | None = Field(
        default=None, gt=0, le=1e6, description="The same story after such a pause is a new one."
    )
    size: Size = 10
    offset: Offset = 0
    cursor: str | None = Field(default=None, max_length=10_000, description="Of the page before.")
    deep: bool = Field(default=False, description="Answer with a cursor.")
    facets: list[str] = Field(
        default=[], max_length=10, description="Fields whose values are counted."
    )
    expand: bool = Field(default=False, description="With the articles folded into each result.")
    texts: bool = Field(default=True, description="With the whole text of each result.")


class FoldIn(_In):
    """Any list of results, from anywhere."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "items": [
                        {
                            "title": "Ferry fire kills 12 off the coast",
                            "url": "https://a.example/1",
                        },
                        {
                            "title": "Ferry fire kills 12 off the coast",
                            "url": "https://b.example/9",
                        },
                    ]
                }
            ]
        },
    )

    # Folding may compare every item with every other.
    items: list[Any] = Field(max_length=1_000)
    keep: Literal["first", "earliest", "source", "longest"] = "first"
    sources: list[str] = Field(default=[], max_length=1_000)
    by: Literal["group", "story"] = "group"
    known: bool = Field(default=False, description="Ask the store for groups it knows.")
    window_hours: float | None = Field(default=None, gt=0, le=1e6)


class _SaidIn(_In):
    by: str = Field(default="", max_length=100, description="Who says so, where there are no keys.")
    note: str = Field(default="", max_length=1_000, description="Why.")


class PairIn(_SaidIn):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"ids": ["wire-1", "daily-7"]}]}
    )

    ids: list[Id] = Field(min_length=2, max_length=100)


class PinIn(_SaidIn):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"id": "wire-1"}]})

    id: Id


class TakenBackIn(_In):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"ids": ["wire-1"]}]})

    ids: list[Id] = Field(min_length=1, max_length=2)
    kind: Literal["same", "different", "original"] | None = Field(
        default=None, description="Only what was said of this kind."
    )
