// How the store is: roles over time, who is copied, what could not be read.

import { ask, may, service } from "../api.js";
import { shares, stacked } from "../charts.js";
import { empty, h, heading } from "../dom.js";
import { count, day, number, shortDay } from "../format.js";
import { here, to } from "../links.js";
import { section } from "../parts.js";
import { toast } from "../picked.js";

const KINDS = [
  ["original", "originals"],
  ["update", "updates"],
  ["duplicate", "copies"],
];
const MAY = { read: "read", write: "read and write", admin: "read, write and keep house" };
const BUCKETS = 14;
const GROUPS = 200;

export async function render(params, signal, again) {
  const [stats, about, quarantine] = await Promise.all([
    ask("/v1/stats", { signal }),
    service(signal),
    ask("/v1/quarantine", { params: { size: 50 }, signal }),
  ]);
  const roles = h("div", null, h("p", { class: "meta" }, "Counting …"));
  const copied = h("div", null, h("p", { class: "meta" }, "Counting …"));
  later(roles, overTime(signal));
  later(copied, sources(signal));
  return h(
    "div",
    { class: "status" },
    heading("Status"),
    figures(stats),
    section("Roles over time", roles),
    section("Top sources", copied),
    section("Quarantine", await failures(quarantine, again, signal)),
    h(
      "p",
      { class: "small" },
      `esdedup ${about.version} · methods: ${about.methods.join(", ")} · ${about.key ? `key ${about.key}` : "no keys"}: may ${MAY[about.scope]}`,
    ),
  );
}

// Counting reads the whole store: the rest of the view does not wait for it.
async function later(place, made) {
  try {
    place.replaceChildren(...[await made].flat());
  } catch (error) {
    if (error.name !== "AbortError")
      place.replaceChildren(h("p", { class: "failed", role: "alert" }, error.message));
  }
}

function figures(stats) {
  const { roles } = stats;
  const shown = [
    ["Articles", stats.documents],
    ["Stories", stats.stories],
    ["Originals", roles.original],
    ["Updates", roles.update],
    ["Copies", roles.duplicate],
    ["Quarantine", stats.quarantine],
  ];
  return h(
    "dl",
    { class: "figures" },
    shown.map(([name, value]) =>
      h("div", null, h("dt", null, name), h("dd", null, number(value ?? 0))),
    ),
  );
}

async function overTime(signal) {
  const filters = { role: KINDS.map(([name]) => name) };
  const edge = async (sort) =>
    (
      await ask("/v1/search", {
        body: { mode: "all", filters, sort: [sort], size: 1, total: "none", since: "1970-01-02" },
        signal,
      })
    ).hits[0]?.published;
  const [first, last] = await Promise.all([edge("published"), edge("-published")]);
  if (!first || !last) return empty("No dated articles");
  const buckets = split(Date.parse(first), Date.parse(last));
  for (const bucket of buckets) {
    const found = await ask("/v1/search", {
      body: {
        mode: "all",
        size: 0,
        total: "none",
        since: bucket.since,
        until: bucket.until,
        facets: ["role"],
      },
      signal,
    });
    bucket.values = Object.fromEntries(
      found.facets[0].buckets.map((one) => [one.value, one.articles]),
    );
  }
  return [
    h(
      "ul",
      { class: "legend" },
      KINDS.map(([name, text]) =>
        h("li", null, h("span", { class: `swatch swatch-${name}`, "aria-hidden": "true" }), text),
      ),
    ),
    h(
      "div",
      { class: "wide" },
      stacked(buckets, KINDS, `Articles by role from ${day(first)} to ${day(last)}`),
    ),
    h(
      "details",
      null,
      h("summary", null, "As a table"),
      h("div", { class: "wide" }, table(buckets)),
    ),
  ];
}

// Whole days, so many to a bar that there are at most BUCKETS bars.
function split(first, last) {
  const length = 86_400_000;
  const start = Math.floor(first / length);
  const days = Math.floor(last / length) - start + 1;
  const step = Math.ceil(days / BUCKETS);
  const out = [];
  for (let at = start; at < start + days; at += step) {
    const since = new Date(at * length).toISOString();
    out.push({
      since,
      until: new Date((at + step) * length).toISOString(),
      label: shortDay(since),
    });
  }
  return out;
}

function table(buckets) {
  return h(
    "table",
    null,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, "From"),
        KINDS.map(([, text]) => h("th", { scope: "col" }, text)),
      ),
    ),
    h(
      "tbody",
      null,
      buckets.map((bucket) =>
        h(
          "tr",
          null,
          h("th", { scope: "row" }, bucket.label),
          KINDS.map(([name]) => h("td", null, number(bucket.values[name] ?? 0))),
        ),
      ),
    ),
  );
}

async function sources(signal) {
  const [groups, copying] = await Promise.all([
    ask("/v1/groups", { params: { size: GROUPS }, signal }),
    ask("/v1/search", {
      body: {
        mode: "all",
        size: 0,
        total: "none",
        filters: { role: ["duplicate"] },
        facets: ["source"],
      },
      signal,
    }),
  ]);
  const copied = new Map();
  for (const group of groups.groups)
    if (group.source) copied.set(group.source, (copied.get(group.source) ?? 0) + group.size - 1);
  const most = [...copied].sort((a, b) => b[1] - a[1]).slice(0, 8);
  if (!most.length) return empty("No copies yet");
  const some = groups.groups.length === GROUPS ? `, in the ${number(GROUPS)} largest groups` : "";
  return h(
    "div",
    { class: "two" },
    h(
      "div",
      null,
      h("h3", null, "Copied most", h("span", { class: "meta" }, `copies of their articles${some}`)),
      shares(most, "Copies of articles by source"),
    ),
    h(
      "div",
      null,
      h("h3", null, "Copying most", h("span", { class: "meta" }, "copies published")),
      shares(
        copying.facets[0].buckets.slice(0, 8).map((one) => [one.value, one.articles]),
        "Copies published by source",
      ),
    ),
  );
}

async function failures(quarantine, again, signal) {
  if (!quarantine.total) return h("p", { class: "meta" }, "Empty: every article could be read.");
  const allowed = await may("admin", signal);
  const button = h(
    "button",
    { type: "button", onclick: () => retry(button, again) },
    "Try them again",
  );
  return [
    h(
      "p",
      { class: "row" },
      `${count(quarantine.total, "article")} could not be read.`,
      allowed && button,
    ),
    h(
      "ul",
      { class: "lines" },
      quarantine.failures.map((one) =>
        h(
          "li",
          { class: "line" },
          h(
            "div",
            { class: "line-main" },
            h("span", { class: "line-title", dir: "auto" }, one.where || one.id),
            h(
              "span",
              { class: "meta" },
              h("span", null, one.reason),
              one.final && h("span", null, "not tried again"),
              h("a", { href: to("article", { id: one.id }) }, "Article"),
            ),
          ),
        ),
      ),
    ),
    quarantine.total > quarantine.failures.length &&
      h(
        "p",
        { class: "meta" },
        `and ${number(quarantine.total - quarantine.failures.length)} more`,
      ),
  ];
}

async function retry(button, again) {
  button.disabled = true;
  button.textContent = "Trying …";
  try {
    const done = await ask("/v1/quarantine/retry", { body: {} });
    toast(retried(done));
  } catch (error) {
    toast(error.message, { bad: true });
  }
  if (here().view === "status") again();
}

function retried({ tried, succeeded }) {
  return tried
    ? `${number(succeeded)} of ${count(tried, "article")} could be read now.`
    : "None of them can be tried again.";
}
