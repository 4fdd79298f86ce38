"""Commands for search clusters: templates, and its verbs alias and pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    load_settings,
    open_connection,
    open_for_writing,
)
from esdedup.cli.output import console, print_document, print_json
from esdedup.cli.search_options import By

CLUSTER_SCHEMES = ("http", "elasticsearch+", "opensearch+", "es+", "os+")
TemplateName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="Name of both templates on the cluster.")
]
FoldBy = Annotated[
    By, typer.Option("--by", help="Show originals and updates (group), or originals only (story).")
]
Remove = Annotated[bool, typer.Option("--remove", help="Take it away again.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the request, send nothing.")]
TemplatePart = Literal["component", "index", "mapping", "elasticsearch-role", "opensearch-roles"]


def install(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    mapping_only: bool = Option(
        False,
        "--mapping-only",
        help="Only add our fields to the index that is there; no templates.",
    ),
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Install the templates on the cluster, or the fields into an index."""
    from esdedup.stores.cluster import templates

    templates.refuse_files(store)
    chosen = load_settings(store, preset, settings, set_)
    if mapping_only:
        open_for_writing(store, chosen).close()
        console().print("our fields are in the index; no other field was touched")
        return
    with open_connection(store) as connection:
        index = connection.target.index
        templates.install(connection, chosen, store=index, name=name)
        unready = [
            found
            for found, mapping in connection.mappings(index).items()
            if templates.mapping_changes(mapping, chosen)
        ]
    shown = ", ".join(templates.patterns(index))
    console().print(f"templates {name} are installed, for new indices {shown}")
    if unready:
        say(
            f"{', '.join(unready)} is there already, and templates change no index: add our "
            "fields with --mapping-only"
        )


def show(
    part: TemplatePart = Argument(
        "component", metavar="PART", help="What to print.", show_default=True
    ),
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
) -> None:
    """Print a template, the mapping or a role as JSON; nothing is asked of a cluster.

    PART is component, index, mapping, elasticsearch-role or opensearch-roles.
    """
    from esdedup.stores.cluster import templates
    from esdedup.stores.cluster.connection import Target
    from esdedup.stores.cluster.requests import mapping as mapping_requests

    chosen = load_settings(None, preset, settings, set_)
    target = Target.parse(store) if store.startswith(CLUSTER_SCHEMES) else None
    index = target.index if target else "news"
    product = (target and target.product) or "elasticsearch"
    parts: dict[TemplatePart, Callable[[], Any]] = {
        "component": lambda: templates.component(chosen),
        "index": lambda: templates.index(chosen, store=index, name=name, product=product),
        "mapping": lambda: {"properties": mapping_requests.properties()},
        "elasticsearch-role": lambda: templates.elasticsearch_role(index),
        "opensearch-roles": lambda: templates.opensearch_roles(index),
    }
    print_document(parts[part]())


def diff(
    store: StoreUrl = DEFAULT_STORE,
    name: TemplateName = "esdedup",
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    json_: AsJson = False,
) -> None:
    """Compare the cluster's templates and mappings with ours; exit code 1 where they differ."""
    from esdedup.stores.cluster import templates

    templates.refuse_files(store)
    chosen = load_settings(store, preset, settings, set_)
    with open_connection(store) as connection:
        found = templates.differences(connection, chosen, store=connection.target.index, name=name)
    if json_:
        print_json([{"differences": found}])
    else:
        for line in found:
            console().print_line(line)
        if not found:
            console().print("no difference")
    if found:
        raise stop(ExitCode.FOUND)


# --- one article per story, for clients that stay as they are -------------------------------


def alias(
    name: str = Argument(..., metavar="NAME", help="Name of the alias: news-unique."),
    store: StoreUrl = DEFAULT_STORE,
    by: FoldBy = "group",
    remove: Remove = False,
    dry_run: DryRun = False,
) -> None:
    """Install an alias that shows one article per story: a portal changes only a name."""
    from esdedup.stores.cluster import templates
    from esdedup.stores.cluster.connection import Target

    templates.refuse_files(store)
    if dry_run:
        index = Target.parse(store).index
        print_document(templates.alias_actions([index], name, by, remove=remove))
        return
    with open_connection(store) as connection:
        index = connection.target.index
        indices = templates.put_alias(connection, index, name, by, remove=remove)
    done = "is gone from" if remove else "shows one article per story of"
    console().print_line(f"alias {name} {done} {', '.join(indices)}")


def pipeline(
    kind: Literal["filter", "collapse"] = Argument(
        "filter", metavar="KIND", help="filter (right totals and pages), or collapse."
    ),
    name: str = Option("esdedup", help="Name of the pipeline."),
    store: StoreUrl = DEFAULT_STORE,
    by: FoldBy = "group",
    default: bool = Option(False, "--default", help="Searches of the index take it by themselves."),
    field: str = Option("dedup.group", help="What collapse folds by; see docs/searching.md."),
    factor: float = Option(3.0, min=1, help="How many times as many hits collapse sees."),
    remove: Remove = False,
    dry_run: DryRun = False,
) -> None:
    """Install a search pipeline on OpenSearch: unchanged clients get one result per story.

    filter shows originals and updates only. collapse folds each page by itself, of hits that
    bring their group along (docvalue_fields), and leaves totals as they are.
    """
    from esdedup.errors import QueryError
    from esdedup.stores.cluster import templates

    templates.refuse_files(store)
    body = (
        templates.filter_pipeline(by)
        if kind == "filter"
        else templates.collapse_pipeline(field, factor)
    )
    if default and kind == "collapse" and "." in field:
        raise QueryError(
            f"as a default, collapse by {field} would answer one hit to every client that does not "
            "ask for that field; name a top-level keyword field (--field), or take filter"
        )
    if dry_run:
        print_document(body)
        return
    with open_connection(store) as connection:
        index = connection.target.index
        if remove and default:
            templates.set_default_pipeline(connection, index, None)
        templates.put_pipeline(connection, name, None if remove else body)
        if default and not remove:
            templates.set_default_pipeline(connection, index, name)
    if remove:
        console().print(f"search pipeline {name} is gone")
        return
    console().print(f"search pipeline {name} is installed")
    if not default:
        say(f"use it by ?search_pipeline={name}, or for all searches of the index by --default")
    if kind == "collapse" and "." in field:
        say(f'searches through it must ask for "docvalue_fields": ["{field}"]')


app = typer.Typer(
    help="Install, show or compare the templates for a search cluster.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
for verb in (install, show, diff, alias, pipeline):
    app.command()(verb)
