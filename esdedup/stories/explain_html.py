"""An explanation as one HTML page: nothing to load, no script, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from esdedup.matching.diff import Span
from esdedup.model import iso
from esdedup.stores import Record
from esdedup.stories.explain import Explanation, list_measures

_STYLE = """
body { font: 16px/1.6 Georgia, serif; max-width: 54em; margin: 2em auto; padding: 0 1em;
       color: #1a1a1a; background: #fff; }
h1 { font-size: 1.3em; line-height: 1.3; } h2 { font-size: 1em; margin-top: 2em; }
table { border-collapse: collapse; font: 14px/1.5 system-ui, sans-serif; }
th, td { text-align: left; padding: .2em 1.2em .2em 0; border-bottom: 1px solid #ddd; }
.meta, .legend { font: 14px/1.5 system-ui, sans-serif; color: #555; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.equal { color: #555; } del { background: #fbd5d5; } ins { background: #cfeccf; }
ins, del { text-decoration: none; } del { text-decoration: line-through; }
.moved { background: #d6e4fb; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #161616; } .equal, .meta, .legend { color: #a0a0a0; }
  th, td { border-color: #333; } del { background: #5a2626; } ins { background: #234a23; }
  .moved { background: #26405f; } }
"""


def render_page(explanation: Explanation) -> str:
    """The whole page."""
    title = _escape(explanation.rule)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Texts of others are on this page: it may load and run nothing.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        _render_article("old", explanation.old),
        _render_article("new", explanation.new),
        "<h2>Measures</h2>",
        _render_table(list_measures(explanation)),
        *_render_details(explanation),
        "<h2>Both texts, word by word</h2>",
        '<p class="legend"><span class="equal">in both</span> · <del>only in the old one</del> · '
        '<ins>only in the new one</ins> · <span class="moved">moved</span></p>',
        f'<div class="text" dir="auto">{"".join(map(_render_span, explanation.spans))}</div>',
    ]
    if explanation.cut:
        parts.append('<p class="meta">Longer texts are compared up to here.</p>')
    return "\n".join([*parts, "</body></html>", ""])


def _render_article(name: str, record: Record) -> str:
    document, role = record.document, record.decision.role
    published = iso(document.published) if document.published else "no date"
    about = " · ".join(
        _escape(value) for value in (name, role, document.source or "no source", published)
    )
    headline = _escape(document.title or document.text[:120] or document.id)
    details = f'<span class="meta">{about}<br>{_escape(document.id)}</span>'
    return f"<p><b>{headline}</b><br>{details}</p>"


def _render_table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = ["<tr><th>measure</th><th>value</th><th>threshold</th></tr>"]
    lines += [f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def _render_details(explanation: Explanation) -> Iterable[str]:
    if changes := explanation.evidence.numbers:
        lines = "".join(f"<li>{_escape(str(change))}</li>" for change in changes)
        yield f"<h2>Counts that changed</h2><ul>{lines}</ul>"
    if runner_up := explanation.runner_up:
        lost = f"{_escape(runner_up.other)}: {_escape(runner_up.why)}"
        yield f"<h2>Runner-up</h2><p>{lost}</p>"


def _render_span(span: Span) -> str:
    if span.kind == "equal":
        return f'<span class="equal">{_escape(span.new)}</span>'
    if span.kind == "moved":
        return f'<span class="moved">{_escape(span.new)}</span>'
    old = f"<del>{_escape(span.old)}</del>" if span.old else ""
    new = f"<ins>{_escape(span.new)}</ins>" if span.new else ""
    return old + (" " if old and new and not span.old[-1:].isspace() else "") + new


def _escape(text: str) -> str:
    """Also what HTML cannot hold at all: controls, and characters that turn the text around."""
    shown = "".join(
        "\N{REPLACEMENT CHARACTER}"
        if (ord(c) < 32 and c not in "\t\n\r") or ord(c) in _TURNING or 127 <= ord(c) < 160
        else c
        for c in text
    )
    return escape(shown, quote=True)


_TURNING = frozenset([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
