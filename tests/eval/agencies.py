"""How well agencies are found, on articles labelled by hand: `python -m tests.eval.agencies`.

`agencies.csv` has 286 articles of eight sets, drawn at random, half of them because an edge of
their text names an agency. The label is the agency whose text it is, empty for none; contributions
("AP contributed to this report") and credits of pictures are none. The part `later` was drawn after
the rules were written: 30 of 35 were right at first sight (precision and recall .86), and what was
wrong with the others was then mended. The second line adds content: an article without a mark takes
the agency that the earliest of its copies credits.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.features.agencies import find_agency
from esdedup.model import Document
from esdedup.search.origins import describe_origin
from tests.support.data import FOLDER

_LABELS = Path(__file__).with_name("agencies.csv")


@dataclass(frozen=True, slots=True)
class Score:
    """Articles whose agency was found, named wrongly, and missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed)

    def __str__(self) -> str:
        labelled = self.right + self.missed
        return f"P {self.precision:.3f}  R {self.recall:.3f}  ({self.right} of {labelled})"


def labels() -> dict[tuple[str, str], str]:
    """(set, id) -> agency."""
    with _LABELS.open(encoding="utf-8", newline="") as file:
        return {(row["set"], row["id"]): row["agency"] for row in csv.DictReader(file)}


def read_set(name: str) -> Iterator[Document]:
    with gzip.open(FOLDER / name / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            raw = json.loads(line)
            yield Document(
                id=raw["id"],
                title=raw.get("title") or "",
                text=raw.get("text") or "",
                url=raw.get("url"),
                source=raw.get("source") or raw.get("publisher"),
            )


def score(found: Mapping[tuple[str, str], str]) -> Score:
    gold = labels()
    right = sum(1 for key, agency in gold.items() if agency and found[key] == agency)
    wrong = sum(1 for key, agency in gold.items() if found[key] and found[key] != agency)
    missed = sum(1 for key, agency in gold.items() if agency and found[key] != agency)
    return Score(right, wrong, missed)


def find_by_marks() -> dict[tuple[str, str], str]:
    out = {}
    for name in sorted({name for name, _ in labels()}):
        for document in read_set(name):
            mark = find_agency(document)
            out[name, document.id] = mark.agency if mark is not None else ""
    return out


def find_with_content() -> dict[tuple[str, str], str]:
    """Each set in a store of its own; the copies of an article speak for it if it has no mark."""
    marks, out = find_by_marks(), {}
    for name in sorted({name for name, _ in labels()}):
        with Deduplicator.open() as news:
            list(news.add_many(read_set(name)))
            ids = [id_ for other, id_ in labels() if other == name]
            for id_, record in news.store.documents.get(ids).items():
                group = news.store.documents.members(record.decision.group)
                members = [member.document for member in group]
                out[name, id_] = marks[name, id_] or describe_origin(members, members).agency or ""
    return {key: out.get(key, marks[key]) for key in labels()}


if __name__ == "__main__":
    print("marks alone          ", score(find_by_marks()))
    print("and copies of the text", score(find_with_content()))
