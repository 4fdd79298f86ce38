"""The state of a store, and its quarantine."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.config import JsonDict

from esdedup.service.answer_schemas.articles import FailureOut, OutcomeOut
from esdedup.service.answer_schemas.base import Out, like


class HealthOut(Out):
    """All is well; everything else is an error."""

    model_config = like({"status": "ok"})

    status: Literal["ok"]


class ServiceOut(Out):
    """What the service is, and what the key that was sent may do."""

    model_config = like(
        {
            "version": "0.1.0",
            "scope": "write",
            "key": "crawler",
            "read_only": False,
            "body_bytes": 16_000_000,
            "methods": ["sketch"],
        }
    )

    version: str
    scope: Literal["read", "write", "admin"]
    key: str | None = Field(description="Its name; null where there are no keys.")
    read_only: bool
    body_bytes: int
    methods: list[str]


class StatsOut(Out):
    """What is in the store; a cluster estimates groups and stories where there are many."""

    model_config = like(
        {
            "documents": 24,
            "groups": 22,
            "stories": 21,
            "roles": {"original": 21, "duplicate": 2, "update": 1, "unprocessed": 0},
            "quarantine": 0,
            "bytes": 167_936,
            "format": "e9a5fdd4f23f",
        }
    )

    documents: int
    groups: int
    stories: int
    roles: dict[str, int]
    quarantine: int
    bytes: int
    format: str = Field(description="Of the settings that shape keys: stores with the same fit.")


class SettingsOut(Out):
    """All settings of the store by their names, of which these are two."""

    model_config = like({"preset": "hybrid", "methods": ["sketch"], "min_overlap": 0.45})

    preset: str
    methods: list[str]


_FAILURE: JsonDict = {
    "id": "page-4",
    "where": "page-4",
    "reason": "no article text was found in the page",
    "final": False,
}


class QuarantineOut(Out):
    """A page of the articles that failed; `total` counts all."""

    model_config = like({"total": 1, "failures": [_FAILURE]})

    total: int
    failures: list[FailureOut]


class RetriedOut(Out):
    """How many were tried, how many succeeded, and what became of the others."""

    model_config = like({"tried": 3, "succeeded": 3, "failed": []})

    tried: int
    succeeded: int
    failed: list[OutcomeOut]
