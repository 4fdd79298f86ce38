"""Digests of the tables behind terms and counts: `python -m tests.golden.words` writes them.

Golden keys notice a change of the words they hold; these notice any, in every language. Another
digest of stop words, stems or rarities means that stored keys no longer match: see tests/golden.
Another one of number words means that counts are read in another way, which needs no new format
(docs/format.md, section 9): look at the difference, then write it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

import wordfreq

from esdedup.features.numbers.languages import lexicon_of
from esdedup.text import words
from esdedup.text.tokens import fold
from esdedup.text.words import language
from tests.golden import FOLDER

FILE = FOLDER / "words1.json"
COUNTED = ("de", "en", "es", "fr", "it", "nl", "pt", "tr")


def digests() -> dict[str, dict[str, str]]:
    """By table and language."""
    listed, stemmed = words.stop_word_lists(), words.STEMMERS
    frequent = sorted(wordfreq.available_languages("small"))
    return {
        "stop words": {code: _digest(language(code).stop_words) for code in listed},
        "stems": {code: _digest(set(_stemmed(code, code in frequent))) for code in stemmed},
        "rarities": {code: _digest(_rows(language(code).rarities)) for code in frequent},
        "number words": {code: _digest(_rows(lexicon_of(code).values)) for code in COUNTED},
    }


def _stemmed(code: str, has_frequencies: bool) -> Iterator[str]:
    """The stem of every word that is known of the language."""
    known = language(code)
    tables = wordfreq.get_frequency_list(code, "small") if has_frequencies else []
    for word in (*known.stop_words, *(fold(word) for table in tables for word in table)):
        yield f"{word} {known.stem(word)}"


def _rows(table: Mapping[str, float]) -> Iterator[str]:
    return (f"{word} {value}" for word, value in table.items())


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


if __name__ == "__main__":
    FILE.write_text(json.dumps(digests(), indent=1) + "\n", "utf-8")
    print(f"wrote {FILE}")
