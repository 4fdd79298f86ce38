// One article under one id: its versions, what each of them changed, and two of them in one text.

import { ask } from "../api.js";
import { h, heading } from "../dom.js";
import { count, DEGREES, titleOf, when } from "../format.js";
import { go, to } from "../links.js";
import { joined } from "../paragraphs.js";
import { changes, section } from "../parts.js";

const LEGEND = [
  ["removed", "only in the earlier version"],
  ["added", "only in the later version"],
  ["moved", "moved"],
];

export async function render(params, signal) {
  const id = params.get("id");
  const found = await ask("/v1/revisions", {
    params: { id, old: params.get("old"), new: params.get("new") },
    signal,
  });
  const { versions, comparison } = found;
  const latest = versions[versions.length - 1];
  return h(
    "div",
    { class: "revisions" },
    h("p", { class: "kicker" }, "Revisions"),
    heading(titleOf({ title: latest.title, id })),
    h(
      "p",
      { class: "summary" },
      versions.length > 1
        ? `${count(versions.length, "version")} under one id, the latest first`
        : "One version: the text has not changed since it was stored.",
    ),
    h("p", { class: "meta" }, h("a", { href: to("article", { id }) }, "Show the article")),
    comparison && [
      h(
        "ol",
        { class: "versions", reversed: true, "aria-label": "Versions" },
        versions.map((version) => entry(version, id, comparison)).reverse(),
      ),
      section(
        `Version ${comparison.old} compared with version ${comparison.new}`,
        versions.length > 2 && chooser(id, versions, comparison),
        legend(comparison.spans),
        h("div", { class: "panel-text passages", dir: "auto" }, passages(comparison.spans)),
        comparison.cut && h("p", { class: "meta" }, "Longer texts are compared up to here."),
      ),
    ],
    h("p", { class: "small id" }, "Id ", h("code", null, id)),
  );
}

function entry({ number, since, title, words, note, revision }, id, { old, new: now }) {
  const shown = old === number - 1 && now === number;
  return h(
    "li",
    { class: "version", value: number },
    h("h2", null, `Version ${number}`, h("span", { class: "small" }, since ? when(since) : "the oldest kept")),
    h("p", { dir: "auto" }, title),
    h(
      "p",
      { class: "meta" },
      revision && degree(revision),
      h("span", null, count(words, "word")),
      revision &&
        h(
          "a",
          {
            href: to("revisions", { id, old: number - 1, new: number }),
            "aria-current": shown ? "true" : null,
          },
          "Compare with the version before",
        ),
    ),
    revision && changes(revision.numbers),
    note && h("p", { class: "note-text", dir: "auto" }, note),
  );
}

export function degree(revision) {
  return h("span", { class: "role role-update" }, DEGREES[revision.degree] ?? revision.degree);
}

function chooser(id, versions, comparison) {
  const choice = (from, chosen) =>
    h(
      "select",
      null,
      from.map(({ number, since }) =>
        h(
          "option",
          { value: number, selected: number === chosen },
          `${number}${since ? ` · ${when(since)}` : ""}`,
        ),
      ),
    );
  const first = choice(versions.slice(0, -1), comparison.old);
  const second = choice(versions.slice(1), comparison.new);
  return h(
    "form",
    {
      class: "row choose-versions",
      onsubmit: (event) => {
        event.preventDefault();
        const pair = [Number(first.value), Number(second.value)].sort((a, b) => a - b);
        if (pair[0] !== pair[1]) go("revisions", { id, old: pair[0], new: pair[1] });
      },
    },
    h("label", null, h("span", null, "Earlier version"), first),
    h("label", null, h("span", null, "Later version"), second),
    h("button", { type: "submit" }, "Compare"),
  );
}

function legend(spans) {
  const there = new Set(spans.map((span) => span.kind));
  if (there.has("changed")) for (const kind of ["removed", "added"]) there.add(kind);
  return h(
    "ul",
    { class: "legend", "aria-label": "Colours" },
    LEGEND.filter(([kind]) => there.has(kind)).map(([kind, text]) =>
      h("li", null, h("span", { class: `mark ${kind}` }, text)),
    ),
  );
}

// One text: what was removed stands before what came in its place.
function passages(spans) {
  const parts = spans.flatMap(({ kind, old, new: now }) => {
    if (kind === "equal" || kind === "moved") return [{ kind, text: now }];
    return [
      { kind: "removed", text: old },
      { kind: "added", text: now },
    ].filter((part) => part.text.trim());
  });
  const texts = joined(parts.map((part) => part.text));
  return parts.map(({ kind }, i) => {
    const text = texts[i].replace(/\n+/g, "\n\n");
    const core = text.trimEnd();
    const tag = { removed: "del", added: "ins" }[kind] ?? "span";
    const element = h(tag, { class: kind === "equal" ? "equal" : `mark ${kind}` }, core);
    return [element, text.slice(core.length) || " "];
  });
}
