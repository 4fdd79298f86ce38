"""One HTML page for people: tables, plots, and every error with both texts. No network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from esdedup.evaluation.charts import ChartLine, line_chart
from esdedup.evaluation.detectors import Item
from esdedup.evaluation.disagreements import excerpt
from esdedup.evaluation.online import OnlineRun
from esdedup.evaluation.pairs import PairRun, Point
from esdedup.evaluation.scurve import Bin
from esdedup.evaluation.sets import GoldSet
from esdedup.model import JSON

# Texts of errors are shown to this length, and so many errors of a method.
_TEXT = 1500
_ERRORS = 200

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1a1a;--soft:#666;--line:#ddd;--mark:#f4f4f0;
--c0:#0b62a4;--c1:#c2410c;--c2:#15803d;--c3:#7e22ce;--c4:#b91c1c;--c5:#0e7490;--c6:#a16207;
--c7:#be185d}
@media(prefers-color-scheme:dark){:root{--bg:#15171a;--fg:#e6e6e6;--soft:#9aa0a6;--line:#3a3f45;
--mark:#1f2327;--c0:#6cb6ff;--c1:#ff9d5c;--c2:#6fdd8b;--c3:#d2a8ff;--c4:#ff8f8f;--c5:#5cd6e0;
--c6:#e8c547;--c7:#ff8ac4}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:2rem auto;
max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:right;
font-variant-numeric:tabular-nums;white-space:nowrap}
th:first-child,td:first-child{text-align:left}
figure{display:inline-block;margin:0 1rem 1rem 0;width:min(100%,29rem);vertical-align:top}
svg{width:100%;height:auto}svg text{fill:var(--soft);font-size:11px}
svg path{fill:none;stroke-width:1.8}svg path.grid{stroke:var(--line);stroke-width:.7}
.legend{list-style:none;padding:0;margin:0;font-size:13px}
.legend li{display:inline-block;margin-right:1rem}
.legend span{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
details{border:1px solid var(--line);border-radius:6px;margin:.5rem 0;padding:.3rem .8rem}
.two{display:grid;grid-template-columns:1fr 1fr;gap:1rem}
.two div{background:var(--mark);padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere;
font-size:13px;max-height:26rem;overflow:auto}
@media(max-width:45rem){.two{grid-template-columns:1fr}}
.soft{color:var(--soft)}
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong decision with both sides of it."""

    kind: str  # what happened, in words
    title: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """The part of the report about one set."""

    title: str
    facts: str
    rows: Sequence[JSON]
    curves: Mapping[str, Sequence[Point]] = field(default_factory=dict)
    s_curve: tuple[Sequence[Bin], Sequence[tuple[float, float]]] | None = None
    mistakes: Mapping[str, Sequence[Mistake]] = field(default_factory=dict)
    comparisons: Sequence[JSON] = ()


def render(chapters: Sequence[Chapter], *, subtitle: str) -> str:
    body = "".join(_render_chapter(chapter) for chapter in chapters)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>esdedup: evaluation</title><style>{_STYLE}</style></head><body>"
        f'<h1>Evaluation</h1><p class="soft">{escape(subtitle)}</p>{body}</body></html>\n'
    )


def _render_chapter(chapter: Chapter) -> str:
    parts = [f"<h2>{escape(chapter.title)}</h2><p>{escape(chapter.facts)}</p>"]
    parts.append(_render_table(chapter.rows))
    if chapter.comparisons:
        parts.append("<h3>Differences between methods</h3>" + _render_table(chapter.comparisons))
        parts.append(
            '<p class="soft">One-sided t-test over gold clusters matched by their share of wrong '
            "decisions: is the first better? Chi-squared over documents on which exactly one is "
            "right.</p>"
        )
    if any(chapter.curves.values()):
        parts.append(_render_curves(chapter.curves))
    if chapter.s_curve is not None:
        parts.append(_render_s_curve(*chapter.s_curve))
    for method, mistakes in chapter.mistakes.items():
        parts.append(_render_mistakes(method, mistakes))
    return "".join(parts)


def _render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    flat = [{k: v for k, v in row.items() if not isinstance(v, dict | list)} for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in names) + "</tr>"
        for row in flat
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return (
            f"{value:.4g}"
            if abs(value) < 1e-3 and value
            else f"{value:.4f}".rstrip("0").rstrip(".")
        )
    return escape(str(value))


def _render_curves(curves: Mapping[str, Sequence[Point]]) -> str:
    with_points = {name: points for name, points in curves.items() if points}
    by_recall = [
        ChartLine(n, [(p.score.recall, p.score.precision) for p in ps])
        for n, ps in with_points.items()
    ]
    likenesses = {n: ps for n, ps in with_points.items() if ps[-1].threshold >= 0}
    distances = {n: ps for n, ps in with_points.items() if n not in likenesses}
    out = ["<h3>Over all pairs</h3>"]
    out.append(line_chart(by_recall, x="recall", y="precision", x_range=(0.0, 1.0)))
    for found, x, sign in ((likenesses, "threshold", 1), (distances, "distance", -1)):
        lines = [
            ChartLine(n, [(sign * p.threshold, p.score.f1) for p in ps]) for n, ps in found.items()
        ]
        if lines:
            out.append(line_chart(lines, x=x, y="F1"))
    return "".join(out)


def _render_s_curve(bins: Sequence[Bin], expected: Sequence[tuple[float, float]]) -> str:
    dots = [(b.jaccard, b.candidates / b.pairs) for b in bins]
    lines = [
        ChartLine("measured", dots, is_dots=True),
        ChartLine("expected of the sketch", expected),
    ]
    chart = line_chart(
        lines, x="Jaccard of the shingles", y="share that become candidates", x_range=(0.0, 1.0)
    )
    rows = [{"Jaccard": b.jaccard, "pairs": b.pairs, "candidates": b.candidates} for b in bins]
    return f"<h3>Candidates by likeness</h3>{chart}{_render_table(rows)}"


def _render_mistakes(method: str, mistakes: Sequence[Mistake]) -> str:
    more = len(mistakes) - _ERRORS
    parts = [f"<h3>Errors of {escape(method)}: {len(mistakes)}</h3>"]
    for mistake in mistakes[:_ERRORS]:
        parts.append(
            f"<details><summary>{escape(mistake.kind)}: {escape(mistake.title)}</summary>"
            f'<div class="two"><div>{escape(mistake.left)}</div>'
            f"<div>{escape(mistake.right)}</div></div></details>"
        )
    if more > 0:
        parts.append(f'<p class="soft">{more} more are left out.</p>')
    return "".join(parts)


# --- errors ------------------------------------------------------------------------------------


def find_online_mistakes(gold: GoldSet, run: OnlineRun) -> list[Mistake]:
    """False links beside what they were linked to; misses beside the first of their cluster."""
    first: dict[str, str] = {}
    out = []
    for ruling in run.replay.rulings:
        cluster = gold.cluster[ruling.id]
        verdict = run.verdicts.get(ruling.id)
        if verdict == "fp" and ruling.other is not None:
            into = gold.cluster[ruling.other]
            title = f"{ruling.id} ({cluster}) linked to {ruling.other} ({into})"
            out.append(_build_mistake(gold.items, "false link", title, ruling.id, ruling.other))
        elif verdict == "fn":
            title = f"{ruling.id} not linked into {cluster}; its first is {first[cluster]}"
            out.append(_build_mistake(gold.items, "missed", title, ruling.id, first[cluster]))
        first.setdefault(cluster, ruling.id)
    return sorted(out, key=lambda m: m.kind)


def find_pair_mistakes(gold: GoldSet, run: PairRun) -> list[Mistake]:
    out = []
    for key in sorted({*run.judged, *run.scores}):
        is_copy = key in run.judged and bool(run.judged[key].is_copy)
        score, reported = run.scores.get(key, (0.0, False))
        if is_copy != reported:
            kind = "false report" if reported else "missed"
            title = f"{key[0]} and {key[1]} ({score:.3f})"
            out.append(_build_mistake(gold.items, kind, title, *key))
    return sorted(out, key=lambda m: m.kind)


def _build_mistake(items: Mapping[str, Item], kind: str, title: str, a: str, b: str) -> Mistake:
    return Mistake(kind, title, excerpt(items[a], _TEXT), excerpt(items[b], _TEXT))


def describe_set(gold: GoldSet, notes: Iterable[str]) -> str:
    parts = [f"{len(gold.items)} documents"]
    if gold.cluster:
        parts.append(f"{len(gold.cluster)} labelled, in {len(set(gold.cluster.values()))} clusters")
    if gold.pairs:
        parts.append(f"{len(gold.pairs)} judged pairs")
    return "; ".join([*parts, *notes]) + "."
