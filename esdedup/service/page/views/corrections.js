// Constraints that people set, the latest first, each with its undo.

import { ask, askAll, may } from "../api.js";
import { empty, h, heading } from "../dom.js";
import { count, titleOf } from "../format.js";
import { to } from "../links.js";
import { time } from "../parts.js";
import { compareLink, spoken, takeBack } from "../picked.js";

const KINDS = { same: "always the same", different: "never the same", original: "is the original" };

export async function render(params, signal) {
  const [all, writes] = await Promise.all([
    askAll("/v1/corrections", ["said"], { signal }),
    may("write", signal),
  ]);
  const said = spoken(all.said).sort((a, b) => (b.at ?? "").localeCompare(a.at ?? ""));
  const shown = said.slice(0, 100);
  const titles = await named(shown, signal);
  return h(
    "div",
    { class: "corrections" },
    heading("Corrections"),
    h(
      "p",
      { class: "summary" },
      "Constraints that people set on groups. Each holds until it is removed.",
    ),
    said.length
      ? h("p", { class: "meta" }, count(said.length, "correction"))
      : empty(
          "Nothing was corrected",
          "Tick articles in a search or a story, and join them, keep them apart, or make one the original.",
        ),
    h(
      "ul",
      { class: "hits" },
      shown.map((one) => item(one, titles, writes)),
    ),
  );
}

async function named(said, signal) {
  const titles = new Map();
  await Promise.all(
    [...new Set(said.flatMap((one) => one.ids))].map(async (id) => {
      try {
        titles.set(id, titleOf((await ask("/v1/articles", { params: { id }, signal })).document));
      } catch (error) {
        if (error.status !== 404) throw error;
      }
    }),
  );
  return titles;
}

function item(one, titles, writes) {
  const link = (id) => h("a", { href: to("article", { id }), dir: "auto" }, titles.get(id) ?? id);
  return h(
    "li",
    { class: "hit correction" },
    h(
      "div",
      { class: "line-main" },
      one.ids.map((id) => h("p", { class: "said" }, link(id))),
      h(
        "p",
        { class: "meta" },
        h("span", { class: "role" }, KINDS[one.kind]),
        one.by && h("span", { dir: "auto" }, one.by),
        one.at && time(one.at),
        one.note && h("span", { dir: "auto" }, one.note),
        one.ids.length === 2 && compareLink(...one.ids),
      ),
    ),
    writes && h("button", { type: "button", onclick: () => takeBack([one]) }, "Undo"),
  );
}
