"""Commands for search clusters: templates."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli import aliases as portals
from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    assignments,
    connected,
    open_to_change,
    settings_of,
)
from esdedup.cli.output import console, plain, print_json

if TYPE_CHECKING:
    from esdedup.settings import Settings

TemplateName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of both templates on the cluster.")
]


class TemplatePart(StrEnum):
    """What `templates show` can print."""

    COMPONENT = "component"
    INDEX = "index"
    MAPPING = "mapping"
    ELASTICSEARCH_ROLE = "elasticsearch-role"
    OPENSEARCH_ROLES = "opensearch-roles"


def register(app: typer.Typer) -> None:
    templates = typer.Typer(
        help="Install, show or compare the templates for a search cluster.",
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
    )
    for verb in (install, show, diff):
        templates.command()(verb)
    portals.register(templates)
    app.add_typer(templates, name="templates")


# --- templates -------------------------------------------------------------------------------


def install(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    mapping_only: Annotated[
        bool,
        typer.Option(
            "--mapping-only", help="Only add our fields to the index that is there; no templates."
        ),
    ] = False,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Put our templates on the cluster, or our fields into an index."""
    from esdedup.stores.cluster import templates

    templates.refuse_files(store)
    chosen = settings_of(store, preset, settings, set_)
    if mapping_only:
        open_to_change(store, chosen).close()
        console().print("our fields are in the index; no other field was touched")
        return
    with connected(store) as connection:
        index = connection.target.index
        templates.install(connection, chosen, store=index, name=name)
        unready = [
            found
            for found, mapping in templates.mappings_of(connection, index).items()
            if templates.mapping_changes(mapping, chosen)
        ]
    shown = ", ".join(templates.patterns(index))
    console().print(f"templates {plain(name)} are installed, for new indices {shown}")
    if unready:
        say(
            f"{', '.join(unready)} is there already, and templates change no index: add our "
            "fields with --mapping-only"
        )


def show(
    part: Annotated[
        TemplatePart, typer.Argument(metavar="PART", help="What to print.", show_default=True)
    ] = TemplatePart.COMPONENT,
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Print a template, the mapping or a role as JSON; nothing is asked of a cluster.

    PART is component, index, mapping, elasticsearch-role or opensearch-roles.
    """
    from esdedup.settings import Settings

    chosen = Settings.load(preset=preset, file=settings, flags=assignments(set_, "--set"))
    typer.echo(json.dumps(_part(part, store, name, chosen), indent=2, ensure_ascii=False))


def diff(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    json_: AsJson = False,
) -> None:
    """Compare the cluster's templates and mappings with ours; the exit code tells of any."""
    from esdedup.stores.cluster import templates

    templates.refuse_files(store)
    chosen = settings_of(store, preset, settings, set_)
    with connected(store) as connection:
        found = templates.differences(connection, chosen, store=connection.target.index, name=name)
    if json_:
        print_json([{"differences": found}])
    else:
        for line in found:
            console().print(plain(line), soft_wrap=True)
        if not found:
            console().print("no difference")
    if found:
        raise stop(ExitCode.FOUND)


def _part(part: TemplatePart, store: str, name: str, settings: Settings) -> Any:
    from esdedup.stores.cluster import requests as bodies
    from esdedup.stores.cluster import templates
    from esdedup.stores.cluster.connection import Target

    target = Target.parse(store) if store.startswith(CLUSTER_SCHEMES) else None
    index = target.index if target else "news"
    if part is TemplatePart.COMPONENT:
        return templates.component(settings)
    if part is TemplatePart.INDEX:
        product = (target and target.product) or "elasticsearch"
        return templates.index(settings, store=index, name=name, product=product)
    if part is TemplatePart.MAPPING:
        return {"properties": bodies.properties()}
    if part is TemplatePart.ELASTICSEARCH_ROLE:
        return templates.elasticsearch_role(index)
    return templates.opensearch_roles(index)


CLUSTER_SCHEMES = ("http", "elasticsearch+", "opensearch+", "es+", "os+")
