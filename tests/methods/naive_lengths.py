"""Paper 003 one step at a time, from docs/format.md: slow and plain; judges `methods.lengths`."""

from __future__ import annotations

from collections.abc import Sequence

from esdedup.text.sentences import DELIMITERS
from tests.methods.reference import LONGEST_WORD, kind_of


def sentences(text: str) -> list[tuple[int, int, int]]:
    """(words, start, end) of each, character by character."""
    out: list[tuple[int, int, int]] = []
    words = run = 0
    start = -1
    for place, character in enumerate(text + "\n"):
        kind = kind_of(character)
        at_end = place == len(text)
        if kind == "ignored" and not at_end:
            continue
        if kind in ("letter", "single") and not at_end:
            start = place if start < 0 else start
            run = run + 1 if kind == "letter" else 0
            words += kind == "single" or run % LONGEST_WORD == 1
            continue
        run = 0
        if at_end or character in DELIMITERS or _ends_thai(text, place):
            if words:
                out.append((words, start, min(place + 1, len(text))))
            words, start = 0, -1
    return out


def _ends_thai(text: str, place: int) -> bool:
    before = text[place - 1] if place else ""
    return text[place] in " \t\n\r\u00a0" and "\u0e00" <= before <= "\u0eff"


def windows(lengths: Sequence[int], size: int, step: int) -> list[tuple[int, ...]]:
    """Static jumping."""
    return [tuple(lengths[i : i + size]) for i in range(0, len(lengths) - size + 1, step)]


def dynamic(lengths: Sequence[int], size: int, step: int) -> list[tuple[int, ...]]:
    """Section 3.2: a window goes where its first SW elements equal the SW before and after."""
    kept = []
    for n in range(0, len(lengths) - size + 1, step):
        here = lengths[n : n + step]
        before = lengths[n - step : n] if n >= step else None
        after = lengths[n + step : n + 2 * step]
        if not here == before == after:
            kept.append(tuple(lengths[n : n + size]))
    return kept


def keys(text: str, size: int, step: int, threshold: int) -> list[str]:
    lengths = [words for words, _, _ in sentences(text)]
    if len(lengths) < size + step * (threshold - 1):
        return []
    good = [w for w in windows(lengths, size, step) if len(set(w)) >= min(3, size)]
    return list(dict.fromkeys("w:" + "-".join(map(str, w)) for w in good))


def stored(
    lengths: Sequence[int], size: int, step: int, threshold: int, *, jumping: bool
) -> list[int]:
    """Where the windows begin that an index has: static jumping, or dynamic as well."""
    if len(lengths) < size + step * (threshold - 1):
        return []
    kept = []
    for n in range(0, len(lengths) - size + 1, step):
        here, after = lengths[n : n + step], lengths[n + step : n + 2 * step]
        before = lengths[n - step : n] if n >= step else None
        repeated = jumping and here == before == after
        if not repeated and len(set(lengths[n : n + size])) >= min(3, size):
            kept.append(n)
    return kept


def most_stored_in_a_stretch(
    old: Sequence[int], new: Sequence[int], starts: Sequence[int], size: int
) -> int:
    """Every stretch of equal lengths, tried out; the windows of the older text inside it."""
    best = 0
    for i in range(len(old)):
        for j in range(len(new)):
            n = 0
            while i + n < len(old) and j + n < len(new) and old[i + n] == new[j + n]:
                n += 1
            best = max(best, sum(i <= start <= i + n - size for start in starts))
    return best


def longest_diagonal(a: Sequence[str], b: Sequence[str]) -> int:
    """The longest run of equal items one after the other in both."""
    best = 0
    for i in range(len(a)):
        for j in range(len(b)):
            n = 0
            while i + n < len(a) and j + n < len(b) and a[i + n] == b[j + n]:
                n += 1
            best = max(best, n)
    return best
