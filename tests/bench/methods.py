"""What each method costs on one core: time and bytes a document, and how that grows with length."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from esdedup.ingest.sign import sign_many
from esdedup.methods import METHODS
from esdedup.model import Document
from esdedup.settings import Settings
from esdedup.text.batch import Batch
from esdedup.text.tokens import guess_language
from tests.bench.articles import Newsroom
from tests.bench.rivals import sign_with_datasketch
from tests.bench.timing import headline, line, measure_in_turns, one_core
from tests.support.data import FOLDER

COUNT = 512
BATCH = 256
ROUNDS = 5
NAMES = ("sketch", "simhash", "imatch", "lengths", "phrases", "spotsigs", "entities", "winnowing")
TOGETHER = ("sketch", "simhash", "entities", "lengths")
LENGTHS = (1_000, 10_000, 100_000)
# Real news, by language.
NEWS = {"bbc-news": "en", "turkish-news": "tr"}
# Names that the rules know, strewn in as news has them: about one in 25 words.
_NAMES = ("Ankara", "Paul Smith", "Germany", "Mary Jones", "London", "Ministry of Health")


def run() -> None:
    with one_core():
        documents = list(_articles(COUNT))
        _costs(documents)
        _all_of_them(documents)
        _entities_against_imatch(documents)
        _growth()


def _settings(*methods: str) -> Settings:
    return replace(Settings(), methods=methods, number_check=False, ner="rules")


def _costs(documents: Sequence[Document]) -> None:
    headline(f"Each method's own signing, {COUNT} articles of 400 words, one core")
    print("without the words, which all share; median of", ROUNDS, "alternating rounds")
    for name in NAMES:
        _signed_by(name, documents)  # tables are read on first use
    rounds = [{name: _signed_by(name, documents) for name in NAMES} for _ in range(ROUNDS)]
    seconds = {name: median(one[name] for one in rounds) for name in NAMES}
    words = _processor({"words": lambda: _words(documents)})["words"]
    line("words: text to hashes, for all methods", f"{COUNT / words:,.0f}/s")
    for name in NAMES:
        settings = _settings(name)
        keys = [one.signature.keys.get(name, ()) for one in sign_many(documents, settings)]
        size = sum(len(key) for own in keys for key in own) / COUNT
        number = sum(map(len, keys)) / COUNT
        rate = f"{COUNT / seconds[name]:,.0f}/s"
        line(
            f"{name}: {number:,.0f} keys, {size:,.0f} bytes a document",
            rate,
            seconds[name] / words,
            "of the words' time",
        )


def _signed_by(name: str, documents: Sequence[Document]) -> float:
    """Seconds of the method alone: words, stems and languages are there already."""
    settings, module = _settings(name), METHODS[name]
    spent = 0.0
    for start in range(0, len(documents), BATCH):
        batch = Batch(documents[start : start + BATCH], settings)
        _ = batch.terms, batch.fingerprints, batch.ranges, batch.languages
        begun = time.process_time()
        for signed in module.sign(batch, settings):
            module.keys(signed, settings)
        spent += time.process_time() - begun
    return spent


def _words(documents: Sequence[Document]) -> None:
    for start in range(0, len(documents), BATCH):
        batch = Batch(documents[start : start + BATCH], _settings("sketch"))
        _ = batch.terms, batch.fingerprints


def _all_of_them(documents: Sequence[Document]) -> None:
    headline("All of sketch, simhash, entities (rules) and lengths against MinHash(128)")
    texts = [f"{d.title} {d.text}" for d in documents]
    seconds = _processor(
        {
            "ours": lambda: _sign(documents, _settings(*TOGETHER)),
            "peer": lambda: sign_with_datasketch(texts),
        }
    )
    ours, peer = COUNT / seconds["ours"], COUNT / seconds["peer"]
    line("esdedup: text to the keys of all four", f"{ours:,.0f}/s")
    line("datasketch MinHash(128), bulk", f"{peer:,.0f}/s", ours / peer, "bar 1")


def _entities_against_imatch(documents: Sequence[Document]) -> None:
    """Thesis, section 6: from the text to the key; the rarity of every stem is known already."""
    headline("Entities by rules against I-Match, text to key, IDF computation left out")
    names = ("entities", "imatch")
    sets = {"articles as above": documents}
    sets |= {name: list(_news(name, lang)) for name, lang in NEWS.items()}
    for what, articles in sets.items():
        if not articles:
            line(what, "not there", None, "set ESDEDUP_DATA")
            continue
        works = {name: partial(_sign, articles, _settings(name)) for name in names}
        seconds = _processor(works, rounds=3 * ROUNDS)
        line(f"{what}: imatch", f"{len(articles) / seconds['imatch']:,.0f}/s")
        ratio = seconds["imatch"] / seconds["entities"]
        rate = f"{len(articles) / seconds['entities']:,.0f}/s"
        line(f"{what}: entities", rate, ratio, "bar 1.07")


def _news(name: str, lang: str) -> Iterator[Document]:
    """As many real articles of 50 words and more, where the set is."""
    file = FOLDER / name / "docs.jsonl.gz"
    if not file.is_file():
        return
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        made = (json.loads(line) for line in lines)
        long = (one for one in made if len(one["text"].split()) >= 50)
        for number, one in enumerate(itertools.islice(long, COUNT)):
            title = one.get("title") or ""
            yield Document(id=str(number), title=title, text=one["text"], lang=lang)


def _growth() -> None:
    headline("Time per word of texts of 1,000, 10,000 and 100,000 words (linear is 1.0x)")
    texts = {words: next(iter(_articles(1, words=words))) for words in LENGTHS}
    for name in NAMES:
        settings = _settings(name)
        _sign([texts[LENGTHS[0]]], settings)
        # As many words in each round, so that the clock has the same work to measure.
        seconds = _processor(
            {
                str(words): partial(
                    _sign, [texts[words]] * (LENGTHS[-1] // words), settings, together=1
                )
                for words in LENGTHS
            },
            rounds=3,
        )
        first = seconds[str(LENGTHS[0])]
        ratios = "  ".join(f"{seconds[str(words)] / first:.2f}x" for words in LENGTHS)
        line(name, ratios, None, "bar 1.1 at 100,000")


def _processor(works: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    return {name: one.processor for name, one in measure_in_turns(works, rounds=rounds).items()}


def _sign(documents: Sequence[Document], settings: Settings, together: int = BATCH) -> None:
    for start in range(0, len(documents), together):
        sign_many(documents[start : start + together], settings)


def _articles(count: int, words: int = 400) -> Sequence[Document]:
    """Made-up words, with names and function words as in English news."""
    out = []
    for number, made in enumerate(Newsroom(copies=0, words=words).articles(count)):
        text = made.text.split()
        for place in range(5, len(text), 25):
            text[place] = _NAMES[(place + number) % len(_NAMES)]
        for place in range(2, len(text), 4):
            text[place] = ("the", "of", "was", "that")[place % 16 // 4]
        out.append(replace(made, text=" ".join(text)))
    assert guess_language(out[0].text) == "en"
    return out


if __name__ == "__main__":
    run()
