"""Plots as inline SVG, in the colours of the page they stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 460, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 12, 44
_TICKS = 5
# Colours of the page (CSS variables), distinguishable in light and dark mode.
COLOURS = 8


@dataclass(frozen=True, slots=True)
class ChartLine:
    """Points of one method; `is_dots` draws them apart."""

    name: str
    points: Sequence[tuple[float, float]]
    is_dots: bool = False


def line_chart(
    lines: Sequence[ChartLine], *, x: str, y: str, x_range: tuple[float, float] | None = None
) -> str:
    """One plot with its legend; y goes from 0 to 1."""
    left, right = x_range or _range([p[0] for line in lines for p in line.points])
    frame = _Frame(left, right)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(y)} by {escape(x)}">'
    ]
    parts += frame.axes(x, y)
    for number, line in enumerate(lines):
        colour = f"var(--c{number % COLOURS})"
        parts.append(_dots(line, frame, colour) if line.is_dots else _path(line, frame, colour))
    legend = "".join(
        f'<li><span style="background:var(--c{i % COLOURS})"></span>{escape(line.name)}</li>'
        for i, line in enumerate(lines)
    )
    return f'<figure>{"".join(parts)}</svg><ul class="legend">{legend}</ul></figure>'


@dataclass(frozen=True, slots=True)
class _Frame:
    left: float
    right: float

    def place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self.left) / (self.right - self.left)
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        bounded = min(1.0, max(0.0, y))
        return round(_LEFT + across * width, 1), round(_TOP + (1 - bounded) * height, 1)

    def axes(self, x: str, y: str) -> list[str]:
        out = []
        for i in range(_TICKS + 1):
            share = i / _TICKS
            value = self.left + share * (self.right - self.left)
            across, bottom = self.place(value, 0)
            _, height = self.place(self.left, share)
            out.append(f'<path class="grid" d="M{_LEFT} {height}H{_WIDTH - _RIGHT}"/>')
            out.append(
                f'<text x="{_LEFT - 6}" y="{height + 4}" text-anchor="end">{share:.1f}</text>'
            )
            out.append(
                f'<text x="{across}" y="{bottom + 16}" text-anchor="middle">{value:.3g}</text>'
            )
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        out.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(x)}</text>')
        height = (_TOP + _HEIGHT - _BOTTOM) / 2
        out.append(
            f'<text transform="translate(14 {height}) rotate(-90)" text-anchor="middle">'
            f"{escape(y)}</text>"
        )
        return out


def _path(line: ChartLine, frame: _Frame, colour: str) -> str:
    places = [frame.place(x, y) for x, y in line.points]
    steps = " ".join(f"{'M' if i == 0 else 'L'}{x} {y}" for i, (x, y) in enumerate(places))
    return f'<path d="{steps}" style="stroke:{colour}"/>' if places else ""


def _dots(line: ChartLine, frame: _Frame, colour: str) -> str:
    places = (frame.place(x, y) for x, y in line.points)
    return "".join(f'<circle cx="{x}" cy="{y}" r="3" style="fill:{colour}"/>' for x, y in places)


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
