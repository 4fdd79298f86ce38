// Elements from data. Texts of others become text nodes and nothing else: no markup is ever parsed.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

// Only the web: an address of another kind (javascript:, data:) stays plain text.
export function outside(url, text) {
  let found = null;
  try {
    found = new URL(url);
  } catch {
    return null;
  }
  if (!["http:", "https:"].includes(found.protocol)) return null;
  return h(
    "a",
    { href: found.href, target: "_blank", rel: "noopener noreferrer external", class: "outside" },
    text,
  );
}

// Words of an article: their own direction, and their own language for readers aloud.
export function words(tag, text, { lang, ...props } = {}) {
  return h(tag, { dir: "auto", lang: lang || null, ...props }, text);
}

export function announce(text) {
  document.getElementById("said").textContent = text;
}

export function loading(what) {
  const bars = Array.from({ length: 3 }, () =>
    h("div", { class: "bone", "aria-hidden": "true" }, h("i"), h("i"), h("i")),
  );
  return h(
    "div",
    { class: "loading", role: "status" },
    h("span", { class: "unseen" }, `Loading ${what}`),
    bars,
  );
}

export function empty(title, ...more) {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "empty-title" }, title),
    more.map((one) => (one instanceof Node ? one : h("p", null, one))),
  );
}

export function failed(error, again) {
  return h(
    "div",
    { class: "failed", role: "alert" },
    h("h1", { tabindex: "-1" }, error.title || "This did not work"),
    h("p", null, error.message),
    error.requestId && h("p", { class: "small" }, "Request ", h("code", null, error.requestId)),
    again && way(error, again),
  );
}

// Trying again helps where nothing is wrong with the question itself.
function way(error, again) {
  return error.isPassing ?? !error.title
    ? h("p", null, h("button", { type: "button", onclick: again }, "Try again"))
    : h("p", null, h("a", { href: "#/search" }, "Show the latest stories"));
}

export function heading(text, props) {
  return h("h1", { tabindex: "-1", dir: "auto", ...props }, text);
}
