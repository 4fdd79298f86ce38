// A story from its first article on: versions, what each changed, and who copied which.

import { askAll } from "../api.js";
import { h, heading, outside } from "../dom.js";
import {
  clock,
  count,
  day,
  later,
  NO_SOURCE,
  number,
  percent,
  sourceOf,
  titleOf,
  when,
} from "../format.js";
import { to } from "../links.js";
import { changes, line, originOf, revisions, role, section, source, time } from "../parts.js";
import { box, compareLink } from "../picked.js";

export async function render(params, signal) {
  const story = await askAll("/v1/story", ["versions", "partial"], {
    params: { id: params.get("id") },
    signal,
  });
  const first = story.versions[0];
  const latest = story.versions[story.versions.length - 1];
  return h(
    "div",
    { class: "story" },
    h("p", { class: "kicker" }, "Story"),
    heading(titleOf(latest)),
    h("p", { class: "summary" }, facts(story)),
    h("p", { class: "meta origin" }, originOf(story)),
    counts(story.counts),
    h(
      "ol",
      { class: "timeline", "aria-label": "Time line" },
      story.versions.map((version, i) => node(version, i, first, latest, params.get("id"))),
    ),
    outlets(story),
    partial(story),
  );
}

// Who adds nothing only copied; the first article of an outlet counts.
function outlets(story) {
  if (story.outlets.length < 2) return null;
  return section(
    "Who reported it",
    h(
      "table",
      { class: "outlets" },
      h(
        "thead",
        null,
        h("tr", null, ["Outlet", "Articles", "Added"].map((name) => h("th", { scope: "col" }, name))),
      ),
      h(
        "tbody",
        null,
        story.outlets.map((one) =>
          h(
            "tr",
            null,
            h("th", { scope: "row", dir: "auto" }, one.name),
            h("td", null, number(one.articles)),
            h("td", null, added(one)),
          ),
        ),
      ),
    ),
  );
}

function added(outlet) {
  if (outlet.added === null) return "Opened the story";
  const share = `${percent(outlet.added)} of its text`;
  return outlet.only_copied ? `${share} (copies only)` : share;
}

function facts(story) {
  const names = new Set();
  const times = [];
  for (const version of story.versions) {
    names.add(sourceOf(version));
    for (const name of Object.keys(version.sources)) names.add(name);
    for (const one of [version, ...version.listed]) if (one.published) times.push(one.published);
  }
  times.sort();
  const span =
    times.length > 1 ? `${when(times[0])} to ${when(times[times.length - 1])}` : when(times[0]);
  names.delete(NO_SOURCE);
  return `${count(story.articles, "article")} · ${count(story.versions.length, "version")} · ${count(names.size, "source")} · ${span}`;
}

function counts(all) {
  if (!all.length) return null;
  return h(
    "dl",
    { class: "counts" },
    all.slice(0, 6).map((one) =>
      h(
        "div",
        null,
        h("dt", { dir: "auto" }, one.context),
        h(
          "dd",
          null,
          one.values.map((value, i) => [
            i > 0 && h("span", { class: "arrow", "aria-label": "then" }, "→"),
            h(i === one.values.length - 1 ? "b" : "span", null, value),
          ]),
        ),
      ),
    ),
  );
}

function node(version, i, first, latest, asked) {
  const title = titleOf(version);
  const open = version === latest || i === 0 || version.listed.some((copy) => copy.id === asked);
  return h(
    "li",
    { class: `node node-${version.kind}` },
    h(
      "div",
      { class: "node-time" },
      version.published
        ? [
            h("span", null, clock(version.published)),
            h("span", { class: "small" }, day(version.published)),
            i > 0 && h("span", { class: "delay" }, later(first.published, version.published)),
          ]
        : h("span", { class: "small" }, "no date"),
    ),
    h(
      "article",
      { class: "node-main" },
      h(
        "div",
        { class: "hit-head" },
        box(version, title),
        h(
          "h2",
          null,
          h("a", { href: to("article", { id: version.id }), class: "open", dir: "auto" }, title),
        ),
      ),
      h(
        "p",
        { class: "meta" },
        role(version.kind),
        source(version),
        version.follows &&
          compareLink(version.follows, version.id, "Compare with the version before"),
        outside(version.url, "Open"),
      ),
      changes(version.numbers),
      revisions(version.revisions),
      version.copies > 0 && copies(version, open),
      version.corrections.length > 0 &&
        h(
          "p",
          { class: "meta" },
          "Says that it corrects: ",
          version.corrections.map((one) =>
            h("a", { href: to("article", { id: one.id }), dir: "auto" }, titleOf(one)),
          ),
        ),
    ),
  );
}

function copies(version, open) {
  const sources = Object.entries(version.sources);
  return h(
    "details",
    { class: "node-copies", open },
    h(
      "summary",
      null,
      `+${count(version.copies, "copy", "copies")}`,
      h(
        "span",
        { class: "meta" },
        sources.length < 2 ? "" : `in ${count(sources.length, "source")}`,
      ),
    ),
    h(
      "ul",
      { class: "lines" },
      version.listed.map((copy) => line(copy, { since: version.published, leader: version.id })),
    ),
    version.copies > version.listed.length &&
      h(
        "p",
        { class: "meta" },
        `${number(version.copies - version.listed.length)} more: `,
        sources.map(([name, n]) => `${name} (${number(n)})`).join(", "),
      ),
  );
}

function partial(story) {
  if (!story.partial?.length) return null;
  return section(
    "Articles that hold a part of it",
    h(
      "ul",
      { class: "lines" },
      story.partial.map((one) =>
        h(
          "li",
          { class: "line" },
          h(
            "div",
            { class: "line-main" },
            h(
              "a",
              { href: to("article", { id: one.id }), class: "line-title", dir: "auto" },
              titleOf(one),
            ),
            h(
              "span",
              { class: "meta" },
              source(one),
              time(one.published),
              h(
                "span",
                null,
                `${percent(one.of_story)} of the story, ${percent(one.of_article)} of the article`,
              ),
              compareLink(story.story, one.id),
            ),
          ),
        ),
      ),
    ),
  );
}
