"""The OpenAPI description of responses, derived from the classes that are sent."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, create_model

from esdedup.model.json_form import Result, json_fields
from esdedup.model.results import StoryHit

# A hit has the fields of its article beside its own; `texts=false` leaves the text out.
_HIT_FIELDS: dict[str, Any] = {"title": (str, ...), "text": (str | None, None)}
# An example of each schema that is a body by itself.
EXAMPLES: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text("utf-8"))
MODELS: dict[str, type[BaseModel]] = {}


def responds_with(kind: type[Result], *more: int) -> dict[int | str, dict[str, Any]]:
    """What a route responds with if all is well, under 200 and `more`."""
    good: dict[str, Any] = {"description": "Done.", "model": model_of(kind)}  # type: ignore[arg-type]  # mypy: no hash
    return {200: good, **dict.fromkeys(more, good)}


@cache
def model_of(kind: type[Result]) -> type[BaseModel]:
    """A model with the fields of the JSON form. Clients should expect further fields."""
    text = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    allowing = ConfigDict(extra="allow")
    model: type[BaseModel] = create_model(
        kind.__name__, __config__=allowing, __doc__=text, **_fields(kind)
    )
    MODELS[kind.__name__] = model
    return model


def _fields(kind: type[Result]) -> dict[str, Any]:
    """Type and default of each field. One that is not always there has the default None."""
    found: dict[str, Any] = dict(_HIT_FIELDS) if kind is StoryHit else {}
    for _, form, hint in json_fields(kind):  # type: ignore[arg-type]  # mypy: no hash
        if form.flat:
            inner = _fields(next((t for t in get_args(hint) if t is not types.NoneType), hint))
            if form.omit_empty:
                inner = {name: (type_ | None, None) for name, (type_, _) in inner.items()}
            found |= inner
            continue
        type_ = _json_type(hint) | None if form.omit_empty else _json_type(hint)
        default = None if form.omit_empty else ...
        found[form.name] = (type_, Field(default, description=form.description or None))
    return found


def _json_type(hint: Any) -> Any:
    """The type of a value after `encode`."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _json_type(parts[0])
    if origin in (Union, types.UnionType):
        return Union[tuple(map(_json_type, parts))]  # noqa: UP007 - of types made here
    if origin in (tuple, list):
        return _list_of([part for part in parts if part is not ...])
    if origin in (dict, Mapping):
        return dict[str, _json_type(parts[1])]  # type: ignore[misc]  # made here
    return _json_class(hint) if isinstance(hint, type) else hint


def _json_class(kind: type) -> Any:
    if issubclass(kind, Result):
        return model_of(kind)  # type: ignore[arg-type]  # mypy: no hash
    if issubclass(kind, tuple):  # a named one
        return _list_of(list(get_type_hints(kind).values()))
    return str if issubclass(kind, datetime | bytes) else kind


def _list_of(parts: list[Any]) -> Any:
    return list[Union[tuple(dict.fromkeys(map(_json_type, parts)))]]  # type: ignore[misc]  # noqa: UP007


def complete(app: FastAPI) -> None:
    """Add what FastAPI does not say: how a key is sent, and the nulls in examples.

    The routes themselves ask for a key, before they read a body.
    """
    made = app.openapi

    def openapi() -> dict[str, Any]:
        schema = made()
        components = schema["components"]
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "esdedup_NAME_SECRET"}
        }
        schema["security"] = [{"key": []}, {}]
        for name, example in EXAMPLES.items():
            components["schemas"][name]["examples"] = [example]
        return schema

    app.openapi = openapi  # type: ignore[method-assign]  # as FastAPI documents it
