// Breaking events: on a time line, and each with its size over time.

import { ask, follow } from "../api.js";
import { hourly, lanes, sparkline } from "../charts.js";
import { empty, h, heading } from "../dom.js";
import { clock, count, day, number, shortDay } from "../format.js";
import { go, to } from "../links.js";

const SINCE = [
  ["1", "24 hours"],
  ["", "7 days"],
  ["30", "30 days"],
  ["365", "a year"],
  ["all", "all time"],
];
const SIZE = 30;
// After a change others follow at once: one look for all of them.
const PAUSE = 3_000;

export function sinceOf(days) {
  if (!days) return null;
  return days === "all"
    ? "1970-01-02"
    : new Date(Date.now() - Number(days) * 86_400_000).toISOString();
}

export async function render(params, signal, again) {
  const days = params.get("days") ?? "";
  const page = Math.max(1, Number(params.get("page")) || 1);
  const found = await ask("/v1/events", {
    params: { since: sinceOf(days), size: SIZE, offset: (page - 1) * SIZE },
    signal,
  });
  const live = h("span", { class: "live", hidden: true }, "live");
  listen(live, signal, again);
  return h(
    "div",
    { class: "events" },
    h("div", { class: "title-line" }, heading("Breaking events"), live),
    h(
      "p",
      { class: "meta" },
      h(
        "label",
        { class: "choice" },
        h("span", null, "Within"),
        h(
          "select",
          { name: "days", onchange: (event) => go("events", { days: event.target.value }) },
          SINCE.map(([value, text]) => h("option", { value, selected: value === days }, text)),
        ),
      ),
      count(found.total, "event"),
    ),
    found.events.length
      ? [
          timeline(found.events, days),
          h(
            "ol",
            { class: "hits" },
            found.events.map((event) => card(event, days)),
          ),
        ]
      : empty(
          "No breaking events",
          "Many articles about one thing within a few hours make an event. There is none in this time.",
        ),
    found.total > SIZE &&
      h(
        "nav",
        { class: "pages", "aria-label": "Pages" },
        page > 1 ? h("a", { href: to("events", { days, page: page - 1 }) }, "← Later") : h("span"),
        page * SIZE < found.total
          ? h("a", { href: to("events", { days, page: page + 1 }) }, "Earlier →")
          : h("span"),
      ),
  );
}

function timeline(events, days) {
  return h(
    "figure",
    { class: "wide" },
    lanes(events, (event) => to("event", { id: event.id, days }), "Events over time, each a link"),
    h(
      "figcaption",
      { class: "small" },
      "A bar from the first article of an event to its last; those under way are darker.",
    ),
  );
}

export function spark(event) {
  const values = hourly(event.size);
  return sparkline(values, `Articles an hour: at most ${number(Math.max(...values))}`);
}

export function span(event) {
  const same = day(event.first_seen) === day(event.last_seen);
  return `${shortDay(event.first_seen)}, ${clock(event.first_seen)} – ${same ? "" : `${shortDay(event.last_seen)}, `}${clock(event.last_seen)} UTC`;
}

function card(event, days) {
  return h(
    "li",
    { class: "hit event", tabindex: "-1" },
    h(
      "article",
      null,
      h(
        "h3",
        null,
        h(
          "a",
          { href: to("event", { id: event.id, days }), class: "open", dir: "auto" },
          event.title || event.representative,
        ),
      ),
      h(
        "p",
        { class: "meta" },
        h(
          "span",
          { class: event.ended ? "role" : "role role-update" },
          event.ended ? "over" : "under way",
        ),
        h("span", null, span(event)),
        [
          count(event.articles, "article"),
          count(event.stories, "story", "stories"),
          count(Object.keys(event.sources).length, "source"),
        ].map((text) => h("span", null, text)),
      ),
      h("p", { class: "meta" }, why(event)),
      tags(event),
    ),
    spark(event),
  );
}

export function why(event) {
  return `An event because ${event.why.says}.`;
}

export function tags(event) {
  const all = [...event.entities, ...event.terms].map(([name]) => name);
  const same = (name) => (other) => other.toLowerCase() === name.toLowerCase();
  const names = all.filter((name, i) => all.findIndex(same(name)) === i).slice(0, 8);
  return (
    names.length > 0 &&
    h(
      "ul",
      { class: "tags", "aria-label": "What it is about" },
      names.map((name) =>
        h("li", null, h("a", { href: to("search", { q: name }), dir: "auto" }, name)),
      ),
    )
  );
}

async function listen(mark, signal, again) {
  try {
    let timer = null;
    signal.addEventListener("abort", () => clearTimeout(timer));
    const open = () => {
      mark.hidden = false;
    };
    for await (const _change of follow("/v1/events/stream", signal, open)) {
      clearTimeout(timer);
      timer = setTimeout(again, PAUSE);
    }
  } catch {
    // Without the stream the list is as of now; the mark says which.
  }
  mark.hidden = true;
}
