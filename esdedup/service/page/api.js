// Questions to the service. The key stays in this tab and goes to this address alone.

const KEY = "esdedup.key";

// What the page says of problems whose details are for programs.
const SENTENCES = {
  "unknown-id": "There is no such article. It may have been deleted, or its id is misspelt.",
  "unknown-event": "There is no such event in this time. It may be older, or have been withdrawn.",
  "not-found": "There is nothing at this address.",
  "nothing-to-explain": "No other article shares enough with this one to be compared with it.",
  "read-only": "This service only shows articles: nothing can be changed here.",
  scope: "Your key does not allow this. Ask those who run the service for another one.",
  "queue-full": "Others are adding many articles just now.",
  "too-many-streams": "Too many people are watching events just now.",
  "readers-busy": "Too many people are searching just now.",
  busy: "Too many people are using the service just now.",
  stopping: "The service is about to stop.",
  "store-unavailable": "The articles cannot be read just now.",
  "store-error": "The articles could not be read. Those who run the service find the reason in its log.",
  internal: "Something failed. Those who run the service find the reason in its log.",
};

export class Problem extends Error {
  constructor(status, body, retryAfter) {
    const code = String(body.type || "")
      .split(":")
      .pop();
    super(SENTENCES[code] || body.detail || "The service did not answer as expected.");
    this.status = status;
    this.title = body.title || (status ? `Error ${status}` : "No answer");
    this.code = code;
    this.isPassing = [0, 408, 429, 500, 503].includes(status);
    this.requestId = body.request_id || "";
    this.retryAfter = retryAfter;
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  drop: () => sessionStorage.removeItem(KEY),
};

export async function ask(path, { params, body, signal } = {}) {
  const response = await sent(path, { params, body, signal });
  const text = await response.text();
  let answer = {};
  try {
    answer = text ? JSON.parse(text) : {};
  } catch {
    throw new Problem(response.status, {
      detail: "The answer is no JSON; is something between this page and the service?",
    });
  }
  if (!response.ok) throw new Problem(response.status, answer, response.headers.get("Retry-After"));
  return answer;
}

const PAGE = 1_000;

// An answer whose lists come in pages, whole: the first page with the others added to it.
export async function askAll(path, lists, { params, signal } = {}) {
  const whole = await ask(path, { params: { ...params, size: PAGE }, signal });
  let page = whole;
  for (let offset = PAGE; lists.some((name) => page[name]?.length === PAGE); offset += PAGE) {
    page = await ask(path, { params: { ...params, size: PAGE, offset }, signal });
    for (const name of lists) whole[name]?.push(...(page[name] ?? []));
  }
  return whole;
}

export async function sent(path, { params, body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (body) headers["Content-Type"] = "application/json";
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  try {
    return await fetch(path + asked(params), {
      method: body ? "POST" : "GET",
      headers,
      body: body ? JSON.stringify(body) : undefined,
      signal,
      credentials: "omit",
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {
      title: "No answer",
      detail: "The service cannot be reached. Is it running?",
    });
  }
}

function asked(params) {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    for (const one of [value].flat())
      if (one !== null && one !== undefined && one !== "") out.append(name, one);
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}

let about = null;

export async function service(signal) {
  about ??= await ask("/v1/service", { signal });
  return about;
}

export function forgetService() {
  about = null;
}

// What this key may do; a button that would be refused is not shown.
export async function may(scope, signal) {
  const order = ["read", "write", "admin"];
  const known = await service(signal);
  return order.indexOf(known.scope) >= order.indexOf(scope);
}

// Server-sent events with the key in a header, which EventSource cannot send.
export async function* follow(path, signal, opened) {
  const response = await sent(path, { signal });
  if (!response.ok) throw new Problem(response.status, {});
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6));
      if (data.length) yield JSON.parse(data.join("\n"));
    }
  }
}
