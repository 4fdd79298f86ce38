// One event with its stories.

import { ask } from "../api.js";
import { shares } from "../charts.js";
import { h, heading } from "../dom.js";
import { count, titleOf } from "../format.js";
import { to } from "../links.js";
import { role, section, source, time } from "../parts.js";
import { sinceOf, span, spark, tags, why } from "./events.js";

const SOURCES = 8;

export async function render(params, signal) {
  const days = params.get("days") ?? "";
  const event = await ask("/v1/event", {
    params: { id: params.get("id"), since: sinceOf(days) },
    signal,
  });
  const sources = Object.entries(event.sources).sort((a, b) => b[1] - a[1]);
  return h(
    "div",
    { class: "event-page" },
    h("p", { class: "kicker" }, h("a", { href: to("events", { days }) }, "Events")),
    heading(event.title || event.representative),
    h(
      "p",
      { class: "summary" },
      `${span(event)} · ${count(event.articles, "article")} · ${count(event.stories, "story", "stories")} · ${count(sources.length, "source")}`,
    ),
    h("p", { class: "meta" }, why(event)),
    h("div", { class: "event-figures" }, spark(event), tags(event)),
    section("Stories", h("ol", { class: "hits" }, (event.sub_stories ?? []).map(story))),
    section("Sources", shares(sources.slice(0, SOURCES), "Articles by source")),
  );
}

function story(one) {
  return h(
    "li",
    { class: "hit" },
    h(
      "ul",
      { class: "lines" },
      one.tellings.map((telling) =>
        h(
          "li",
          { class: "line" },
          h(
            "div",
            { class: "line-main" },
            h(
              "a",
              { href: to("story", { id: telling.id }), class: "line-title", dir: "auto" },
              titleOf(telling),
            ),
            h(
              "span",
              { class: "meta" },
              role(telling.role),
              source(telling),
              time(telling.published),
              telling.copies > 0 && `+${count(telling.copies, "copy", "copies")}`,
            ),
          ),
        ),
      ),
    ),
  );
}
