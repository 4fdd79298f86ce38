"""Dates and clock times: passages of a text in which no number is a count."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from esdedup.features.numbers.languages import Lexicon, words

_CLOCK = r"\d{1,2}[.:]\d{2}(?![\d%])"
_HOUR = r"\d{1,2}(?:[.:]\d{2})?(?![\d%])"
# Between the ends of a range: "from 6 to 9 a.m.", "dalle 6 alle 9".
_TO = (
    r"\s(?:to|and|until|a|à|et|bis|und|tot|en|al|alle|às|e|y|до|и|إلى|ile|ve|-|–)\s"
    r"(?:las |الساعة )?"
)
_BEFORE = words(
    "at à a um om ab gegen rond vers às las alle dalle ore в около saat saati الساعة ساعة"
)
# Behind these an hour is one even without minutes.
_SURELY_BEFORE = words("las às alle ore um om kl saat الساعة")
_PART_OF_DAY = (
    r"(?:de la|da|du|della|di|in the) (?:mañana|tarde|noche|madrugada|manhã|noite|matin|soir|"
    r"mattina|sera|notte|morning|afternoon|evening)"
)
_END = r"(?:[.,;](?!\d)|\n)"
# Half and quarter hours in words: "a las siete y media", "om half acht".
_SPOKEN = re.compile(
    r"(?:a las|às|alle|الساعة)\s\w+\s(?:[ye]\s)?(?:media|cuarto|meia|mezza|mezzo|quarto|"
    r"والنصف|والربع|والثلث)(?!\w)|(?:om half|um halb)\s\w+"
)
_SPEAK_SO = words("es pt it nl de ar")
_DIGITS = re.compile(r"\d[\d.:/-]*")
_LAST_WORD = re.compile(r"(\w+)\s$")


class _Patterns(NamedTuple):
    """What is a moment by itself, behind a preposition, and behind one of time."""

    alone: re.Pattern[str]
    behind: re.Pattern[str]
    surely: re.Pattern[str]


@lru_cache(maxsize=64)
def _patterns(hours: frozenset[str], decimal: str) -> _Patterns:
    after = "|".join([*map(re.escape, sorted(hours, key=len, reverse=True)), _PART_OF_DAY])
    after = rf"(?:{after})(?!\w)"
    alone = (
        rf"{_HOUR}\s?h(?:\s?\d{{2}})?(?!\w)",  # 19 h 30
        rf"{_HOUR} (?:heures?|час\w*|saat|uur|ore|horas) \d{{1,2}}(?: (?:мин\w*|min\w*))?(?!\w)",
        rf"{_HOUR}(?:\s(?:heures|uhr|uur|часов))?{_TO}{_HOUR}\s?{after}",
        rf"{_CLOCK}\s?{after}",
        rf"\d{{2}}[.:]\d{{2}}{_TO}\d{{2}}[.:]\d{{2}}(?!\d)",
        # 10.11., where a point is no decimal mark.
        r"\d{1,2}\.\d{1,2}\." + (r"\d{2,4}" if decimal == "." else r"(?:\d{2,4})?") + r"(?!\d)",
        r"\d{1,4}([/-])\d{1,2}\1\d{1,4}(?!\d)",
    )
    behind = rf"{_CLOCK}|{_HOUR}\s{after}|{_HOUR}{_TO}{_HOUR}(?={_END})"
    surely = rf"\d{{1,2}}(?={_END}|{_TO}\d)"
    return _Patterns(re.compile("|".join(alone)), re.compile(behind), re.compile(surely))


def find_moments(folded: str, lexicon: Lexicon) -> list[tuple[int, int]]:
    """Where dates and times stand that no single word beside a number tells."""
    patterns = _patterns(lexicon.lists["hours"], lexicon.decimal)
    found = []
    end = 0
    for digits in _DIGITS.finditer(folded):
        start = digits.start()
        if start < end or folded[start - 1].isalnum() or folded[start - 1] in ".,":
            continue
        match = patterns.alone.match(folded, start)
        if match is None and (last := _LAST_WORD.search(folded, max(0, start - 12), start)):
            if last[1] in _BEFORE:
                match = patterns.behind.match(folded, start)
            if match is None and last[1] in _SURELY_BEFORE:
                match = patterns.surely.match(folded, start)
        if match:
            end = match.end()
            found.append(match.span())
    if lexicon.lang in _SPEAK_SO:
        found = sorted([*found, *(match.span() for match in _SPOKEN.finditer(folded))])
    return found
