"""Names at the beginning of an article, and which of them changed between two near-identical ones.

A report of the same form about another place, or a person named anew: "a magnitude 5.1 earthquake
struck Izmir on Tuesday" -> "struck Van on Tuesday". No count shows it, and a place is one word
of many. Only names between the same two words count, and only where neither text has the other's
name: of 26,935 matching pairs of one SpotSigs cluster 4 have such a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from esdedup.features.numbers.changes import stem
from esdedup.features.numbers.finding import (
    WINDOW,
    content_words,
    primary_language,
    tokens_after,
    tokens_before,
)
from esdedup.features.numbers.languages import MONTHS, lexicon_of, words
from esdedup.model.numbers import NumberChange, NumberContext

NAME = "name"

# Characters that are read: a headline and the first sentence or two say where and who.
_BEGINNING = 300
# Languages that write every noun with a capital.
_CAPITAL_NOUNS = words("de lb")
_CAPITAL = "".join(chr(c) for c in range(0x530) if chr(c).isupper())
# Capitalised words in a row. Without a look behind: a pattern that begins with a set of letters is
# searched for ten times as fast.
_WORD = rf"[{_CAPITAL}][\w'’-]*"
_NAME = re.compile(rf"{_WORD}(?: {_WORD})*")
# Behind these and a space the word before goes on; elsewhere any word has a capital.
_GOES_ON = frozenset(',;)"”’')
_SUFFIX = re.compile(r"['’].*")
# Days change from copy to copy: "on Monday", "yesterday".
_DAYS = MONTHS | words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun today "
    "pazartesi salı çarşamba perşembe cuma cumartesi pazar"
)


def extract_names(text: str, lang: str | None) -> tuple[NumberContext, ...]:
    """Names with the words around them, in reading order."""
    code = primary_language(lang)
    if code in _CAPITAL_NOUNS:
        return ()
    lexicon = lexicon_of(code)
    # The only letter that grows in lower case.
    folded = text[: _BEGINNING + 2 * WINDOW].replace("İ", "I").lower()
    found = []
    for match in _NAME.finditer(text, 0, _BEGINNING):
        start, end = match.span()
        if not _is_within_a_sentence(text, start):
            start = text.find(" ", start, end) + 1
            if not start:
                continue
        # Whole headlines are in capitals; the last word that is read may be a part of one.
        name = text[start:end]
        if name.isupper() or (end == _BEGINNING and text[end : end + 1].isalpha()):
            continue
        if not _DAYS.isdisjoint(folded[start:end].split(" ")):
            continue
        before = content_words(tokens_before(folded, start, lexicon), lexicon, abbreviated=1)[::-1]
        after = content_words(tokens_after(folded, end, lexicon), lexicon, abbreviated=-1)
        found.append(NumberContext(name, NAME, " ".join(before), " ".join(after)))
    return tuple(found)


def _is_within_a_sentence(text: str, start: int) -> bool:
    if start < 2 or text[start - 1] != " ":
        return False
    mark = text[start - 2]
    return mark.isalnum() or mark in _GOES_ON


def compare_names(
    old: Sequence[NumberContext], new: Sequence[NumberContext]
) -> tuple[NumberChange, ...]:
    """Names of `new` that stand between two words which enclosed another name in `old`."""
    before = [name for name in old if name.kind == NAME]
    after = [name for name in new if name.kind == NAME]
    if before == after:
        return ()
    gone = {place: name for name in _select_absent(before, after) if (place := _place(name))}
    came = _select_absent(after, before) if gone else []
    changes = {
        (gone[place].value, name.value): NumberChange(gone[place].value, name.value, name.after)
        for name in came
        if (place := _place(name)) in gone
    }
    return tuple(changes.values())


def _select_absent(
    names: Iterable[NumberContext], others: Sequence[NumberContext]
) -> list[NumberContext]:
    """Names of which the other text has no word."""
    known = {word for other in others for word in _parts(other)}
    return [name for name in names if not any(_is_in(word, known) for word in _parts(name))]


def _is_in(word: str, known: Iterable[str]) -> bool:
    """In another form, too: "Izmir'de", "Iraqi" and "Iraq", "Jen" and "Jennifer"."""
    return any(
        stem(word) == stem(other) or word.startswith(other) or other.startswith(word)
        for other in known
    )


def _parts(name: NumberContext) -> list[str]:
    return [part for part in map(_fold, re.split("[ -]", name.value)) if part]


def _fold(word: str) -> str:
    return _SUFFIX.sub("", word).lower()


def _place(name: NumberContext) -> tuple[str, ...] | None:
    """The content words on either side; at the end of a sentence the two before it."""
    before, after = name.before.split(), name.after.split()
    if before and after:
        return stem(before[-1]), stem(after[0])
    return (stem(before[-2]), stem(before[-1]), ".") if len(before) > 1 and not after else None
