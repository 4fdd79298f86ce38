"""mappings/ from the code: `python -m tests.docs.mappings` writes the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from esdedup.settings import Settings
from esdedup.stores import templates

FOLDER = Path(__file__).parents[2] / "mappings"
# The name in the files; `esdedup templates show --store URL` prints them for another one.
STORE = "news"


def files() -> dict[str, str]:
    """Path below mappings/ -> content."""
    settings = Settings()
    return {
        "component-template.json": _json(templates.component(settings)),
        "index-template.json": _json(templates.index(settings, store=STORE)),
        "roles/elasticsearch.json": _json(templates.elasticsearch_role(STORE)),
        "roles/elasticsearch-templates.json": _json(templates.elasticsearch_templates_role()),
        "roles/opensearch.yml": _yaml(templates.opensearch_roles(STORE)),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _yaml(value: Any) -> str:
    head = (
        "# Add to config/opensearch-security/roles.yml, or PUT _plugins/_security/api/roles/NAME\n"
    )
    return head + str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


if __name__ == "__main__":
    for name, content in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
