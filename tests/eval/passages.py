"""Which methods find a passage copied into a long page? `python -m tests.eval.passages`.

Passages of 60, 120 and 240 words of news articles (`fnc1-bodies`), 60 of each, and 30 of 8 whole
sentences, each pasted at a random place of a page of 3,000 words made of other articles. The pages
are the archive; `copies` is asked for the article a passage was taken from, and has found it where
the page is among its answers.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from esdedup.clustering.deduplicator import Deduplicator
from esdedup.model import Document, Failure
from esdedup.settings import Settings
from esdedup.stores import Store, open_store
from esdedup.stories.text_reuse import find_text_reuse
from tests.support.data import FOLDER

WORDS = (60, 120, 240)
TRIALS = 60
SENTENCES, SENTENCE_TRIALS = 8, 30
PAGE = 3_000
VARIANTS: dict[str, dict[str, Any]] = {
    "sketch": {"methods": "sketch"},
    "default": {},
    "sketch, lengths, 8 sentences": {"methods": "sketch,lengths", "window_sentences": 8},
    "sketch, lengths": {"methods": "sketch,lengths"},
    "sketch, winnowing": {"methods": "sketch,winnowing"},
}


_SENTENCE = re.compile(r"\S[^.!?]*[.!?]+")


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
    trials = {f"{size} words": list(make_trials(texts, size)) for size in WORDS}
    trials[f"{SENTENCES} sentences"] = list(make_sentence_trials(texts))
    print("methods".ljust(30) + "".join(f"{kind:>14}" for kind in trials) + "  keys a page")
    for name, flags in VARIANTS.items():
        settings = Settings.load(environment={}, flags=flags)
        row, keys = "", 0
        for own in trials.values():
            with Deduplicator(open_store("sqlite://:memory:", settings)) as news:
                for trial in own:
                    news.add(trial.page)
                found = sum(is_found(trial, news.store) for trial in own)
                (record,) = news.store.documents.get([own[0].page.id]).values()
                keys = sum(map(len, record.signature.keys.values()))
            row += f"{f'{found} of {len(own)}':>14}"
        print(f"{name:<30}{row}{keys:>13}", flush=True)
    return 0


def make_trials(texts: Sequence[str], size: int) -> Iterator[Trial]:
    """Passages that begin and end anywhere."""
    dice = random.Random(size)
    long = [text for text in texts if len(text.split()) >= 2 * size]
    for number in range(TRIALS):
        article, *others = dice.sample(long, 40)
        words = [word for text in others for word in text.split()][: PAGE - size]
        own = article.split()
        start = dice.randrange(len(own) - size)
        yield paste(number, article, own[start : start + size], words, dice.randrange(len(words)))


def make_sentence_trials(texts: Sequence[str]) -> Iterator[Trial]:
    """Passages of whole sentences, pasted between two sentences."""
    dice = random.Random(SENTENCES)
    long = [text for text in texts if len(_SENTENCE.findall(text)) >= 2 * SENTENCES]
    for number in range(SENTENCE_TRIALS):
        article, *others = dice.sample(long, 40)
        sentences = [s for text in others for s in _SENTENCE.findall(text)]
        ends = list(accumulate(len(s.split()) for s in sentences))
        page = sentences[: bisect(ends, PAGE)]
        own = _SENTENCE.findall(article)
        start = dice.randrange(len(own) - SENTENCES)
        yield paste(
            number, article, own[start : start + SENTENCES], page, dice.randrange(len(page))
        )


def paste(
    number: int, article: str, passage: Sequence[str], page: Sequence[str], place: int
) -> Trial:
    pasted = [*page[:place], *passage, *page[place:]]
    return Trial(
        Document(id=f"article {number}", text=article),
        Document(id=f"page {number}", text=" ".join(pasted)),
    )


def is_found(trial: Trial, store: Store) -> bool:
    checked = find_text_reuse(trial.article, store)
    if isinstance(checked, Failure):
        raise ValueError(f"{trial.article.id}: {checked.reason}")
    return trial.page.id in {copy.document.id for copy in checked.copies}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
