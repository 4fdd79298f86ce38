"""What the description says of answers, to hold them against it."""

from __future__ import annotations

from typing import Any

import httpx
from pydantic import BaseModel

from esdedup.service import description
from tests.docs import http
from tests.service.conftest import Running

_JSON = "application/json"
# Fields of an article, and all settings, stand beside those that are described.
_OPEN = ("Document", "StoryHit", "StoreSettings")


def _models() -> dict[tuple[str, str], type[BaseModel]]:
    """Of every operation, by method and path."""
    found = {}
    for method, path, operation in http.operations(http.description()):
        for status, answer in operation["responses"].items():
            content = answer.get("content", {})
            if status < "300" and _JSON in content:
                name = content[_JSON]["schema"].get("$ref", "").rpartition("/")[2]
                assert name, f"{method} {path} does not say what it answers with"
                found[method, path] = description.MODELS[name]
    return found


MODELS = _models()


def checked(service: Running, method: str, path: str, **question: Any) -> httpx.Response:
    answer = service.client.request(method, path, **question)
    answer.raise_for_status()
    assert answer.headers["Content-Type"] == _JSON
    check_described(MODELS[method, path].model_validate_json(answer.content, strict=True))
    return answer


def check_described(value: Any) -> None:
    """That there is nothing beside what is described, in any part of an answer."""
    if isinstance(value, BaseModel):
        assert type(value).__name__ in _OPEN or not value.model_extra, type(value)
        for name in type(value).model_fields:
            check_described(getattr(value, name))
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            check_described(part)
