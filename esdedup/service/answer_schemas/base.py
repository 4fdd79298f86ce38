"""What all answers have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

Role = Literal["original", "duplicate", "update", "unprocessed"]


def like(example: JsonDict) -> ConfigDict:
    """Of a model that is an answer by itself."""
    return ConfigDict(extra="allow", json_schema_extra={"examples": [example]})


class Out(BaseModel):
    """Clients should expect further fields."""

    model_config = ConfigDict(extra="allow")


class ProblemOut(Out):
    """An error (RFC 9457)."""

    type: str = Field(examples=["urn:esdedup:problem:queue-full"])
    title: str
    status: int
    detail: str
    request_id: str
