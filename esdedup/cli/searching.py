"""Commands that look things up: search, front, show."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typer import Argument, Option

from esdedup.cli.exit_codes import ExitCode, say, stop
from esdedup.cli.options import DEFAULT_STORE, AsJson, StoreUrl, open_existing
from esdedup.cli.output import (
    STYLES,
    byline,
    console,
    count,
    decision_text,
    evidence_text,
    join,
    origin_text,
    paint,
    plain,
    print_json,
    print_result,
    revision_text,
    table,
    title_of,
)
from esdedup.cli.search_options import (
    By,
    Number,
    ShowRule,
    SourcesFile,
    Window,
    build_query,
    parse_window,
    read_source_ranking,
)

if TYPE_CHECKING:
    from rich.text import Text

    from esdedup.cli.screen import Screen
    from esdedup.model.results import Facet, Section, StoryHit, StoryPage
    from esdedup.stores import Record, Store

Fold = Literal["group", "story", "none"]


def search(
    words: str | None = Argument(
        None, help='What to look for: all words, "in quotes" as a phrase.'
    ),
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 10,
    page: int = Option(1, min=1, help="Which page of results."),
    by: By = Option(
        "group", help="Fold copies only (group; updates stay visible), or updates as well (story)."
    ),
    expand: bool = Option(False, "--expand", help="List the folded copies under each result."),
    all_: bool = Option(False, "--all", help="Fold nothing: every article."),
    canonical: bool = Option(
        False, "--canonical", help="Only originals and updates that match the query."
    ),
    show: ShowRule = Option("best", help="Which article represents a story; best: the best match."),
    sources: SourcesFile = None,
    sort: list[str] | None = Option(
        None, metavar="FIELD", help="Order: -published, source, score, …"
    ),
    filter_: list[str] | None = Option(
        None, "--filter", metavar="FIELD=VALUE", help="Only articles with this value."
    ),
    since: str | None = Option(None, metavar="DATE", help="Published from then on."),
    until: str | None = Option(None, metavar="DATE", help="Published before."),
    window: Window = None,
    facet: list[str] | None = Option(
        None, metavar="FIELD", help="Count stories and articles by its values."
    ),
    origins: bool = Option(
        False,
        "--origins",
        help="Who published each story first, its agency, and the number of independent reports.",
    ),
    exact: bool = Option(False, "--exact", help="Count stories exactly, on a cluster as well."),
    body: Path | None = Option(
        None, metavar="FILE", help="JSON search body for a cluster; - reads standard input."
    ),
    json_: AsJson = False,
) -> None:
    """Search; copies are folded into one result."""
    from esdedup.model.results import Member
    from esdedup.search.searcher import Searcher

    mode = "all" if all_ else "canonical" if canonical else "auto"
    options: dict[str, Any] = {
        "mode": mode,
        "by": by,
        "show": show,
        "sources": read_source_ranking(sources),
        "total": "exact" if exact else "estimate",
        "window": parse_window(window),
        "size": number,
        "offset": (page - 1) * number,
    }
    query = build_query(words, body, filter_, sort, since, until)
    fold: Fold = "none" if all_ else by
    with open_existing(store) as opened:
        searcher = Searcher(opened)
        result = searcher.search(query, origins=origins, **options)
        counted = {k: v for k, v in options.items() if k not in ("size", "offset")}
        if facet:
            result = replace(result, facets=tuple(searcher.facets(query, facet, **counted)))
        folded = [_folded_records(opened, hit, fold) if expand else [] for hit in result.hits]
    if json_:
        totals = {"results": result.total.stories, "articles": result.total.articles}
        out = {"query": words or "", "fold": fold, "page": page, **totals, **result.to_json()}
        for hit, others in zip(out["hits"], folded, strict=True):
            if others:
                hit["folded"] = [Member.of(r.document, r.decision) for r in others]
        print_json([out])
    else:
        print_hits(console(), result, folded, fold=fold, first=(page - 1) * number + 1)
        _print_facets(console(), result.facets)
        for note in result.notes:
            say(note)
    if not result.hits:
        raise stop(ExitCode.FOUND)


def front(
    category: str = Argument(
        ..., metavar="FIELD", help="The field with the category: section, lang, …"
    ),
    only: list[str] | None = Option(
        None, metavar="VALUE", help="This category; may be given several times."
    ),
    store: StoreUrl = DEFAULT_STORE,
    number: Number = 5,
    by: By = Option("story", help="A story once (story), or each of its updates (group)."),
    json_: AsJson = False,
) -> None:
    """The front page: the newest stories of each category, folded, without a query."""
    from esdedup.search.searcher import Searcher

    with open_existing(store) as opened:
        sections = Searcher(opened).front_page(category, only or (), size=number, by=by)
    print_result(sections, _print_sections, as_json=json_)
    if not any(section.hits for section in sections):
        raise stop(ExitCode.FOUND)


def show(
    id_: str = Argument(..., metavar="ID", help="The id of an article."),
    store: StoreUrl = DEFAULT_STORE,
    json_: AsJson = False,
) -> None:
    """Show one article, what was decided about it, and its story."""
    from esdedup.clustering.deduplicator import Deduplicator
    from esdedup.features.correction_notes import find_correction_note
    from esdedup.matching.content import content_of
    from esdedup.model.results import Member
    from esdedup.stores import get_record
    from esdedup.stories.revisions import revisions_of

    with open_existing(store) as opened:
        record = Deduplicator(opened).with_evidence(get_record(opened, id_))
        story = opened.documents.members(record.decision.story, "story")
        content = content_of(record.document, opened.settings)
        revised = revisions_of([record], opened).get(id_, ())
    note = find_correction_note(record.document.title, record.document.text)
    if json_:
        members = [Member.of(r.document, r.decision) for r in story]
        own = record.decision.group
        shown = {
            "document": record.document,
            "decision": record.decision,
            "words": record.signature.words,
            **({"note": note} if note else {}),
            **({"revisions": revised} if revised else {}),
            "members": [member for member in members if member.group == own],
            "updates": [member for member in members if member.group != own],
        }
        print_json([shown])
    else:
        _print_record(console(), record, content.lang, story)
        if note:
            console().print_line("correction note: ", paint(note))
        for one in revised:
            console().print_line(revision_text(one))


# --- search ----------------------------------------------------------------------------------


def _folded_records(store: Store, hit: StoryHit, fold: Fold) -> list[Record]:
    """The other articles of the hit's group or story, whether or not they match the words."""
    if fold == "none" or hit.group is None or hit.story is None:
        return []
    members = store.documents.members(hit.story if fold == "story" else hit.group, fold)
    return [record for record in members if record.document.id != hit.document.id]


def print_hits(
    out: Screen,
    result: StoryPage,
    folded: Sequence[Sequence[Record]],
    *,
    fold: Fold,
    first: int = 1,
) -> None:
    what = "copy" if fold == "group" else "more article"
    for place, (hit, others) in enumerate(zip(result.hits, folded, strict=True), first):
        more = f"+{count(hit.copies or 0, what, 'copies' if fold == 'group' else None)}"
        title = paint(title_of(hit.document), "bold")
        out.print(join(f"{place:>3}  ", title, "  ", paint(more, "cyan") if hit.copies else ""))
        role = paint(hit.role, STYLES[hit.role])
        out.print_line("     ", byline(hit.document), " · ", role)
        if hit.origin is not None:
            out.print_line("     ", paint(origin_text(hit.origin)))
        for text, style in ((_reason_text(hit).removeprefix(" · "), ""), (hit.snippet, "dim")):
            for line in textwrap.wrap(plain(text), max(40, out.width - 2) - 5):
                out.print(f"     {line}", style=style)
        out.print_line(f"     {hit.document.id}")
        for record in others:
            out.print_line("       ", _member_text(record))
    out.print(_totals(result, fold))


def _reason_text(hit: StoryHit) -> str:
    """What an update changed, and for which match an article is shown."""
    update = f" · {plain(str(hit.update))}" if hit.update is not None else ""
    matched = f" · shown for {plain(', '.join(hit.matched_by))}" if hit.matched_by else ""
    return update + matched


def _print_sections(out: Screen, sections: Sequence[Section]) -> None:
    for section in sections:
        out.print(paint(section.category, "bold"))
        for hit in section.hits:
            title = paint(title_of(hit.document), "bold")
            text = f"  {byline(hit.document)}{_reason_text(hit)}"
            out.print_line("  ", title, text)


def _print_facets(out: Screen, facets: Sequence[Facet]) -> None:
    for facet in facets:
        rows = table(facet.field, "stories", "articles", numbers_from=1)
        for bucket in facet.buckets:
            rows.add_row(bucket.value, f"{bucket.stories:,}", f"{bucket.articles:,}")
        out.print(rows)


def _totals(result: StoryPage, fold: Fold) -> str:
    """How many there are, however many were shown."""
    stories, all_articles = result.total.stories or 0, result.total.articles or 0
    articles = count(all_articles, "article")
    if fold == "none":
        return articles
    if fold == "story":
        return f"{count(stories, 'story', 'stories')}, {articles}"
    copies = count(all_articles - stories, "copy", "copies")
    return f"{count(stories, 'result')}, {articles} ({copies} folded)"


# --- one article, one group ------------------------------------------------------------------


def _member_text(record: Record) -> Text:
    role = record.decision.role
    text = f"{byline(record.document)} · {plain(record.document.id)}"
    return join(paint(role, STYLES[role]), " " * (len("duplicate") + 2 - len(role)), text)


def _print_record(out: Screen, record: Record, lang: str | None, story: Sequence[Record]) -> None:
    document, decision = record.document, record.decision
    out.print(paint(title_of(document), "bold"))
    out.print(f"{byline(document)} · {lang or 'no language'}")
    out.print_line(document.id)
    if document.url and document.url != document.id:
        out.print_line(document.url)
    out.print()
    for paragraph in filter(str.strip, document.text.splitlines()):
        out.print(plain(paragraph))
    out.print()
    out.print_line(decision_text(decision))
    for evidence in decision.evidence[1 if decision.link.parent else 0 :]:
        out.print_line(
            f"  {evidence.verdict} from {evidence.other} "
            f"(overlap {evidence.overlap:.2f}; {evidence_text(evidence)})",
            style="dim",
        )
    if len(story) > 1:
        out.print(f"\nthe story, {count(len(story), 'article')}:")
        print_members(out, story)


def print_members(out: Screen, members: Sequence[Record]) -> None:
    for record in members:
        score = f"{record.decision.score:.2f}" if record.decision.link.parent else "    "
        out.print_line(f"  {score}  ", _member_text(record))
