"""docs/api.md from signatures and docstrings: `python -m tests.docs.api > docs/api.md`."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import esdedup
from esdedup import errors
from esdedup.model.json_form import Result

INTRODUCTION = """\
# Python

<!-- Generated: python -m tests.docs.api > docs/api.md -->

What `esdedup` exports, and what these names take and give back. Everything else may change without
notice. Examples that run: [quickstart](quickstart.md#in-python), [searching](searching.md). What is
given back is frozen and has `to_json()`; what is stored or sent has `from_json()` as well.
"""

# In the order one meets them; a test compares them with `esdedup.__all__`.
SECTIONS = {
    "Index and decide": ("Deduplicator", "Document", "Decision", "Evidence", "Failure"),
    "Search and fold": ("Searcher", "Query", "fold"),
    "Read files": ("read",),
    "Stores and settings": ("open_store", "Settings", "Signature"),
    "Errors": ("EsdedupError",),
}
# What the names above take or give back, by the module that has it.
ALSO = {
    "esdedup.clustering.outcomes": ("Outcome",),
    "esdedup.model.queries": ("SearchOptions",),
    "esdedup.model.results": (
        "StoryPage", "StoryHit", "Total", "Update", "Members", "Member", "Facet", "Bucket",
        "Section",
    ),
    "esdedup.search.fold": ("Folded", "KeptItem", "FoldedItem"),
}  # fmt: skip
# Choices that signatures name: the module, and the names of the values allowed there.
CHOICES = {
    "esdedup.model": ("Role",),
    "esdedup.clustering.outcomes": ("Status",),
    "esdedup.model.queries": ("Mode", "By", "Show", "Count"),
    "esdedup.search.fold": ("Keep", "Rule"),
}
# Told once, above; every class has them alike.
SAID_ABOVE = ("to_json", "from_json")
WIDTH = 88
# A signature with more parameters than this is a table elsewhere.
MANY = 20


def reference() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _entry(name, getattr(esdedup, name), "###")
    parts.append("## What comes and goes with them\n")
    for module, names in ALSO.items():
        for name in names:
            parts += _entry(name, getattr(import_module(module), name), "###", module=module)
    return "\n".join([*parts, choices()])


def choices() -> str:
    """What stands for a few fixed values in the signatures above."""
    rows = []
    for module, names in CHOICES.items():
        for name in names:
            values = get_args(getattr(import_module(module), name))
            rows.append(f"| `{name}` | {', '.join(f'`{value}`' for value in values)} |")
    return "\n".join(["### Choices", "", "| name | values |", "| --- | --- |", *rows, ""])


def public_methods(of: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that the class itself defines, in the order of the source."""
    for name, member in vars(of).items():
        plain = getattr(member, "__func__", member)
        plain = getattr(member, "fget", None) or getattr(member, "func", None) or plain
        if not name.startswith("_") and inspect.isfunction(plain):
            yield name, member


def _entry(name: str, of: Any, level: str, module: str = "") -> Iterator[str]:
    yield f"{level} {name}\n"
    if module:
        yield f"`{module}`\n"
    yield _signature(name, of)
    yield _text(of)
    if of is errors.EsdedupError:
        yield f"```text\n{_tree()}\n```\n"
    if of is esdedup.Settings:
        yield "The fields, with defaults and meaning: [settings](settings.md).\n"
    if inspect.isclass(of):
        for method, member in public_methods(of):
            if method not in SAID_ABOVE:
                yield from _method(name, method, member)


def _method(owner: str, name: str, member: Any) -> Iterator[str]:
    yield f"#### {owner}.{name}\n"
    function = getattr(member, "fget", None) or getattr(member, "func", None)
    if function is not None:
        yield f"Property, {inspect.signature(function).return_annotation}.\n"
    else:
        yield _signature(name, getattr(member, "__func__", member))
    yield _text(function or member)


def _signature(name: str, of: Any) -> str:
    """As one calls it: without self, one parameter a line where it is long."""
    if inspect.isclass(of) and issubclass(of, Exception):
        return f"```text\nclass {name}(Exception)\n```\n"
    made = inspect.signature(of)
    parameters = [p for p in made.parameters.values() if p.name not in ("self", "cls")]
    if inspect.isclass(of) and issubclass(of, Result):
        parameters = [_without_form(of, p) for p in parameters]
    made = made.replace(parameters=parameters)
    if inspect.isclass(of):
        made = made.replace(return_annotation=inspect.Signature.empty)
    line = f"{name}(…)" if len(parameters) > MANY else _shown(name, made)
    return f"```text\n{line}\n```\n"


def _without_form(of: type, parameter: inspect.Parameter) -> inspect.Parameter:
    """Without how the field appears in JSON."""
    if get_origin(get_type_hints(of, include_extras=True).get(parameter.name)) is not Annotated:
        return parameter
    text = inspect.formatannotation(get_type_hints(of)[parameter.name])
    return parameter.replace(annotation=re.sub(r"\b(?:\w+\.)+(?=\w)", "", text))


def _shown(name: str, made: inspect.Signature) -> str:
    end = (
        "" if made.return_annotation is inspect.Signature.empty else f" -> {made.return_annotation}"
    )
    parts = []
    kinds = [p.kind for p in made.parameters.values()]
    for place, parameter in enumerate(made.parameters.values()):
        only = inspect.Parameter.KEYWORD_ONLY
        if parameter.kind is only and only not in kinds[:place]:
            parts.append("*")
        parts.append(_parameter(parameter))
    short = f"{name}({', '.join(parts)}){end}"
    if len(short) <= WIDTH:
        return short
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
    shown = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is inspect.Parameter.empty:
        return shown
    # Addresses and whole objects say nothing to a reader.
    made = type(parameter.default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS"
    plain = isinstance(parameter.default, str | int | float | bool | tuple | None)
    return f"{shown} = {parameter.default!r}" if plain and not made else f"{shown} = …"


def _text(of: Any) -> str:
    text = inspect.getdoc(of) or ""
    if dataclasses.is_dataclass(of) and text.startswith(f"{getattr(of, '__name__', '')}("):
        text = ""  # made by dataclasses: the signature once more
    return f"{text}\n"


def _tree() -> str:
    """The tree of errors, from the module that draws it."""
    _, _, drawn = (inspect.getdoc(errors) or "").partition("\n\n")
    tree, _, _ = drawn.partition("\n\n")
    return tree


if __name__ == "__main__":
    print(reference(), end="")
