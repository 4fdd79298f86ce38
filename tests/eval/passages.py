"""Which methods find a passage copied into a long page? `python -m tests.eval.passages`.

Passages of 60, 120 and 240 words of news articles (`fnc1-bodies`), 60 of each, each pasted at a
random place of a page of 3,000 words made of other articles. The pages are the archive;
`copies` is asked for the article a passage was taken from, and has found it where the page is
among its answers.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Store, open_store
from esdedup.stories.text_reuse import find_text_reuse
from tests.support.data import FOLDER

WORDS = (60, 120, 240)
TRIALS = 60
PAGE = 3_000
VARIANTS: dict[str, tuple[str, ...]] = {
    "sketch": ("sketch",),
    "sketch, lengths": ("sketch", "lengths"),
    "sketch, winnowing": ("sketch", "winnowing"),
}


@dataclass(frozen=True)
class Trial:
    """An article, and a page that holds some of its words."""

    article: Document
    page: Document


def main(arguments: Sequence[str]) -> int:
    del arguments
    file = FOLDER / "fnc1-bodies" / "docs.jsonl.gz"
    if not file.is_file():
        print(f"skipped, no set at {file}; set ESDEDUP_DATA")
        return 0
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        texts = sorted({json.loads(line)["text"] for line in lines})
    trials = {size: list(make_trials(texts, size)) for size in WORDS}
    print("methods".ljust(24) + "".join(f"{size:>6} words" for size in WORDS) + "  keys a page")
    for name, methods in VARIANTS.items():
        settings = replace(Settings(), methods=methods)
        found, keys = [], 0
        for size in WORDS:
            with Deduplicator(open_store("sqlite://:memory:", settings)) as news:
                for trial in trials[size]:
                    news.add(trial.page)
                found.append(sum(is_found(trial, news.store) for trial in trials[size]))
                (record,) = news.store.documents.get([trials[size][0].page.id]).values()
                keys = sum(map(len, record.signature.keys.values()))
        print(f"{name:<24}" + "".join(f"{n:>5} of {TRIALS:<3}" for n in found) + f"{keys:>12}")
    return 0


def make_trials(texts: Sequence[str], size: int) -> Iterator[Trial]:
    dice = random.Random(size)
    long = [text for text in texts if len(text.split()) >= 2 * size]
    for number in range(TRIALS):
        article, *others = dice.sample(long, 40)
        words = [word for text in others for word in text.split()][: PAGE - size]
        own = article.split()
        start, place = dice.randrange(len(own) - size), dice.randrange(len(words))
        words[place:place] = own[start : start + size]
        yield Trial(
            Document(id=f"article {number}", text=article),
            Document(id=f"page {number}", text=" ".join(words)),
        )


def is_found(trial: Trial, store: Store) -> bool:
    checked = find_text_reuse(trial.article, store)
    if isinstance(checked, Failure):
        raise ValueError(f"{trial.article.id}: {checked.reason}")
    return trial.page.id in {copy.document.id for copy in checked.copies}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
