"""The slow judge of 5NE5 keys: contexts as strings, hashed word by word as docs/format.md has it.

Names are those of the slow judge of entities.
"""

from __future__ import annotations

import hashlib

from tests.features.entities.naive import Word, spans, words

_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15
_FACTOR = 0xD6E8FEB86659FD93


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
    found = words(text, lang)
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
    folded = [word.folded for word in words(text, lang)]
    edges = folded if len(folded) < 40 else folded[:20] + folded[-20:]
    content = " ".join(edges).encode("utf-8", "surrogatepass")
    return hashlib.sha1(content).hexdigest() if edges else ""


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
