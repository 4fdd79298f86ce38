// Every view has an address of its own: #/story?id=…

export function to(view, params) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    for (const one of [value].flat())
      if (one !== null && one !== undefined && one !== "") out.append(name, one);
  }
  const text = out.toString();
  return `#/${view}${text ? `?${text}` : ""}`;
}

export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { view: path || "search", params: new URLSearchParams(query) };
}

export function go(view, params) {
  location.hash = to(view, params);
}
