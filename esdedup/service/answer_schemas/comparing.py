"""Why articles are one story, who copied what, and groups."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.articles import DECISION, EVIDENCE, DecisionOut, EvidenceOut
from esdedup.service.answer_schemas.base import Out, like


class SpanOut(Out):
    """A passage of two texts."""

    kind: Literal["equal", "changed", "removed", "added", "moved"]
    old: str
    new: str


class SharedKeysOut(Out):
    """Keys of one method that two articles share, how many make a candidate, and of how many."""

    shared: int
    needed: int
    of: int


class MeasureOut(Out):
    """What one method measures of two articles, whoever decided."""

    value: float
    is_copy: bool
    says: str


class RunnerUpOut(Out):
    """Another article that the new one was compared with, and why it lost."""

    other: str
    why: str
    evidence: EvidenceOut


class ExplanationOut(Out):
    """Two articles, the earlier one first, and everything that decides about them."""

    model_config = like(
        {
            "old": "wire-1",
            "new": "daily-7",
            "decision": DECISION,
            "keys": {"sketch": {"shared": 14, "needed": 2, "of": 20}},
            "evidence": EVIDENCE,
            "rule": "update: containment 0.846 is above min_overlap 0.45, and counts changed in "
            "the same context",
            "measures": {
                "sketch": {"value": 14.0, "is_copy": True, "says": "14.000: a copy by itself"}
            },
            "names": ["Stella"],
            "runner_up": None,
            "spans": [
                {"kind": "changed", "old": "12 ", "new": "17 "},
                {"kind": "equal", "old": "people died", "new": "people died"},
            ],
            "cut": False,
        }
    )

    old: str
    new: str
    decision: DecisionOut
    keys: dict[str, SharedKeysOut]
    evidence: EvidenceOut
    rule: str
    measures: dict[str, MeasureOut]
    names: list[str] = Field(description="Named entities that both have.")
    runner_up: RunnerUpOut | None
    spans: list[SpanOut]
    cut: bool = Field(description="The texts are longer than what `spans` compares.")


class PassageOut(Out):
    """From and to which character of each text, and how many words are equal."""

    here: list[int]
    there: list[int]
    words: int


class CopyOut(Out):
    """A stored article that shares passages with the text, and which share of each that is."""

    id: str
    title: str
    url: str | None
    source: str | None
    found_by: dict[str, int]
    words: int
    of_here: float
    of_there: float
    passages: list[PassageOut]


class CopiesOut(Out):
    """A page of what was found of a text, most words first; `total` counts all."""

    model_config = like(
        {
            "total": 1,
            "id": "wire-1",
            "sentences": 3,
            "copies": [
                {
                    "id": "daily-7",
                    "title": "Ferry fire off the coast",
                    "url": None,
                    "source": "Daily",
                    "found_by": {"sketch": 19},
                    "words": 46,
                    "of_here": 1.0,
                    "of_there": 0.9583,
                    "passages": [{"here": [0, 254], "there": [0, 254], "words": 46}],
                }
            ],
        }
    )

    total: int
    id: str
    sentences: int
    copies: list[CopyOut]


class GroupOut(Out):
    """A group of copies; what is told of its original is left out where that is gone."""

    group: str
    size: int
    title: str | None = None
    source: str | None = None
    story: str | None = None


class GroupsOut(Out):
    """Groups, the largest first."""

    model_config = like(
        {
            "groups": [
                {
                    "group": "wire-1",
                    "size": 8,
                    "title": "Ferry fire off the coast",
                    "source": "Harbour Wire",
                    "story": "wire-1",
                }
            ]
        }
    )

    groups: list[GroupOut]


class UpdateOut(Out):
    """What an update tells that the article before it did not."""

    of: str
    reason: str
    numbers: list[list[str]] = Field(description="[old, new, context] of each changed count.")
    text: str


class MemberOut(Out):
    """One article of a group or story."""

    id: str
    title: str
    source: str | None
    url: str | None
    published: str | None
    role: str
    group: str
    story: str
    score: float
    update: UpdateOut | None = None


MENTION: JsonDict = {
    "id": "daily-7",
    "title": "Ferry fire off the coast",
    "source": "Daily",
    "url": None,
    "published": "2024-03-05T11:30:00Z",
}


class MembersOut(Out):
    """A page of the articles of a group or story in their order; `total` counts all."""

    model_config = like(
        {
            "group": "wire-1",
            "total": 8,
            "members": [
                {
                    **MENTION,
                    "role": "duplicate",
                    "group": "wire-1",
                    "story": "wire-1",
                    "score": 0.9583,
                }
            ],
        }
    )

    group: str | None = Field(default=None, description="Where asked for by group.")
    story: str | None = Field(default=None, description="Where asked for by story.")
    total: int
    members: list[MemberOut]
