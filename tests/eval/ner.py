"""Quality of the entities found by rules on the labelled sets: `python -m tests.eval.ner`.

`exact`: the span of tokens and the kind must agree; `overlap`: the kind, and one token at least.
Nested and merged entities are left out. Kinds of the
sets that are none of the three (nations, titles, works, events, dates) are not looked for, and what
is found there counts as wrong. The Turkish set is scored in two halves, by a hash of each sentence:
rules were tuned on `tuned`; `--part train` takes the larger part of the set instead of dev.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from esdedup.features.entities import KINDS, find_entities
from tests.support.data import FOLDER

# FAC (bridges, airports, stadiums) are locations by the thesis' suffix rules, Table A.3.
_KINDS = {
    "PERSON": "person",
    "PER": "person",
    "GPE": "location",
    "LOC": "location",
    "FAC": "location",
    "ORG": "organisation",
}
Sentence = list[tuple[str, str]]
Span = tuple[int, int, str]


def main(arguments: list[str]) -> int:
    part = arguments[arguments.index("--part") + 1] if "--part" in arguments else "dev"
    sets = {
        f"Turkish wiki ({part})": ("tr", FOLDER / "ner-turkish-wiki" / f"{part}.conll.gz"),
        "English WikiGold": ("en", FOLDER / "ner-english-open" / "wikigold.conll"),
    }
    for name, (lang, file) in sets.items():
        if not file.is_file():
            print(f"{name}: skipped, no set at {file}; set ESDEDUP_DATA")
            continue
        sentences = list(read(file))
        show(name, score(sentences, lang))
        if lang == "tr":
            for half, is_tuned in (("tuned half", True), ("other half", False)):
                show(half, score([s for s in sentences if in_tuned_half(s) == is_tuned], lang))
    return 0


def in_tuned_half(sentence: Sentence) -> bool:
    text = " ".join(token for token, _ in sentence)
    return hashlib.sha1(text.encode(), usedforsecurity=False).digest()[0] % 2 == 0


def show(name: str, scores: dict[str, dict[str, tuple[float, float, float]]]) -> None:
    print(f"\n{name:<22}" + "".join(f"{h:>9}" for h in (*("P", "R", "F1") * 2,)))
    for kind in (*KINDS, "all"):
        values = [*scores["exact"][kind], *scores["overlap"][kind]]
        print(f"{kind:<22}" + "".join(f"{value:9.3f}" for value in values))
    print(f"{'':<22}{'exact':>27}{'overlap':>27}")


def score(
    sentences: Iterable[Sentence], lang: str
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Precision, recall and F1 by kind and over all three, exact and by overlap."""
    counts: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        gold, ours = set(labelled(sentence)), set(recognised(sentence, lang))
        for name, spans in (
            ("exact", gold & ours),
            ("met", {span for span in ours if _touches(span, gold)}),
            ("reached", {span for span in gold if _touches(span, ours)}),
            ("wanted", gold),
            ("found", ours),
        ):
            for _, _, kind in spans:
                counts[name, kind] += 1
                counts[name, "all"] += 1
    return {
        "exact": {k: _rates(counts, "exact", "exact", k) for k in (*KINDS, "all")},
        "overlap": {k: _rates(counts, "met", "reached", k) for k in (*KINDS, "all")},
    }


def _touches(span: Span, others: Iterable[Span]) -> bool:
    start, end, kind = span
    return any(kind == k and s < end and start < e for s, e, k in others)


def labelled(sentence: Sentence) -> Iterator[Span]:
    """Spans of the three kinds; WikiGold has I- alone, the Turkish set B- and I-."""
    start, kind = 0, ""
    for i, (_, tag) in enumerate([*sentence, ("", "O")]):
        mark, _, label = tag.partition("-")
        if kind and (mark != "I" or label != kind):
            if kind in _KINDS:
                yield start, i, _KINDS[kind]
            kind = ""
        if label and not kind:
            start, kind = i, label


def recognised(sentence: Sentence, lang: str) -> Iterator[Span]:
    starts, text = [], ""
    for token, _ in sentence:
        starts.append(len(text))
        text += token + " "
    for entity in find_entities(text, lang, nested=False):
        inside = [
            i
            for i, (start, (token, _)) in enumerate(zip(starts, sentence, strict=True))
            if start < entity.end and entity.start < start + len(token)
        ]
        yield inside[0], inside[-1] + 1, entity.kind


def read(file: Path) -> Iterator[Sentence]:
    content = file.read_bytes()
    text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode()
    for block in text.split("\n\n"):
        rows = [line.rsplit("\t" if "\t" in line else " ", 1) for line in block.splitlines()]
        if sentence := [
            (row[0], row[1]) for row in rows if len(row) == 2 and row[0] != "-DOCSTART-"
        ]:
            yield sentence


def _rates(
    counts: Counter[tuple[str, str]], right: str, reached: str, kind: str
) -> tuple[float, float, float]:
    found, wanted = counts["found", kind], counts["wanted", kind]
    precision = counts[right, kind] / found if found else 0.0
    recall = counts[reached, kind] / wanted if wanted else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
