// Articles picked to compare or to correct, and what was corrected last, with its undo.

import { ask, may } from "./api.js";
import { add, announce, h } from "./dom.js";
import { count } from "./format.js";
import { go, to } from "./links.js";

const picked = new Map();
const undone = []; // what can be taken back, the latest last
let again = () => {};

export function onChange(render) {
  again = render;
}

export function box(article, title) {
  return h(
    "label",
    { class: "pick" },
    h("input", {
      type: "checkbox",
      "data-id": article.id,
      checked: picked.has(article.id),
      onchange: (event) => pick(article.id, title, event.target.checked),
    }),
    h("span", { class: "unseen" }, `Select: ${title}`),
  );
}

function pick(id, title, on) {
  if (on) picked.set(id, title);
  else picked.delete(id);
  for (const input of document.querySelectorAll(".pick input"))
    if (input.dataset.id === id) input.checked = on;
  show();
}

export async function show() {
  const bar = document.getElementById("picked");
  bar.hidden = picked.size === 0;
  document.body.classList.toggle("has-picked", picked.size > 0);
  if (!picked.size) return bar.replaceChildren();
  const ids = [...picked.keys()];
  const writes = await may("write").catch(() => false);
  const two = ids.length === 2;
  bar.replaceChildren();
  return add(bar, [
    h("span", { class: "picked-count" }, count(ids.length, "article"), " selected"),
    h(
      "span",
      { class: "picked-buttons" },
      h(
        "button",
        { type: "button", disabled: !two, onclick: () => go("compare", { a: ids[0], b: ids[1] }) },
        "Compare",
      ),
      writes &&
        ids.length > 1 &&
        h("button", { type: "button", onclick: () => correct("merge", ids) }, "Join as copies"),
      writes &&
        ids.length > 1 &&
        h("button", { type: "button", onclick: () => correct("split", ids) }, "Keep apart"),
      writes &&
        ids.length === 1 &&
        h("button", { type: "button", onclick: () => correct("pin", ids) }, "Make original"),
      h("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
    ),
    ids.length === 1 &&
      h("span", { class: "picked-hint" }, "Select another one to compare or to join."),
  ]);
}

function clear() {
  picked.clear();
  for (const input of document.querySelectorAll(".pick input")) input.checked = false;
  show();
}

const DONE = {
  merge: "Now one group",
  split: "Now kept apart",
  pin: "Now the original",
};

export async function correct(what, ids) {
  const body = what === "pin" ? { id: ids[0] } : { ids };
  try {
    const done = await ask(`/v1/corrections/${what}`, { body });
    undone.push(done.said);
    clear();
    toast(`${DONE[what]}. ${moved(done.changed)}`, { undo: true });
    again();
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

// Constraints that a person set, without those that follow from them (`of`).
export function spoken(said) {
  return said.filter((one) => !one.of?.length);
}

export async function takeBack(said) {
  try {
    let changed = 0;
    for (const one of spoken(said))
      changed += (await ask("/v1/corrections/forget", { body: { ids: one.ids, kind: one.kind } }))
        .changed.length;
    const at = undone.indexOf(said);
    if (at >= 0) undone.splice(at, 1);
    toast(`Taken back. ${moved({ length: changed })}`);
    again();
  } catch (error) {
    toast(error.message, { bad: true });
  }
}

export function undo() {
  if (!undone.length) return announce("Nothing to undo");
  return takeBack(undone[undone.length - 1]);
}

function moved(changed) {
  return changed.length
    ? `${count(changed.length, "article")} changed place.`
    : "No article changed place.";
}

export function toast(text, { undo: withUndo = false, bad = false } = {}) {
  const shelf = document.getElementById("toasts");
  const note = h(
    "div",
    { class: bad ? "toast bad" : "toast" },
    h("span", null, text),
    withUndo &&
      h(
        "button",
        {
          type: "button",
          onclick: () => {
            note.remove();
            undo();
          },
        },
        "Undo",
      ),
    h(
      "button",
      { type: "button", class: "quiet", "aria-label": "Close", onclick: () => note.remove() },
      "×",
    ),
  );
  shelf.replaceChildren(note);
  // What can be undone stays until it is closed: nobody should have to be quick.
  if (!withUndo && !bad) setTimeout(() => note.remove(), 8_000);
}

export function compareLink(a, b, text = "Compare") {
  return h("a", { href: to("compare", { a, b }), class: "action" }, text);
}
