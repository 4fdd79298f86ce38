// One article, what was decided about it and why, and what else is like it.

import { ask } from "../api.js";
import { h, heading, outside } from "../dom.js";
import { count, percent, sourceOf, titleOf } from "../format.js";
import { to } from "../links.js";
import { changes, line, revisions, role, section, source, text, time } from "../parts.js";
import { box, compareLink } from "../picked.js";

export async function render(params, signal) {
  const id = params.get("id");
  const {
    document: article,
    decision,
    words,
    note,
    revisions: revised,
  } = await ask("/v1/articles", { params: { id }, signal });
  const first = decision.evidence[0];
  const other = first ? await known(first.other, signal) : null;
  const place = h("div");
  similar(id, place, signal);
  return h(
    "div",
    { class: "article" },
    h("p", { class: "kicker" }, "Article"),
    heading(titleOf(article), { lang: article.lang || null }),
    h(
      "p",
      { class: "meta" },
      box(article, titleOf(article)),
      role(decision.role),
      source(article),
      time(article.published),
      h("span", null, count(words, "word")),
      outside(article.url, "Open"),
    ),
    verdict(decision, first, other),
    note && h("p", { class: "note-text", dir: "auto" }, note),
    revisions(revised),
    text(article),
    place,
    h("p", { class: "small id" }, "Id ", h("code", null, article.id)),
  );
}

// It may be deleted by now.
async function known(id, signal) {
  try {
    return (await ask("/v1/articles", { params: { id }, signal })).document;
  } catch (error) {
    if (error.status === 404) return { id };
    throw error;
  }
}

function verdict(decision, first, compared) {
  const story = h(
    "a",
    { href: to("story", { id: decision.id }), class: "action" },
    "Show the story",
  );
  if (!first)
    return h(
      "div",
      { class: "panel" },
      h(
        "p",
        null,
        decision.role === "unprocessed"
          ? "It could not be read, and counts as an original."
          : "No other article shares enough with it: it is new.",
      ),
      h("p", { class: "meta" }, story),
    );
  return h(
    "div",
    { class: "panel" },
    h("p", null, sentence(decision, first, compared)),
    changes(first.numbers),
    h("p", { class: "meta" }, compareLink(first.other, decision.id), story),
  );
}

function sentence(decision, first, compared) {
  const other = h(
    "a",
    { href: to("article", { id: first.other }), dir: "auto" },
    `“${titleOf(compared)}”`,
  );
  const shared = `It shares ${percent(first.of_new)} of its text with it, which is ${percent(first.of_old)} of the other.`;
  if (decision.role === "duplicate")
    return ["A copy of ", other, ` (${sourceOf(compared)}). `, shared];
  if (decision.role === "update")
    return ["An update of ", other, ` (${sourceOf(compared)}). `, shared];
  return [
    "New. Closest was ",
    other,
    `: ${percent(first.overlap)} (${first.measure}), not enough.`,
  ];
}

// Comes after the article: reading should not wait for it.
async function similar(id, place, signal) {
  try {
    const found = await ask("/v1/similar", { params: { id, size: 5 }, signal });
    const shown = found.similar.map((one) => line(one, { more: why(one) }));
    if (shown.length)
      place.replaceChildren(section("Similar news", h("ul", { class: "lines" }, shown)));
  } catch (error) {
    if (error.name !== "AbortError")
      place.replaceChildren(section("Similar news", h("p", { class: "meta" }, error.message)));
  }
}

function why(one) {
  const shared = [...new Set([...(one.entities ?? []), ...(one.terms ?? [])])].slice(0, 6);
  return shared.length ? h("span", { class: "shared", dir: "auto" }, shared.join(" · ")) : null;
}
