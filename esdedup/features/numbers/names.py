"""Places and diseases that one text names and the other does not.

"A farm in the region" -> "a farm in Brackenholt"; "an unknown illness" -> "cholera"; "struck Izmir"
-> "struck Van". Only names that the other text has nowhere count: copies name people and places
in another order, in full or in part.
"""

from __future__ import annotations

import re
from functools import cache

from esdedup.features.numbers.changes import STEM, stem
from esdedup.features.numbers.difference import Side
from esdedup.features.numbers.languages import Lexicon, words
from esdedup.model.numbers import NumberChange

# Characters that are read: a headline and the first paragraphs say what, where and who.
_BEGINNING = 1000
# A longer passage was rewritten.
_LONGEST = 6
# Words on either side by which a headline is told from a sentence.
_HEADLINE = 4
# Languages that write every noun with a capital.
_CAPITAL_NOUNS = words("de lb")
# Endings of German nouns that are no names.
_NOUN_ENDINGS = ("ung", "ungen", "heit", "keit", "schaft", "tion", "tionen", "tät", "nis", "en")
_DAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun today "
    "pazartesi salı çarşamba perşembe cuma cumartesi pazar"
)
# Case endings behind an apostrophe that say where: Van'da, Yeşilova'dan.
_LOCATIVE = re.compile(r"['’][a-zçğıöşü]*[dt][ae]")
_IDEOGRAPHIC_PLACE = re.compile("[\u4e00-\u9fff]{2,4}[省市县镇村州]")
# A beginning of at most so many letters is a whole word: "flu", not "fluid".
_SHORT = 4


def compare_names(old: Side, new: Side) -> NumberChange | None:
    """The name in one of the passages that the other text does not have."""
    if max(old.size, new.size) > _LONGEST or new.span[0] > _BEGINNING:
        return None
    if new.last == len(new.tokens):  # behind all that is shared stand bylines and credits
        return None
    came, gone = _find_unknown(new, old), _find_unknown(old, new)
    # What was only cut gave way to nothing.
    if not came and not (gone and new.size):
        return None
    before, after = (side if side.size else side.widen(1) for side in (old, new))
    return NumberChange(before.text, after.text, new.clause())


def _find_unknown(side: Side, other: Side) -> list[str]:
    """Names of the passage of which the whole other text has no word."""
    diseases = [name for name in _find_diseases(side) if stem(name) not in other.reading.folded]
    names = {*_find_places(side), *(_find_replaced_names(side, other) if other.size else ())}
    return [*diseases, *(name for name in names if not _is_in(name, other.reading.original))]


def _is_in(name: str, text: str) -> bool:
    """In another form, too: "Izmir'de", "Iraqi" and "Iraq"."""
    return name[:STEM] in text


def _find_diseases(side: Side) -> list[str]:
    lexicon = side.reading.lexicon
    around = side.widen(1) if lexicon.ideographic else side
    return [match[0] for match in _disease_pattern(lexicon.lists["diseases"]).finditer(
        around.folded)]  # fmt: skip


@cache
def _disease_pattern(diseases: frozenset[str]) -> re.Pattern[str]:
    """Beginnings of words; signs anywhere."""
    spelled = [
        one.replace("_", r"\s") + (r"(?!\w)" if len(one) <= _SHORT else r"\w*")
        for one in diseases
        if one < "\u3000"
    ]
    signs = [one for one in diseases if one >= "\u3000"]
    return re.compile(
        rf"(?<!\w)(?:ال|بال|لل|وال)?(?:{'|'.join(sorted(spelled))})|{'|'.join(signs)}"
    )


def _find_places(side: Side) -> list[str]:
    """Names behind a preposition of place, and those of the gazetteer where capitals are none."""
    reading, lexicon = side.reading, side.reading.lexicon
    if lexicon.ideographic:
        text = side.widen(1).folded
        listed = [name for name in lexicon.lists["place_names"] if name in text]
        return listed or _IDEOGRAPHIC_PLACE.findall(side.folded)
    found = []
    for position in range(side.first, side.last):
        start, end = side.tokens[position]
        word = reading.folded[start:end]
        if word in lexicon.lists["place_names"]:
            found.append(word)
        elif _is_name(side, position) and (
            _LOCATIVE.match(reading.folded, end)
            or (position and _word(side, position - 1) in lexicon.lists["places"])
        ):
            found.append(reading.original[start:end])
    return found


def _find_replaced_names(side: Side, other: Side) -> list[str]:
    """Capitalised words where the other text has capitalised words, too.

    Before or behind a shared one they are a part of its name, or a title: "Minister Berg".
    """
    if side.reading.lexicon.lang in _CAPITAL_NOUNS or _adjoins_name(side):
        return []
    own, others = (
        [_written(one, i) for i in range(one.first, one.last) if _is_name(one, i)]
        for one in (side, other)
    )
    is_renamed = len(own) == side.size and len(others) == other.size
    return (
        own
        if is_renamed and own and not any(_is_in(o, side.reading.original) for o in others)
        else []
    )


def _adjoins_name(side: Side) -> bool:
    """Whether a capitalised word stands beside the passage, with nothing but a space between."""
    text = side.reading.original
    start, end = side.span
    behind = text[end] == " " and text[end + 1].isupper()
    before = side.first > 0 and text[start - 1] == " " and _is_name(side, side.first - 1)
    return behind or before


def _word(side: Side, position: int) -> str:
    start, end = side.tokens[position]
    return side.reading.folded[start:end]


def _written(side: Side, position: int) -> str:
    start, end = side.tokens[position]
    return side.reading.original[start:end]


def _is_name(side: Side, position: int) -> bool:
    """Capitalised within a sentence; neither a day nor a month, nor in capitals throughout."""
    reading, (start, end) = side.reading, side.tokens[position]
    word = reading.original[start:end]
    if (
        not word[0].isupper()
        or word.isupper()
        or not _is_within_a_sentence(reading.original, start)
    ):
        return False
    if all(map(str.istitle, _nearby(side, position))):
        return False  # a headline in which every word has a capital
    folded = word.lower()
    lexicon: Lexicon = reading.lexicon
    if folded in _DAYS or folded in lexicon.lists["months"] or folded in lexicon.currencies:
        return False
    return lexicon.lang not in _CAPITAL_NOUNS or not folded.endswith(_NOUN_ENDINGS)


def _nearby(side: Side, position: int) -> list[str]:
    """The words of the line on either side, as written, without the shortest."""
    line = range(max(0, position - _HEADLINE), min(len(side.tokens), position + _HEADLINE + 1))
    near = [_written(side, i) for i in line if i != position]
    return [word for word in near if word.isalpha() and len(word) > 3]


# Behind these and a space the sentence goes on; elsewhere any word has a capital.
_GOES_ON = frozenset(',;)"”’')


def _is_within_a_sentence(text: str, start: int) -> bool:
    if text[start - 1] in "'’-":
        return True
    return text[start - 1] == " " and (text[start - 2].isalnum() or text[start - 2] in _GOES_ON)
