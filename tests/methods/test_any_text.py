"""What holds for every method: any text is signed, and the work grows with its length only."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from esdedup.ingest.sign import sign_many
from esdedup.methods import METHODS
from esdedup.model import Document
from esdedup.settings import Settings

ODD_TEXTS = {
    "no sentences": "prices\tMonday 12\nprices\tTuesday 14\nprices\tWednesday 9\n" * 8,
    "no capitals": "the ferry left london for paris with twelve people on board. it sank. " * 6,
    "all capitals": "THE FERRY LEFT LONDON FOR PARIS WITH TWELVE PEOPLE ON BOARD. IT SANK. " * 6,
    "one sentence": "the ferry left London with Paul Smith, twelve people and " * 60,
    "right to left": "قالت السلطات إنّ ١٢ شخصا قُتلوا وأصيب ٤٠ آخرون في حريق. שני אנשים נפצעו. " * 6,
    "emoji alone": "😀 👩\u200d👧 ❤\ufe0f 🇹🇷 " * 20,
    "several languages": "Dün Ankara'da toplandılar. The talks moved to Paris. Die Lage ist ernst. "
    "La réunion était longue. 東京都は計画を発表した。 " * 6,
    "no letters": "— … ' \" ( ) 1 2 3 " * 20,
    "one word": "London",
    "nothing": "",
}
LANGUAGES = (None, "tr", "en", "xx", "zz-ZZ", "klingon", "")
NEWS = (
    "Dr. Ahmet Yılmaz of Oxford University told Reuters in London on Tuesday that 12 people had "
    "died in Ankara'nın Çankaya İlçesi, and that the U.S. would help. He left. No more was said; "
)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", METHODS)
def test_odd_texts_have_the_same_keys_alone_and_beside_others(name: str, lang: str | None) -> None:
    settings = replace(Settings(), methods=(name,))
    documents = [Document(id=kind, text=text, lang=lang) for kind, text in ODD_TEXTS.items()]
    together = [one.signature.keys for one in sign_many(documents, settings)]
    alone = [sign_many([document], settings)[0].signature.keys for document in documents]
    assert together == alone
    assert all(isinstance(key, str) for keys in alone for own in keys.values() for key in own)


# Of a number of words each.
LONG_TEXTS: dict[str, Callable[[int], str]] = {
    "news": lambda words: NEWS * (words // len(NEWS.split())),
    "names": lambda words: "Ahmet Yılmaz ve " * (words // 3),
    "one word": lambda words: "on " * words,
    "many words": lambda words: " ".join(f"word{i % 30_000}" for i in range(words)),
}


@pytest.mark.parametrize("kind", LONG_TEXTS)
@pytest.mark.parametrize("name", METHODS)
def test_ten_times_the_words_are_ten_times_the_work_at_most(name: str, kind: str) -> None:
    """Up to 100,000 words. Work is calls and memory, which are the same in every run."""
    settings = replace(Settings(), methods=(name,))
    short, long = (
        Document(id="1", text=LONG_TEXTS[kind](words), lang="tr") for words in (10_000, 100_000)
    )
    sign_many([short, long], settings)  # tables are read, words and patterns learnt
    for work in (_calls, _memory):
        little, much = (work(partial(sign_many, [one], settings)) for one in (short, long))
        assert much <= 11 * little


def _calls(work: Callable[[], object]) -> int:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    earlier = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(earlier)
    return calls


def _memory(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
