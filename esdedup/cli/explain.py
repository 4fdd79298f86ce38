"""The command that explains a decision: explain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from esdedup.cli.options import (
    DEFAULT_STORE,
    AsJson,
    Preset,
    SettingsFile,
    SetValues,
    StoreUrl,
    load_settings,
    open_deduplicator,
)
from esdedup.cli.output import (
    STYLES,
    byline,
    change_text,
    join,
    paint,
    print_result,
    revision_text,
    shorten,
    table,
    title_of,
    write_file,
)

if TYPE_CHECKING:
    from rich.text import Text

    from esdedup.cli.screen import Screen
    from esdedup.matching.diff import Span
    from esdedup.stories.explain import Explanation

# Style on a terminal, and marks where there are no colours (those of wdiff).
_MARKS = {
    "removed": ("red strike", "[-", "-]"),
    "added": ("green", "{+", "+}"),
    "moved": ("blue", "{~", "~}"),
}
# Words shown at each end of a long passage that both have.
_SHOWN = 8


def explain(
    id_: str = Argument(..., metavar="ID", help="The id of an article."),
    other: str | None = Argument(
        None,
        metavar="ID2",
        help="Another id; default: the article it is linked to, or the best candidate.",
    ),
    store: StoreUrl = DEFAULT_STORE,
    preset: Preset = None,
    settings: SettingsFile = None,
    set_: SetValues = None,
    full: bool = Option(False, "--full", help="Do not shorten equal passages."),
    html: Path | None = Option(None, metavar="FILE", help="Write a self-contained HTML page."),
    json_: AsJson = False,
) -> None:
    """Explain why two articles are, or are not, one story.

    Shared keys, overlap, thresholds, the rule that decided, and both texts word by word. Settings
    given here are tried on the pair; the store keeps its own.
    """
    from esdedup.stories.explain import explain_stored

    chosen = load_settings(store, preset, settings, set_)
    with open_deduplicator(store, chosen, mode="read") as deduplicator:
        explanation = explain_stored(deduplicator, id_, other)
    if html is not None:
        from esdedup.stories.explain_html import render_page

        write_file(html, render_page(explanation))
    if json_ or html is None:
        print_result(explanation, partial(_print, full=full), as_json=json_)


def _print(out: Screen, explanation: Explanation, *, full: bool) -> None:
    from esdedup.stories.explain import list_measures

    for name, record in (("old", explanation.old), ("new", explanation.new)):
        role = paint(record.decision.role, STYLES[record.decision.role])
        out.print(join(f"{name}  ", paint(title_of(record.document), "bold")))
        out.print(join("     ", byline(record.document), " · ", role))
        out.print_line(f"     {record.document.id}")
    out.print()
    out.print_line(paint(explanation.rule, "bold"))
    rows = table("measure", "value", "threshold")
    for row in list_measures(explanation):
        rows.add_row(*row)
    out.print(rows)
    for change in explanation.evidence.numbers:
        out.print_line("  ", paint(change_text(change), STYLES["update"]))
    if explanation.runner_up:
        lost = explanation.runner_up
        out.print_line(f"  runner-up {lost.other}: {lost.why}")
    for one in explanation.revisions:
        out.print_line("  ", revision_text(one))
    if explanation.evidence.numbers or explanation.runner_up or explanation.revisions:
        out.print()
    spans, cut = explanation.spans, explanation.cut
    out.print(passages_text(spans, cut=cut, coloured=out.is_terminal, full=full))


def passages_text(spans: Sequence[Span], *, cut: bool, coloured: bool, full: bool) -> Text:
    """Two texts by passages; long equal ones are shortened unless they are wanted in full."""
    pieces = [piece for span in spans for piece in _pieces(span, coloured=coloured, full=full)]
    rest = ["… (longer texts are compared up to here)"] if cut else []
    return join(*(part for piece in pieces for part in (piece, " ")), *rest)


def _pieces(span: Span, *, coloured: bool, full: bool) -> list[Text]:
    if span.kind == "equal":
        between = "… ({hidden} words the same) …"
        return [paint(span.new if full else shorten(span.new, _SHOWN, between), "dim")]
    if span.kind == "moved":
        return [_mark(span.new, "moved", coloured)]
    pieces = [(span.old, "removed"), (span.new, "added")]
    return [_mark(text, kind, coloured) for text, kind in pieces if text.strip()]


def _mark(text: str, kind: str, coloured: bool) -> Text:
    style, left, right = _MARKS[kind]
    return paint(text, style) if coloured else join(left, paint(text), right)
