"""Templates, roles, and the comparison of what a cluster has with what it should have.

Everything is computed from `requests.mapping`; `mappings/` holds the same for the default settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from esdedup.errors import StoreError, StoreMissing, StoreUnprepared
from esdedup.model import JSON
from esdedup.model.queries import By
from esdedup.settings import Settings
from esdedup.stores.cluster.connection import ClusterRefused, Connection, Product, path_of
from esdedup.stores.cluster.requests import mapping as mapping_requests
from esdedup.stores.cluster.requests.folding import canonical_filter

DEFAULT_NAME = "esdedup"
# Kinds of side indices: the state of long runs, the quarantine, constraints, earlier versions.
_SIDES = ("state", "quarantine", "corrections", "revisions")
# Set by the server; they tell when, not what.
_STAMPS = ("created_date_millis", "modified_date_millis", "created_date", "modified_date")


def patterns(index: str) -> list[str]:
    """The indices a template is for: the name itself, and its generations (`news-000001`)."""
    if "*" in index or "," in index:
        return index.split(",")
    return [index, f"{index}-*"]


def component(settings: Settings) -> JSON:
    return mapping_requests.component_template(settings)


def index(
    settings: Settings,
    *,
    store: str,
    name: str = DEFAULT_NAME,
    product: Product = "elasticsearch",
) -> JSON:
    return mapping_requests.index_template(
        settings, patterns=patterns(store), component=name, product=product
    )


# --- roles -------------------------------------------------------------------------------------


def _names(store: str) -> list[str]:
    """The articles, and the side indices: of the store's name, and of each index it stands for
    (`news-2`, a store of its own)."""
    sides = [mapping_requests.side_index(kind, store) for kind in _SIDES]
    of_all = [f"esdedup-{kind}-{name}" for kind in _SIDES for name in patterns(store)]
    return list(dict.fromkeys([*patterns(store), *sides, *of_all]))


def elasticsearch_role(store: str) -> JSON:
    """All that indexing, backfill, sweep, search and doctor need; the body of its PUT."""
    return {
        "cluster": ["cluster:monitor/main"],  # which version this is
        "indices": [
            {
                "names": _names(store),
                "privileges": [
                    "read",
                    "write",
                    "view_index_metadata",
                    "create_index",
                    "maintenance",  # refresh
                    "monitor",  # whether others write as well
                    # Adds our fields to an index that is there; `manage` would allow far more.
                    "indices:admin/mapping/put",
                ],
            }
        ],
    }


def elasticsearch_templates_role(store: str) -> JSON:
    """For whoever runs `esdedup templates install`, once; it looks at the indices there are."""
    return {
        "cluster": ["cluster:monitor/main", "manage_index_templates"],
        "indices": [{"names": patterns(store), "privileges": ["view_index_metadata"]}],
    }


def opensearch_roles(store: str) -> JSON:
    """Entries of roles.yml, the same rights under the names of OpenSearch."""
    return {
        "esdedup": {
            "cluster_permissions": [
                "cluster:monitor/main",  # which product and version this is
                "cluster_composite_ops",  # _bulk, _mget, _msearch
            ],
            "index_permissions": [
                {
                    "index_patterns": _names(store),
                    "allowed_actions": [
                        "read",
                        "write",
                        "create_index",
                        "indices:admin/mapping/put",
                        "indices:admin/aliases/get",
                        "indices:admin/mappings/get",
                        "indices:admin/refresh*",
                        "indices:monitor/settings/get",
                        "indices:monitor/stats",
                    ],
                }
            ],
        },
        "esdedup_templates": {
            "cluster_permissions": [
                "cluster:monitor/main",
                "cluster_manage_index_templates",
                "cluster:admin/component_template/*",
            ],
            "index_permissions": [
                {
                    "index_patterns": patterns(store),
                    "allowed_actions": [
                        "indices:admin/mappings/get",
                        "indices:monitor/settings/get",
                    ],
                }
            ],
        },
    }


# --- installing --------------------------------------------------------------------------------


def install(
    connection: Connection, settings: Settings, *, store: str, name: str = DEFAULT_NAME
) -> None:
    """Put both templates; doing it again changes nothing."""
    connection.send("PUT", path_of("_component_template", name), body=component(settings))
    body = index(settings, store=store, name=name, product=connection.product)
    connection.send("PUT", path_of("_index_template", name), body=body)


# --- one result per story for clients that stay as they are --------------------------------------


def alias_actions(indices: Iterable[str], alias: str, by: By, *, remove: bool = False) -> JSON:
    """An alias that shows originals and updates only (by story: originals only)."""
    filter_ = canonical_filter(by)
    return {
        "actions": [
            {"remove": {"index": index, "alias": alias}}
            if remove
            else {"add": {"index": index, "alias": alias, "filter": filter_}}
            for index in indices
        ]
    }


def put_alias(
    connection: Connection, store: str, alias: str, by: By = "group", *, remove: bool = False
) -> list[str]:
    """Install or remove the alias on every index behind the store's name; returns them."""
    indices = _prepared_indices(connection, store, remove=remove)
    if alias in indices or alias == store:
        raise StoreError(f"{alias} is the name of the index itself; choose another for the alias")
    try:
        connection.send("POST", "/_aliases", body=alias_actions(indices, alias, by, remove=remove))
    except ClusterRefused as refusal:
        if refusal.status == 404 and remove:
            raise StoreError(f"there is no alias {alias} on {store}") from refusal
        if any(index.startswith(".ds-") for index in indices):
            raise StoreError(
                f"{store} is a data stream, which takes no filtered alias later on ({refusal}); "
                "declare it in the index template before the first article, or install a pipeline"
            ) from refusal
        raise
    return indices


def filter_pipeline(by: By) -> JSON:
    """Totals, facets, pages and cursors are all right under it."""
    return {
        "description": "esdedup: originals and updates only",
        "request_processors": [{"filter_query": {"query": canonical_filter(by)}}],
    }


def collapse_pipeline(field: str, factor: float) -> JSON:
    """Folds what one page holds: totals count articles, and the next page may repeat a story."""
    return {
        "description": f"esdedup: one result for each {field}, on each page by itself",
        "request_processors": [{"oversample": {"sample_factor": factor}}],
        "response_processors": [{"collapse": {"field": field}}, {"truncate_hits": {}}],
    }


def put_pipeline(connection: Connection, name: str, body: JSON | None) -> None:
    """Install a search pipeline, or remove it (None)."""
    if connection.product != "opensearch":
        raise StoreError(
            f"{connection.target.shown} is Elasticsearch, which has no search pipelines; install a "
            "filtered alias instead: `esdedup templates alias NAME`"
        )
    path = path_of("_search", "pipeline", name)
    if body is not None:
        connection.send("PUT", path, body=body)
        return
    if connection.send_or_none("DELETE", path) is None:
        raise StoreError(f"there is no search pipeline {name}")


def set_default_pipeline(connection: Connection, store: str, name: str | None) -> list[str]:
    """Make it the one that searches of the store's indices take by themselves; None: none."""
    indices = _prepared_indices(connection, store, remove=name is None)
    body = {"index.search.default_pipeline": name or "_none"}
    connection.send("PUT", path_of(",".join(indices), "_settings"), body=body)
    return indices


def _prepared_indices(connection: Connection, store: str, *, remove: bool) -> list[str]:
    """The indices behind a name; without our fields a filter on them would hide nothing."""
    mappings = connection.mappings(store)
    if not mappings:
        raise StoreMissing(f"there is no index {store}; `esdedup index` makes one")
    bare = [
        name
        for name, mapping in mappings.items()
        if "group" not in mapping.get("properties", {}).get("dedup", {}).get("properties", {})
    ]
    if bare and not remove:
        raise StoreUnprepared(
            f"{', '.join(bare)} has no `dedup` fields; run `esdedup backfill {store}` first"
        )
    return sorted(mappings)


# --- comparing ---------------------------------------------------------------------------------


def differences(
    connection: Connection, settings: Settings, *, store: str, name: str = DEFAULT_NAME
) -> list[str]:
    """What the cluster has otherwise, a line each: both templates, and indices that are there."""
    found = [
        f"component template {name}: {line}"
        for line in changes(component(settings), _template(connection, "component", name))
    ]
    wanted = index(settings, store=store, name=name, product=connection.product)
    found += [
        f"index template {name}: {line}"
        for line in changes(wanted, _template(connection, "index", name))
    ]
    for concrete, mapping in connection.mappings(store).items():
        found += [f"index {concrete}: {line}" for line in mapping_changes(mapping, settings)]
    return found


def mapping_changes(mapping: JSON, settings: Settings) -> list[str]:
    """Our part of an index's mapping against the right one; the user's fields are the user's."""
    meta = mapping_requests.meta(settings)
    wanted = {"_meta": meta, "properties": mapping_requests.properties()}
    have: JSON = {
        "_meta": {k: v for k, v in mapping.get("_meta", {}).items() if k in meta},
        "properties": {
            k: v for k, v in mapping.get("properties", {}).items() if k in wanted["properties"]
        },
    }
    # What else is recorded beside the settings (names of fields) differs from index to index.
    ours = have["_meta"].get("esdedup", {})
    have["_meta"] = {"esdedup": {k: v for k, v in ours.items() if k in meta["esdedup"]}}
    return changes(wanted, have)


def changes(wanted: Any, have: Any) -> list[str]:
    """Normalise both, then compare them leaf by leaf."""
    if have is None:
        return ["is not there"]
    return list(_changes("", normalise(wanted), normalise(have)))


def normalise(value: Any) -> Any:
    """The value as both engines return it: texts for numbers and booleans, no defaults."""
    if isinstance(value, Mapping):
        return {
            key: normalise(inner)
            for key, inner in value.items()
            if key not in _STAMPS and not _is_default(key, inner, value)
        }
    if isinstance(value, list | tuple):
        return [normalise(inner) for inner in value]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _is_default(key: str, value: Any, around: Mapping[str, Any]) -> bool:
    return key == "type" and value == "object" and "properties" in around


def _changes(where: str, wanted: Any, have: Any) -> Iterator[str]:
    if not isinstance(wanted, dict) or not isinstance(have, dict):
        if wanted != have:
            yield f"{where} is {_short(have)}, not {_short(wanted)}"
        return
    for key in sorted({*wanted, *have}):
        inner = f"{where}.{key}" if where else key
        if key not in have:
            yield f"{inner} is missing"
        elif key not in wanted:
            yield f"{inner} is not ours"
        else:
            yield from _changes(inner, wanted[key], have[key])


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _template(connection: Connection, kind: str, name: str) -> JSON | None:
    answer = connection.send_or_none("GET", path_of(f"_{kind}_template", name))
    for entry in (answer or {}).get(f"{kind}_templates", ()):
        if entry["name"] == name:
            found: JSON = entry[f"{kind}_template"]
            return found
    return None


def refuse_files(url: str) -> None:
    """Templates belong to clusters."""
    scheme = url.partition("://")[0] if "://" in url else ""
    if scheme in ("", "sqlite"):
        raise StoreError(
            "the store is no search cluster; name one: --store https://host:9200/news or "
            "ESDEDUP_STORE"
        )
