"""Languages: how numbers, dates, places and denials are written in each; tables in data/numbers."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

COUNT = "count"
PERCENT = "percent"
MONEY = "money"
# Read for the difference of two texts only: "hundreds", "a third of", "the third victim".
VAGUE = "vague"
SHARE = "share"
ORDINAL = "ordinal"

# Where a sentence ends, and with it the context of a number.
BOUNDARIES = frozenset(".!?;\n。；")
# Counters and particles follow the digits without a space: each sign is a word.
_IDEOGRAPHIC = frozenset({"zh", "ja", "ko"})
IDEOGRAPH_DATES = frozenset("年月日時时点點分岁歳才号號路频頻년월일시분세살호")
IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
IDEOGRAPH_NUMERALS = "零〇一二两三四五六七八九十百千"

# Letters glued to digits: "$3bn", "£600m"; of the rest only units of measure are counts ("12km").
MONEY_SUFFIXES: Mapping[str, int] = {"k": 3, "m": 6, "mn": 6, "b": 9, "bn": 9, "tn": 12, "t": 12}


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GLUED_UNITS = words(
    "m km kg cm mm ft in mi lb lbs g mg ml l ha kw mw gw kwh mph kph kmh km² m² m³ c °c °f nm hp "
    "gb mb kb tb ghz mhz pct tl tonnes tons barrels"
)


@cache
def _table(name: str) -> Mapping[str, Any]:
    file = files("esdedup") / "data" / "numbers" / f"{name}.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def _invert(*tables: Mapping[str, str]) -> dict[str, str]:
    """Word -> name of its row."""
    return {word: name for table in tables for name, row in table.items() for word in row.split()}


def _phrases(row: str) -> list[str]:
    return [phrase(one) for one in row.split(",")]


# --- which language -------------------------------------------------------------------------------

# Characters at the beginning of a text that tell its script and its language.
_SAMPLE = 500
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "zh": re.compile("[\u3400-\u9fff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "ru": re.compile("[\u0400-\u04ff]"),
    "ar": re.compile("[\u0600-\u06ff]"),
}


_SPELLED = ("de", "en", "es", "fr", "it", "nl", "pt", "tr")
# Function words by which a language is recognised; fewer are names and quotations.
_FEWEST_VOTES = 3


def guess_language(text: str) -> str:
    """The language by the script of a text, else by its function words; "" if nothing tells it.

    The guess of `text.tokens` shapes keys and cannot change; it takes some Dutch for Turkish.
    """
    if lang := language_by_script(text):
        return lang
    found = Counter(
        lang
        for word in re.findall(r"[^\W\d_]+", text[: 4 * _SAMPLE].lower())
        for lang in _languages_by_word().get(word, ())
    )
    best = max(found, key=found.__getitem__, default="")
    return best if found[best] >= _FEWEST_VOTES else ""


@cache
def _languages_by_word() -> Mapping[str, list[str]]:
    languages: dict[str, list[str]] = {}
    for lang in _SPELLED:
        for word in words(_table(lang)["function_words"]):
            languages.setdefault(word, []).append(lang)
    return languages


def language_by_script(text: str) -> str:
    """The language by the script of a text whose language is not given, or ""."""
    if text.isascii():
        return ""
    sample = text[:_SAMPLE]
    found = {lang: len(script.findall(sample)) for lang, script in _SCRIPTS.items()}
    if 4 * sum(found.values()) < len(sample):
        return ""
    # Chinese has no kana; Japanese is a third or more of them.
    if 8 * found["ja"] > found["zh"] > 0:
        return "ja"
    return max(found, key=found.__getitem__)


# --- a language ready for use ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lexicon:
    """A language ready for use: compiled patterns and lookup tables."""

    lang: str
    decimal: str
    both_marks_group: bool
    number: re.Pattern[str]
    values: Mapping[str, float]
    # Phrases that are quantities of another kind than a cardinal number: kind and value.
    quantities: Mapping[str, tuple[str, str]]
    scales: Mapping[str, int]
    scale_beginnings: frozenset[str]  # two letters
    currencies: Mapping[str, str]
    units: Mapping[str, str]
    # Words that never serve as context, and those with the number words.
    ignored: frozenset[str]
    passed_over: frozenset[str]
    ideographic: bool
    # The lists of data/numbers/common.toml, each with the words that the language adds.
    lists: Mapping[str, frozenset[str]]
    negative_forms: re.Pattern[str] | None

    def has(self, name: str, word: str) -> bool:
        return word in self.lists[name]


# A score or a range ("2-1", "10–15"), groups of three with a space or apostrophe between, or digits
# with points and commas.
_DIGITS = (
    "(\\d{1,2}[-–]\\d{1,2}(?![\\w–-]|[.,:/]\\d)"
    "|\\d{1,3}(?:[ \u00a0\u202f\u2009'\u2019]\\d{3})+(?:[.,]\\d+)?(?!\\d)|\\d+(?:[.,]\\d+)*)"
)
# Lists that only some languages have.
_OWN_LISTS = words(
    "articles counters falls hours labels_after negation negative_particles not_negation "
    "paired_negation place_names places rises soft_negation"
)


@lru_cache(maxsize=64)
def lexicon_of(lang: str) -> Lexicon:
    common, own = _table("common"), _table(lang)
    values = _number_words(own, lang)
    quantities = _quantities(own)
    scales = {
        word: int(power)
        for table in (common["scales"], own.get("scales", {}))
        for word, power in _invert(table).items()
    }
    lists = {name: frozenset[str]() for name in _OWN_LISTS}
    for table in (common, own):
        for name, row in table.items():
            if isinstance(row, str):
                lists[name] = lists.get(name, frozenset()) | words(row)
    ignored = words(own.get("stop_words", "")) | lists["months"] | scales.keys()
    ideographic = lang in _IDEOGRAPHIC
    negative = own.get("negative_forms")
    return Lexicon(
        lang=lang,
        decimal=own.get("decimal", ""),
        both_marks_group=own.get("both_marks_group", not own),
        number=_number_pattern(own, values, quantities, ideographic=ideographic),
        values=values,
        quantities=quantities,
        scales=scales,
        scale_beginnings=frozenset(word[:2] for word in scales),
        currencies=_invert(common["currencies"], own.get("currencies", {})),
        units=_invert(common["unit_words"]),
        ignored=ignored,
        passed_over=ignored | values.keys() | BOUNDARIES,
        ideographic=ideographic,
        lists=lists,
        negative_forms=re.compile(rf"\w+(?:{negative})") if negative else None,
    )


@cache
def units_of_measure() -> Mapping[str, tuple[str, float, float]]:
    """Unit -> dimension, size, zero."""
    return {name: tuple(row) for name, row in _table("common")["units"].items()}


# --- number words ---------------------------------------------------------------------------------

# Forms by gender and place that num2words does not give.
_ENDINGS = (
    ("cientos", "cientas"),
    ("entos", "entas"),
    (" cents", " cent"),
    ("tré", "tre"),
    (" y uno", " y un"),
    (" y uno", " y una"),
    (" e dois", " e duas"),
    (" e um", " e uma"),
)
# Arguments of num2words for languages that inflect numbers.
_CASES: Mapping[str, tuple[dict[str, str], ...]] = {
    "ru": tuple({"case": case, "gender": gender} for case in "ngdaip" for gender in "mf")
}


def _number_words(own: Mapping[str, Any], lang: str) -> dict[str, float]:
    """Phrase -> value for 0..99 and the full hundreds; the rest is put together from these."""
    values: dict[str, float] = {}
    if converters := own.get("converters"):
        from num2words import num2words

        for number in (*range(100), *range(100, 1000, 100)):
            for converter in converters:
                for form in _CASES.get(converter, ({},)):
                    values[phrase(num2words(number, lang=converter, **form))] = number
    units, tens = (_pairs(own.get(name, "")) for name in ("units", "tens"))
    values |= units | tens
    for (unit, u), (ten, t) in ((u, t) for u in units.items() for t in tens.items()):
        values[f"{unit}{own['tens_glue']}{ten}"] = u + t
    if lang == "tr":
        values |= _spaced_turkish(values)
    values.update(own.get("words", {}))
    for word, value in list(values.items()):
        for ending, variant in _ENDINGS:
            if word.endswith(ending):
                values[word.removesuffix(ending) + variant] = value
    for word in own.get("not_alone", "").split():
        values.setdefault(word, 1)
    return values


def _pairs(row: str) -> dict[str, float]:
    return {word: int(value) for word, _, value in (one.partition("=") for one in row.split())}


def _spaced_turkish(values: Mapping[str, float]) -> dict[str, float]:
    """num2words writes Turkish numbers as one word ("oniki"), newspapers as two ("on iki")."""
    below = {value: word for word, value in values.items()}
    spaced: dict[str, float] = {
        f"{below[ten]} {below[unit]}": ten + unit
        for ten in range(10, 100, 10)
        for unit in range(1, 10)
    }
    return spaced | {f"{below[unit]} {below[100]}": 100 * unit for unit in range(2, 10)}


def phrase(words: str) -> str:
    return " ".join(words.lower().replace("-", " ").split())


def _quantities(own: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    cut, endings = own.get("ordinal_cut", 0), own.get("ordinal_endings", "").split()
    for word, value in _pairs(own.get("ordinals", "")).items():
        for form in (word, *(word[: len(word) - cut] + ending for ending in endings)):
            found[form] = ORDINAL, str(value)
    for kind, name in ((VAGUE, "vague"), (SHARE, "shares")):
        for value, row in own.get(name, {}).items():
            found |= dict.fromkeys(_phrases(row), (kind, value))
    # Before "half" is read as a share: "half a dozen".
    for several, number in own.get("words", {}).items():
        if " " in several:
            found[several] = COUNT, str(number)
    return found


# --- patterns -------------------------------------------------------------------------------------


def _number_pattern(
    own: Mapping[str, Any],
    values: Mapping[str, float],
    quantities: Iterable[str],
    *,
    ideographic: bool,
) -> re.Pattern[str]:
    """Digits are the first group, other quantities the second, number words the third."""
    prefixes = own.get("prefixes", "")
    lead = r"(?<![a-z\d_])" if ideographic else r"(?<!\w)" + (f"[{prefixes}]?" if prefixes else "")
    end = "" if ideographic else r"(?!\w)"
    numerals = "(?!)"
    if values:
        numerals = _word_pattern(values, own)
    elif "counters" in own:
        numerals = f"[{IDEOGRAPH_NUMERALS}]+"
    others = _trie_pattern(quantities) or "(?!)"
    return re.compile(f"{lead}(?:{_DIGITS}|({others}){end}|({numerals}))")


def _word_pattern(values: Mapping[str, float], own: Mapping[str, Any]) -> str:
    alone = set(own.get("not_alone", "").split())
    hundreds = _trie_pattern(word for word, value in values.items() if 100 <= value < 1000)
    below = _trie_pattern(word for word, value in values.items() if 0 < value < 100)
    starts = _trie_pattern(
        word for word, value in values.items() if word not in alone and (value < 100 or value > 999)
    )
    # "zweitausend", "onbin": the thousand may follow without a space.
    end = r"(?:(?!\w)|(?=tausend|duizend|mila\b|bin\b))"
    tail = f"(?:{own.get('hundreds_glue', '')}{below}(?!\\w))?"
    alternatives = f"{hundreds}{tail}|{starts}"
    if people := own.get("people"):
        counting = _trie_pattern(word for word in alone if values[word])
        alternatives += f"|{counting}(?=\\s{_trie_pattern(people.split())}(?!\\w))"
    return f"(?:{alternatives}){end}"


def _trie_pattern(words: Iterable[str]) -> str:
    """An alternation by shared prefixes: tried once per letter, not once per word."""
    root: dict[str, Any] = {}
    for word in words:
        node = root
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = None
    return _trie_node(root)


def _trie_node(node: Mapping[str, object]) -> str:
    branches = list(_trie_branches(node))
    if not branches:
        return ""
    if len(branches) == 1 and "" not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in node else "")


def _trie_branches(node: Mapping[str, object]) -> Iterator[str]:
    for letter, child in sorted(node.items()):
        if letter:
            assert isinstance(child, dict)
            yield (r"[\s-]" if letter == " " else re.escape(letter)) + _trie_node(child)
