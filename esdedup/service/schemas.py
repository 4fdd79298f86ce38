"""Request bodies and parameters, as pydantic models; `responses` has the results."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from esdedup.ingest.readers.records import FieldMap, record_failure, to_document
from esdedup.matching.constraints import Kind
from esdedup.model import Document, Failure
from esdedup.model.queries import (
    DEFAULT_BY,
    DEFAULT_COUNT,
    DEFAULT_MODE,
    DEFAULT_SHOW,
    DEFAULT_SIZE,
    By,
    Count,
    Mode,
    Show,
)
from esdedup.search.fold import Keep

Size = Annotated[int, Field(ge=0, le=1_000, description="How many results.")]
# Both engines refuse to look further; cursors go on from there.
Offset = Annotated[int, Field(ge=0, le=9_000, description="How many to skip.")]
Id = Annotated[str, Field(min_length=1, max_length=512, examples=["wire-1"])]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Article(BaseModel):
    """An article: `text`, or `html` to extract it from. Further fields are stored with it."""

    model_config = ConfigDict(extra="allow")

    id: str | int | None = Field(
        default=None, description="Default: derived from the URL or the content."
    )
    title: str | None = None
    text: str | None = None
    html: str | None = Field(default=None, description="An HTML page, as text or in Base64.")
    url: str | None = Field(default=None, description="Where it was published; never fetched.")
    source: str | None = None
    lang: str | None = None
    published: str | float | int | None = Field(default=None, description="ISO 8601, or seconds.")

    def record(self) -> dict[str, Any]:
        return self.model_dump(exclude_unset=True)


def read_document(record: Any, where: str) -> Document | Failure:
    """Read an article like `esdedup index`, with its aliases of field names."""
    if not isinstance(record, dict):
        return record_failure(
            where, "is no object; an article is a JSON object with `text` or `html`"
        )
    return to_document(record, where, FieldMap())


class _Search(_In):
    """The options of a search, in a body or in a link."""

    words: str | None = Field(default=None, max_length=2_000, description='All words; "a phrase".')
    since: str | None = Field(default=None, max_length=40, description="Published from then on.")
    until: str | None = Field(default=None, max_length=40, description="Published before.")
    sort: list[str] = Field(
        default=[],
        max_length=5,
        examples=[["-published"]],
        description="Fields, with a minus for descending; default: the best match first.",
    )
    mode: Mode = Field(
        default=DEFAULT_MODE,
        description="The best match of each story, originals and updates only, or all.",
    )
    by: By = Field(default=DEFAULT_BY, description="Fold copies, or updates too.")
    size: Size = DEFAULT_SIZE
    offset: Offset = 0
    cursor: str | None = Field(
        default=None, max_length=10_000, description="From the previous page."
    )
    deep: bool = Field(default=False, description="Return a cursor.")
    expand: bool = Field(default=False, description="List the articles folded into each result.")
    origins: bool = Field(
        default=False,
        description="Return `origin`, `agency` and `independent` of the story of each result.",
    )
    texts: bool = Field(default=True, description="Return the whole text of each result.")


class SearchIn(_Search):
    """A search; `esdedup search` has the same options under the same names."""

    filters: dict[str, list[str]] = Field(
        default={}, max_length=20, description="Allowed values by field."
    )
    show: Show = Field(default=DEFAULT_SHOW, description="Which article stands for a story.")
    sources: list[str] = Field(
        default=[],
        max_length=1_000,
        description="For `show` = source: sources in order of preference.",
    )
    total: Count = Field(default=DEFAULT_COUNT, description="How stories are counted.")
    window_hours: float | None = Field(
        default=None, gt=0, le=1e6, description="Split a story after a pause of so many hours."
    )
    facets: list[str] = Field(
        default=[], max_length=10, description="Fields whose values are counted."
    )


class SearchLink(_Search):
    """A search as the parameters of a link."""

    filter: list[str] = Field(
        default=[], max_length=20, description="field=value", examples=[["source=Wire"]]
    )
    show: Literal["best", "earliest", "newest", "longest"] = Field(
        default=DEFAULT_SHOW, description="Which article stands for a story."
    )
    facet: list[str] = Field(
        default=[], max_length=10, description="A field whose values are counted."
    )


class FoldIn(_In):
    """A list of results from any search engine or feed."""

    # Folding may compare every item with every other.
    items: list[Any] = Field(max_length=1_000)
    keep: Keep = "first"
    sources: list[str] = Field(default=[], max_length=1_000)
    by: By = DEFAULT_BY
    known: bool = Field(default=False, description="Look up the items in the store.")
    window_hours: float | None = Field(default=None, gt=0, le=1e6)


class _ConstraintIn(_In):
    by: str = Field(
        default="", max_length=100, description="Who sets it; ignored if there are keys."
    )
    note: str = Field(default="", max_length=1_000, description="Why.")


class PairIn(_ConstraintIn):
    ids: list[Id] = Field(min_length=2, max_length=100)


class PinIn(_ConstraintIn):
    id: Id


class ForgetIn(_In):
    ids: list[Id] = Field(min_length=1, max_length=2)
    kind: Kind | None = Field(default=None, description="Only constraints of this kind.")
