// Small drawings: numbers first, ink second. Each has its content in words for those who cannot see it.

import { h, svg } from "./dom.js";
import { number, shortDay } from "./format.js";

export function sparkline(values, label, { width = 140, height = 36 } = {}) {
  const top = Math.max(1, ...values);
  const step = values.length > 1 ? (width - 4) / (values.length - 1) : 0;
  const points = values.map((value, i) => [
    2 + (values.length > 1 ? i * step : width / 2 - 2),
    height - 3 - (value / top) * (height - 8),
  ]);
  const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  const area = `2,${height - 2} ${line} ${points[points.length - 1][0].toFixed(1)},${height - 2}`;
  const peak = points[values.indexOf(Math.max(...values))];
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
    },
    values.length > 1 && svg("polygon", { points: area, class: "spark-area" }),
    values.length > 1 && svg("polyline", { points: line, class: "spark-line" }),
    svg("circle", { cx: peak[0], cy: peak[1], r: 2.5, class: "spark-peak" }),
  );
}

// Each hour between the first and the last, those without an article as zero.
export function hourly(size) {
  const hours = new Map(size.map(([at, n]) => [Math.floor(Date.parse(at) / 3_600_000), n]));
  const all = [...hours.keys()];
  const first = Math.min(...all);
  const length = Math.min(Math.max(...all) - first + 1, 24 * 40);
  return Array.from({ length }, (_, i) => hours.get(first + i) ?? 0);
}

// Drawn for the width there is, so that letters keep their size; narrower than this, it scrolls.
function room() {
  return Math.max(520, document.getElementById("main").clientWidth - 40);
}

export function stacked(buckets, kinds, label) {
  const width = room();
  const height = 190;
  const base = height - 24;
  const totals = buckets.map((b) => kinds.reduce((sum, [name]) => sum + (b.values[name] ?? 0), 0));
  const top = Math.max(1, ...totals);
  const step = width / buckets.length;
  const wide = Math.min(44, step * 0.68);
  const every = Math.ceil(buckets.length / 8);
  const bars = buckets.map((bucket, i) => {
    let y = base;
    const x = i * step + (step - wide) / 2;
    const parts = kinds.map(([name, plural]) => {
      const value = bucket.values[name] ?? 0;
      const size = (value / top) * (base - 18);
      y -= size;
      return (
        value > 0 &&
        svg(
          "rect",
          {
            x: x.toFixed(1),
            y: y.toFixed(1),
            width: wide.toFixed(1),
            height: Math.max(1, size - 1).toFixed(1),
            rx: 1.5,
            class: `bar-${name}`,
          },
          svg("title", null, `${bucket.label}: ${number(value)} ${plural}`),
        )
      );
    });
    const mark =
      i % every === 0 &&
      svg(
        "text",
        { x: x + wide / 2, y: height - 6, class: "axis", "text-anchor": "middle" },
        bucket.label,
      );
    const sum =
      totals[i] > 0 &&
      buckets.length <= 16 &&
      svg(
        "text",
        { x: x + wide / 2, y: y - 4, class: "axis", "text-anchor": "middle" },
        number(totals[i]),
      );
    return [parts, sum, mark];
  });
  return svg(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": label,
    },
    svg("line", { x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5, class: "rule" }),
    bars,
  );
}

export function shares(rows, label) {
  const top = Math.max(1, ...rows.map(([, value]) => value));
  return h(
    "ul",
    { class: "shares", "aria-label": label },
    rows.map(([name, value, text]) =>
      h(
        "li",
        null,
        h("span", { class: "share-name", dir: "auto" }, name),
        h("span", { class: "share-bar", "aria-hidden": "true" }, bar(value / top)),
        h("span", { class: "share-value" }, text ?? number(value)),
      ),
    ),
  );
}

function bar(share) {
  return svg(
    "svg",
    { viewBox: "0 0 100 10", preserveAspectRatio: "none" },
    svg("rect", {
      width: Math.max(1, 100 * share).toFixed(1),
      height: 10,
      rx: 1,
      class: "share-fill",
    }),
  );
}

// About the width of a letter of the labels, and where they are cut.
const LETTER = 6.3;
const LABEL = 60;

// Events as bars over time under their names, each in the first row that is free; a link each.
export function lanes(events, linkOf, label) {
  const width = room();
  const row = 44;
  const spans = events.map((e) => [Date.parse(e.first_seen), Date.parse(e.last_seen), e]);
  const first = Math.min(...spans.map(([start]) => start));
  const last = Math.max(...spans.map(([, end]) => end), first + 3_600_000);
  const x = (time) => 8 + ((time - first) / (last - first)) * (width - 24);
  const ends = [];
  const shown = [...spans]
    .sort((a, b) => a[0] - b[0])
    .map(([start, end, event]) => {
      const from = x(start);
      const to = Math.max(from + 10, x(end));
      const name = cut(event.title || event.representative);
      const left = Math.max(0, Math.min(from, width - 8 - name.length * LETTER));
      let lane = ends.findIndex((free) => free < left - 12);
      if (lane < 0) lane = ends.length;
      ends[lane] = Math.max(to, left + name.length * LETTER);
      return { from, to, left, lane, name, event };
    });
  const height = ends.length * row + 30;
  const ticks = Math.max(2, Math.min(6, Math.floor(width / 150)));
  const days = Array.from({ length: ticks }, (_, i) => first + ((last - first) * i) / (ticks - 1));
  return svg(
    "svg",
    {
      class: "chart lanes",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": label,
    },
    days.map((time, i) => [
      svg("line", { x1: x(time), x2: x(time), y1: 0, y2: height - 22, class: "rule" }),
      svg(
        "text",
        {
          x: x(time),
          y: height - 6,
          class: "axis",
          "text-anchor": i === 0 ? "start" : i === ticks - 1 ? "end" : "middle",
        },
        axisLabel(time, last - first),
      ),
    ]),
    shown.map(({ from, to, left, lane, name, event }) =>
      svg(
        "a",
        {
          href: linkOf(event),
          class: event.ended ? "ended" : "running",
          "aria-label": `${event.title}, ${number(event.articles)} articles`,
        },
        svg("text", { x: left, y: lane * row + 15, class: "lane-name" }, name),
        svg("rect", {
          x: from,
          y: lane * row + 21,
          width: to - from,
          height: 12,
          rx: 4,
          class: "lane",
        }),
        svg("title", null, `${event.title} (${number(event.articles)} articles)`),
      ),
    ),
  );
}

function cut(text) {
  return text.length > LABEL ? `${text.slice(0, LABEL - 1)}…` : text;
}

function axisLabel(time, span) {
  const date = new Date(time).toISOString();
  return span < 3 * 86_400_000 ? `${shortDay(date)} ${date.slice(11, 16)}` : shortDay(date);
}
