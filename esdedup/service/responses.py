"""Responses: JSON encoding, and the results that only the service has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import orjson
from starlette.responses import Response

from esdedup.clustering.outcomes import Outcome, UnreadDate
from esdedup.matching.constraints import Constraint
from esdedup.model import Decision, Document, Failure
from esdedup.model.json_form import JsonField, Result, encode
from esdedup.model.queries import DEFAULT_BY, DEFAULT_SIZE, By
from esdedup.model.results import Members, Section
from esdedup.service.keys import Scope
from esdedup.stories.events.report import Report
from esdedup.stories.revisions import ArticleRevision
from esdedup.stories.text_reuse import TextReuse
from esdedup.stories.timeline import Story

NDJSON = "application/x-ndjson"
# Of streams: proxies hand them on as they come.
UNBUFFERED = {"X-Accel-Buffering": "no"}


def encode_json(value: Any) -> bytes:
    """UTF-8, without NaN and infinities. Any text that came in can go out again."""
    value = encode(value)
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # half a surrogate pair, or a number of more than 64 bits
        return json.dumps(_finite(value), separators=(",", ":")).encode()


def encode_line(value: Any) -> bytes:
    return encode_json(value) + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list) else value


class JsonResponse(Response):
    """A result, or what `encode_json` made of it in another thread."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else encode_json(content)


# --- articles ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Indexed(Result):
    """A decision, and its effect on the store."""

    outcome: Annotated[Outcome, JsonField(flat=True)]
    relinked: Annotated[
        tuple[Outcome, ...],
        JsonField(
            omit_empty=True,
            description="Stored articles that got another group, story or role.",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class Check(Result):
    """The decision about an article that is not stored."""

    decision: Annotated[Decision, JsonField(flat=True)]
    unread_date: UnreadDate = None


@dataclass(frozen=True, slots=True)
class Shown(Result):
    """An article and the decision about it."""

    document: Document
    decision: Decision
    words: Annotated[int, JsonField(description="Of the text that was signed.")]
    note: Annotated[
        str, JsonField(omit_empty=True, description="What the article says of its own errors.")
    ] = ""
    revisions: Annotated[
        tuple[ArticleRevision, ...],
        JsonField(omit_empty=True, description="What its versions changed; /v1/revisions."),
    ] = ()


# --- groups and searches -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leader(Result):
    title: str
    source: str | None
    story: str


@dataclass(frozen=True, slots=True)
class Group(Result):
    """A group of copies. Fields of its original are left out if that is deleted."""

    group: str
    size: int
    leader: Annotated[Leader | None, JsonField(flat=True, omit_empty=True)]


@dataclass(frozen=True, slots=True)
class Groups(Result):
    """Groups, the largest first."""

    groups: list[Group]


@dataclass(frozen=True, slots=True)
class MemberPage(Result):
    """A page of the articles of a group or story in their order; `total` counts all."""

    found: Annotated[Members, JsonField(flat=True)]
    group: Annotated[
        str | None, JsonField(omit_empty=True, description="Present for `by=group`.")
    ] = None
    story: Annotated[
        str | None, JsonField(omit_empty=True, description="Present for `by=story`.")
    ] = None


@dataclass(frozen=True, slots=True)
class CopyPage(Result):
    """A page of the articles that share passages with a text; `total` counts all."""

    total: int
    checked: Annotated[TextReuse, JsonField(flat=True)]


@dataclass(frozen=True, slots=True)
class Front(Result):
    """The newest stories of each category."""

    sections: tuple[Section, ...]


# --- stories and events --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoryTotal(Result):
    """How many versions and partial copies a story has."""

    versions: int
    partial: int | None


@dataclass(frozen=True, slots=True)
class PagedStory(Result):
    """A page of a story; `total`, `articles` and `counts` are those of the whole."""

    total: StoryTotal
    story: Annotated[Story, JsonField(flat=True)]


@dataclass(frozen=True, slots=True)
class EventPage(Result):
    """A page of events, the latest first; `total` counts all."""

    total: int
    events: list[Report]


# --- corrections, quarantine, the service --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CorrectionPage(Result):
    """A page of the constraints that people set; `total` counts all."""

    total: int
    said: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class QuarantinePage(Result):
    """A page of the articles that failed; `total` counts all."""

    total: int
    failures: list[Failure]


@dataclass(frozen=True, slots=True)
class Retried(Result):
    """How many articles were retried, how many succeeded, and the outcomes of the others."""

    tried: int
    succeeded: int
    failed: list[Outcome]


@dataclass(frozen=True, slots=True)
class Health(Result):
    """The service works; a problem is an error response."""

    status: Literal["ok"] = "ok"


@dataclass(frozen=True, slots=True)
class SearchDefaults(Result):
    """The defaults of a search."""

    by: By = DEFAULT_BY
    size: int = DEFAULT_SIZE


@dataclass(frozen=True, slots=True)
class About(Result):
    """The version and limits of the service, and the scope of the key that was sent."""

    version: str
    scope: Scope
    key: Annotated[
        str | None, JsonField(description="The name of the key; null if there are no keys.")
    ]
    read_only: bool
    body_bytes: int
    methods: tuple[str, ...]
    defaults: SearchDefaults = field(default_factory=SearchDefaults)


@dataclass(frozen=True, slots=True)
class Stats(Result):
    """Counts of the store; a cluster estimates large numbers of groups and stories."""

    documents: int
    groups: int
    stories: int
    roles: dict[str, int]
    quarantine: int
    bytes: int
    format: Annotated[
        str,
        JsonField(description="Fingerprint of the settings that shape keys."),
    ]


@dataclass(frozen=True, slots=True)
class StoreSettings(Result):
    """All settings of the store by name; these two are examples."""

    preset: str
    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProblemDetails(Result):
    """An error (RFC 9457)."""

    type: Annotated[
        str, JsonField(description="For programs, e.g. urn:esdedup:problem:queue-full.")
    ]
    title: str
    status: int
    detail: str
    request_id: str
