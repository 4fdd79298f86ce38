"""Commands that look things up: search, front, show, groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import DEFAULT_STORE, AsJson, StoreUrl, open_existing, shown_store
from esdedup.cli.output import (
    STYLES,
    about,
    console,
    count,
    decision_text,
    evidence_text,
    joined,
    plain,
    print_json,
    styled,
    table,
    title_of,
)
from esdedup.cli.search_options import (
    By,
    Number,
    ShowRule,
    SourcesFile,
    Window,
    query_of,
    ranking,
    span,
)

if TYPE_CHECKING:
    from rich.console import Console

    from esdedup.model.results import Facet, StoryHit, StoryPage
    from esdedup.stores import Fold, Hit, Record, SearchResult, Store


def register(app: typer.Typer) -> None:
    for command in (search, front, show):  # `groups` registers the listing of groups
        app.command()(command)


def search(
    words: Annotated[
        str | None,
        typer.Argument(help='What to look for: all words, "in quotes" as a phrase.'),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 10,
    page: Annotated[int, typer.Option("--page", min=1, help="Which page of results.")] = 1,
    by: Annotated[
        By,
        typer.Option(
            "--by",
            help="Fold copies only (group: updates stay visible), or updates too (story).",
        ),
    ] = By.group,
    expand: Annotated[
        bool, typer.Option("--expand", help="List what is folded under each result.")
    ] = False,
    all_: Annotated[bool, typer.Option("--all", help="Fold nothing: every article.")] = False,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Only originals and updates that match themselves.")
    ] = False,
    show: Annotated[
        ShowRule,
        typer.Option("--show", help="Which article stands for a story; best: the best match."),
    ] = ShowRule.best,
    sources: SourcesFile = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--sort", metavar="FIELD", help="Order: -published, source, score, …"),
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="FIELD=VALUE", help="Only articles with this value."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Published from then on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="Published before.")
    ] = None,
    window: Window = None,
    facet: Annotated[
        list[str] | None,
        typer.Option("--facet", metavar="FIELD", help="Count stories and articles by its values."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count stories exactly on a cluster, too.")
    ] = False,
    body: Annotated[
        Path | None,
        typer.Option(
            "--body", metavar="FILE", help="A search body for a cluster, as JSON; - reads a pipe."
        ),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Search; copies are folded into one result."""
    from esdedup.search.searcher import Searcher

    mode = "all" if all_ else "canonical" if canonical else "auto"
    options: dict[str, Any] = {
        "mode": mode,
        "by": by.value,
        "show": show.value,
        "sources": ranking(sources),
        "total": "exact" if exact else "estimate",
        "window": span(window),
        "size": number,
        "offset": (page - 1) * number,
    }
    query = query_of(words, body, filter_, sort, since, until)
    fold: Fold = "none" if all_ else by.value
    opened = open_existing(store)
    try:
        searcher = Searcher(opened)
        result = searcher.search(query, **options)
        counted = {k: v for k, v in options.items() if k not in ("size", "offset")}
        facets = searcher.facets(query, facet, **counted) if facet else ()
        folded = [_folded(opened, hit, fold) if expand else [] for hit in result.hits]
    finally:
        opened.close()
    if json_:
        print_json([_result_json(words or "", fold, page, result, folded, facets)])
    else:
        print_hits(console(), result, folded, fold=fold, first=(page - 1) * number + 1)
        _print_facets(console(), facets)
        for note in result.notes:
            say(note)
    if not result.hits:
        raise stop(ExitCode.FOUND)


def front(
    category: Annotated[
        str, typer.Argument(metavar="FIELD", help="The field with the category: section, lang, …")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="VALUE", help="This category; may be given several times."),
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 5,
    by: Annotated[
        By, typer.Option("--by", help="A story once (story), or each of its updates (group).")
    ] = By.story,
    json_: AsJson = False,
) -> None:
    """The front page: the newest stories of each category, folded, without a query."""
    from esdedup.search.searcher import Searcher

    opened = open_existing(store)
    try:
        sections = Searcher(opened).front_page(category, only or (), size=number, by=by.value)
    finally:
        opened.close()
    if json_:
        print_json(section.to_json() for section in sections)
    else:
        out = console()
        for section in sections:
            out.print(styled(section.category, "bold"))
            for hit in section.hits:
                out.print(joined("  ", _headline(hit)), soft_wrap=True)
    if not any(section.hits for section in sections):
        raise stop(ExitCode.FOUND)


def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of an article.")],
    store: StoreUrl = DEFAULT_STORE,
    json_: AsJson = False,
) -> None:
    """Show one article, what was decided about it, and its story."""
    opened = open_existing(store)
    try:
        record = record_of(opened, id_, store)
        story = opened.story(record.decision.story)
    finally:
        opened.close()
    if json_:
        print_json([_record_json(record, story)])
    else:
        _print_record(console(), record, story)


def groups(
    id_: Annotated[
        str | None, typer.Argument(metavar="ID", help="Any article of the group to show.")
    ] = None,
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 20,
    json_: AsJson = False,
) -> None:
    """List the largest groups of copies, or the members of one."""
    opened = open_existing(store)
    try:
        if id_ is not None:
            leaders = [record_of(opened, id_, store).decision.group]
        else:
            leaders = [group for group, _ in opened.groups(size=number)]
        found = [opened.members(group) for group in leaders]
    finally:
        opened.close()
    if json_:
        print_json(_group_json(members) for members in found)
    elif id_ is not None:
        _print_members(console(), found[0])
    else:
        _print_groups(console(), found)
    if not found:
        raise stop(ExitCode.FOUND)


def record_of(store: Store, id_: str, url: str) -> Record:
    """The stored article; an unknown id ends the command."""
    record = store.get_many([id_]).get(id_)
    if record is None:
        say(
            f"there is no article {plain(id_)} in {shown_store(url)}; `esdedup search` shows the "
            "ids"
        )
        raise stop(ExitCode.FOUND)
    return record


# --- search ----------------------------------------------------------------------------------


def _folded(store: Store, hit: StoryHit, fold: Fold) -> list[Record]:
    """The other articles of the hit's group or story, whether or not they match the words."""
    if fold == "none" or hit.group is None or hit.story is None:
        return []
    members = store.story(hit.story) if fold == "story" else store.members(hit.group)
    return [record for record in members if record.document.id != hit.document.id]


def _result_json(
    words: str,
    fold: Fold,
    page: int,
    result: StoryPage,
    folded: Sequence[Sequence[Record]],
    facets: Sequence[Facet],
) -> dict[str, Any]:
    whole = result.to_json()
    hits = [
        {**hit, **({"folded": [_member_json(record) for record in others]} if others else {})}
        for hit, others in zip(whole["hits"], folded, strict=True)
    ]
    return {
        "query": words,
        "fold": fold,
        "page": page,
        "results": result.total.stories,
        "articles": result.total.articles,
        **whole,
        "hits": hits,
        **({"facets": [facet.to_json() for facet in facets]} if facets else {}),
    }


def print_hits(
    out: Console,
    result: SearchResult | StoryPage,
    folded: Sequence[Sequence[Record]],
    *,
    fold: Fold,
    first: int = 1,
) -> None:
    what = "copy" if fold == "group" else "more article"
    hits: Sequence[Hit | StoryHit] = result.hits
    for place, (hit, others) in enumerate(zip(hits, folded, strict=True), first):
        more = f"+{count(hit.copies or 0, what, 'copies' if fold == 'group' else None)}"
        title = styled(title_of(hit.document), "bold")
        out.print(joined(f"{place:>3}  ", title, "  ", styled(more, "cyan") if hit.copies else ""))
        role = styled(hit.role, STYLES[hit.role])
        out.print(joined("     ", about(hit.document), " · ", role, _told(hit)), soft_wrap=True)
        for line in _indented(out, hit.snippet):
            out.print(line, style="dim")
        out.print(f"     {plain(hit.document.id)}", soft_wrap=True)
        for record in others:
            out.print(joined("       ", _member_text(record)), soft_wrap=True)
    out.print(totals(result, fold))


def _told(hit: Hit | StoryHit) -> str:
    """What an update changed, and for which match an article is shown."""
    update, matched_by = getattr(hit, "update", None), getattr(hit, "matched_by", ())
    parts = [f" · {plain(str(update))}"] if update is not None else []
    if matched_by:
        parts.append(f" · shown for {plain(', '.join(matched_by))}")
    return "".join(parts)


def _headline(hit: StoryHit) -> Any:
    return joined(styled(title_of(hit.document), "bold"), f"  {about(hit.document)}{_told(hit)}")


def _print_facets(out: Console, facets: Sequence[Facet]) -> None:
    for facet in facets:
        rows = table(facet.field, "stories", "articles")
        for column in rows.columns[1:]:
            column.justify = "right"
        for bucket in facet.buckets:
            rows.add_row(plain(bucket.value), f"{bucket.stories:,}", f"{bucket.articles:,}")
        out.print(rows)


def _indented(out: Console, text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(
        plain(text), max(40, out.width - 2), initial_indent=" " * 5, subsequent_indent=" " * 5
    )


def totals(result: SearchResult | StoryPage, fold: Fold) -> str:
    """How many there are, however many were shown."""
    counted: Any = getattr(result, "total", result)
    stories, all_articles = counted.stories or 0, counted.articles or 0
    articles = count(all_articles, "article")
    if fold == "none":
        return articles
    if fold == "story":
        return f"{count(stories, 'story', 'stories')}, {articles}"
    copies = count(all_articles - stories, "copy", "copies")
    return f"{count(stories, 'result')}, {articles} ({copies} folded)"


# --- one article, one group ------------------------------------------------------------------


def _record_json(record: Record, story: Sequence[Record]) -> dict[str, Any]:
    return {
        "document": record.document.to_json(),
        "decision": record.decision.to_json(),
        "words": record.signature.words,
        "members": [_member_json(r) for r in story if r.decision.group == record.decision.group],
        "updates": [_member_json(r) for r in story if r.decision.group != record.decision.group],
    }


def _member_json(record: Record) -> dict[str, Any]:
    from esdedup.model import iso

    document, decision = record.document, record.decision
    return {
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "published": iso(document.published) if document.published else None,
        "role": decision.role,
        "group": decision.group,
        "story": decision.story,
        "score": round(decision.score, 4),
    }


def _group_json(members: Sequence[Record]) -> dict[str, Any]:
    group = members[0].decision.group
    return {
        "group": group,
        "size": len(members),
        "members": [_member_json(record) for record in members],
    }


def _member_text(record: Record) -> Any:
    role = record.decision.role
    gap = " " * (len("duplicate") + 2 - len(role))
    return joined(
        styled(role, STYLES[role]), gap, f"{about(record.document)} · {plain(record.document.id)}"
    )


def _print_record(out: Console, record: Record, story: Sequence[Record]) -> None:
    document, decision = record.document, record.decision
    out.print(styled(title_of(document), "bold"))
    out.print(f"{about(document)} · {document.lang or record.signature.lang or 'no language'}")
    out.print(plain(document.id), soft_wrap=True)
    if document.url and document.url != document.id:
        out.print(plain(document.url), soft_wrap=True)
    out.print()
    for paragraph in filter(str.strip, document.text.splitlines()):
        out.print(plain(paragraph))
    out.print()
    out.print(decision_text(decision), soft_wrap=True)
    for evidence in decision.evidence[1 if decision.link.parent else 0 :]:
        out.print(
            f"  {evidence.verdict} from {plain(evidence.other)} "
            f"(overlap {evidence.overlap:.2f}; {evidence_text(evidence)})",
            style="dim",
            soft_wrap=True,
        )
    if len(story) > 1:
        out.print(f"\nthe story, {count(len(story), 'article')}:")
        _print_members(out, story)


def _print_members(out: Console, members: Sequence[Record]) -> None:
    for record in members:
        score = f"{record.decision.score:.2f}" if record.decision.link.parent else "    "
        out.print(joined(f"  {score}  ", _member_text(record)), soft_wrap=True)


def _print_groups(out: Console, found: Sequence[Sequence[Record]]) -> None:
    rows = table("articles", "original", "sources")
    rows.columns[0].justify, rows.columns[1].overflow = "right", "fold"
    for members in found:
        leader = next(r for r in members if r.document.id == r.decision.group)
        sources = dict.fromkeys(plain(r.document.source or "") for r in members)
        named = ", ".join(filter(None, sources))
        title = joined(styled(title_of(leader.document)), f"\n{plain(leader.document.id)}")
        title.stylize("dim", len(title_of(leader.document)))
        rows.add_row(str(len(members)), title, named)
    if found:
        out.print(rows)
    else:
        out.print("no article has a copy")
