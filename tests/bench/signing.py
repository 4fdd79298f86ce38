"""Signing one core: tokens, sketch and shingle hashes against datasketch and rensa."""

from __future__ import annotations

import re
from collections.abc import Callable

import rensa
from datasketch import MinHash

from esdedup.ingest.sign import sign_many
from esdedup.model import Document
from esdedup.settings import Settings
from tests.bench.articles import Newsroom
from tests.bench.timing import best_seconds, headline, line

COUNT = 1_024
BATCH = 256
PERMUTATIONS = 128
_WORD = re.compile(r"\w+")


def run() -> None:
    headline(f"Signing {COUNT} articles of 400 words on one core (articles a second)")
    documents = list(Newsroom(copies=0).articles(COUNT))
    texts = [f"{d.title} {d.text}" for d in documents]
    tokens = [_WORD.findall(text.lower()) for text in texts]
    plain = Settings.load(environment={}, flags={"number_check": False})
    ours = COUNT / best_seconds(lambda: _sign(documents, plain))
    line("esdedup: text -> tokens, sketch, shingle hashes", f"{ours:,.0f}")
    full = COUNT / best_seconds(lambda: _sign(documents, Settings.load(environment={})))
    line("esdedup: the same with the counts of the number check", f"{full:,.0f}")
    _compare("datasketch MinHash(128), words given", ours, lambda: _datasketch(tokens), "bar 3")
    _compare("rensa RMinHash(128), text -> words", ours, lambda: _rensa(texts), "bar 1")
    _compare("rensa RMinHash(128), text -> 4-word shingles", ours, lambda: _rensa(texts, 4))
    _compare("rensa CMinHash(128), words given", ours, lambda: _rensa_c(tokens))
    _compare("rensa RMinHash(128), words given", ours, lambda: _rensa_given(tokens))


def _compare(what: str, ours: float, work: Callable[[], None], bar: str = "") -> None:
    rate = COUNT / best_seconds(work)
    line(what, f"{rate:,.0f}", ours / rate, bar)


def _sign(documents: list[Document], settings: Settings) -> None:
    for start in range(0, COUNT, BATCH):
        sign_many(documents[start : start + BATCH], settings)


def _datasketch(tokens: list[list[str]]) -> None:
    for words in tokens:
        MinHash(PERMUTATIONS).update_batch([word.encode() for word in words])


def _rensa(texts: list[str], shingle: int = 1) -> None:
    for text in texts:
        words = _WORD.findall(text.lower())
        if shingle > 1:
            words = [" ".join(words[i : i + shingle]) for i in range(len(words) - shingle + 1)]
        _digest(words)


def _rensa_given(tokens: list[list[str]]) -> None:
    for words in tokens:
        _digest(words)


def _digest(words: list[str]) -> None:
    sketch = rensa.RMinHash(num_perm=PERMUTATIONS, seed=1)
    sketch.update(words)
    sketch.digest()


def _rensa_c(tokens: list[list[str]]) -> None:
    for words in tokens:
        sketch = rensa.CMinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update(words)
        sketch.digest()


if __name__ == "__main__":
    run()
