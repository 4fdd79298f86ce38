// Times, numbers and names as people read them.

const WHOLE = new Intl.NumberFormat("en");
const DAY = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});
const SHORT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
});

export const ROLES = {
  original: "original",
  duplicate: "copy",
  update: "update",
  extended: "longer version",
  correction: "correction",
  unprocessed: "not read",
};

// How much a revision changed.
export const DEGREES = {
  numbers: "counts changed",
  names: "names changed",
  typo: "spelling",
  statement: "a statement changed",
  rewritten: "rewritten",
  cut: "cut",
  extended: "extended",
  edited: "edited",
};

export function number(value) {
  return WHOLE.format(value);
}

export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function percent(share) {
  const value = 100 * share;
  return `${value > 99 && value < 100 ? 99 : value > 0 && value < 1 ? "under 1" : Math.round(value)} %`;
}

export function day(text) {
  return text ? DAY.format(new Date(text)) : "no date";
}

export function shortDay(text) {
  return SHORT.format(new Date(text));
}

export function clock(text) {
  return CLOCK.format(new Date(text));
}

// One zone for all sources, so that times can be compared: the time line is in UTC.
export function when(text) {
  return text ? `${day(text)}, ${clock(text)} UTC` : "no date";
}

export function later(from, to) {
  if (!from || !to) return "";
  const minutes = Math.round((new Date(to) - new Date(from)) / 60_000);
  const size = Math.abs(minutes);
  const sign = minutes < 0 ? "−" : "+";
  if (size < 60) return `${sign}${size} min`;
  if (size < 48 * 60)
    return `${sign}${Math.floor(size / 60)} h ${String(size % 60).padStart(2, "0")} min`;
  return `${sign}${Math.round(size / 1440)} days`;
}

export function titleOf(article) {
  const text = article.title || article.text || "";
  return text ? (text.length > 160 ? `${text.slice(0, 160)}…` : text) : article.id;
}

export const NO_SOURCE = "no source";

export function sourceOf(article) {
  return article.source || hostOf(article.url) || NO_SOURCE;
}

function hostOf(url) {
  try {
    return new URL(url).hostname.replace(/^www\./, "");
  } catch {
    return "";
  }
}
