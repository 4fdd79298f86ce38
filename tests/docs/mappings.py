"""mappings/ from the code: `python -m tests.docs.mappings` writes the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from esdedup.settings import Settings
from esdedup.stores.cluster import templates

FOLDER = Path(__file__).parents[2] / "mappings"
# The name in the files; `esdedup templates show --store URL` prints them for another one.
STORE = "news"


def files() -> dict[str, str]:
    """Path below mappings/ -> content."""
    settings = Settings()
    return {
        "component-template.json": _json(templates.component(settings)),
        "index-template.json": _json(templates.index(settings, store=STORE)),
        "index-template-opensearch.json": _json(
            templates.index(settings, store=STORE, product="opensearch")
        ),
        "roles/elasticsearch.json": _json(templates.elasticsearch_role(STORE)),
        "roles/elasticsearch-templates.json": _json(templates.elasticsearch_templates_role(STORE)),
        "roles/opensearch.json": _json(_patch(templates.opensearch_roles(STORE))),
        "roles/opensearch.yml": _yaml(templates.opensearch_roles(STORE)),
    }


def _patch(roles: dict[str, Any]) -> list[dict[str, Any]]:
    """The body of PATCH _plugins/_security/api/roles."""
    return [{"op": "add", "path": f"/{name}", "value": role} for name, role in roles.items()]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _yaml(value: Any) -> str:
    head = "# Entries of config/opensearch-security/roles.yml; opensearch.json: the same by HTTP\n"
    return head + str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


if __name__ == "__main__":
    for name, content in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
