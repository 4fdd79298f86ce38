"""What people said of groups."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.base import Out, Role, like


class CorrectionOut(Out):
    """One thing that somebody said of one article, or of two."""

    kind: Literal["same", "different", "original"]
    ids: list[str]
    of: list[str] | None = Field(
        default=None, description="Those it was said of, where it follows from another word."
    )
    at: str | None = None
    by: str | None = None
    note: str | None = None


_CORRECTION: JsonDict = {
    "kind": "same",
    "ids": ["daily-7", "wire-1"],
    "at": "2024-03-05T14:00:00Z",
    "by": "editor",
}


class CorrectionsOut(Out):
    """A page of what people said; `total` counts all."""

    model_config = like({"total": 1, "said": [_CORRECTION]})

    total: int
    said: list[CorrectionOut]


class PlaceOut(Out):
    """Where an article is now."""

    id: str
    role: Role
    group: str
    story: str


class SaidOut(Out):
    """What was said, or taken back, and the articles that got another place by it."""

    model_config = like(
        {
            "said": [_CORRECTION],
            "changed": [
                {"id": "daily-7", "role": "duplicate", "group": "wire-1", "story": "wire-1"}
            ],
        }
    )

    said: list[CorrectionOut]
    changed: list[PlaceOut]
