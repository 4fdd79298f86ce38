// Both texts by passages. The answer follows the new text, and what moved stands at its new place
// alone: its old place is found again in the old text itself.

export function columns(spans, oldTexts) {
  return { old: oldSide(spans, oldTexts), now: newSide(spans) };
}

function newSide(spans) {
  let moved = 0;
  const out = [];
  for (const span of spans) {
    const part = { kind: span.kind, text: span.new, other: span.old };
    if (span.kind === "moved") part.number = ++moved;
    if (span.new) out.push(part);
  }
  return out;
}

// `oldTexts`: what may have been compared, title and body or body alone.
function oldSide(spans, oldTexts) {
  const stay = spans.filter((span) => span.kind !== "moved" && span.old);
  const moved = spans
    .filter((span) => span.kind === "moved")
    .map((span, i) => ({ ...span, number: i + 1 }));
  const joined = stay.map((span) => span.old).join("");
  const length = joined.length + moved.reduce((sum, span) => sum + span.old.length, 0);
  for (const whole of oldTexts) {
    const text = whole.slice(0, length);
    const places = placed(moved, text);
    if (places && without(text, places) === joined) return woven(text, places, stay);
  }
  return [
    ...stay.map((span) => ({ kind: span.kind, text: span.old, other: span.new })),
    ...moved.map((span) => ({ kind: "moved", text: span.old, number: span.number })),
  ];
}

function placed(moved, text) {
  const taken = [];
  for (const span of moved) {
    let at = text.indexOf(span.old);
    while (at >= 0 && taken.some((other) => at < other.end && other.start < at + span.old.length))
      at = text.indexOf(span.old, at + 1);
    if (at < 0) return null;
    taken.push({ start: at, end: at + span.old.length, number: span.number });
  }
  return taken.sort((a, b) => a.start - b.start);
}

function without(text, places) {
  let out = "";
  let from = 0;
  for (const { start, end } of places) {
    out += text.slice(from, start);
    from = end;
  }
  return out + text.slice(from);
}

function woven(text, places, stay) {
  const out = [];
  let at = 0;
  const waiting = [...places];
  const pass = () => {
    while (waiting.length && waiting[0].start === at) {
      const { start, end, number } = waiting.shift();
      out.push({ kind: "moved", text: text.slice(start, end), number });
      at = end;
    }
  };
  for (const span of stay) {
    let left = span.old.length;
    while (left > 0) {
      pass();
      const size = Math.min(left, waiting.length ? waiting[0].start - at : left);
      out.push({ kind: span.kind, text: text.slice(at, at + size), other: span.new });
      at += size;
      left -= size;
    }
  }
  pass();
  return out;
}
