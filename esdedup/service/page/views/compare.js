// Two articles side by side: what both have, what changed, what moved, and why that is one story or not.

import { ask, may } from "../api.js";
import { h, heading, outside } from "../dom.js";
import { count, percent, titleOf } from "../format.js";
import { go, to } from "../links.js";
import { changes, role, section, source, time } from "../parts.js";
import { joined } from "../paragraphs.js";
import { columns } from "../passages.js";
import { box, correct } from "../picked.js";

const LEGEND = [
  ["equal", "in both"],
  ["changed", "changed"],
  ["removed", "only in the earlier one"],
  ["added", "only in the later one"],
  ["moved", "moved"],
];

export async function render(params, signal) {
  const a = params.get("a");
  const b = params.get("b");
  if (!a) return h("div", { class: "compare" }, heading("Compare two articles"), chooser(a, b));
  const found = await ask("/v1/explain", { params: { id: a, other: b }, signal });
  const [old, now] = await Promise.all(
    [found.old, found.new].map((id) => ask("/v1/articles", { params: { id }, signal })),
  );
  const sides = columns(found.spans, texts(old.document));
  return h(
    "div",
    { class: "compare" },
    h("p", { class: "kicker" }, "Compare"),
    heading(headline(found)),
    evidence(found, old, now),
    (await may("write", signal)) &&
      h(
        "p",
        { class: "actions" },
        h(
          "button",
          { type: "button", onclick: () => correct("merge", [found.old, found.new]) },
          "Join as copies",
        ),
        h(
          "button",
          { type: "button", onclick: () => correct("split", [found.old, found.new]) },
          "Keep apart",
        ),
        h(
          "button",
          { type: "button", onclick: () => correct("pin", [found.new]) },
          "Make the later one the original",
        ),
      ),
    legend(found.spans),
    h(
      "div",
      { class: "sides" },
      side(old, "Earlier", sides.old, "old"),
      side(now, "Later", sides.now, "new"),
    ),
    found.cut && h("p", { class: "meta" }, "Longer texts are compared up to here."),
    chooser(a, b),
  );
}

function texts(document) {
  const title = (document.title || "").trim();
  const body = (document.text || "").trim();
  return [title && body ? `${title}\n${body}` : title || body, body];
}

// A longer version holds most of the earlier text.
const MOST = 0.5;

export function headline(found) {
  const { verdict, reason, of_old: ofOld, of_new: ofNew } = found.evidence;
  if (found.rule.startsWith("not compared"))
    return Math.max(ofOld, ofNew) < MOST
      ? "Too little in common to be one story"
      : "Alike in part, but not found to be one story";
  if (verdict === "duplicate") return "The later article is a copy of the earlier one";
  if (verdict !== "update") return "Two different articles";
  if (reason !== "extended") return "The later article updates the earlier one";
  return ofOld >= MOST
    ? "The later article is a longer version of the earlier one"
    : "The later article is longer, and holds a part of the earlier one";
}

function evidence(found, old, now) {
  const seen = found.evidence;
  const spoken = found.decision.method === "said";
  const keys = Object.entries(found.keys).map(
    ([method, one]) =>
      `${one.shared} of ${one.of} ${method} keys shared; ${one.needed} are enough to look closer.`,
  );
  const limit = seen.thresholds?.min_overlap;
  return h(
    "div",
    { class: "panel evidence" },
    h(
      "ul",
      null,
      h(
        "li",
        null,
        h("b", null, percent(seen.of_old)),
        ` of the earlier text is in the later one, and `,
        h("b", null, percent(seen.of_new)),
        " of the later text is in the earlier one.",
      ),
      limit !== undefined &&
        h(
          "li",
          null,
          `The measure (${seen.measure}) is ${seen.overlap.toFixed(3)}; more than ${limit} makes a copy.`,
        ),
      keys.map((text) => h("li", null, text)),
      seen.numbers.length
        ? h(
            "li",
            null,
            `${count(seen.numbers.length, seen.reason === "numbers" ? "count" : "fact")} changed in the same context:`,
            changes(seen.numbers),
          )
        : h("li", null, "No count changed in the same context."),
      found.names.length > 0 &&
        h("li", { dir: "auto" }, `Names in both: ${found.names.slice(0, 12).join(", ")}.`),
      old.decision.group === now.decision.group &&
        h("li", null, "They are in one group now", grouped(found, spoken), "."),
      found.runner_up &&
        h(
          "li",
          null,
          "Also looked at: ",
          h("a", { href: to("article", { id: found.runner_up.other }) }, found.runner_up.other),
          `; ${found.runner_up.why}.`,
        ),
    ),
    h("p", { class: "small" }, "Rule: ", found.rule),
  );
}

// Why two articles are in one group though the texts alone say otherwise.
function grouped(found, spoken) {
  if (spoken) return ", because a person joined them";
  return found.evidence.verdict === "duplicate" ? "" : ", each as a copy of a third article";
}

function legend(spans) {
  const there = new Set(spans.map((span) => span.kind));
  return h(
    "ul",
    { class: "legend", "aria-label": "Colours" },
    LEGEND.filter(([kind]) => there.has(kind)).map(([kind, text]) =>
      h("li", null, h("span", { class: `mark ${kind}` }, text)),
    ),
  );
}

function side({ document: article, decision }, label, parts, which) {
  const title = titleOf(article);
  return h(
    "section",
    { class: "side", "aria-label": `${label} article` },
    h(
      "header",
      null,
      h("p", { class: "kicker" }, label),
      h("h2", null, h("a", { href: to("article", { id: article.id }), dir: "auto" }, title)),
      h(
        "p",
        { class: "meta" },
        box(article, title),
        role(decision.role),
        source(article),
        time(article.published),
        outside(article.url, "Open"),
      ),
    ),
    h(
      "div",
      { class: "passages", dir: "auto", lang: article.lang || null },
      unbroken(parts).map((part) => passage(part, which)),
    ),
  );
}

function unbroken(parts) {
  const texts = joined(parts.map((part) => part.text));
  return parts.map((part, i) => ({ ...part, text: texts[i] }));
}

// White space after a passage is not marked, and paragraphs stand apart.
function passage(part, which) {
  const text = part.text.replace(/\n+/g, "\n\n");
  const core = text.trimEnd();
  return [marked({ ...part, text: core }, which), text.slice(core.length)];
}

function marked(part, which) {
  if (part.kind === "equal") return h("span", { class: "equal" }, part.text);
  if (part.kind === "moved")
    return h(
      "span",
      {
        class: "mark moved",
        "data-moved": part.number,
        title: which === "old" ? "moved in the later one" : "stands elsewhere in the earlier one",
      },
      h("sup", { class: "moved-number" }, `↕${part.number} `),
      part.text,
    );
  const tag = which === "old" ? "del" : "ins";
  const title =
    part.kind === "changed"
      ? `${which === "old" ? "now" : "was"}: ${part.other.trim().slice(0, 200)}`
      : null;
  return h(tag, { class: `mark ${part.kind}`, title }, part.text);
}

function chooser(a, b) {
  const first = h("input", { name: "a", value: a ?? "", required: true, autocomplete: "off" });
  const second = h("input", { name: "b", value: b ?? "", autocomplete: "off" });
  return section(
    a ? "Compare others" : "By their ids",
    h(
      "form",
      {
        class: "stack",
        onsubmit: (event) => {
          event.preventDefault();
          go("compare", { a: first.value.trim(), b: second.value.trim() });
        },
      },
      h("label", null, h("span", null, "Id of an article"), first),
      h(
        "label",
        null,
        h("span", null, "Id of another; left empty, the one it was linked to"),
        second,
      ),
      h("button", { type: "submit", class: a ? "own" : "own main" }, "Compare"),
    ),
    !a &&
      h("p", { class: "meta" }, "Or tick two articles in a search or a story, and choose Compare."),
  );
}
