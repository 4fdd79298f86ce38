// What several views show: a role, a line about an article, changed counts.

import { h, outside, words } from "./dom.js";
import { count, DEGREES, later, NO_SOURCE, ROLES, sourceOf, titleOf, when } from "./format.js";
import { to } from "./links.js";
import { paragraphs } from "./paragraphs.js";
import { box, compareLink } from "./picked.js";

export function role(name) {
  return h("span", { class: `role role-${name}` }, ROLES[name] ?? name);
}

export function changes(numbers) {
  if (!numbers?.length) return null;
  return h(
    "ul",
    { class: "changes", "aria-label": "Changed facts" },
    numbers.map(([old, now, context]) =>
      h(
        "li",
        null,
        h("span", { class: "old" }, old),
        h("span", { class: "arrow", "aria-label": "became" }, "→"),
        h("b", null, now),
        context && h("span", { class: "context", dir: "auto" }, context),
      ),
    ),
  );
}

// What the versions of articles changed, the latest first.
export function revisions(all) {
  if (!all?.length) return null;
  return h(
    "ul",
    { class: "revised", "aria-label": "Revisions" },
    [...all].reverse().map((one) =>
      h(
        "li",
        null,
        h(
          "p",
          { class: "meta" },
          h("span", { class: "role role-update" }, `revised: ${DEGREES[one.degree] ?? one.degree}`),
          time(one.at),
          h("a", { href: to("revisions", { id: one.id }) }, "Show the versions"),
        ),
        changes(one.numbers),
      ),
    ),
  );
}

export function source(article) {
  const name = sourceOf(article);
  return h("span", { class: name === NO_SOURCE ? "no-source" : "source", dir: "auto" }, name);
}

// Who published a story first, whose text it is, and how many wrote their own.
export function originOf({ origin, agency, independent }) {
  return [
    `First: ${sourceOf(origin)}`,
    agency && `Agency: ${agency}`,
    count(independent, "independent report"),
  ]
    .filter(Boolean)
    .join(" · ");
}

export function time(text) {
  return h("time", { datetime: text || null }, when(text));
}

// One article in a list of copies: source, time, how much later, and what can be done with it.
export function line(article, { since, leader, more } = {}) {
  const title = titleOf(article);
  return h(
    "li",
    { class: "line" },
    box(article, title),
    h(
      "div",
      { class: "line-main" },
      h("a", { href: to("article", { id: article.id }), class: "line-title", dir: "auto" }, title),
      h(
        "span",
        { class: "meta" },
        article.role && role(article.role),
        source(article),
        time(article.published),
        since &&
          article.published &&
          since !== article.published &&
          h("span", { class: "delay" }, later(since, article.published)),
        leader && leader !== article.id && compareLink(leader, article.id),
        article.role === "update" && compareLink(article.id),
        outside(article.url, "Open"),
      ),
      more,
    ),
  );
}

export function text(article) {
  return h(
    "div",
    { class: "prose" },
    paragraphs(article.text || "").map((part) => words("p", part, { lang: article.lang })),
  );
}

export function section(title, ...children) {
  return h("section", { class: "block" }, h("h2", null, title), children);
}
