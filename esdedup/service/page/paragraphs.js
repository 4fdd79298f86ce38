// Paragraphs of texts whose lines were broken at a fixed width, as agencies and e-mails send them.

// Wider lines are paragraphs of their own.
const WIDEST = 100;
const NARROWEST = 40;

// The places of the line ends that only break a line. Such a line is full: the next word would not
// have fitted. Lines are taken to be broken so where most line ends are of that kind, and most of
// these stand within a sentence: paragraphs of one sentence each may be equally long by chance.
export function wraps(text) {
  const lines = text.split("\n");
  const lengths = lines.map((line) => line.trimEnd().length).filter((length) => length > 0);
  lengths.sort((a, b) => a - b);
  const width = lengths[Math.floor(lengths.length * 0.95)] ?? 0;
  const found = new Set();
  if (width > WIDEST || width < NARROWEST) return found;
  let at = -1;
  let ends = 0;
  let within = 0;
  for (let i = 0; i + 1 < lines.length; i++) {
    at += lines[i].length + 1;
    const line = lines[i].trimEnd();
    const next = lines[i + 1];
    if (!line || !next.trim() || /^(\t| {2,})/.test(next)) continue;
    ends += 1;
    if (line.length + 1 + next.trim().split(/\s/)[0].length <= width) continue;
    found.add(at);
    if (!/[.!?…:"”»)]$/.test(line)) within += 1;
  }
  return found.size * 2 > ends && within * 2 > found.size ? found : new Set();
}

export function paragraphs(text) {
  return joined([text])[0].split(/\n+/).filter((part) => part.trim());
}

// The pieces of one text, each with its broken lines joined.
export function joined(pieces) {
  const broken = wraps(pieces.join(""));
  let at = 0;
  return pieces.map((piece) => {
    const start = at;
    at += piece.length;
    return piece.replace(/\n/g, (end, place) => (broken.has(start + place) ? " " : end));
  });
}
