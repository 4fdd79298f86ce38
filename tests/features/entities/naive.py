"""The slow judge of esdedup/entities and methods/entities: one text, word by word, strings."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import NamedTuple

from esdedup.features.entities.classify import AFTER, BEFORE, JUDGED, Context, classify
from esdedup.features.entities.gazetteers import (
    ABBREVIATED,
    BODY,
    BODY_OF,
    GENITIVE,
    LINK,
    LOCATIVE,
    MADE_OF,
    NEVER,
    OBJECTIVE,
    PLACE,
    PLACE_OF,
    SMALL,
    SUFFIXED,
    is_elided,
    knowledge,
)
from esdedup.text.tokens import LONGEST_WORD, UNSPACED, fold

_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15
_FACTOR = 0xD6E8FEB86659FD93
_APOSTROPHES = "'\u2019\u2018`\u02bc"
_QUOTES = '"\u201c\u201d\u201e\u00ab\u00bb\u2039\u203a'
_ALLOWED = "-\u2010\u2011.&"


class Word(NamedTuple):
    folded: str
    written: str
    behind: str
    tail: str = ""


def characters(text: str) -> list[tuple[str, str]]:
    """Folded and as written, invisible ones left out."""
    out: list[tuple[str, str]] = []
    is_dotted = False
    for c in unicodedata.normalize("NFKC", text):
        if c == "\u0307" and is_dotted:
            is_dotted = False
            continue
        form = fold(c)
        is_dotted = form[-1:] == "i"
        out += [(f, c) for f in form]
    return [(f, c) for f, c in out if not _is_invisible(f)]


def _is_invisible(c: str) -> bool:
    return (unicodedata.category(c) == "Cf" and ord(c) < 0x20000) or 0xFE00 <= ord(c) < 0xFE10


def _kind(c: str) -> str:
    is_single = any(low <= ord(c) <= high for low, high in UNSPACED)
    if ord(c) >= 0x20000:
        return "1" if is_single else " "
    if unicodedata.category(c)[0] not in "LMN":
        return " "
    return "1" if is_single else "a"


def words(text: str) -> list[Word]:
    read = characters(text)
    kinds = "".join(_kind(f) for f, _ in read)
    spans = [
        (at, min(at + LONGEST_WORD, m.end()))
        for m in re.finditer("a+|1", kinds)
        for at in range(m.start(), m.end(), LONGEST_WORD)
    ]
    single = []
    for i, (a, b) in enumerate(spans):
        end = spans[i + 1][0] if i + 1 < len(spans) else b
        folded, written = ("".join(pair[side] for pair in read[a:b]) for side in (0, 1))
        single.append(Word(folded, written, "".join(f for f, _ in read[b:end])))
    if single:
        single[-1] = single[-1]._replace(behind="!")
    out: list[Word] = []
    row: list[Word] = []
    for word in single:
        row.append(word)
        if len(word.behind) == 1 and word.behind in _APOSTROPHES and word is not single[-1]:
            continue
        if len(row) > 1 and is_elided(row[0].folded):
            row = row[1:]
        tail = row[1].folded if len(row) > 1 else ""
        out.append(row[0]._replace(behind=row[-1].behind, tail=tail))
        row = []
    return out


def spans(found: list[Word], lang: str | None) -> list[tuple[int, int, str]]:
    known = knowledge(lang)
    flags = [known.flags(word.folded) for word in found]
    if _shouts(found):
        return []
    out: list[tuple[int, int, str]] = []
    earlier: dict[str, str] = {}
    for start, end in _runs(found, flags, has_suffixes=known.has_suffixes):
        if _has(_before(found, start), _QUOTES) and _has(found[end - 1].behind, _QUOTES):
            continue
        own = [flag if _is_large(found, flags, i) else flag | SMALL
               for i, flag in enumerate(flags[start:end], start)]  # fmt: skip
        for i in range(start, end):
            for size in (2, 3, 4):
                if i + size <= end:
                    name = known.names.get(" ".join(w.folded for w in found[i : i + size]), 0)
                    own[i - start] |= PLACE_OF[size] if name & PLACE else 0
                    own[i - start] |= BODY_OF[size] if name & BODY else 0
        context = _context(found, flags, start, end, lang)
        for piece in classify([flag & JUDGED for flag in own], context):
            word = found[start + piece.start].folded
            kind = piece.kind if piece.is_firm else earlier.get(word, piece.kind)
            if kind:
                out.append((start + piece.start, start + piece.end, kind))
                for i in piece.remembered:
                    earlier.setdefault(found[start + i].folded, kind)
    return out


def _context(
    found: list[Word], flags: list[int], start: int, end: int, lang: str | None
) -> Context:
    known = knowledge(lang)
    last = found[end - 1]
    suffixes = SUFFIXED | LOCATIVE | MADE_OF | GENITIVE | OBJECTIVE
    suffix = (known.flags(last.tail) | SUFFIXED) & suffixes if last.tail else 0
    before, after = _before(found, start), last.behind
    written = found[start].written
    return Context(
        is_initial=_is_initial(found, flags, start),
        before=flags[start - 1] & BEFORE if before.isspace() else 0,
        after=flags[end] & AFTER if after.isspace() and end < len(found) else 0,
        suffix=suffix if known.has_suffixes else suffix & SUFFIXED,
        is_acronym=end - start == 1
        and 2 < len(found[start].folded) < 6
        and all(map(_is_capital, (written[0], written[1], written[-1]))),
        has_suffixes=known.has_suffixes,
    )


def _runs(found: list[Word], flags: list[int], *, has_suffixes: bool) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    origin = end = 0
    for i in range(len(found)):
        if not _is_large(found, flags, i):
            continue
        between = range(end, i)
        goes_on = (
            end > 0
            and not _closes(found[end - 1], flags[end - 1], has_suffixes=has_suffixes)
            and len(between) < 3
            and all(flags[j] & LINK and not _has_other(found[j].behind) for j in between)
        )
        if goes_on and (i - origin) // 12 == (end - 1 - origin) // 12:
            out[-1] = (out[-1][0], i + 1)
        else:
            out.append((i, i + 1))
        origin = origin if goes_on else i
        end = i + 1
    return out


def _has_other(gap: str) -> bool:
    return any(not c.isspace() and c not in "-\u2010\u2011" for c in gap)


def _closes(word: Word, flag: int, *, has_suffixes: bool) -> bool:
    gap = word.behind
    if any(not c.isspace() and c not in _ALLOWED for c in gap):
        return True
    if _has(gap, "-\u2010\u2011") and any(c.isspace() for c in gap):
        return True
    if "." in gap and not flag & ABBREVIATED:
        return True
    return bool(word.tail) and (has_suffixes or word.tail == "s")


def _is_initial(found: list[Word], flags: list[int], i: int) -> bool:
    gap = _before(found, i)
    if _has(gap, _APOSTROPHES + _QUOTES + "!?:\u2026"):
        return True
    return "." in gap and not flags[i - 1] & ABBREVIATED


def _before(found: list[Word], i: int) -> str:
    return found[i - 1].behind if i else "!"


def _is_large(found: list[Word], flags: list[int], i: int) -> bool:
    if not _is_capital(found[i].written[0]):
        return False
    return not (flags[i] & NEVER and _is_initial(found, flags, i))


def _is_capital(c: str) -> bool:
    return c.isupper() or c.istitle()


def _has(text: str, signs: str) -> bool:
    return any(c in signs for c in text)


def _shouts(found: list[Word]) -> bool:
    capitals = sum(_is_capital(word.written[0]) for word in found)
    numbers = sum(
        word.written[0].isnumeric() and not _is_capital(word.written[0]) for word in found
    )
    counted = len(found) - numbers
    return counted >= 12 and capitals > 0.8 * counted


# --- the signature -----------------------------------------------------------------------------


def merge_adjacent(found: list[Word], lang: str | None) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    for start, end, kind in spans(found, lang):
        if out and out[-1][1:] == (start, kind) and found[start - 1].behind.isspace():
            out[-1] = (out[-1][0], end, kind)
        else:
            out.append((start, end, kind))
    return out


def shingles(text: str, lang: str | None, size: int) -> list[str]:
    """With tabs around the entity."""
    found = words(text)
    folded = [word.folded for word in found]
    made = {
        f"{' '.join(folded[max(a - size, 0) : a])}\t{' '.join(folded[a:b])}"
        f"\t{' '.join(folded[b : b + size])}"
        for a, b, _ in merge_adjacent(found, lang)
    }
    return sorted(made)


def number(shingle: str, size: int) -> int:
    head, name, tail = (part.split(" ") if part else [] for part in shingle.split("\t"))
    behind = [_polynomial(word) for word in tail]
    out = _mix(_horner([_polynomial(word) for word in head]))
    out = _mix((out + _horner([_polynomial(word) for word in name])) & _MASK)
    return _mix((out + _horner([*behind, *[0] * (size - len(behind))])) & _MASK)


def sign(text: str, lang: str | None, size: int = 5) -> str:
    made = shingles(text, lang, size)
    if made:
        numbers = sorted({number(shingle, size) for shingle in made})
        return hashlib.sha1(b"".join(n.to_bytes(8, "big") for n in numbers)).hexdigest()
    folded = [word.folded for word in words(text)]
    kept = folded if len(folded) < 40 else folded[:20] + folded[-20:]
    return hashlib.sha1(" ".join(kept).encode("utf-8", "surrogatepass")).hexdigest() if kept else ""


def _polynomial(word: str) -> int:
    out = 0
    for c in word:
        out = (out * _BASE + ord(c)) & _MASK
    return out


def _horner(values: list[int]) -> int:
    out = 0
    for value in values:
        out = (out * _FACTOR + value) & _MASK
    return out


def _mix(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & _MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
