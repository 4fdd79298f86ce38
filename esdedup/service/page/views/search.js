// Search with stories folded: one result per story, its copies on demand.

import { ask, service } from "../api.js";
import { empty, h, heading, outside, words } from "../dom.js";
import { count, number, titleOf } from "../format.js";
import { go, to } from "../links.js";
import { changes, line, originOf, role, source, time } from "../parts.js";
import { box } from "../picked.js";

const FOLDS = [
  ["story", "Stories"],
  ["group", "Copies only"],
  ["all", "Off"],
];
const SHOWN = [
  ["best", "Best match"],
  ["earliest", "First article"],
  ["newest", "Latest article"],
  ["longest", "Longest article"],
];
const SORTS = [
  ["", "Best match"],
  ["-published", "Latest first"],
  ["published", "Oldest first"],
];

// On a phone the first result is on the first screen: options open on demand.
const PHONE = matchMedia("(max-width: 40rem)");

export async function render(params, signal) {
  const { defaults } = await service(signal);
  const asked = read(params, defaults);
  const found = await searched(asked, signal);
  const title = asked.q ? `Results for “${asked.q}”` : "Latest stories";
  return h(
    "div",
    { class: "search" },
    form(asked),
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "results" },
        heading(title, { class: "quiet-title" }),
        summary(found, asked),
        list(found, asked),
        pages(found, asked),
      ),
      facets(found, asked),
    ),
  );
}

// The original stands for a story; in a search the article that fits best does.
function shownOf(q) {
  return q ? "best" : "earliest";
}

function read(params, defaults) {
  const get = (name) => params.get(name) ?? "";
  const q = get("q");
  return {
    q,
    defaults,
    fold: get("fold") || defaults.by,
    sort: get("sort"),
    show: get("show") || shownOf(q),
    since: get("since"),
    until: get("until"),
    source: params.getAll("source"),
    lang: params.getAll("lang"),
    agency: params.getAll("agency"),
    page: Math.max(1, Number(get("page")) || 1),
  };
}

// An index of somebody else may not have the fields that filters are made of: then without them.
async function searched(asked, signal) {
  const whole = body(asked);
  try {
    return await ask("/v1/search", { body: whole, signal });
  } catch (error) {
    if (error.status !== 400) throw error;
    const { role, ...filters } = whole.filters;
    try {
      return await ask("/v1/search", { body: { ...whole, filters, facets: [] }, signal });
    } catch {
      throw error; // the first one says what is wrong with the question
    }
  }
}

function body(asked) {
  const filters = {};
  if (asked.source.length) filters.source = asked.source;
  if (asked.lang.length) filters.lang = asked.lang;
  if (asked.agency.length) filters.agency = asked.agency;
  // Without words every article would match, and those that could not be read say nothing.
  if (!asked.q) filters.role = ["original", "duplicate", "update"];
  const sort = asked.sort || (asked.q ? "" : "-published");
  return {
    words: asked.q || null,
    filters,
    since: asked.since || null,
    until: asked.until || null,
    sort: sort ? [sort] : [],
    mode: asked.fold === "all" ? "all" : "auto",
    by: asked.fold === "group" ? "group" : "story",
    show: asked.fold === "all" ? "best" : asked.show,
    size: asked.defaults.size,
    offset: (asked.page - 1) * asked.defaults.size,
    facets: ["source", "agency", "lang"],
    origins: asked.fold !== "all",
  };
}

function address(asked, changed) {
  const all = { ...asked, page: 1, ...changed };
  return {
    q: all.q,
    fold: all.fold === asked.defaults.by ? "" : all.fold,
    sort: all.sort,
    show: all.show === shownOf(asked.q) ? "" : all.show,
    since: all.since,
    until: all.until,
    source: all.source,
    lang: all.lang,
    agency: all.agency,
    page: all.page > 1 ? all.page : "",
  };
}

function form(asked) {
  const input = h("input", {
    type: "search",
    id: "q",
    name: "q",
    value: asked.q,
    placeholder: "Search the news",
    autocomplete: "off",
    maxlength: "2000",
    "aria-label": "Search the news",
    dir: "auto",
  });
  const choose = (name, options, label) =>
    h(
      "label",
      { class: "choice" },
      h("span", null, label),
      h(
        "select",
        {
          name,
          onchange: (event) =>
            go("search", address(asked, { q: input.value.trim(), [name]: event.target.value })),
        },
        options.map(([value, text]) =>
          h("option", { value, selected: value === asked[name] }, text),
        ),
      ),
    );
  const date = (name, label) =>
    h(
      "label",
      { class: "choice" },
      h("span", null, label),
      h("input", {
        type: "date",
        name,
        value: asked[name],
        onchange: (event) =>
          go("search", address(asked, { q: input.value.trim(), [name]: event.target.value })),
      }),
    );
  return h(
    "form",
    {
      class: "ask",
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        go("search", address(asked, { q: input.value.trim() }));
      },
    },
    h(
      "div",
      { class: "ask-line" },
      input,
      h("button", { type: "submit", class: "main" }, "Search"),
    ),
    h(
      "details",
      { class: "filters", open: !PHONE.matches },
      h("summary", null, filtersTitle(asked)),
      h(
        "div",
        { class: "choices" },
        choose("fold", FOLDS, "Fold"),
        choose("sort", asked.q ? SORTS : SORTS.slice(1), "Order"),
        asked.fold !== "all" && choose("show", SHOWN, "Show"),
        date("since", "From"),
        date("until", "Before"),
      ),
    ),
  );
}

// As many as differ from what a search begins with.
function filtersTitle(asked) {
  const { q, page, source, lang, agency, ...chosen } = address(asked, {});
  const set = Object.values(chosen).filter((value) => value !== "").length;
  return set ? `Options (${number(set)})` : "Options";
}

function summary(found, asked) {
  const { stories, articles, exact } = found.total;
  const about = exact ? "" : "about ";
  const unit = asked.fold === "group" ? ["result", "results"] : ["story", "stories"];
  const text =
    asked.fold === "all"
      ? count(articles ?? 0, "article")
      : `${about}${count(stories ?? 0, ...unit)} from ${count(articles ?? 0, "article")}`;
  return h(
    "p",
    { class: "summary", id: "summary" },
    text,
    found.notes.map((note) => h("span", { class: "note" }, ` · ${note}`)),
  );
}

function list(found, asked) {
  if (!found.hits.length) {
    const chosen = [...asked.source, ...asked.agency, ...asked.lang];
    return asked.q || chosen.length || asked.since || asked.until
      ? empty(
          "Nothing found",
          "Try fewer words, other dates, or fewer filters.",
          h("p", null, h("a", { href: "#/search" }, "Show the latest stories")),
        )
      : empty(
          "No articles yet",
          "Add some with the command esdedup index.",
        );
  }
  return h(
    "ol",
    { class: "hits", start: found.offset + 1 },
    found.hits.map((hit) => card(hit, asked)),
  );
}

function card(hit, asked) {
  const title = titleOf(hit);
  const copies = asked.fold === "all" ? 0 : hit.copies;
  const item = h("li", { class: "hit", tabindex: "-1" });
  item.append(
    h(
      "article",
      null,
      h(
        "div",
        { class: "hit-head" },
        box(hit, title),
        h(
          "h3",
          null,
          h(
            "a",
            {
              href: hit.story ? to("story", { id: hit.id }) : to("article", { id: hit.id }),
              class: "open",
              dir: "auto",
              lang: hit.lang || null,
            },
            title,
          ),
        ),
      ),
      h(
        "p",
        { class: "meta" },
        role(hit.role),
        source(hit),
        time(hit.published),
        outside(hit.url, "Open"),
      ),
      hit.origin && h("p", { class: "meta origin" }, originOf(hit)),
      hit.update && changes(hit.update.numbers),
      words("p", hit.snippet || short(hit.text), { class: "snippet", lang: hit.lang }),
      copies !== 0 && expander(hit, copies, asked),
    ),
  );
  return item;
}

function short(text) {
  return !text ? "" : text.length > 220 ? `${text.slice(0, 220).replace(/\s+\S*$/, "")} …` : text;
}

function expander(hit, copies, asked) {
  const id = `copies-${hit.id}`;
  const place = h("div", { id, class: "copies", hidden: true });
  const names =
    asked.fold === "story" ? ["copy or update", "copies and updates"] : ["copy", "copies"];
  // Not every search counts them: then there may be some.
  const label = copies === null ? `Show ${names[1]}` : `+${count(copies, ...names)}`;
  const button = h(
    "button",
    {
      type: "button",
      class: "expand",
      "aria-expanded": "false",
      "aria-controls": id,
      onclick: () => toggle(button, place, hit, asked),
    },
    label,
  );
  return [button, place];
}

async function toggle(button, place, hit, asked) {
  const open = place.hidden;
  place.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  if (!open || place.childElementCount) return;
  place.replaceChildren(h("p", { class: "meta" }, "Loading …"));
  try {
    const by = asked.fold === "group" ? "group" : "story";
    const found = await ask("/v1/group", { params: { id: hit.id, by, size: 200 } });
    const others = found.members.filter((member) => member.id !== hit.id);
    const first = found.members.find((member) => member.published)?.published;
    place.replaceChildren(
      h(
        "ul",
        { class: "lines" },
        others.map((member) =>
          line(member, { since: first, leader: member.group === member.id ? null : member.group }),
        ),
      ),
      found.total > found.members.length
        ? h(
            "p",
            { class: "meta" },
            `${number(found.total - found.members.length)} more in the story.`,
          )
        : "",
    );
  } catch (error) {
    place.replaceChildren(h("p", { class: "failed", role: "alert" }, error.message));
  }
}

function pages(found, asked) {
  const last = Math.min(Math.ceil((found.total.stories ?? found.total.articles ?? 0) / asked.defaults.size), 900);
  const more = found.hits.length === asked.defaults.size && asked.page < last;
  if (asked.page === 1 && !more) return null;
  return h(
    "nav",
    { class: "pages", "aria-label": "Pages" },
    asked.page > 1
      ? h(
          "a",
          { href: to("search", address(asked, { page: asked.page - 1 })), rel: "prev" },
          "← Previous",
        )
      : h("span"),
    h(
      "span",
      { class: "meta" },
      `Page ${number(asked.page)} of ${number(Math.max(last, asked.page))}`,
    ),
    more
      ? h(
          "a",
          { href: to("search", address(asked, { page: asked.page + 1 })), rel: "next" },
          "Next →",
        )
      : h("span"),
  );
}

const FIELDS = { source: "Sources", agency: "News agencies", lang: "Languages" };

function facets(found, asked) {
  const shown = (found.facets ?? []).filter((facet) => facet.buckets.length);
  if (!shown.length) return null;
  return h(
    "aside",
    { class: "facets", "aria-label": "Filters" },
    shown.map((facet) =>
      h(
        "div",
        null,
        h("h2", null, FIELDS[facet.field]),
        h(
          "ul",
          null,
          facet.buckets.map((bucket) => choice(facet.field, bucket, asked)),
        ),
      ),
    ),
  );
}

function choice(field, bucket, asked) {
  const on = asked[field].includes(bucket.value);
  const next = on
    ? asked[field].filter((value) => value !== bucket.value)
    : [...asked[field], bucket.value];
  return h(
    "li",
    null,
    h(
      "a",
      {
        href: to("search", address(asked, { [field]: next })),
        class: on ? "facet on" : "facet",
        "aria-current": on ? "true" : null,
      },
      h("span", { dir: "auto" }, bucket.value),
      h(
        "span",
        { class: "facet-count" },
        number(asked.fold === "all" ? bucket.articles : bucket.stories),
      ),
    ),
  );
}
