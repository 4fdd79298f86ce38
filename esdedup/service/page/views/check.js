// Check a text without storing it: new, a copy, an update, or with passages of others in it.

import { ask, service } from "../api.js";
import { announce, failed, h, heading, loading, words } from "../dom.js";
import { count, number, percent, titleOf } from "../format.js";
import { to } from "../links.js";
import { changes, section, source } from "../parts.js";

const COPIES = 20;
// Survives a look at another view, not a reload: a text that is checked may not be public yet.
const draft = { title: "", text: "" };

export async function render(params, signal) {
  const about = await service(signal);
  const place = h("div", { class: "verdict", "aria-live": "polite" });
  const title = h("input", { name: "title", value: draft.title, autocomplete: "off", dir: "auto" });
  const area = h("textarea", {
    name: "text",
    rows: 12,
    dir: "auto",
    required: true,
    "aria-describedby": "drop-hint",
  });
  area.value = draft.text;
  title.addEventListener("input", () => {
    draft.title = title.value;
  });
  area.addEventListener("input", () => {
    draft.text = area.value;
  });
  const file = h("input", {
    type: "file",
    class: "unseen",
    id: "file",
    accept: ".txt,.md,.html,.htm,text/plain,text/html",
  });
  const take = async (one) => {
    const article = await readFile(one, about.body_bytes, place);
    if (!article) return;
    if (article.text !== undefined) {
      area.value = article.text;
      draft.text = article.text;
    }
    check(article, place, signal);
  };
  file.addEventListener("change", () => {
    if (file.files[0]) take(file.files[0]);
  });
  const form = h(
    "form",
    {
      class: "stack drop",
      onsubmit: (event) => {
        event.preventDefault();
        check({ title: title.value || undefined, text: area.value }, place, signal);
      },
    },
    h("label", null, h("span", null, "Headline, if there is one"), title),
    h("label", null, h("span", null, "Text"), area),
    h(
      "div",
      { class: "row" },
      h("button", { type: "submit", class: "main" }, "Check"),
      file,
      h("label", { for: "file", class: "button" }, "Choose a file"),
      h("span", { class: "meta", id: "drop-hint" }, "or drop one here: text or HTML"),
    ),
  );
  dropping(form, take);
  return h(
    "div",
    { class: "check" },
    heading("Check a text"),
    h("p", { class: "summary" }, "Is it new? Nothing is stored."),
    form,
    place,
  );
}

function dropping(form, take) {
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

// A page goes as bytes in Base64: its encoding is the service's to find out.
async function readFile(file, most, place) {
  if ((file.size * 4) / 3 > most) {
    place.replaceChildren(
      failed({
        title: "Too large",
        message: `${file.name} has ${number(file.size)} bytes; the service takes ${number(Math.floor((most * 3) / 4))}.`,
      }),
    );
    return null;
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const begin = new TextDecoder().decode(bytes.slice(0, 2_000)).trimStart().toLowerCase();
  const isPage =
    /\.html?$/i.test(file.name) || begin.startsWith("<!doctype html") || begin.startsWith("<html");
  if (!isPage) return { text: new TextDecoder().decode(bytes) };
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000)
    binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return { html: btoa(binary) };
}

async function check(article, place, signal) {
  place.replaceChildren(loading("verdict"));
  try {
    const [decision, found] = await Promise.all([
      ask("/v1/check", { body: article, signal }),
      ask("/v1/copies", { params: { size: COPIES }, body: article, signal }),
    ]);
    const first = decision.evidence[0];
    const linked = ["duplicate", "update"].includes(decision.role);
    const other = linked
      ? (await ask("/v1/articles", { params: { id: first.other }, signal })).document
      : null;
    place.replaceChildren(
      verdict(decision, first, other, found.copies),
      containing(found, article.text),
    );
    announce(place.querySelector("h2").textContent);
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(failed(error));
  }
}

function verdict(decision, first, other, copies) {
  const link =
    other && h("a", { href: to("story", { id: other.id }), dir: "auto" }, titleOf(other));
  if (decision.role === "unprocessed")
    return panel(
      "unprocessed",
      "It cannot be read",
      h("p", null, decision.reason || "No article text was found in it."),
    );
  if (decision.role === "original") {
    return copies.length
      ? panel(
          "contains",
          "New, with passages of others in it",
          h("p", null, "It is no copy as a whole. What it shares stands below."),
        )
      : panel("original", "New", h("p", null, "No stored article shares a passage with it."));
  }
  const shared = h(
    "p",
    null,
    `${percent(first.of_new)} of this text is in that article, and ${percent(first.of_old)} of that article is in this text.`,
  );
  const where = h("p", { class: "meta" }, source(other));
  return decision.role === "duplicate"
    ? panel("duplicate", ["Copy of ", link], where, shared)
    : panel("update", ["Update of ", link], where, changes(first.numbers), shared);
}

function panel(kind, title, ...more) {
  return h("div", { class: `panel verdict-${kind}` }, h("h2", null, title), more);
}

function containing({ copies, total }, text) {
  if (!copies.length) return "";
  const shown = h("div", { class: "prose marked" });
  const show = (copy) => shown.replaceChildren(...marked(text, copy.passages));
  if (text) show(copies[0]);
  return section(
    "Contains",
    h(
      "ul",
      { class: "lines" },
      copies.map((copy, i) => {
        const id = `copy-${i}`;
        return h(
          "li",
          { class: "line" },
          text &&
            h("input", {
              type: "radio",
              name: "shown",
              id,
              checked: i === 0,
              onchange: () => show(copy),
              "aria-label": `Mark the passages of ${titleOf(copy)}`,
            }),
          h(
            "div",
            { class: "line-main" },
            h(
              "a",
              { href: to("article", { id: copy.id }), class: "line-title", dir: "auto" },
              titleOf(copy),
            ),
            h(
              "span",
              { class: "meta" },
              source(copy),
              `${count(copy.words, "word")} in ${count(copy.passages.length, "passage")}: ${percent(copy.of_there)} of the article, ${percent(copy.of_here)} of this text`,
            ),
          ),
        );
      }),
    ),
    total > copies.length &&
      h("p", { class: "meta" }, `and ${number(total - copies.length)} more`),
    text && shown,
  );
}

// Places count characters, not the halves that JavaScript counts.
function marked(text, passages) {
  const letters = Array.from(text.trim());
  const out = [];
  let at = 0;
  for (const { here } of [...passages].sort((a, b) => a.here[0] - b.here[0])) {
    const start = Math.max(at, here[0]);
    out.push(
      words("span", letters.slice(at, start).join("")),
      words("mark", letters.slice(start, here[1]).join("")),
    );
    at = Math.max(at, here[1]);
  }
  out.push(words("span", letters.slice(at).join("")));
  return out;
}
