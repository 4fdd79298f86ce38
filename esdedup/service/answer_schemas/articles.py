"""Articles, and what is decided about them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.base import Out, Role, like
from esdedup.service.schemas import ARTICLE


class EvidenceOut(Out):
    """Why two articles are, or are not, one story."""

    other: str
    found_by: dict[str, int]
    measure: str
    overlap: float
    of_new: float
    of_old: float
    thresholds: dict[str, float]
    verdict: Literal["duplicate", "update", "different"]
    reason: str
    numbers: list[list[str]] = Field(description="[old, new, context] of each changed count.")


NUMBERS = ["12", "17", "people died coastguard"]
EVIDENCE: JsonDict = {
    "other": "wire-1",
    "found_by": {"sketch": 14},
    "measure": "containment",
    "overlap": 0.8462,
    "of_new": 0.8462,
    "of_old": 0.8462,
    "thresholds": {"min_overlap": 0.45, "max_collisions_by_chance": 1},
    "verdict": "update",
    "reason": "numbers",
    "numbers": [[*NUMBERS]],
}
DECISION: JsonDict = {
    "id": "daily-7",
    "role": "update",
    "group": "daily-7",
    "story": "wire-1",
    "score": 0.8462,
    "method": "sketch",
    "reason": "numbers",
    "branch": False,
    "evidence": [EVIDENCE],
}


class DecisionOut(Out):
    """The verdict on one article."""

    model_config = like(DECISION)

    id: str
    role: Role
    group: str
    story: str
    score: float
    method: str
    reason: str
    branch: bool
    unread_date: str | None = Field(
        default=None,
        description="A date that could not be read: the article is ordered by its arrival.",
    )
    evidence: list[EvidenceOut]


class FailureOut(Out):
    """An article that could not be processed; `final`: nor will it be."""

    id: str
    where: str
    reason: str
    final: bool


class OutcomeOut(DecisionOut):
    """A decision, and what it meant for the store."""

    model_config = like({**DECISION, "status": "new"})

    status: Literal["new", "unchanged", "changed", "dropped", "relinked", "failed"]
    failure: FailureOut | None = None
    relinked: list[OutcomeOut] | None = Field(
        default=None, description="Articles that were there before and got another place."
    )


class DocumentOut(Out):
    """An article as it is stored; its further fields stand beside these."""

    id: str
    title: str
    text: str
    url: str | None = None
    source: str | None = None
    lang: str | None = None
    published: str | None = None
    html: str | None = Field(default=None, description="Of one that was not read: Base64.")


class ShownOut(Out):
    """An article, and what was decided about it."""

    model_config = like(
        {"document": {**ARTICLE, "id": "daily-7"}, "decision": DECISION, "words": 21}
    )

    document: DocumentOut
    decision: DecisionOut
    words: int = Field(description="Of the text that was signed.")


class DeletedOut(Out):
    """Who is gone, who was never there, and who leads a group instead."""

    model_config = like({"deleted": ["wire-1"], "missing": [], "promoted": ["daily-7"]})

    deleted: list[str]
    missing: list[str]
    promoted: list[str]
