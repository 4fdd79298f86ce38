"""docs/http.md from the description of the service: `python -m tests.docs.http > docs/http.md`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from esdedup.service.app import make_app
from esdedup.service.config import ServiceConfig

INTRODUCTION = """\
# HTTP endpoints

<!-- Generated: python -m tests.docs.http > docs/http.md -->

These are the endpoints that `esdedup serve` describes in `/openapi.json`.
[HTTP service](service.md) explains how to run it, and its keys, streams, errors and limits. Ids are
query parameters, never parts of a path: many ids are URLs, which proxies would normalise.
"""
# What the description leaves out: not for programs.
BESIDE = """\
`/` is the [web page](page.md), `/static/…` has its files, and `/openapi.json` is the description;
they need no key. Every GET works as HEAD as well, with the same headers and no body. Every error is
`application/problem+json`; see [errors](service.md#errors).
"""


def reference() -> str:
    """The whole page."""
    made = description()
    parts = [INTRODUCTION, _overview(made), BESIDE]
    for topic, operations in _topics(made).items():
        parts.append(f"## {topic.capitalize()}\n")
        for method, path, operation in operations:
            parts += _operation(method, path, operation)
    parts.append("## Bodies\n")
    for name, schema in made["components"]["schemas"].items():
        parts += _schema(name, schema)
    return "\n".join(parts)


def description() -> Any:
    """What `/openapi.json` answers; no store is opened before a server starts."""
    return make_app(ServiceConfig(store="sqlite:///news.db")).openapi()


def operations(made: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _overview(made: Any) -> str:
    rows = [
        f"| [`{method} {path}`](#{_anchor(method, path)}) | {_scope(operation)} "
        f"| {operation['summary']} |"
        for method, path, operation in operations(made)
    ]
    return "\n".join(["| endpoint | scope | what it does |", "| --- | --- | --- |", *rows, ""])


def _scope(operation: Any) -> str:
    return str(operation.get("x-scope", "none"))


def _anchor(method: str, path: str) -> str:
    """Of the heading, by the rule of the site and of GitHub alike."""
    return f"{method} {path}".lower().replace(" ", "-").replace("/", "")


def _topics(made: Any) -> dict[str, list[tuple[str, str, Any]]]:
    topics: dict[str, list[tuple[str, str, Any]]] = {}
    for method, path, operation in operations(made):
        topics.setdefault(operation["tags"][0], []).append((method, path, operation))
    return topics


def _operation(method: str, path: str, operation: Any) -> Iterator[str]:
    yield f"### {method} {path}\n"
    yield f"{operation['summary']}. Scope: {_scope(operation)}.\n"
    if operation.get("description"):
        yield f"{operation['description']}\n"
    if parameters := operation.get("parameters"):
        rows = [(p, p["schema"], "needed" if p["required"] else "") for p in parameters]
        yield from _table("parameter", rows)
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        body = _reference(content["schema"])
        yield f"Body: {body or 'a line of JSON for each article'}, `{media}`.\n"
    good = {code: answer for code, answer in operation["responses"].items() if code < "300"}
    for code, answer in good.items():
        yield f"Answer {code}: {_answer(answer)}.\n"


def _answer(answer: Any) -> str:
    content = answer.get("content", {})
    named = [_reference(c.get("schema", {})) or f"`{media}`" for media, c in content.items()]
    return " or ".join(dict.fromkeys(named))


def _table(head: str, rows: list[tuple[Any, Any, str]]) -> Iterator[str]:
    yield f"| {head} | type | default | |\n| --- | --- | --- | --- |"
    for one, schema, required in rows:
        default = required or _default(schema)
        text = one.get("description") or schema.get("description") or ""
        yield f"| `{one['name']}` | {_type(schema)} | {default} | {_bounds(schema, text)} |"
    yield ""


def _default(schema: Any) -> str:
    value = schema.get("default")
    return "" if value in (None, [], {}) else f"`{json.dumps(value)}`"


def _bounds(schema: Any, text: str) -> str:
    """Least and most, where the description bounds it."""
    words = {"minimum": "at least", "maximum": "at most", "maxItems": "at most"}
    found = [
        f"{word} {schema[name]:,.10g}{' of them' if name == 'maxItems' else ''}"
        for name, word in words.items()
        if name in schema
    ]
    parts = [text.rstrip("."), *found] if text and found else [text, *found]
    return "; ".join(filter(None, parts)).replace("|", "\\|").replace("\n", " ")


def _type(schema: Any) -> str:
    if found := _reference(schema):
        return found
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return ", ".join(f"`{value}`" for value in values)
    if "anyOf" in schema:
        kinds = [_type(s) for s in schema["anyOf"] if s.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(each := schema.get("additionalProperties"), dict):
        return f"object of {_type(each)}"
    return str(schema.get("type", "anything"))


def _reference(schema: Any) -> str:
    if "$ref" not in schema:
        return ""
    name = schema["$ref"].rpartition("/")[2]
    return f"[{name}](#{name.lower()})"


def _schema(name: str, schema: Any) -> Iterator[str]:
    yield f"### {name}\n"
    if schema.get("description"):
        yield f"{schema['description']}\n"
    needed = dict.fromkeys(
        schema.get("required", []), "always there" if name.endswith("Out") else "needed"
    )
    fields = schema.get("properties", {})
    yield from _table("field", [({"name": n}, s, needed.get(n, "")) for n, s in fields.items()])
    for example in schema.get("examples", [])[:1]:
        yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
