"""Verbs of `templates` for portals that stay as they are: alias, pipeline."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import say
from esdedup.cli.options import DEFAULT_STORE, StoreUrl, connected
from esdedup.cli.output import console, plain
from esdedup.cli.search_options import By

if TYPE_CHECKING:
    pass

FoldBy = Annotated[
    By, typer.Option("--by", help="Show originals and updates (group), or originals only (story).")
]
Remove = Annotated[bool, typer.Option("--remove", help="Take it away again.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the request, send nothing.")]


class PipelineKind(StrEnum):
    filter = "filter"
    collapse = "collapse"


def register(templates: typer.Typer) -> None:
    for verb in (alias, pipeline):
        templates.command()(verb)


def alias(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the alias: news-unique.")],
    store: StoreUrl = DEFAULT_STORE,
    by: FoldBy = By.group,
    remove: Remove = False,
    dry_run: DryRun = False,
) -> None:
    """Install an alias that shows one article per story: a portal changes only a name."""
    from esdedup.stores.cluster import templates
    from esdedup.stores.cluster.connection import Target

    templates.refuse_files(store)
    if dry_run:
        index = Target.parse(store).index
        _print(templates.alias_actions([index], name, by.value, remove=remove))
        return
    with connected(store) as connection:
        index = connection.target.index
        indices = templates.put_alias(connection, index, name, by.value, remove=remove)
    done = "is gone from" if remove else "shows one article per story of"
    console().print(f"alias {plain(name)} {done} {plain(', '.join(indices))}", soft_wrap=True)


def pipeline(
    kind: Annotated[
        PipelineKind,
        typer.Argument(metavar="KIND", help="filter (right totals and pages), or collapse."),
    ] = PipelineKind.filter,
    name: Annotated[str, typer.Option("--name", help="Name of the pipeline.")] = "esdedup",
    store: StoreUrl = DEFAULT_STORE,
    by: FoldBy = By.group,
    default: Annotated[
        bool, typer.Option("--default", help="Searches of the index take it by themselves.")
    ] = False,
    field: Annotated[
        str, typer.Option("--field", help="What collapse folds by; see docs/searching.md.")
    ] = "dedup.group",
    factor: Annotated[
        float, typer.Option("--factor", min=1, help="How many times as many hits collapse sees.")
    ] = 3.0,
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
        templates.filter_pipeline(by.value)
        if kind is PipelineKind.filter
        else templates.collapse_pipeline(field, factor)
    )
    if default and kind is PipelineKind.collapse and "." in field:
        raise QueryError(
            f"as a default, collapse by {field} would answer one hit to every client that does not "
            "ask for that field; name a top-level keyword field (--field), or take filter"
        )
    if dry_run:
        _print(body)
        return
    with connected(store) as connection:
        index = connection.target.index
        if remove and default:
            templates.set_default_pipeline(connection, index, None)
        templates.put_pipeline(connection, name, None if remove else body)
        if default and not remove:
            templates.set_default_pipeline(connection, index, name)
    if remove:
        console().print(f"search pipeline {plain(name)} is gone")
        return
    console().print(f"search pipeline {plain(name)} is installed")
    if not default:
        say(f"use it by ?search_pipeline={name}, or for all searches of the index by --default")
    if kind is PipelineKind.collapse and "." in field:
        say(f'searches through it must ask for "docvalue_fields": ["{field}"]')


def _print(body: Any) -> None:
    typer.echo(json.dumps(body, indent=2, ensure_ascii=False))
