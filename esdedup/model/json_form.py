"""The JSON form of results, derived from their fields.

`to_json` of every result, the output of `--json`, the responses of the service and their OpenAPI
description all read the same list of fields.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

JSON = dict[str, Any]
_Getter = TypeVar("_Getter", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class JsonField:
    """How a field of a result appears in JSON: `Annotated[float, JsonField(digits=4)]`.

    `convert` maps the value first; its return annotation is the type that OpenAPI describes.
    `flat` puts the fields of the value beside those of the result. `omit_empty` leaves the field
    out if it is None or empty; any other field is always there, None as null.
    """

    name: str = ""  # the attribute's, if empty
    convert: Callable[[Any], Any] | None = None
    digits: int | None = None  # decimal places
    flat: bool = False
    omit_empty: bool = False
    hidden: bool = False
    description: str = ""


Rounded = Annotated[float, JsonField(digits=4)]


def in_json(name: str = "", *, digits: int | None = None) -> Callable[[_Getter], _Getter]:
    """Put a property into the JSON form; stands between `@property` and the function."""

    def mark(getter: _Getter) -> _Getter:
        getter.json_field = JsonField(name, digits=digits)  # type: ignore[attr-defined]  # a mark
        return getter

    return mark


class Result:
    """A dataclass with a JSON form."""

    __slots__ = ()

    def to_json(self) -> JSON:
        out: JSON = {}
        for attribute, name, form in _plan(type(self)):  # type: ignore[arg-type]  # mypy: no hash
            value = getattr(self, attribute)
            if form is None:
                out[name] = value if type(value) in _PLAIN else encode(value)
                continue
            if form.omit_empty and not value:
                continue
            if form.convert is not None:
                value = form.convert(value)
            if form.flat:
                out |= value.to_json()
            elif form.digits is not None and value is not None:
                out[name] = round(value, form.digits)
            else:
                out[name] = encode(value)
        return out


@cache
def json_fields(kind: type[Result]) -> tuple[tuple[str, JsonField, Any], ...]:
    """Attribute, form and type of everything in the JSON form: fields first, then properties."""
    hints = get_type_hints(kind, include_extras=True)
    found = [(field.name, *_split(hints[field.name])) for field in fields(kind)]  # type: ignore[arg-type]  # all are dataclasses
    for attribute, value in vars(kind).items():
        getter = value.func if isinstance(value, cached_property) else getattr(value, "fget", None)
        if (form := getattr(getter, "json_field", None)) is not None:
            found.append((attribute, form, get_type_hints(getter)["return"]))
    return tuple(
        (attribute, replace(form, name=form.name or attribute), hint)
        for attribute, form, hint in found
        if not form.hidden
    )


@cache
def _plan(kind: type[Result]) -> tuple[tuple[str, str, JsonField | None], ...]:
    """Attribute, name and form; no form for a field that is encoded as it is, the usual case."""
    return tuple(
        (attribute, form.name, None if form == JsonField(form.name) else form)
        for attribute, form, _ in json_fields(kind)  # type: ignore[arg-type]  # mypy: no hash
    )


def _split(hint: Any) -> tuple[JsonField, Any]:
    """The form that an annotation carries, and the type in JSON before encoding."""
    form = JsonField()
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        form = next((extra for extra in reversed(extras) if isinstance(extra, JsonField)), form)
    if form.convert is not None:
        hint = get_type_hints(form.convert)["return"]
    return form, hint


# Exact types first: a decision is encoded for every article that is stored, and checks against
# `Mapping` and the like take most of the time.
_PLAIN = frozenset((str, int, float, bool, type(None)))


def encode(value: Any) -> Any:
    """JSON types for a result and for everything inside it. What is JSON already stays."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, Result):
        return value.to_json()
    if isinstance(value, (tuple, list)):
        return [encode(inner) for inner in value]
    if kind is dict or isinstance(value, Mapping):
        return {key: encode(inner) for key, inner in value.items()}
    if isinstance(value, datetime):
        return iso(value)
    return base64.b64encode(value).decode("ascii") if kind is bytes else value


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
