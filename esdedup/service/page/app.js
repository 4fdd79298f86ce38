// The frame around the views: addresses, the key, the keyboard.

import { forgetService, key } from "./api.js";
import { announce, failed, h, heading, loading } from "./dom.js";
import { go, here } from "./links.js";
import { onChange, show, undo } from "./picked.js";

const VIEWS = [
  "search",
  "story",
  "article",
  "compare",
  "revisions",
  "events",
  "event",
  "check",
  "status",
  "corrections",
];
const SINGLE_KEYS = "esdedup.single-keys";
const SLOW = 150; // below this a loading state only flickers

const main = document.getElementById("main");
let current = new AbortController();
let shownAt = "";

async function render({ focus = true } = {}) {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const { view, params } = here();
  mark(view);
  const waiting = setTimeout(() => main.replaceChildren(loading(view)), SLOW);
  main.setAttribute("aria-busy", "true");
  try {
    if (!VIEWS.includes(view))
      throw Object.assign(new Error("There is no such view."), { title: "Not found" });
    const module = await import(`./views/${view}.js`);
    const made = await module.render(params, signal, () => render({ focus: false }));
    if (!signal.aborted) put(made, focus);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    put(error.status === 401 ? keyForm(error) : failed(error, () => render()), true);
  } finally {
    clearTimeout(waiting);
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
}

function put(node, focus) {
  const top = window.scrollY;
  const moved = location.hash !== shownAt;
  main.replaceChildren(node);
  const title = main.querySelector("h1");
  document.title = title ? `${title.textContent} · esdedup` : "esdedup";
  if (focus && moved && shownAt) title?.focus({ preventScroll: true });
  window.scrollTo(0, moved ? 0 : top);
  if (moved) announce(document.title);
  shownAt = location.hash;
  main.dataset.shown = shownAt;
  document.getElementById("forget-key").hidden = !key.get();
  show();
}

function mark(view) {
  for (const link of document.querySelectorAll("nav a[data-view]")) {
    if (link.dataset.view.split(" ").includes(view)) {
      link.setAttribute("aria-current", "page");
      // On a phone the bar scrolls sideways.
      link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft - 40;
    } else link.removeAttribute("aria-current");
  }
}

function keyForm(problem) {
  const input = h("input", {
    type: "password",
    name: "key",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
  });
  return h(
    "form",
    {
      class: "stack key-form",
      onsubmit: (event) => {
        event.preventDefault();
        key.set(input.value.trim());
        forgetService();
        render();
      },
    },
    heading("A key is needed"),
    h(
      "p",
      null,
      problem.code === "wrong-key"
        ? "The key is not valid, or no longer."
        : "This service answers only to those who have a key.",
    ),
    h("label", null, h("span", null, "API key"), input),
    h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, "Use it")),
    h(
      "p",
      { class: "small" },
      "It stays in this tab until you close it, and is sent to this service alone.",
    ),
  );
}

document.getElementById("forget-key").addEventListener("click", () => {
  key.drop();
  forgetService();
  render();
});

// --- keyboard ------------------------------------------------------------------------------------

const SHORTCUTS = [
  ["/", "Search"],
  ["j", "Next result"],
  ["k", "Previous result"],
  ["Enter or o", "Open it"],
  ["x", "Show or hide its copies"],
  ["s", "Select it"],
  ["u", "Undo the last correction"],
  ["?", "This list"],
];

function singleKeys() {
  return localStorage.getItem(SINGLE_KEYS) !== "off";
}

const dialog = document.getElementById("keys-help");

function help() {
  const on = h("input", {
    type: "checkbox",
    checked: singleKeys(),
    onchange: (event) => localStorage.setItem(SINGLE_KEYS, event.target.checked ? "on" : "off"),
  });
  dialog.replaceChildren(
    h("h2", { id: "keys-title" }, "Keyboard"),
    h(
      "dl",
      { class: "keys" },
      SHORTCUTS.map(([name, what]) =>
        h("div", null, h("dt", null, h("kbd", null, name)), h("dd", null, what)),
      ),
    ),
    h("p", null, h("label", { class: "row" }, on, "Shortcuts of a single key")),
    h(
      "p",
      { class: "row" },
      h("button", { type: "button", class: "main", onclick: () => dialog.close() }, "Close"),
    ),
  );
  dialog.showModal();
}

document.getElementById("help").addEventListener("click", help);

function step(by) {
  const hits = [...main.querySelectorAll(".hit, .node, .timeline .line")].filter(
    (one) => one.offsetParent !== null,
  );
  if (!hits.length) return;
  const at = hits.findLastIndex((one) => one.contains(document.activeElement));
  const next = hits[Math.min(hits.length - 1, Math.max(0, at + by))];
  (next.querySelector("a.open, a.line-title") ?? next).focus();
  next.scrollIntoView({ block: "nearest" });
}

function active(selector) {
  return document.activeElement?.closest(".line, .hit, .node")?.querySelector(selector);
}

const KEYS = {
  "/": () => {
    const box = document.getElementById("q");
    if (box) box.select();
    else go("search");
    box?.focus();
  },
  j: () => step(1),
  k: () => step(-1),
  o: () => active("a.open, a.line-title")?.click(),
  x: () => active(".expand, summary")?.click(),
  s: () => active(".pick input")?.click(),
  u: () => undo(),
  "?": help,
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.(
    "input:not([type=checkbox]):not([type=radio]), textarea, select",
  );
  if (typing || event.ctrlKey || event.metaKey || event.altKey || dialog.open || !singleKeys())
    return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

onChange(() => render({ focus: false }));
window.addEventListener("hashchange", () => render());
render();
