"""esdedup/data/gazetteers from the lists in ESDEDUP_DATA: `python -m tests.docs.gazetteers`.

Ordinary words come from the news texts there: what is written small in a sixth of its places says
little by a capital where a sentence begins.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from babel import Locale

from esdedup.features.entities.gazetteers import LONGEST_NAME, is_elided
from esdedup.text.tokens import fold
from tests.support.data import FOLDER

TARGET = Path(__file__).parents[2] / "esdedup" / "data" / "gazetteers"
SOURCE = FOLDER / "gazetteers"
LANGUAGES = ("en", "fr", "de", "es", "tr")
NEWS = ("bbc-news", "turkish-news", "german-10kgnad-test", "semeval22-task8", "wikinews-events")
# A city of this size is a place wherever its name stands.
LARGE_CITY = 300_000
FEWEST = 3  # places of an ordinary word
_NAME = re.compile(r"[^\W\d_][\w'’.-]*(?: [\w'’.-]+)*")
_WORD = re.compile(r"[^\W\d_]+")
_APOSTROPHE = re.compile(r"['’‘`]")
_ROW = re.compile(r"[^\W_]+(?:['’‘`][^\W_]+)*")

Names = dict[str, set[str]]


def world() -> Names:
    """Names of every language: g given, s surname, p place, m large place."""
    names: Names = defaultdict(set)
    for file in ("en_given_male_census.tsv", "en_given_female_census.tsv"):
        _add(names, "g", _column(file))
    _add(names, "s", _column("en_surnames_census.tsv"))
    for row in _rows("world_cities15000.tsv"):
        name, population = row[0], int(row[2])
        if population >= LARGE_CITY:
            _add(names, "pm", [name, *_latin(row[3] if len(row) > 3 else "")])
        else:
            _add(names, "p", [name])
    for lang in LANGUAGES:
        _add(names, "pm", _territories(lang))
    _add(names, "pm", _column("us_states.txt"))
    return names


def turkish() -> Names:
    """Names that only Turkish text has, o an organisation among them."""
    names: Names = defaultdict(set)
    _add(names, "g", _column("tr_given_names_gender.tsv"))
    _add(names, "g", _column("tr_person_names_zemberek.txt"))
    _add(names, "s", _column("tr_surnames.txt"))
    _add(names, "p", _column("tr_locations_world.txt"))
    _add(names, "p", _column("tr_districts.tsv"))
    _add(names, "pm", _column("tr_provinces.txt"))
    _add(names, "o", _column("tr_universities.txt"))
    _add(names, "o", (n for n in _column("tr_organisations.txt") if _is_organisation(n)))
    return names


def words() -> dict[str, set[str]]:
    """By language, what is written small in at least a sixth of its places."""
    small: dict[str, Counter[str]] = defaultdict(Counter)
    large: dict[str, Counter[str]] = defaultdict(Counter)
    for lang, text in _news():
        for word in _WORD.findall(text):
            counter = small if word.islower() else large
            counter[lang][fold(word)] += 1
    return {
        lang: {
            word
            for word, count in small[lang].items()
            if count >= FEWEST and len(word) > 1 and 5 * count >= large[lang][word]
        }
        for lang in LANGUAGES
    }


def _news() -> Iterator[tuple[str, str]]:
    only = {"bbc-news": "en", "turkish-news": "tr", "german-10kgnad-test": "de"}
    for folder in NEWS:
        with gzip.open(FOLDER / folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                lang = only.get(folder) or str(document.get("lang") or "")[:2]
                if lang in LANGUAGES:
                    yield lang, document["text"]


def _add(names: Names, letters: str, found: Iterable[str]) -> None:
    for name in found:
        form = " ".join(_words(name))
        if _NAME.fullmatch(name) and len(form) > 1 and form.count(" ") < LONGEST_NAME:
            names[form].update(letters)


def _words(name: str) -> Iterator[str]:
    """As a text's words are read: Bosna-Hersek is two, St. John's is st and john."""
    for row in _ROW.findall(fold(name)):
        head, *tails = _APOSTROPHE.split(row)
        yield tails[0] if tails and is_elided(head) else head


def _rows(file: str) -> Iterator[list[str]]:
    for line in (SOURCE / file).read_text("utf-8").splitlines():
        yield line.split("\t")


def _column(file: str) -> Iterator[str]:
    return (row[0] for row in _rows(file))


def _latin(others: str) -> Iterator[str]:
    """Other names of a city in Latin letters, as a text in another language writes it."""
    for name in others.split("|"):
        if name[:1].isupper() and len(name) > 3 and all(ord(c) < 0x250 for c in name):
            yield name


def _territories(lang: str) -> Iterator[str]:
    """Countries and continents as the language writes them (Unicode CLDR)."""
    for code, name in Locale(lang).territories.items():
        if code not in ("EU", "EZ", "UN", "QO", "ZZ", "XA", "XB", "001"):
            yield name.split(" (")[0]


def _is_organisation(name: str) -> bool:
    return name[:1].isupper() and (name.isupper() or " " in name) and len(name) > 2


def _write(name: str, lines: Iterable[str]) -> None:
    content = "\n".join(sorted(lines)).encode()
    # mtime 0: the same lists give the same file.
    (TARGET / f"{name}.txt.gz").write_bytes(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    TARGET.mkdir(parents=True, exist_ok=True)
    everywhere, own = world(), turkish()
    for label, table in (("world", everywhere), ("tr", own)):
        _write(label, (f"{name}\t{''.join(sorted(letters))}" for name, letters in table.items()))
    for lang, also_words in words().items():
        _write(f"words-{lang}", also_words)
